// SPDX-License-Identifier: Apache-2.0
// The runtime's reader of modules against the generator's, which shares no code with it, and
// against words that are damaged.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "compute_helpers.hpp"
#include "compute_table.hpp"
#include "reflect.hpp"
#include "table/module_reader.hpp"
#include "table/table.hpp"

using namespace spirkiln;
using namespace spirkiln::test;

namespace {

void compare(const std::vector<std::uint32_t>& words) {
  const auto read = read_module(words);
  const auto reflected = gen::reflect(words);
  REQUIRE(reflected);
  if (!read) FAIL(read.error().message);
  CHECK(read->entry == "main");
  CHECK(read->spirv_version == reflected->spirv_version);
  CHECK(read->capabilities == reflected->capabilities);
  auto extensions = read->extensions;
  std::sort(extensions.begin(), extensions.end());
  CHECK(extensions == reflected->extensions);
  REQUIRE(read->bindings.size() == reflected->bindings.size());
  for (std::size_t i = 0; i < read->bindings.size(); ++i) {
    const table::BindingEntry &a = read->bindings[i].entry, &b = reflected->bindings[i];
    CHECK((a.set == b.set && a.binding == b.binding && a.kind == b.kind && a.flags == b.flags));
  }
  REQUIRE(read->constants.size() == reflected->specs.size());
  for (std::size_t i = 0; i < read->constants.size(); ++i) {
    const ModuleConstant& a = read->constants[i];
    const gen::SpecConstant& b = reflected->specs[i];
    CHECK((a.id == b.id && a.name == b.name && a.default_bits == b.default_bits));
    CHECK(a.type == b.type);
  }
  CHECK(read->push_bytes == (reflected->push_bytes + 3) / 4 * 4);
  CHECK(read->local_size == reflected->local_size);
  CHECK(read->local_size_id == reflected->local_size_id);
  // Operations that only the generator evaluates leave the size unknown here.
  if (read->shared_bytes) CHECK(*read->shared_bytes == reflected->shared_bytes);
}

Table compute_table() {
  return must(Table::from_static(std::as_bytes(tables::compute::table()), "the test's table"));
}

}  // namespace

TEST_CASE("both readers see the same in every module of the tables", "[reader]") {
  std::vector<Table> tables = {compute_table()};
  if (auto built_in = Table::built_in()) tables.push_back(*built_in);
  std::size_t count = 0, known = 0;
  for (const Table& t : tables) {
    for (std::uint32_t blob = 0; blob < t.blobs().size(); ++blob) {
      const auto words = must(t.words(blob));
      INFO(t.origin() << " blob " << blob);
      compare({words.begin(), words.end()});
      known += read_module(words)->shared_bytes.has_value() ? 1 : 0;
      ++count;
    }
  }
  CHECK(count > 10);
  CHECK(known == count);
}

TEST_CASE("sizes follow the constants that are given", "[reader]") {
  const auto words = compile(R"(#version 450
layout(local_size_x_id = 1) in;
layout(constant_id = 2) const uint rows = 3;
shared float t[rows * 5 + 1];
shared float u[(rows | 1) * 4 + (rows << 1) + ((rows ^ 1) & 6) + (rows >> 1)];
layout(binding = 0) buffer A { float a[]; };
void main() {
  t[gl_LocalInvocationID.x] = 1.0;
  u[gl_LocalInvocationID.x] = 2.0;
  barrier();
  a[0] = t[0] + u[1];
}
)",
                             fp32());
  // 16 floats and 12 + 6 + 2 + 1; then 51, the next multiple of 4 being 52, and 44 + 20 + 2 + 5.
  CHECK(must(read_module(words)).shared_bytes == 4u * (16 + 21));
  const ModuleValue rows{2, 10};
  CHECK(must(read_module(words, {&rows, 1})).shared_bytes == 4u * (52 + 71));
}

TEST_CASE("damaged modules are read or refused, and nothing else", "[reader]") {
  const Table table = compute_table();
  std::mt19937 random(7);
  for (std::uint32_t blob = 0; blob < table.blobs().size(); ++blob) {
    const auto words = must(table.words(blob));
    for (std::size_t length = 0; length < words.size(); length += 1 + length / 16) {
      // On the heap and of that very length, so that sanitizers see a step beyond.
      const std::vector<std::uint32_t> cut(words.begin(), words.begin() + length);
      (void)read_module(cut);
    }
    for (int i = 0; i < 2000; ++i) {
      std::vector<std::uint32_t> bent(words.begin(), words.end());
      for (int changes = 0; changes < 3; ++changes) {
        const std::size_t at = 5 + random() % (bent.size() - 5);
        bent[at] =
            random() % 2 == 0 ? bent[at] ^ (1u << random() % 32) : bent[random() % bent.size()];
      }
      if (const auto read = read_module(bent)) {
        CHECK(read->local_size_word + 2 < bent.size());
      }
    }
  }
}
