// SPDX-License-Identifier: Apache-2.0
// A packed graph on a Vulkan device: plans by input shape, and their runs.
#pragma once

#include "graph/backend.hpp"

namespace spirkiln {

// `device` is one with Vulkan state.
Result<std::unique_ptr<GraphBackend>> create_vulkan_graph(const Device& device, const Model& model,
                                                          const GraphOptions& options);

// Whether an earlier call has lost the device (VK_ERROR_DEVICE_LOST), and what calls give since.
bool is_lost(const Device& device);
Error lost_error(const Device& device);

}  // namespace spirkiln
