// SPDX-License-Identifier: Apache-2.0
// Runs a loop's bodies on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace spirkiln::gen {

// Calls `body` once for each of 0..count-1, on at most `threads` threads whose stacks are large
// enough for the compiler's recursion on degenerate expressions. What a body throws ends the
// loop and is thrown here.
void parallel_for(std::size_t count, unsigned threads,
                  const std::function<void(std::size_t)>& body);

// The processors that this process may use.
unsigned processor_count();

}  // namespace spirkiln::gen
