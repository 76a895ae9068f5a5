// SPDX-License-Identifier: Apache-2.0
#include "graph/arena.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <random>
#include <vector>

using namespace spirkiln;

namespace {

void check_disjoint(const std::vector<ArenaItem>& items, std::uint64_t total,
                    std::uint64_t alignment) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const ArenaItem& a = items[i];
    REQUIRE(a.offset % alignment == 0);
    REQUIRE(a.offset + a.bytes <= total);
    for (std::size_t j = 0; j < i; ++j) {
      const ArenaItem& b = items[j];
      const bool same_time = a.first <= b.last && b.first <= a.last;
      const bool same_place = a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
      REQUIRE_FALSE((same_time && same_place));
    }
  }
}

}  // namespace

TEST_CASE("items that live together never overlap, whatever they are") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t alignment = 16u << (random() % 5);
    std::vector<ArenaItem> items(1 + random() % 60);
    std::uint64_t sum = 0;
    std::vector<std::uint64_t> live(128, 0);
    for (ArenaItem& item : items) {
      item.bytes = 1 + random() % 5000;
      item.first = random() % 100;
      item.last = std::min<std::uint32_t>(item.first + random() % 20, 127);
      const std::uint64_t rounded = (item.bytes + alignment - 1) / alignment * alignment;
      sum += rounded;
      for (std::uint32_t s = item.first; s <= item.last; ++s) live[s] += rounded;
    }
    const auto total = pack_arena(items, alignment);
    REQUIRE(total);
    check_disjoint(items, *total, alignment);
    CHECK(*total <= sum);
    // No packing is below the peak of what lives together; a greedy one stays near it.
    const std::uint64_t peak = *std::max_element(live.begin(), live.end());
    CHECK(*total + alignment >= peak);
    CHECK(*total <= peak * 2);
  }
}

TEST_CASE("a chain needs no more than its two largest neighbours") {
  std::vector<ArenaItem> items;
  for (std::uint32_t i = 0; i < 50; ++i) items.push_back({1024, i, i + 1, 0});
  const auto total = pack_arena(items, 64);
  REQUIRE(total);
  CHECK(*total == 2048);
}

TEST_CASE("nothing needs nothing, and what overflows is refused") {
  std::vector<ArenaItem> none;
  CHECK(*pack_arena(none, 16) == 0);
  std::vector<ArenaItem> huge(3);
  for (ArenaItem& item : huge) item.bytes = std::numeric_limits<std::uint64_t>::max() / 3;
  CHECK_FALSE(pack_arena(huge, 16));
}
