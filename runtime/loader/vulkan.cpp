// SPDX-License-Identifier: Apache-2.0
#include "loader/vulkan.hpp"

namespace spirkiln {

std::string vk_result_name(VkResult code) {
  switch (code) {
#define SPIRKILN_NAME(x) \
  case x:                \
    return #x;
    SPIRKILN_NAME(VK_SUCCESS)
    SPIRKILN_NAME(VK_NOT_READY)
    SPIRKILN_NAME(VK_TIMEOUT)
    SPIRKILN_NAME(VK_INCOMPLETE)
    SPIRKILN_NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
    SPIRKILN_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    SPIRKILN_NAME(VK_ERROR_INITIALIZATION_FAILED)
    SPIRKILN_NAME(VK_ERROR_DEVICE_LOST)
    SPIRKILN_NAME(VK_ERROR_MEMORY_MAP_FAILED)
    SPIRKILN_NAME(VK_ERROR_LAYER_NOT_PRESENT)
    SPIRKILN_NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
    SPIRKILN_NAME(VK_ERROR_FEATURE_NOT_PRESENT)
    SPIRKILN_NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
    SPIRKILN_NAME(VK_ERROR_TOO_MANY_OBJECTS)
    SPIRKILN_NAME(VK_ERROR_FRAGMENTED_POOL)
    SPIRKILN_NAME(VK_ERROR_UNKNOWN)
    SPIRKILN_NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
    SPIRKILN_NAME(VK_ERROR_INVALID_SHADER_NV)
#undef SPIRKILN_NAME
    default:
      return "VkResult " + std::to_string(static_cast<int>(code));
  }
}

Error vk_error(const std::string& what, VkResult code) {
  const bool memory = code == VK_ERROR_OUT_OF_HOST_MEMORY || code == VK_ERROR_OUT_OF_DEVICE_MEMORY;
  return Error{memory ? ErrorCode::kOutOfMemory : ErrorCode::kVulkan,
               what + " failed: " + vk_result_name(code)};
}

}  // namespace spirkiln
