// SPDX-License-Identifier: Apache-2.0
// Which backends a device has beside Vulkan. What Device points to.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "graph/backend.hpp"
#include "loader/device.hpp"

namespace spirkiln {

// The file names that libspirkiln-cpu is looked for by, in order. $SPIRKILN_CPU_LIBRARY replaces
// them, as $SPIRKILN_VULKAN_LIBRARY does Vulkan's. The first lies beside this library.
std::vector<std::string> cpu_library_names();

// Stays open until the process ends: OpenMP's threads run in it. Errors: kUnsupported naming every
// file that was tried and why it did not do.
Result<const CpuBackend*> open_cpu_backend();

struct Device::Backends {
  DeviceInfo info;       // of the CPU backend, where there is no Vulkan device
  bool fall_back = false;  // to the CPU for what the Vulkan device cannot take
  mutable std::atomic<bool> loss_told{false};  // that the device is lost and the CPU runs instead
};

// What "auto" takes as a wish for Vulkan: a device that is named; a form of its kernels, another
// table or validation, which all mean that nothing else may run in its place.
bool names_device(const DeviceOptions& options);
bool asks_for_kernels(const DeviceOptions& options);
bool asks_for_kernels(const GraphOptions& options);

// "auto", "vulkan" or "cpu". Errors: kInvalidArgument for another word, naming where it comes from.
Result<std::string> wanted_backend(const DeviceOptions& options);

}  // namespace spirkiln
