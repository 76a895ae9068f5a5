// SPDX-License-Identifier: Apache-2.0
#include "table_view.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <random>

#include "files.hpp"
#include "pack.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

namespace {

std::shared_ptr<const gen::Blob> blob(std::uint32_t seed) {
  auto b = std::make_shared<gen::Blob>();
  std::mt19937 random(seed);
  b->words.resize(100 + seed);
  for (auto& w : b->words) w = random() % 16;
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

gen::PackKernel kernel(const std::string& name, std::size_t family,
                       std::vector<std::shared_ptr<const gen::Blob>> blobs) {
  gen::PackKernel k{name, family, 77, {}, std::move(blobs)};
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
      {kernel("add", 0, {blob(1), blob(2), blob(1)}), kernel("mul", 1, {blob(3), blob(2)})}, 2,
      gen::Cache(std::nullopt));
  REQUIRE(table.ok());
  CHECK(table->stats.unique_blobs == 3);
  CHECK(table->stats.raw_bytes == (101 + 102 + 101 + 103 + 102) * 4);
  CHECK(table->stats.unique_bytes == (101 + 102 + 103) * 4);
  CHECK(table->merged_into[0] == std::vector<std::string>{"", "", "add_0"});
  CHECK(table->merged_into[1] == std::vector<std::string>{"", "add_1"});
  return table->bytes;
}

}  // namespace

TEST_CASE("table: what was packed is read back", "[table]") {
  auto view = gen::TableView::parse(packed());
  REQUIRE(view.ok());
  CHECK(view->string(view->header().name) == "demo");
  CHECK(view->string(view->header().tool_version) == "tool 1");
  REQUIRE(view->kernels().size() == 2);
  CHECK(view->string(view->kernels()[1].name) == "mul");
  CHECK(view->kernels()[1].first_variant == 3);
  CHECK(view->kernels()[1].variant_count == 2);
  CHECK(view->kernels()[0].source_hash == 77);
  REQUIRE(view->variants().size() == 5);
  CHECK(view->blobs().size() == 3);
  CHECK(view->frames().size() == 2);
  const auto* v = view->find_variant("mul_1");
  REQUIRE(v != nullptr);
  CHECK(v->kernel == 1);
  CHECK(v->blob == view->find_variant("add_1")->blob);
  CHECK(v->storage == table::Storage::kFp16);
  const auto axis = view->axis_values()[v->first_axis_value];
  CHECK(view->string(axis.axis) == "TILE");
  CHECK(view->string(axis.value) == "1");
  const auto& b = view->blobs()[v->blob];
  auto words = view->words(b);
  REQUIRE(words.ok());
  CHECK(*words == blob(2)->words);
  CHECK(view->capabilities(b).size() == 2);
  CHECK(view->string(view->extensions(b)[0]) == "SPV_KHR_16bit_storage");
  CHECK(view->bindings(b)[0].flags == table::kReadOnly);
  CHECK(view->string(view->specs(b)[0].name) == "rows");
  CHECK(view->specs(b)[0].default_bits == 2);
  CHECK(b.push_bytes == 12);
  CHECK(b.shared_bytes == 256);
  CHECK(b.local_size[0] == 8);
  CHECK(b.local_size_id[0] == 233);
  CHECK(b.vulkan_version == 0x00400000);
  CHECK(view->find_variant("none") == nullptr);
}

TEST_CASE("table: truncated or changed bytes are refused", "[table]") {
  const std::string bytes = packed();
  CHECK_THAT(gen::TableView::parse("").error().message, ContainsSubstring("not a Spirkiln table"));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    REQUIRE_FALSE(gen::TableView::parse(bytes.substr(0, size)).ok());
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string copy = bytes;
    copy[at] = static_cast<char>(copy[at] ^ (1 << (at % 8)));
    INFO(at);
    // Header fields that are no part of the checksum are checked one by one; a string's offset
    // may still point at another string.
    const auto view = gen::TableView::parse(copy);
    if (view.ok()) CHECK(at < sizeof(table::TableHeader));
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
    header.checksum = gen::hash_bytes(std::string_view(copy).substr(sizeof header));
    std::memcpy(copy.data(), &header, sizeof header);
    const auto view = gen::TableView::parse(copy);
    if (!view.ok()) continue;
    for (const auto& v : view->variants()) {
      (void)view->string(v.name);
      (void)view->words(view->blobs()[v.blob]).ok();
    }
  }
}
