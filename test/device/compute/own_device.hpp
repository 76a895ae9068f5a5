// SPDX-License-Identifier: Apache-2.0
// A Vulkan device as an application makes it, without this library: through the loader's own
// functions, with the validation layer where it is there.
#pragma once

#include <vulkan/vulkan.h>

#include <memory>
#include <vector>

#include "spirkiln/vulkan.hpp"

namespace spirkiln::test {

struct OwnDevice {
  // 1.0 or newer. Features: none but those that are named.
  struct Wish {
    std::uint32_t api_version = VK_API_VERSION_1_1;
    bool storage16 = false, float16 = false;
  };
  static std::unique_ptr<OwnDevice> make(const Wish& wish);
  OwnDevice() = default;
  ~OwnDevice();
  OwnDevice(const OwnDevice&) = delete;
  OwnDevice& operator=(const OwnDevice&) = delete;

  ExternalDevice external() const;
  template <typename F>
  F find(const char* name) const {
    return reinterpret_cast<F>(get_instance_proc_addr(instance, name));
  }

  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  VkInstance instance = VK_NULL_HANDLE;
  std::uint32_t api_version = 0;
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  // What the device was made with.
  VkDeviceCreateInfo info{};
  float priority = 1.0f;
  VkDeviceQueueCreateInfo queue_info{};
  VkPhysicalDeviceFeatures2 features{};
  VkPhysicalDevice16BitStorageFeatures storage16{};
  VkPhysicalDeviceShaderFloat16Int8Features float16{};
  std::vector<const char*> extensions;
};

}  // namespace spirkiln::test
