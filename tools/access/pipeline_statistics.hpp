// SPDX-License-Identifier: Apache-2.0
// What a driver says of a pipeline it made: registers, spills, instructions, in its own words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "run_kernel.hpp"

namespace spirkiln::access {

// Name and value of each statistic of the kernel as it is (request.words; a trace is none of it).
// Makes a device of its own, with VK_KHR_pipeline_executable_properties. Errors: kUnsupported where
// the driver has no such extension; kVulkan.
Result<std::vector<std::pair<std::string, std::string>>> pipeline_statistics(
    const Device& device, const RunRequest& request);

}  // namespace spirkiln::access
