// SPDX-License-Identifier: Apache-2.0
// Figures of traces that are made by hand; every number here was worked out on paper.
#include <algorithm>
#include <bit>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "advice.hpp"
#include "analyse.hpp"

namespace spirkiln::access {
namespace {

using Catch::Approx;

constexpr MemoryShape kShape{32, 32, 128, 32};

Site buffer_site(std::uint32_t bytes = 4, Space space = Space::kBuffer) {
  Site s;
  s.file = "k.comp";
  s.line = 7;
  s.space = space;
  s.name = "data";
  s.bytes = bytes;
  s.resource_bytes = 1 << 16;
  return s;
}

// One request of one warp, whose lane i asks for address(i).
template <typename Address>
Trace warp_of(Address address, std::uint32_t lanes = 32) {
  Trace t;
  t.groups = t.traced_groups = 1;
  for (std::uint32_t i = 0; i < lanes; ++i) t.records.push_back({i << 16, 0, address(i), 0});
  return t;
}

SiteFigures figures_of(const Site& site, const Trace& trace, MemoryShape shape = kShape) {
  Extents extents;
  extents.buffers[0] = 1 << 20;
  const Figures f = analyse({site}, trace, extents, shape);
  REQUIRE(f.sites.size() == 1);
  return f.sites.front();
}

TEST_CASE("Neighbours behind one another move what they ask for") {
  const auto f = figures_of(buffer_site(), warp_of([](std::uint32_t i) { return i * 4; }));
  CHECK(f.requests == 1);
  CHECK(f.accesses == 32);
  CHECK(f.asked == 128);
  CHECK(f.sectors == 4);
  CHECK(f.lines == 1);
  CHECK(f.efficiency(kShape) == Approx(1));
  CHECK(f.pattern == Pattern::kSequential);
}

// A cooperative matrix of `lines` lines, as all lanes of a warp tell of it.
Site matrix_site(std::uint32_t lines, std::uint32_t line_bytes, Space space) {
  Site s = buffer_site(lines * line_bytes, space);
  s.matrix_lines = lines;
  s.matrix_line_bytes = line_bytes;
  return s;
}
Trace matrix_at(std::uint32_t base, std::uint32_t pitch) {
  Trace t = warp_of([&](std::uint32_t) { return base; });
  for (Record& r : t.records) r.b = pitch;
  return t;
}

TEST_CASE("A cooperative matrix is asked for once, by lines") {
  // 16 x 8 halves, rows of 16 bytes 128 apart: half of each sector.
  const auto narrow = figures_of(matrix_site(16, 16, Space::kBuffer), matrix_at(0, 128));
  CHECK(narrow.requests == 1);
  CHECK(narrow.accesses == 16);
  CHECK(narrow.asked == 256);
  CHECK(narrow.sectors == 16);
  CHECK(narrow.ideal_sectors == 8);
  CHECK(narrow.lines == 16);
  CHECK(narrow.packing() == Approx(0.5));
  CHECK(narrow.pattern == Pattern::kMatrix);
  CHECK(narrow.stride == 128);
  // 16 x 16 floats: 1024 bytes, of which 32 invocations take 512 at a time, 32 of each line.
  const auto wide = figures_of(matrix_site(16, 64, Space::kBuffer), matrix_at(64, 64));
  CHECK(wide.requests == 2);
  CHECK(wide.asked == 1024);
  CHECK(wide.sectors == 32);
  CHECK(wide.ideal_sectors == 32);
  // Lines of 12 bytes are no whole pieces.
  const auto odd = figures_of(matrix_site(4, 12, Space::kBuffer), matrix_at(0, 32));
  CHECK(odd.asked == 48);
  CHECK(odd.sectors == 4);
}

TEST_CASE("Lines of a cooperative matrix meet in banks, or do not") {
  // 80 bytes are 20 words: eight lines begin in banks 0, 20, 8, 28, 16, 4, 24, 12, four words each.
  const auto padded = figures_of(matrix_site(16, 32, Space::kShared), matrix_at(0, 80));
  CHECK(padded.bank_parts == 4);
  CHECK(padded.bank_steps == 4);
  // 64 bytes are 16 words: four of eight lines in the same banks.
  const auto plain = figures_of(matrix_site(16, 32, Space::kShared), matrix_at(0, 64));
  CHECK(plain.mean_conflict == Approx(4));
  CHECK(plain.worst_conflict == 4);
}

TEST_CASE("Two subgroups of a warp have matrices of their own; what lies outside is told") {
  const Site site = matrix_site(8, 32, Space::kBuffer);
  Trace t = warp_of([](std::uint32_t i) { return i < 16 ? 0u : 4096u; });
  for (Record& r : t.records) r.b = 32;
  const auto two = figures_of(site, t);
  CHECK(two.requests == 2);
  CHECK(two.asked == 512);
  CHECK(two.sectors == 16);
  // The buffer has 2^20 bytes: of eight lines the last four are behind it, two pieces each.
  const auto behind = figures_of(site, matrix_at((1 << 20) - 128, 32));
  CHECK(behind.out_of_bounds == 8);
  CHECK(behind.sectors == 4);
}

TEST_CASE("A column of a matrix of 1024 floats a row moves a sector an invocation") {
  const auto f = figures_of(buffer_site(), warp_of([](std::uint32_t i) { return i * 4096; }));
  CHECK(f.sectors == 32);
  CHECK(f.lines == 32);
  CHECK(f.ideal_sectors == 4);
  CHECK(f.efficiency(kShape) == Approx(0.125));
  CHECK(f.packing() == Approx(0.125));
  CHECK(f.pattern == Pattern::kStrided);
  CHECK(f.stride == 4096);
}

TEST_CASE("Three floats behind a border, a warp touches one sector more") {
  const auto f = figures_of(buffer_site(), warp_of([](std::uint32_t i) { return 12 + i * 4; }));
  CHECK(f.sectors == 5);  // bytes 12 to 139
  CHECK(f.lines == 2);
  CHECK(f.pattern == Pattern::kMisaligned);
  CHECK(f.packing() == Approx(0.8));
}

TEST_CASE("One address for all is one sector, asked for 32 times") {
  const auto f = figures_of(buffer_site(), warp_of([](std::uint32_t) { return 64u; }));
  CHECK(f.sectors == 1);
  CHECK(f.ideal_sectors == 1);
  CHECK(f.asked == 128);
  CHECK(f.efficiency(kShape) == Approx(4));
  CHECK(f.pattern == Pattern::kBroadcast);
}

TEST_CASE("Every third float is 12 sectors") {
  const auto f = figures_of(buffer_site(), warp_of([](std::uint32_t i) { return i * 12; }));
  CHECK(f.sectors == 12);  // bytes 0 to 375
  CHECK(f.packing() == Approx(4.0 / 12));
  CHECK(f.stride == 12);
}

TEST_CASE("No order is told as such") {
  const auto f =
      figures_of(buffer_site(), warp_of([](std::uint32_t i) { return i * i * 52 % 65536; }));
  CHECK(f.pattern == Pattern::kRandom);
}

TEST_CASE(
    "A loop's turns are requests of their own, and what they move twice is counted as again") {
  Trace t = warp_of([](std::uint32_t i) { return i * 4; });
  const Trace second = t;
  t.records.insert(t.records.end(), second.records.begin(), second.records.end());
  const auto f = figures_of(buffer_site(), t);
  CHECK(f.requests == 2);
  CHECK(f.sectors == 8);
  CHECK(f.again == 4);
}

TEST_CASE("Invocations of a trace may come in any order") {
  Trace t = warp_of([](std::uint32_t i) { return i * 4; });
  std::reverse(t.records.begin(), t.records.end());
  CHECK(figures_of(buffer_site(), t).pattern == Pattern::kSequential);
}

TEST_CASE("Warps are consecutive invocations, and the last may be short") {
  const auto f = figures_of(buffer_site(), warp_of([](std::uint32_t i) { return i * 4; }, 48));
  CHECK(f.requests == 2);
  CHECK(f.sectors == 6);
  CHECK(f.least_active == 16);
  CHECK(f.most_active == 32);
}

TEST_CASE("Other devices' warps and sectors") {
  const auto f = figures_of(buffer_site(), warp_of([](std::uint32_t i) { return i * 256; }, 64),
                            {64, 64, 64, 16});
  CHECK(f.requests == 1);
  CHECK(f.sectors == 64);
  CHECK(f.efficiency({64, 64, 64, 16}) == Approx(4.0 / 64));
}

TEST_CASE("What is outside a buffer is counted and moves nothing") {
  const auto f = figures_of(buffer_site(), warp_of([](std::uint32_t i) {
                              return (1u << 20) - 64 + i * 4;  // the last 16 lie behind the end
                            }));
  CHECK(f.out_of_bounds == 16);
  CHECK(f.sectors == 2);
  CHECK(f.asked == 64);
  CHECK(f.efficiency(kShape) == Approx(1));
}

TEST_CASE("Banks") {
  const Site shared = buffer_site(4, Space::kShared);
  // Rows of 32 floats, read down a column: all in one bank.
  auto f = figures_of(shared, warp_of([](std::uint32_t i) { return i * 128; }));
  CHECK(f.worst_conflict == 32);
  CHECK(f.mean_conflict == Approx(32));
  // Rows of 33.
  f = figures_of(shared, warp_of([](std::uint32_t i) { return i * 132; }));
  CHECK(f.worst_conflict == 1);
  // Every second word: two in a bank.
  f = figures_of(shared, warp_of([](std::uint32_t i) { return i * 8; }));
  CHECK(f.worst_conflict == 2);
  // One word for all.
  f = figures_of(shared, warp_of([](std::uint32_t) { return 4u; }));
  CHECK(f.worst_conflict == 1);
  // Vectors of 16 bytes behind one another are four parts of eight invocations without a conflict.
  f = figures_of(buffer_site(16, Space::kShared), warp_of([](std::uint32_t i) { return i * 16; }));
  CHECK(f.worst_conflict == 1);
  // Halves: two neighbours share a word.
  f = figures_of(buffer_site(2, Space::kShared), warp_of([](std::uint32_t i) { return i * 2; }));
  CHECK(f.worst_conflict == 1);
}

TEST_CASE("Texels lie in tiles, and a linear filter asks for four") {
  Site image = buffer_site(0, Space::kImage);
  Extents extents;
  extents.images[0] = {64, 64, 1, 4, false};
  // A sector of 32 bytes is 4 x 2 texels: 32 texels of a row are 8 sectors, of which the other row
  // lies idle; 8 x 4 texels are 4 sectors.
  Trace row = warp_of([](std::uint32_t i) { return i; });
  CHECK(analyse({image}, row, extents, kShape).sites[0].sectors == 8);
  Trace block;
  for (std::uint32_t i = 0; i < 32; ++i) block.records.push_back({i << 16, 0, i % 8, i / 8});
  CHECK(analyse({image}, block, extents, kShape).sites[0].sectors == 4);
  // Outside.
  Trace out;
  out.records.push_back({0, 0, 64, 0});
  out.records.push_back({1 << 16, 0, 0, 64});
  CHECK(analyse({image}, out, extents, kShape).sites[0].out_of_bounds == 2);
  // Between four texels.
  Site sampled = buffer_site(0, Space::kSampled);
  extents.images[0].linear = true;
  Trace sample;
  const auto at = [](float v) { return std::bit_cast<std::uint32_t>(v / 64); };
  sample.records.push_back({0, 0, at(2.0f), at(2.0f)});  // texels 1 and 2 of each axis
  const auto f = analyse({sampled}, sample, extents, kShape).sites[0];
  CHECK(f.asked == 16);
  CHECK(f.sectors == 2);  // x 1 and 2 lie in one tile; rows 1 and 2 in two
}

TEST_CASE("Instructions of one line are one site, each with requests of its own") {
  Trace t = warp_of([](std::uint32_t i) { return i * 4; });
  for (std::uint32_t i = 0; i < 32; ++i) t.records.push_back({i << 16 | 1, 0, 4096 + i * 4, 0});
  Extents extents;
  extents.buffers[0] = 1 << 20;
  const Figures f = analyse({buffer_site(), buffer_site()}, t, extents, kShape);
  REQUIRE(f.sites.size() == 1);
  CHECK(f.sites[0].instructions == 2);
  CHECK(f.sites[0].requests == 2);
  CHECK(f.moved == 256);
  CHECK(f.distinct == 256);
}

std::vector<Advice> advice_of(const Site& site, const Trace& trace,
                              std::array<std::uint32_t, 3> local = {32, 1, 1}) {
  Extents extents;
  extents.buffers[0] = 1 << 20;
  return advise(analyse({site}, trace, extents, kShape), local);
}

TEST_CASE("Each pattern has its remedy, and a good one has none") {
  const Site buffer = buffer_site();
  CHECK(advice_of(buffer, warp_of([](std::uint32_t i) { return i * 4; })).empty());
  const auto rule = [&](const Site& site, const Trace& trace) {
    const auto all = advice_of(site, trace);
    REQUIRE(all.size() == 1);
    CHECK(all[0].fault);
    return std::string(all[0].rule);
  };
  CHECK(rule(buffer, warp_of([](std::uint32_t i) { return i * 4096; })) == "swap-index");
  CHECK(rule(buffer, warp_of([](std::uint32_t i) { return i * 12; })) == "structure-of-arrays");
  CHECK(rule(buffer, warp_of([](std::uint32_t i) { return i * i * 52 % 65536; })) ==
        "linear-index");
  CHECK(rule(buffer, warp_of([](std::uint32_t i) { return 4 + i * 4; }, 8)) == "align");
  CHECK(rule(buffer, warp_of([](std::uint32_t i) { return (1 << 20) + i * 4; })) == "in-bounds");
  CHECK(rule(buffer_site(4, Space::kShared), warp_of([](std::uint32_t i) { return i * 128; })) ==
        "pad-row");
  // One of eight is in bounds: the four that are left are nobody's neighbours.
  const auto holes = [](std::uint32_t i) { return i % 8 == 0 ? i * i * 52 : (1u << 20) + i * 4; };
  CHECK(rule(buffer, warp_of(holes)) == "in-bounds");
  // Two of three neighbours are in bounds, and in no order either.
  const auto gaps = [](std::uint32_t i) { return i % 3 == 2 ? 1u << 20 : i * i * 52 % 65536; };
  CHECK(figures_of(buffer, warp_of(gaps)).pattern == Pattern::kRandom);
  CHECK(figures_of(buffer, warp_of(gaps)).packing() < kLeastPacking);
  CHECK(rule(buffer, warp_of(gaps)) == "in-bounds");
  // Columns stay columns.
  const auto column =
      advice_of(buffer, warp_of([](std::uint32_t i) { return i < 30 ? i * 4096 : 1u << 20; }));
  REQUIRE(column.size() == 2);
  CHECK(column[0].rule == "in-bounds");
  CHECK(column[1].rule == "swap-index");
  // 120 bytes are 4 sectors of 30; with as many digits as the report's own figures.
  CHECK(column[1].text.find("13.3 % of the bytes moved are needed") == 0);
  const auto local = advice_of(buffer, warp_of([](std::uint32_t i) { return i * 4; }), {33, 1, 1});
  REQUIRE(local.size() == 1);
  CHECK(local[0].rule == "local-size");
}

}  // namespace
}  // namespace spirkiln::access
