// SPDX-License-Identifier: Apache-2.0
// Vulkan's types, and the functions that this library calls as tables of pointers: there is no
// link-time dependency on a loader, and nothing that is not listed here can be called.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <string>
#include <vector>

#include "loader/newer_vulkan.hpp"
#include "spirkiln/result.hpp"

namespace spirkiln {

#define SPIRKILN_VK_GLOBAL(X)               \
  X(vkCreateInstance)                       \
  X(vkEnumerateInstanceExtensionProperties) \
  X(vkEnumerateInstanceLayerProperties)

#define SPIRKILN_VK_INSTANCE(X)               \
  X(vkDestroyInstance)                        \
  X(vkEnumeratePhysicalDevices)               \
  X(vkGetPhysicalDeviceProperties)            \
  X(vkGetPhysicalDeviceFeatures)              \
  X(vkGetPhysicalDeviceMemoryProperties)      \
  X(vkGetPhysicalDeviceImageFormatProperties) \
  X(vkGetPhysicalDeviceQueueFamilyProperties) \
  X(vkEnumerateDeviceExtensionProperties)     \
  X(vkCreateDevice)                           \
  X(vkGetDeviceProcAddr)

#define SPIRKILN_VK_DEVICE(X)       \
  X(vkDestroyDevice)                \
  X(vkGetDeviceQueue)               \
  X(vkDeviceWaitIdle)               \
  X(vkQueueWaitIdle)                \
  X(vkQueueSubmit)                  \
  X(vkCreateFence)                  \
  X(vkDestroyFence)                 \
  X(vkResetFences)                  \
  X(vkGetFenceStatus)               \
  X(vkWaitForFences)                \
  X(vkCreateBuffer)                 \
  X(vkDestroyBuffer)                \
  X(vkGetBufferMemoryRequirements)  \
  X(vkAllocateMemory)               \
  X(vkFreeMemory)                   \
  X(vkBindBufferMemory)             \
  X(vkCreateImage)                  \
  X(vkDestroyImage)                 \
  X(vkGetImageMemoryRequirements)   \
  X(vkBindImageMemory)              \
  X(vkCreateImageView)              \
  X(vkDestroyImageView)             \
  X(vkCreateSampler)                \
  X(vkDestroySampler)               \
  X(vkMapMemory)                    \
  X(vkUnmapMemory)                  \
  X(vkFlushMappedMemoryRanges)      \
  X(vkInvalidateMappedMemoryRanges) \
  X(vkCreateShaderModule)           \
  X(vkDestroyShaderModule)          \
  X(vkCreatePipelineCache)          \
  X(vkDestroyPipelineCache)         \
  X(vkGetPipelineCacheData)         \
  X(vkCreateComputePipelines)       \
  X(vkDestroyPipeline)              \
  X(vkCreatePipelineLayout)         \
  X(vkDestroyPipelineLayout)        \
  X(vkCreateDescriptorSetLayout)    \
  X(vkDestroyDescriptorSetLayout)   \
  X(vkCreateDescriptorPool)         \
  X(vkDestroyDescriptorPool)        \
  X(vkAllocateDescriptorSets)       \
  X(vkUpdateDescriptorSets)         \
  X(vkCreateCommandPool)            \
  X(vkDestroyCommandPool)           \
  X(vkAllocateCommandBuffers)       \
  X(vkBeginCommandBuffer)           \
  X(vkEndCommandBuffer)             \
  X(vkCmdBindPipeline)              \
  X(vkCmdBindDescriptorSets)        \
  X(vkCmdPushConstants)             \
  X(vkCmdDispatch)                  \
  X(vkCmdPipelineBarrier)           \
  X(vkCmdCopyBuffer)                \
  X(vkCmdCopyBufferToImage)         \
  X(vkCmdCopyImageToBuffer)         \
  X(vkCreateQueryPool)              \
  X(vkDestroyQueryPool)             \
  X(vkCmdResetQueryPool)            \
  X(vkCmdWriteTimestamp)            \
  X(vkGetQueryPoolResults)

struct GlobalFunctions {
  PFN_vkGetInstanceProcAddr vkGetInstanceProcAddr = nullptr;
  PFN_vkEnumerateInstanceVersion vkEnumerateInstanceVersion = nullptr;  // null on Vulkan 1.0
#define SPIRKILN_MEMBER(name) PFN_##name name = nullptr;
  SPIRKILN_VK_GLOBAL(SPIRKILN_MEMBER)
};

struct InstanceFunctions {
  SPIRKILN_VK_INSTANCE(SPIRKILN_MEMBER)
  // Null where neither Vulkan 1.1 nor the extension is there.
  PFN_vkGetPhysicalDeviceProperties2 vkGetPhysicalDeviceProperties2 = nullptr;
  PFN_vkGetPhysicalDeviceFeatures2 vkGetPhysicalDeviceFeatures2 = nullptr;
  // Null where no driver knows cooperative matrices.
  PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR
      vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR = nullptr;
  // Null without validation.
  PFN_vkCreateDebugUtilsMessengerEXT vkCreateDebugUtilsMessengerEXT = nullptr;
  PFN_vkDestroyDebugUtilsMessengerEXT vkDestroyDebugUtilsMessengerEXT = nullptr;
};

struct DeviceFunctions {
  SPIRKILN_VK_DEVICE(SPIRKILN_MEMBER)
#undef SPIRKILN_MEMBER
};

// A call that makes an object leaves the handle undefined where it fails; null it is from here on.
template <typename Handle>
VkResult made(VkResult code, Handle* handle) {
  if (code != VK_SUCCESS) *handle = VK_NULL_HANDLE;
  return code;
}

// "VK_ERROR_DEVICE_LOST" and so on.
std::string vk_result_name(VkResult code);
// kOutOfMemory for the two out-of-memory codes, else kVulkan; the text names `what` and the code.
Error vk_error(const std::string& what, VkResult code);

// What a vkEnumerate... call lists: `ask` gets the count and where to write. Asks again where the
// list has grown in between.
template <typename T, typename Ask>
Result<std::vector<T>> listed(const char* name, Ask&& ask) {
  std::vector<T> list;
  VkResult r = VK_INCOMPLETE;
  for (int tries = 0; r == VK_INCOMPLETE && tries < 8; ++tries) {
    std::uint32_t count = 0;
    list.clear();
    r = ask(&count, nullptr);
    if (r != VK_SUCCESS || count == 0) break;
    list.resize(count);
    r = ask(&count, list.data());
    if (r == VK_SUCCESS || r == VK_INCOMPLETE) list.resize(count);
  }
  if (r != VK_SUCCESS && r != VK_INCOMPLETE) return vk_error(name, r);
  return list;
}

}  // namespace spirkiln
