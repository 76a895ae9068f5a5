// SPDX-License-Identifier: Apache-2.0
// What the steps of a program are and how long each took, for people and programs that look for
// time.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/program.hpp"
#include "spirkiln/spirkiln.hpp"

namespace spirkiln {

// One entry a step, in order. `ms` has a time for each step, in milliseconds, or is shorter: times
// that are missing are 0.
std::vector<StepTime> step_times(const Table& table, const Program& program,
                                 std::span<const double> ms);

// The line that $SPIRKILN_PROFILE asks for; `step` is what step_times says of the program's.
std::string profile_line(const Program& program, const Step& step, const StepTime& time);

}  // namespace spirkiln
