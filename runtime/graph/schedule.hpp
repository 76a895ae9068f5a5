// SPDX-License-Identifier: Apache-2.0
// Puts steps that do not depend on each other side by side.
#pragma once

#include "graph/program.hpp"

namespace spirkiln {

// The wave of each step: 0 for one that depends on nothing, else one more than the latest that it
// depends on (it reads what that one writes, or writes what that one reads or writes).
std::vector<std::uint32_t> dependency_waves(const Program& program);

// Orders the steps by wave and keeps the order within each. Gives the waves in the new order.
std::vector<std::uint32_t> order_by_wave(Program* program);

}  // namespace spirkiln
