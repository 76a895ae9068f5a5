// SPDX-License-Identifier: Apache-2.0
// What compute::Buffer and compute::Image point to.
#pragma once

#include <memory>

#include "loader/memory.hpp"
#include "spirkiln/compute.hpp"

namespace spirkiln::compute {

using DeviceState = std::shared_ptr<spirkiln::Device::State>;

// The Vulkan side of a device. Errors: kUnsupported on the CPU backend, kInvalidArgument for a
// device that was moved from.
Result<DeviceState> vulkan_of(const Device& device);
// What every call on an empty handle gives.
Error never_made(const char* what);
VkPhysicalDeviceLimits limits_of(const spirkiln::Device::State& device);

struct Buffer::State {
  DeviceState device;
  spirkiln::Buffer memory;  // empty where the buffer is the caller's
  VkBuffer handle = VK_NULL_HANDLE;
  std::uint64_t bytes = 0;
};

struct Image::State {
  explicit State(DeviceState d) : device(std::move(d)) {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  DeviceState device;
  bool is_foreign = false;
  VkImage image = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkImageView view = VK_NULL_HANDLE;
  ImageShape shape;
};

// Texels times their size; nothing where the shape is none.
Result<std::uint64_t> bytes_of(const ImageShape& shape);
const char* name_of(ImageFormat format);
// Of a format that the kernel's own declaration (spv::ImageFormat) names; nothing for others.
std::optional<ImageFormat> format_from_spirv(std::uint32_t format);

}  // namespace spirkiln::compute
