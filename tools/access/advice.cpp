// SPDX-License-Identifier: Apache-2.0
#include "advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace spirkiln::access {
namespace {

// Strides of structures: their members are read one after the other.
constexpr std::int64_t kMostStructureBytes = 64;
constexpr std::uint64_t kUniformBytes = 16384;  // of a uniform buffer that every device takes

bool outside_group(const SiteFigures& s) { return s.site.space != Space::kShared; }
bool is_buffer(const SiteFigures& s) { return s.site.space == Space::kBuffer; }

class Adviser {
 public:
  Adviser(const Figures& figures, const std::array<std::uint32_t, 3>& local)
      : figures_(figures), shape_(figures.shape), local_(local) {}

  std::vector<Advice> run() {
    check_local_size();
    for (std::size_t s = 0; s < figures_.sites.size(); ++s) {
      const SiteFigures& f = figures_.sites[s];
      if (f.out_of_bounds > 0) {
        add("in-bounds", s, true,
            fmt::format("{} of {} accesses are outside '{}': compare the index with the size "
                        "before, or give the buffer its whole size",
                        f.out_of_bounds, f.accesses, f.site.name));
      }
      if (f.site.space == Space::kShared) {
        check_banks(s, f);
      } else if (f.packing() < kLeastPacking) {
        check_pattern(s, f);
      } else {
        check_reuse(s, f);
      }
    }
    return std::move(out_);
  }

 private:
  void add(std::string_view rule, std::size_t site, bool fault, std::string text) {
    out_.push_back({rule, site, fault, std::move(text)});
  }

  void check_local_size() {
    const std::uint64_t size = std::uint64_t{local_[0]} * local_[1] * local_[2];
    if (size % shape_.warp == 0 || figures_.sites.empty()) return;
    add("local-size", figures_.sites.size(), true,
        fmt::format("{} invocations of a workgroup are no multiple of the warp of {}: the last "
                    "warp works with {} of them",
                    size, shape_.warp, size % shape_.warp));
  }

  void check_banks(std::size_t s, const SiteFigures& f) {
    if (f.mean_conflict <= kMostConflict) return;
    const std::int64_t stride = std::abs(f.stride);
    if (f.pattern == Pattern::kMatrix) {
      return add("pad-row", s, true,
                 fmt::format("{:.1f} steps a request in the mean, {} at worst: lines of the matrix "
                             "meet in the same bank. Pad them from {} bytes to an odd number of "
                             "16 bytes",
                             f.mean_conflict, f.worst_conflict, stride));
    }
    const bool rows = f.pattern == Pattern::kStrided && stride % 8 == 0;
    add("pad-row", s, true,
        fmt::format("{:.1f} steps a request in the mean, {} at worst: invocations meet in the same "
                    "bank. {}",
                    f.mean_conflict, f.worst_conflict,
                    rows ? fmt::format("Pad the row: rows of {} bytes and one element more lie "
                                       "in different banks",
                                       stride)
                         : std::string("Pad the row by one element, or let neighbours read "
                                       "neighbouring words")));
  }

  // Another site of the same kernel that walks memory in order: data pass from one order to
  // another.
  bool other_order(std::size_t site) const {
    for (std::size_t s = 0; s < figures_.sites.size(); ++s) {
      const SiteFigures& f = figures_.sites[s];
      if (s != site && outside_group(f) && f.pattern == Pattern::kSequential && f.requests > 0) {
        return true;
      }
    }
    return false;
  }

  void check_pattern(std::size_t s, const SiteFigures& f) {
    const std::string figure =
        fmt::format("{:.1f} % of the bytes moved are needed", f.packing() * 100);
    const std::int64_t stride = std::abs(f.stride);
    // Neighbours of what lies outside are missing, which looks like no order.
    const bool cut = f.out_of_bounds > 0;
    if (cut && (f.pattern == Pattern::kRandom || f.pattern == Pattern::kNone)) return;
    switch (f.pattern) {
      case Pattern::kMisaligned:
        return add(
            "align", s, true,
            figure + fmt::format(": neighbours are in order, but begin inside a sector of {} "
                                 "bytes. Align to 16 bytes at least, begin rows at a "
                                 "multiple of the sector, or pad the row",
                                 shape_.sector));
      case Pattern::kStrided:
        if (stride <= kMostStructureBytes) {
          return add("structure-of-arrays", s, true,
                     figure + fmt::format(": neighbours are {} bytes apart. A structure of arrays, "
                                          "or vectors of 16 bytes, puts what they read together "
                                          "side by side",
                                          stride));
        }
        if (other_order(s)) {
          return add("tile", s, true,
                     figure + fmt::format(": neighbours are {} bytes apart, where another access "
                                          "is in order. Tile through shared memory: read and write "
                                          "rows, turn the tile in between",
                                          stride));
        }
        return add("swap-index", s, true,
                   figure + fmt::format(": neighbours are {} bytes apart. Swap the index order, so "
                                        "that x walks along memory",
                                        stride));
      case Pattern::kMatrix:
        return add("tile", s, true,
                   figure + fmt::format(": lines of the matrix have {} bytes. Tile through shared "
                                        "memory: read whole rows, and load the matrices from "
                                        "there",
                                        f.site.matrix_line_bytes));
      case Pattern::kRandom:
        return add(f.site.space == Space::kBuffer ? "linear-index" : "texture", s, true,
                   figure +
                       ": neighbours have no order. A linear index makes them sequential; "
                       "where they are near in two dimensions, a texture keeps them together");
      default:
        return add("linear-index", s, true, figure + ": a linear index makes it sequential");
    }
  }

  void check_reuse(std::size_t s, const SiteFigures& f) {
    if (!is_buffer(f) || f.site.access != Access::kLoad || f.sectors == 0) return;
    const double again = f.again_share();
    if (again < 0.75) return;
    if (f.pattern == Pattern::kBroadcast) {
      const std::uint64_t bytes = (f.sectors - f.again) * shape_.sector;
      if (bytes > kUniformBytes) return;
      return add("uniform", s, false,
                 fmt::format("a warp reads one address, and {:.1f} % of it again: {} bytes fit a "
                             "uniform buffer",
                             again * 100, bytes));
    }
    add("tile", s, false,
        fmt::format("{:.1f} % of the sectors are read again: tile through shared memory, where "
                    "the cache does not hold them",
                    again * 100));
  }

  const Figures& figures_;
  const MemoryShape& shape_;
  std::array<std::uint32_t, 3> local_;
  std::vector<Advice> out_;
};

}  // namespace

std::vector<Advice> advise(const Figures& figures, const std::array<std::uint32_t, 3>& local_size) {
  return Adviser(figures, local_size).run();
}

}  // namespace spirkiln::access
