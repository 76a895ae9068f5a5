// SPDX-License-Identifier: Apache-2.0
#include "graph/arena.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace spirkiln {

Result<std::uint64_t> pack_arena(std::span<ArenaItem> items, std::uint64_t alignment) {
  std::vector<ArenaItem*> order;
  std::uint64_t sum = 0;
  for (ArenaItem& item : items) {
    if (item.bytes > std::numeric_limits<std::uint64_t>::max() / 2 - sum) {
      return Error{ErrorCode::kUnsupported, "the tensors of this shape overflow any memory"};
    }
    sum += item.bytes;
    order.push_back(&item);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const ArenaItem* a, const ArenaItem* b) { return a->bytes > b->bytes; });
  auto align = [&](std::uint64_t v) { return (v + alignment - 1) & ~(alignment - 1); };

  std::vector<const ArenaItem*> placed;  // by offset
  std::uint64_t total = 0;
  for (ArenaItem* item : order) {
    std::uint64_t cursor = 0, best = 0, best_gap = std::numeric_limits<std::uint64_t>::max();
    bool found = false;
    for (const ArenaItem* other : placed) {
      if (other->last < item->first || other->first > item->last) continue;
      if (other->offset >= cursor + item->bytes && other->offset - cursor < best_gap) {
        best = cursor;
        best_gap = other->offset - cursor;
        found = true;
      }
      cursor = std::max(cursor, align(other->offset + other->bytes));
    }
    item->offset = found ? best : cursor;
    total = std::max(total, item->offset + item->bytes);
    placed.insert(std::upper_bound(
                      placed.begin(), placed.end(), item,
                      [](const ArenaItem* a, const ArenaItem* b) { return a->offset < b->offset; }),
                  item);
  }
  return align(total);
}

}  // namespace spirkiln
