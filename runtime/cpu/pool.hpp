// SPDX-License-Identifier: Apache-2.0
// The backend's threads: one set for the process, whatever the number of graphs and of threads that
// run them.
//
// They are not OpenMP's, which oneDNN brings: those spin, so that a step waits for a core that
// another process has; each thread of the caller's gets a set of its own; and a child of fork()
// hangs.
#pragma once

#include <cstddef>

namespace spirkiln::cpu {

// Calls task(argument, i, worker) once for each i in [0, tasks), on this thread (worker 0) and on
// at most `threads` - 1 others, and returns when all have returned. Which worker gets which i is
// open; no two calls of one worker overlap. Where the threads are busy with another call of this
// function, this thread does all of it. Tasks may not throw and may not call this function.
void run_tasks(std::size_t tasks, int threads,
               void (*task)(const void* argument, std::size_t i, int worker), const void* argument);

}  // namespace spirkiln::cpu
