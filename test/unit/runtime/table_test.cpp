// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <random>
#include <thread>

#include "support/table_writer.hpp"
#include "support/use_table.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::byte> sample() {
  std::vector<TestKernel> kernels;
  for (const char* name : {"beta", "alpha", "gamma"}) {
    TestKernel k{name, {}};
    for (const Form form : {kFp16s, kFp32}) {
      TestVariant v{
          std::string(name) + "_" + form_name(form), form.storage, form.arithmetic, {}, {}};
      v.axes = {{"DIRECT", "0"}};
      v.blob.bindings = {{0, table::kReadOnly}, {1, table::kWriteOnly}};
      v.blob.specs = {{0, "count"}, {233, "local_size_x"}};
      v.blob.extensions = {"SPV_KHR_16bit_storage"};
      v.blob.push_bytes = 8;
      v.blob.words = {0x07230203, 0x00010000, 0, 8, 0, std::uint32_t(kernels.size()), 7, 8, 9};
      k.variants.push_back(v);
    }
    kernels.push_back(k);
  }
  const std::vector<std::byte> zeros(3000, std::byte{0});
  return write_table(kernels, {{"answers", zeros}, {"quirks", {std::byte{4}, std::byte{2}}}});
}

}  // namespace

TEST_CASE("a table gives back what was written") {
  auto t = Table::from_bytes(sample(), "test");
  REQUIRE(t);
  CHECK(t->name() == "test");
  REQUIRE(t->kernels().size() == 3);
  CHECK(t->string(t->kernels()[0].name) == "alpha");
  CHECK(t->find("gamma") == &t->kernels()[2]);
  CHECK(t->find("delta") == nullptr);
  CHECK(t->find("") == nullptr);
  const auto variants = t->variants_of(*t->find("beta"));
  REQUIRE(variants.size() == 2);
  CHECK(t->string(variants[1].name) == "beta_fp32");
  const auto& blob = t->blobs()[variants[1].blob];
  REQUIRE(t->bindings_of(blob).size() == 2);
  CHECK(t->bindings_of(blob)[1].flags == table::kWriteOnly);
  CHECK(t->string(t->specs_of(blob)[1].name) == "local_size_x");
  auto words = t->words(variants[1].blob);
  REQUIRE(words);
  CHECK(words->size() == 9);
  CHECK((*words)[5] == 0);
}

TEST_CASE("attachments are there by name, and what is not there is nothing") {
  auto t = Table::from_bytes(sample(), "test");
  REQUIRE(t);
  REQUIRE(t->attachments().size() == 2);
  CHECK(t->string(t->attachments()[1].name) == "quirks");
  const auto quirks = t->attachment("quirks");
  REQUIRE(quirks);
  REQUIRE(quirks->size() == 2);
  CHECK((*quirks)[1] == std::byte{2});
  CHECK(t->attachment("answers")->size() == 3000);
  CHECK(t->attachment("quirks")->data() == quirks->data());  // kept
  const auto none = t->attachment("quirk");
  REQUIRE(none);
  CHECK(none->empty());
}

TEST_CASE("attachments: names in order, each once, none empty, none too many") {
  const std::vector<std::byte> some = {std::byte{1}};
  const TestKernel kernel{"k", {{"k", kFp32.storage, kFp32.arithmetic, {}, {}}}};
  const auto refusal = [&](const TestAttachments& attachments) {
    const auto t = Table::from_bytes(write_table({kernel}, attachments), "x");
    return t ? std::string() : t.error().message;
  };
  CHECK(refusal({{"a", some}, {"b", some}}).empty());
  CHECK_THAT(refusal({{"b", some}, {"a", some}}), ContainsSubstring("attachment 1: not sorted"));
  CHECK_THAT(refusal({{"a", some}, {"a", some}}), ContainsSubstring("attachment 1: not sorted"));
  CHECK_THAT(refusal({{"", some}}), ContainsSubstring("attachment 0: not sorted"));
  CHECK_THAT(refusal({{"a", {}}}), ContainsSubstring("attachment 0: it has no bytes"));
  CHECK_THAT(refusal({{std::string(1025, 'a'), some}}), ContainsSubstring("attachment 0: name"));
  TestAttachments many;
  for (int i = 100; i < 165; ++i) many.emplace_back(std::to_string(i), some);
  CHECK_THAT(refusal(many), ContainsSubstring("more than 64 attachments"));
  many.pop_back();
  CHECK(refusal(many).empty());
}

