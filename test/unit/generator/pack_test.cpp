// SPDX-License-Identifier: Apache-2.0
#include "pack.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <random>

#include "files.hpp"
#include "list.hpp"
#include "table/checksum.hpp"

using namespace spirkiln;

namespace {

std::shared_ptr<const gen::Blob> blob(std::uint32_t seed) {
  auto b = std::make_shared<gen::Blob>();
  std::mt19937 random(seed);
  b->words.resize(100 + seed);
  for (auto& w : b->words) w = random() % 16;
  b->words[0] = 0x07230203;
  b->words[1] = 0x00010000;
  b->vulkan_version = 0x00400000;
  b->reflection.spirv_version = 0x00010000;
  b->reflection.capabilities = {1, 9};
  b->reflection.extensions = {"SPV_KHR_16bit_storage"};
  b->reflection.bindings = {{0, 0, table::BindingKind::kStorageBuffer, table::kReadOnly}};
  b->reflection.specs = {{4, "rows", table::SpecType::kUint, seed}};
  b->reflection.push_bytes = 12;
  b->reflection.shared_bytes = 256;
  b->reflection.local_size = {8, 2, 1};
  b->reflection.local_size_id = {233, table::kNone, table::kNone};
  return b;
}

gen::PackKernel kernel(const std::string& name,
                       std::vector<std::shared_ptr<const gen::Blob>> blobs) {
  gen::PackKernel k{name, 77, {}, {}, std::move(blobs)};
  for (std::size_t i = 0; i < k.blobs.size(); ++i) {
    gen::Variant v;
    v.name = name + "_" + std::to_string(i);
    v.storage = table::Storage::kFp16;
    v.axis_values = {{"TILE", std::to_string(i)}};
    k.variants.push_back(v);
  }
  return k;
}

std::string packed() {
  auto table = gen::pack_table(
      "demo", "tool 1",
      {kernel("add", {blob(1), blob(2), blob(1)}), kernel("mul", {blob(3), blob(2)})}, 2,
      gen::Cache(std::nullopt));
  REQUIRE(table.ok());
  CHECK(table->stats.unique_blobs == 3);
  CHECK(table->stats.raw_bytes == (101 + 102 + 101 + 103 + 102) * 4);
  CHECK(table->stats.unique_bytes == (101 + 102 + 103) * 4);
  CHECK(table->merged_into[0] == std::vector<std::string>{"", "", "add_0"});
  CHECK(table->merged_into[1] == std::vector<std::string>{"", "add_1"});
  return table->bytes;
}

Result<Table> open(const std::string& bytes) {
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return Table::from_bytes({first, first + bytes.size()}, "a test's table");
}

}  // namespace

TEST_CASE("table: what was packed is read back", "[table]") {
  const auto opened = open(packed());
  REQUIRE(opened.ok());
  const Table& t = *opened;
  CHECK(t.name() == "demo");
  CHECK(t.tool_version() == "tool 1");
  REQUIRE(t.kernels().size() == 2);
  CHECK(t.string(t.kernels()[1].name) == "mul");
  CHECK(t.kernels()[1].first_variant == 3);
  CHECK(t.kernels()[1].variant_count == 2);
  CHECK(t.kernels()[0].source_hash == 77);
  REQUIRE(t.variants().size() == 5);
  CHECK(t.blobs().size() == 3);
  CHECK(t.frames().size() == 1);
  const auto* v = t.find_variant("mul_1");
  REQUIRE(v != nullptr);
  CHECK(v->kernel == 1);
  CHECK(v->blob == t.find_variant("add_1")->blob);
  CHECK(v->storage == table::Storage::kFp16);
  const auto axis = t.axis_values_of(*v)[0];
  CHECK(t.string(axis.axis) == "TILE");
  CHECK(t.string(axis.value) == "1");
  const auto& b = t.blobs()[v->blob];
  const auto words = gen::module_of(t, *v);
  REQUIRE(words.ok());
  CHECK(*words == blob(2)->words);
  CHECK((b.flags & table::kRawWords) != 0);  // these are no real modules
  CHECK(t.capabilities_of(b).size() == 2);
  CHECK(t.string(t.extensions_of(b)[0]) == "SPV_KHR_16bit_storage");
  CHECK(t.bindings_of(b)[0].flags == table::kReadOnly);
  CHECK(t.string(t.specs_of(b)[0].name) == "rows");
  CHECK(t.specs_of(b)[0].default_bits == 2);
  CHECK(b.push_bytes == 12);
  CHECK(b.shared_bytes == 256);
  CHECK(b.local_size[0] == 8);
  CHECK(b.local_size_id[0] == 233);
  CHECK(b.vulkan_version == 0x00400000);
  CHECK(t.find_variant("none") == nullptr);
}

