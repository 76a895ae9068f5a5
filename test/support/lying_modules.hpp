// SPDX-License-Identifier: Apache-2.0
// Modules as a driver that lies would compile them: right but in one place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace spirkiln::test {

enum class Lie {
  kOneLane,  // one invocation of each workgroup (or of all) stores zeros
  kFirstLane,  // the same of the first one, for kernels in which no other stores
  kFlush,    // subnormals count as 0 where halves become floats or floats halves
};

// On which path through the module: where a specialization constant has a value.
struct LieWhere {
  static constexpr std::uint32_t kEverywhere = 0xffffffff;
  std::uint32_t spec_id = kEverywhere, value = 0;
};

// The words of a compute module with the lie in it, or nothing where there is nothing to lie about.
std::optional<std::vector<std::uint32_t>> lying(std::span<const std::uint32_t> words, Lie lie,
                                                LieWhere where = {});

}  // namespace spirkiln::test