TEST_CASE("words may be asked for by many threads") {
  auto t = Table::from_bytes(sample(), "test");
  REQUIRE(t);
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (std::uint32_t b = 0; b < t->blobs().size(); ++b) good += t->words(b).ok() ? 1 : 0;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(good == 8 * static_cast<int>(t->blobs().size()));
}

TEST_CASE("what is no table, another format or cut short is said plainly") {
  CHECK_THAT(Table::from_bytes({}, "x").error().message, ContainsSubstring("x: "));
  std::vector<std::byte> text(1000, std::byte{'a'});
  CHECK_THAT(Table::from_bytes(text, "x").error().message, ContainsSubstring("no kernel table"));
  auto newer = sample();
  newer[8] = std::byte{9};
  CHECK_THAT(Table::from_bytes(newer, "x").error().message, ContainsSubstring("format 9"));
  auto flipped = sample();
  flipped.back() ^= std::byte{1};
  const auto r = Table::from_bytes(flipped, "x");
  REQUIRE_FALSE(r);
  CHECK(r.error().code == ErrorCode::kCorrupt);
  CHECK_THAT(r.error().message, ContainsSubstring("checksum"));
  CHECK(Table::from_file("/nonexistent/table").error().code == ErrorCode::kIo);
  CHECK(Table::from_file("/").error().code == ErrorCode::kIo);
}

TEST_CASE("a table cut at any byte is refused") {
  const auto whole = sample();
  for (std::size_t n = 0; n < whole.size(); ++n) {
    std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    CHECK_FALSE(Table::from_bytes(cut, "x"));
    // With a size and checksum that fit, the sections themselves must be found out of bounds, or be
    // whole because only padding is gone.
    reseal_table(cut);
    if (auto t = Table::from_bytes(cut, "x")) use_table(*t);
  }
}

TEST_CASE("bits flipped behind a fitting checksum never do harm") {
  const auto whole = sample();
  const auto index = index_of(whole);
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    auto bytes = whole;
    auto changed = index;
    // In the index as it is once it is decoded, or in the file.
    auto& target = round % 2 == 0 ? changed : bytes;
    const std::size_t from = round % 2 == 0 ? 0 : 8;
    const int flips = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < flips; ++i) {
      const std::size_t at = from + random() % (target.size() - from);
      target[at] ^= static_cast<std::byte>(1u << (random() % 8));
    }
    if (round % 2 == 0) bytes = with_index(std::move(bytes), changed);
    reseal_table(bytes);
    auto t = Table::from_bytes(bytes, "x");
    if (t) {
      use_table(*t);
    } else {
      ++refused;
      CHECK(t.error().code == ErrorCode::kCorrupt);
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("extreme values in every 32-bit field never do harm") {
  const auto whole = sample();
  const auto index = index_of(whole);
  for (const std::uint32_t value : {0u, 0xffffffffu, 0x7fffffffu, 0x80000000u, 0xfffffff0u}) {
    for (std::size_t at = 8; at + 4 <= sizeof(table::TableHeader); at += 4) {
      auto bytes = whole;
      std::memcpy(bytes.data() + at, &value, 4);
      reseal_table(bytes);
      if (auto t = Table::from_bytes(bytes, "x")) use_table(*t);
    }
    for (std::size_t at = 0; at + 4 <= index.size(); at += 4) {
      auto changed = index;
      std::memcpy(changed.data() + at, &value, 4);
      if (auto t = Table::from_bytes(with_index(whole, changed), "x")) use_table(*t);
    }
  }
}

TEST_CASE("a blob whose words are not those of the index is refused when it is used") {
  // Damage in the last kernel's frame passes the index.
  auto bytes = sample();
  const auto opened = Table::from_bytes(bytes, "x");
  REQUIRE(opened);
  const auto frame = opened->frames()[2];
  bytes[frame.offset + frame.packed_bytes - 6] ^= std::byte{0x10};
  reseal_table(bytes);
  auto t = Table::from_bytes(bytes, "x");
  REQUIRE(t);
  const auto last = t->variants_of(*t->find("gamma"))[0].blob;
  const auto words = t->words(last);
  REQUIRE_FALSE(words);
  CHECK(words.error().code == ErrorCode::kCorrupt);
  CHECK(t->words(t->variants_of(*t->find("alpha"))[0].blob));
  CHECK_FALSE(t->words(10000));
}
