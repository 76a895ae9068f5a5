// SPDX-License-Identifier: Apache-2.0
// How rules of a tuning choose: in order, by the facts of the product, down to the last one.
#include "graph/lower/tuning.hpp"

#include <catch2/catch_test_macros.hpp>
#include <map>

#include "table/module_reader.hpp"
#include "table/table.hpp"

using namespace spirkiln;
using namespace spirkiln::tuning;

namespace {

constexpr std::uint64_t kAny = ~std::uint64_t{0};

}  // namespace

TEST_CASE("tuning: the first tile whose conditions all hold, else the last", "[tuning]") {
  const Rule<MatrixTileChoice> tiles[] = {
      {{{Fact::kRows, 0, 64}, {Fact::kK4, 32}}, 2, {4, 1, 1, 1, 1, 1, 32}},
      {{{Fact::kMatrixColumns, 0, kAny, 3}}, 1, {1, 1, 1, 1, 3, 3, 4}},
      {{{Fact::kMatrixM, 8, 8}}, 1, {1, 1, 1, 8, 1, 1, 4}},
      {{{Fact::kOwnGroups, 7}}, 1, {1, 2, 1, 2, 4, 2, 4}},
      {{}, 0, {1, 1, 1, 1, 2, 1, 8}},
  };
  Tuning t{};
  t.matrix_tile = tiles;
  const auto of = [&](std::uint32_t rows, std::uint32_t k4, std::uint32_t n4, std::uint32_t n = 8) {
    return matrix_tile(t, {rows, k4, n4}, 16, n);
  };
  CHECK(of(64, 32, 2) == MatrixTile{4, 1, 1, 1, 1, 32});
  CHECK(of(65, 32, 2) == MatrixTile{1, 1, 1, 1, 2, 8});  // one condition of two
  CHECK(of(64, 31, 2) == MatrixTile{1, 1, 1, 1, 2, 8});
  CHECK(of(64, 32, 6) == MatrixTile{4, 1, 1, 1, 1, 32});  // both of the first two: the first
  // 5 vectors are 20 columns: three matrices of 8, or two of 16.
  CHECK(of(64, 1, 5) == MatrixTile{1, 1, 1, 1, 3, 4});
  CHECK(of(64, 1, 5, 16) == MatrixTile{1, 1, 1, 1, 1, 8});
  CHECK(matrix_tile(t, {64, 1, 2}, 8, 8) == MatrixTile{1, 1, 1, 8, 1, 4});
  // Blocks of 2 * 2 * 16 rows and of 4 * 8 or 2 * 16 columns.
  CHECK(of(448, 1, 8) == MatrixTile{1, 2, 1, 2, 4, 4});
  CHECK(of(448, 1, 8, 16) == MatrixTile{1, 2, 1, 2, 2, 4});
  CHECK(of(384, 1, 8) == MatrixTile{1, 1, 1, 1, 2, 8});
  CHECK(of(385, 1, 8) == MatrixTile{1, 2, 1, 2, 4, 4});
  CHECK(of(200, 1, 10) == MatrixTile{1, 2, 1, 2, 4, 4});  // 4 x 2
}

TEST_CASE("tuning: a split stands in where the tile gives few workgroups", "[tuning]") {
  const Rule<MatrixTileChoice> tiles[] = {
      {{{Fact::kRows, 0, 32}}, 1, {1, 1, 1, 1, 1, 1, 4}},
      {{}, 0, {1, 2, 1, 2, 4, 2, 4}},  // 64 rows, 32 columns
  };
  const Rule<MatrixTileChoice> splits[] = {
      {{{Fact::kGroups, 0, 9}, {Fact::kOwnGroups, 12}}, 2, {2, 1, 1, 2, 2, 1, 8}},  // 32, 16
      {{{Fact::kGroups, 0, 9}}, 1, {4, 1, 1, 1, 1, 1, 16}},
  };
  Tuning t{};
  t.matrix_tile = tiles;
  const Product ten{640, 9, 8}, nine{576, 9, 8}, two{128, 9, 8};
  CHECK(matrix_tile(t, nine, 16, 8) == MatrixTile{1, 2, 1, 2, 4, 4});  // without a split
  t.matrix_split = splits;
  CHECK(matrix_tile(t, ten, 16, 8) == MatrixTile{1, 2, 1, 2, 4, 4});
  CHECK(matrix_tile(t, nine, 16, 8) == MatrixTile{2, 1, 1, 2, 2, 8});  // 18 x 2 of its own
  CHECK(matrix_tile(t, two, 16, 8) == MatrixTile{4, 1, 1, 1, 1, 16});  // 4 x 2 are too few

  const Rule<GemmShape> shapes[] = {
      {{{Fact::kEmptyColumns, 0, 3}}, 1, {16, 8, 1, 4}},
      {{{Fact::kEmptyColumns, 0, 3}}, 1, {8, 16, 1, 4}},
      {{}, 0, {4, 32, 1, 4}},
  };
  const Rule<GemmShape> shared[] = {{{{Fact::kGroups, 0, 255}, {Fact::kK4, 8}}, 2, {8, 8, 4, 8}}};
  t.tiled_shape = shapes;
  t.tiled_split = shared;
  CHECK(tiled_shape(t, {9, 9, 12}).x == 4);   // of 12, 16 leave four empty and 8 as well
  CHECK(tiled_shape(t, {9, 9, 13}).x == 16);
  CHECK(tiled_shape(t, {9, 9, 24}).x == 8);
  CHECK(tiled_split(t, {9, 9, 9}, 256) == nullptr);
  CHECK(tiled_split(t, {9, 7, 9}, 255) == nullptr);
  REQUIRE(tiled_split(t, {9, 8, 9}, 255) != nullptr);
  CHECK(tiled_split(t, {9, 8, 9}, 255)->z == 4);
}

