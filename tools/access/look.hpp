// SPDX-License-Identifier: Apache-2.0
// One dispatch from a compiled kernel to its report.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report.hpp"
#include "subject.hpp"

namespace spirkiln::access {

inline constexpr std::uint64_t kUsualBufferBytes = 4u << 20;
inline constexpr std::uint32_t kUsualImageSize = 256;

// Of --image.
struct ImageChoice {
  std::array<std::uint32_t, 3> size{kUsualImageSize, kUsualImageSize, 1};
  std::string texel;  // of texels(); empty: what the kernel says, else rgba32f
  bool linear = false;
};

struct DispatchRequest {
  std::array<std::uint32_t, 3> groups{1, 1, 1};
  std::optional<std::array<std::uint32_t, 3>> local;  // of a kernel whose local size is constants
  // A specialization constant or a member of the push constants, by name; "1,2,3" fills a vector.
  std::vector<std::pair<std::string, std::string>> values;
  // By number, as a plan has them; before `values`.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> specs;
  std::vector<std::uint32_t> push;
  std::map<std::uint32_t, std::uint64_t> buffers;  // bytes, by set << 16 | binding
  std::map<std::uint32_t, ImageChoice> images;
  std::uint32_t records = 1 << 22;
  std::uint32_t sample = 0;  // groups to trace, evenly spread; 0: all
  std::uint32_t timeout_s = 60;
  std::uint32_t seed = 1;
  bool statistics = false;  // registers and spills, as the driver says them
  std::size_t pictures = 0;  // requests of each site that are kept
};

// `rates` may be all 0. Errors: kInvalidArgument for a name that the kernel does not have (with the
// nearest) and for sizes that overflow; those of instrument() and run_kernel(). `hung`: as
// run_kernel().
Result<Report> look_at(const Subject& subject, const DispatchRequest& request,
                       const MemoryShape& shape, const MemoryRates& rates, const Device& device,
                       bool* hung);

}  // namespace spirkiln::access