TEST_CASE("table: an attachment is the table's, or the parts of its kernels in their order",
          "[table]") {
  auto add = kernel("add", {blob(1)}), mul = kernel("mul", {blob(2)}),
       sub = kernel("sub", {blob(3)});
  mul.parts = {{"answers", "of mul;"}};
  add.parts = {{"answers", "of add;"}, {"nothing", ""}};
  const auto pack = [&](const gen::Attachments& attachments) {
    return gen::pack_table("demo", "tool", {add, mul, sub}, 2, gen::Cache(std::nullopt),
                           attachments);
  };
  const auto table = pack({{"quirks", std::string("\0\1", 2)}});
  REQUIRE(table.ok());
  const auto t = open(table->bytes);
  REQUIRE(t.ok());
  const auto text = [&](std::string_view name) {
    const auto bytes = t->attachment(name);
    REQUIRE(bytes.ok());
    return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  };
  CHECK(text("answers") == "of add;of mul;");
  CHECK(text("quirks") == std::string("\0\1", 2));
  CHECK(t->attachments().size() == 2);
  CHECK(gen::module_of(*t, *t->find_variant("sub_0")).ok());
  CHECK(gen::list_text(*t)->find("carries answers: 14 bytes in ") != std::string::npos);
  CHECK(gen::list_json(*t)->find("{\"name\": \"quirks\", \"bytes\": 2, ") != std::string::npos);

  const auto both = pack({{"answers", "of all"}});
  REQUIRE_FALSE(both.ok());
  CHECK(both.error().message.find("'answers'") != std::string::npos);
  gen::Attachments many;
  for (int i = 0; i < 65; ++i) many[std::to_string(i)] = "x";
  CHECK_FALSE(pack(many).ok());
  CHECK_FALSE(pack({{std::string(2000, 'x'), "x"}}).ok());
}

TEST_CASE("table: truncated or changed bytes are refused", "[table]") {
  const std::string bytes = packed();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    REQUIRE_FALSE(open(bytes.substr(0, size)).ok());
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string copy = bytes;
    copy[at] = static_cast<char>(copy[at] ^ (1 << (at % 8)));
    INFO(at);
    CHECK_FALSE(open(copy).ok());
  }
}

TEST_CASE("table: with a right checksum over wrong content nothing is read outside", "[table]") {
  const std::string bytes = packed();
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string copy = bytes;
    for (int flips = 0; flips < 2; ++flips) {
      const std::size_t at = random() % copy.size();
      copy[at] = static_cast<char>(copy[at] ^ (1 << (random() % 8)));
    }
    table::TableHeader header;
    std::memcpy(&header, copy.data(), sizeof header);
    header.checksum = file_checksum<table::TableHeader>(std::as_bytes(std::span(copy)));
    std::memcpy(copy.data(), &header, sizeof header);
    const auto t = open(copy);
    if (!t.ok()) continue;
    for (const auto& v : t->variants()) {
      (void)t->string(v.name);
      (void)gen::module_of(*t, v).ok();
    }
  }
}
