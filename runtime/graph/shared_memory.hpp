// SPDX-License-Identifier: Apache-2.0
// Workgroup memory that grows with specialization constants: a table knows a module's at their
// defaults only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/pipelines.hpp"
#include "loader/caps.hpp"

namespace spirkiln {

// kUnsupported where the module, with these constants, needs more than the device has. What cannot
// be told from the words is let through. `kernel` begins the message.
Status check_shared_memory(std::span<const std::uint32_t> words,
                           const std::vector<SpecValue>& specs, const DeviceCaps& caps,
                           const std::string& kernel);

}  // namespace spirkiln
