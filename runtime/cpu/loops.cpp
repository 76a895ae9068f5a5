// SPDX-License-Identifier: Apache-2.0
#include "cpu/loops.hpp"

#include <exception>
#include <mutex>

namespace spirkiln::cpu {

std::vector<std::size_t> ranges_of(std::size_t count, std::size_t grain, std::size_t ranges) {
  std::vector<std::size_t> bounds = {0};
  const std::size_t grains = count / grain;
  for (std::size_t r = 1; r < ranges; ++r) {
    const std::size_t at = grains * r / ranges * grain;
    if (at > bounds.back()) bounds.push_back(at);
  }
  bounds.push_back(count);
  return bounds;
}

void parallel_ranges(
    const std::vector<std::size_t>& bounds,
    const std::function<void(std::size_t range, std::size_t begin, std::size_t end)>& f) {
  const std::size_t ranges = bounds.size() - 1;
  if (ranges == 1) return f(0, bounds[0], bounds[1]);
  // Nothing may be thrown out of a parallel region.
  std::exception_ptr thrown;
  std::mutex mutex;
#pragma omp parallel for num_threads(static_cast<int>(ranges)) schedule(static, 1)
  for (std::size_t r = 0; r < ranges; ++r) {
    try {
      f(r, bounds[r], bounds[r + 1]);
    } catch (...) {
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace spirkiln::cpu