TEST_CASE("tuning: windows count the tiles of all pictures", "[tuning]") {
  const Rule<WindowTile> windows[] = {
      {{{Fact::kOwnGroups, 12}, {Fact::kMatrixColumns, 0, kAny, 2}}, 2, {4, 2, 2}},
      {{}, 0, {4, 1, 1}},
  };
  Tuning t{};
  t.window_tile = windows;
  // Of two pictures each three tiles of 8 lines, and two of 16 pixels: 12.
  CHECK(window_tile(t, 2, 24, 32, 4, 16, 8).matrices_m == 2);
  CHECK(window_tile(t, 1, 24, 32, 4, 16, 8).matrices_m == 1);
  CHECK(window_tile(t, 2, 16, 32, 4, 16, 8).matrices_m == 1);
  CHECK(window_tile(t, 2, 17, 17, 4, 16, 8).matrices_m == 2);
  CHECK(window_tile(t, 2, 24, 32, 5, 16, 8).matrices_m == 1);  // three columns
  CHECK(window_tile(t, 2, 24, 16, 4, 8, 8).matrices_m == 2);   // tiles of 8 pixels
}

TEST_CASE("tuning: columns of a separable convolution in equal shares", "[tuning]") {
  const Rule<SeparableTileChoice> tiles[] = {
      {{{Fact::kWindowW, 5}, {Fact::kRows, 0, 99}}, 2, {1, 8, 2, 4, 2, 16, 8}},
      {{{Fact::kK4, 0, 20}}, 1, {2, 4, 1, 2, 1, 16, 4}},
  };
  Tuning t{};
  t.separable_tile = tiles;
  CHECK_FALSE(separable_tile(t, {100, 21, 6}, 5, 16, 8));  // no rule: two steps
  CHECK_FALSE(separable_tile(t, {99, 21, 6}, 4, 16, 8));
  // 30 matrices are eight subgroups of up to four: all in one workgroup.
  const auto wide = separable_tile(t, {99, 21, 60}, 5, 16, 8);
  REQUIRE(wide);
  CHECK(wide->groups_n == 8);
  CHECK(wide->matrices_n == 4);
  CHECK(wide->tile_k4 == 16);
  CHECK(wide->tile_w == 8);
  CHECK(separable_tile(t, {99, 21, 60}, 5, 16, 16)->matrices_n == 2);
  // Nine matrices are five subgroups of two: three workgroups of two, not two of four and one.
  const auto shared = separable_tile(t, {100, 9, 18}, 3, 16, 8);
  REQUIRE(shared);
  CHECK(shared->groups_n == 3);
  CHECK(shared->tile_k4 == 12);  // a K of nine vectors is no longer
  CHECK(separable_tile(t, {100, 9, 2}, 3, 16, 8)->groups_n == 1);
}

TEST_CASE("tuning: the built-in one gives a choice for everything", "[tuning]") {
  const Tuning& t = built_in();
  const auto last = [](const auto& rules) { return !rules.empty() && rules.back().count == 0; };
  CHECK(last(t.product));
  CHECK(last(t.tiled_shape));
  CHECK(last(t.matrix_tile));
  CHECK(last(t.matrix_lite));
  CHECK(last(t.window_tile));
  CHECK(last(t.gate_group));
  CHECK(t.product.back().choice == Family::kPlain);
  CHECK(&t.numbers(true) == &t.software);
  CHECK(&t.numbers(false) == &t.gpu);
  // What a device with the least workgroup memory can run, by every matrix that a kernel has.
  for (const auto& [m, n] : {std::pair{16u, 8u}, {16u, 16u}, {8u, 16u}, {8u, 8u}}) {
    CHECK(matrix_shared_bytes(matrix_lite(t, {100, 100, 100}, n), m, n) <= 16384);
  }
}

TEST_CASE("tuning: workgroup memory by the formulas is what the modules have", "[tuning]") {
  const auto table = Table::built_in();
  if (!table) SKIP("built without kernels");
  const auto bytes = [&](const char* name, std::uint32_t threads,
                         const std::map<std::string_view, std::uint32_t>& constants) {
    const table::VariantEntry* variant = table->find_variant(name);
    REQUIRE(variant != nullptr);
    const table::BlobEntry& blob = table->blobs()[variant->blob];
    std::vector<ModuleValue> values{{blob.local_size_id[0], threads}};
    for (const table::SpecEntry& s : table->specs_of(blob)) {
      const auto it = constants.find(table->string(s.name));
      if (it != constants.end()) values.push_back({s.id, it->second});
    }
    CHECK(values.size() == constants.size() + 1);
    const auto words = table->words(variant->blob);
    REQUIRE(words.ok());
    const auto module = read_module(*words, values);
    REQUIRE(module.ok());
    REQUIRE(module->shared_bytes.has_value());
    return *module->shared_bytes;
  };
  for (const std::uint32_t threads : {1u, 37u, 128u, 512u}) {
    for (const std::uint32_t n4 : {1u, 3u, 4u}) {
      INFO(threads << " invocations, " << n4 << " vectors");
      CHECK(bytes("stem", threads, {{"kh", 3}, {"kw", 5}, {"n4", n4}}) ==
            stem_shared_bytes(threads, 15, n4));
      // The word of bytes, and what fills up to a multiple of 16 on either side of it.
      const std::uint64_t head = head_shared_bytes(threads, 6, n4);
      for (const char* name : {"deconv_floats", "deconv_bytes"}) {
        const std::uint64_t own = bytes(name, threads, {{"kh", 2}, {"kw", 3}, {"in4", n4}});
        CHECK(own <= head);
        CHECK(own + 32 > head);
      }
    }
  }
}
