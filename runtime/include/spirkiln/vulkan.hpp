// SPDX-License-Identifier: Apache-2.0
// Kernels and graphs on the caller's own Vulkan device, kernels in its own command buffers. Needs
// the Vulkan headers; spirkiln.hpp and compute.hpp do not.
//
// What the caller gives stays the caller's: nothing of it is destroyed here, and all of it must
// live until everything that was made of the device here is gone (Device, Graph, Kernel, Buffer,
// Image, Sequence), which must happen before the VkDevice is destroyed. Where a kernel's proof did
// not end (an error says so), objects that were made here stay on the VkDevice, since work that may
// still run uses them: it cannot be destroyed any more.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <functional>

#include "spirkiln/compute.hpp"

namespace spirkiln {

struct ExternalDevice {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  VkInstance instance = VK_NULL_HANDLE;
  // As in the VkApplicationInfo that the instance was made with: nothing newer is used.
  std::uint32_t api_version = VK_API_VERSION_1_0;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  // What `device` was made with: its extensions and the chain of its features decide which kernels
  // may run. Read during the call only.
  const VkDeviceCreateInfo* made_with = nullptr;
  // A queue that was made with the device and takes compute work.
  std::uint32_t queue_family = 0, queue_index = 0;
  // Called around each use of that queue (a run of a graph or a sequence, a copy from or to device
  // memory, the making of an image), on the thread that does it. May both be empty where the caller
  // does not use the queue from another thread at the same time.
  std::function<void()> lock_queue, unlock_queue;
  bool no_cache = false;  // as in DeviceOptions
  MessageCallback message;
};

// For Graph and for everything of compute.hpp. Errors: kInvalidArgument for a handle that is null
// or a queue that the device was not made with; kUnsupported where the queue takes no compute work
// or a function is missing; kVulkan.
SPIRKILN_API Result<Device> open_external_device(const ExternalDevice& external);

namespace compute {

// A buffer of the caller's, of the same VkDevice; made with the usage STORAGE_BUFFER (or
// UNIFORM_BUFFER, for such a binding) and `bytes` long. write() and read() are refused.
SPIRKILN_API Result<Buffer> wrap(const Device& device, VkBuffer buffer, std::uint64_t bytes);

// An image of the caller's with a view of all of it, in the layout GENERAL whenever a kernel uses
// it; made with the usage STORAGE or SAMPLED, as it is bound. write() and read() are refused.
SPIRKILN_API Result<Image> wrap(const Device& device, VkImage image, VkImageView view,
                                const ImageShape& shape);

// Records the dispatches and the barriers between them into a command buffer in the recording
// state, outside a render pass, of a family that takes compute work. Nothing is submitted. Barriers
// before the first dispatch and behind the last are the caller's: kernels read and write in the
// stage COMPUTE_SHADER, by SHADER_READ and SHADER_WRITE. The compute pipeline, its descriptor sets
// and its push constants are bound to something else afterwards. The sequence must live until the
// command buffer has run for the last time; it may be recorded several times.
SPIRKILN_API Status record(Sequence& sequence, VkCommandBuffer commands);

}  // namespace compute
}  // namespace spirkiln
