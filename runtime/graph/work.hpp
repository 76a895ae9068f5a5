// SPDX-License-Identifier: Apache-2.0
// How much a step has to do, and where a program is cut so that no submission takes too long: a
// watchdog (Windows': 2 s) ends what does not come back.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "graph/program.hpp"

namespace spirkiln {

// Multiply-adds and bytes moved, together. An estimate: what a kernel does is not in its program.
double step_work(const Program& program, const Step& step);

// Work of a millisecond on a device of which nothing is known; a slow phone's.
inline constexpr double kSlowWorkPerMs = 1e7;

// The steps with which submissions begin, the first of them 0, each with at most `limit` of work
// or of a single step. One submission where `limit` is 0.
std::vector<std::size_t> submission_begins(std::span<const double> work, double limit);

}  // namespace spirkiln
