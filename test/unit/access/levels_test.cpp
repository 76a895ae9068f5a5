// SPDX-License-Identifier: Apache-2.0
// What each level of memory moves, for a trace that is made by hand; worked out on paper.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "levels.hpp"

namespace spirkiln::access {
namespace {

using Catch::Approx;

Site site_of(std::uint32_t line, Space space, Access access, std::uint32_t resource) {
  Site s;
  s.file = "k.comp";
  s.line = line;
  s.space = space;
  s.access = access;
  s.name = "data";
  s.resource = resource;
  s.bytes = 4;
  s.resource_bytes = 1 << 16;
  return s;
}

// Groups 0 and 1 of four, a warp each: they load the same 32 floats at two places, store a float a
// sector twice, read a column of workgroup memory, and a uniform block that does not count.
Figures two_groups() {
  const std::vector<Site> sites = {
      site_of(1, Space::kBuffer, Access::kLoad, 0), site_of(2, Space::kBuffer, Access::kLoad, 0),
      site_of(3, Space::kBuffer, Access::kStore, 1), site_of(4, Space::kShared, Access::kLoad, 9),
      site_of(5, Space::kUniform, Access::kLoad, 2)};
  Trace t;
  t.groups = 4;
  t.traced_groups = 2;
  for (std::uint32_t group = 0; group < 2; ++group) {
    for (std::uint32_t i = 0; i < 32; ++i) {
      t.records.push_back({0 | i << 16, group, i * 4, 0});
      t.records.push_back({1 | i << 16, group, i * 4, 0});
      for (int twice = 0; twice < 2; ++twice) {
        t.records.push_back({2 | i << 16, group, group * 1024 + i * 32, 0});
      }
      t.records.push_back({3 | i << 16, group, i * 128, 0});
      t.records.push_back({4 | i << 16, group, i * 4, 0});
    }
  }
  Extents extents;
  extents.buffers = {{0, 128}, {1, 1 << 20}, {2, 128}};
  return analyse(sites, t, extents, MemoryShape{32, 32, 128, 32});
}

Extents sizes() {
  Extents e;
  e.buffers = {{0, 128}, {1, 1 << 20}, {2, 128}};
  return e;
}

TEST_CASE("Lines, what groups load, what they store, and what a cache cannot keep") {
  const Figures f = two_groups();
  // A group: a line for each load; 32 sectors are 8 lines, stored twice.
  CHECK(f.line_steps == 2 * (1 + 1 + 2 * 8));
  CHECK(f.traffic.at(0).loaded == 2 * 4);  // four sectors a group, though asked for twice
  CHECK(f.traffic.at(0).stored == 0);
  CHECK(f.traffic.at(1).stored == 2 * 2 * 32);
  CHECK(f.traffic.at(1).touched == 2 * 32);
  CHECK_FALSE(f.traffic.contains(2));
  // Twice as many groups as were traced. 32 steps of the banks a group, each of 128 bytes.
  const Levels all = levels_of(f, sizes(), {1, 1, 1, 0});
  CHECK(all.lines == Approx(2 * (36 * 128 + 64 * 128)));
  CHECK(all.cache == Approx(2 * (8 + 128) * 32));
  // Without a cache each group's sectors: 8 of the buffer that is read, 64 of the other.
  CHECK(all.memory == Approx(2 * (8 + 64) * 32));
  // The first buffer has 128 bytes, which four groups touch; the other is touched once, 4096 bytes.
  // Of 3 * 128 that are touched again, half find the cache.
  const double whole = 128 + 4096;
  CHECK(levels_of(f, sizes(), {1, 1, 1, whole / 2}).memory == Approx(whole + 3 * 128 / 2.0));
  CHECK(levels_of(f, sizes(), {1, 1, 1, whole}).memory == 0);
}

TEST_CASE("The slowest level decides, and without rates nothing is said") {
  const Levels levels{64e3, 30e3, 20e3};
  const PredictedTime t = time_of(levels, {32, 10, 4, 1});  // 10^9 bytes a second
  CHECK(t.line_us == Approx(2));
  CHECK(t.cache_us == Approx(3));
  CHECK(t.memory_us == Approx(5));
  CHECK(t.us() == Approx(5));
  CHECK(time_of(levels, {}).us() == 0);
}

}  // namespace
}  // namespace spirkiln::access
