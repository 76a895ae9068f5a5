// SPDX-License-Identifier: Apache-2.0
// The feature structures that caps are read from and a device is created with, in one chain.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "loader/caps.hpp"
#include "loader/vulkan.hpp"

namespace spirkiln {

class FeatureChain {
 public:
  // Links the structures that a device of this version with these extensions knows; with `wanted`
  // only those that hold one of its features, which are then set.
  FeatureChain(std::uint32_t api_version, const std::set<std::string, std::less<>>& extensions,
               const DeviceCaps* wanted = nullptr);
  // What a device was made with, for read().
  explicit FeatureChain(const VkDeviceCreateInfo& made_with);
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;

  VkPhysicalDeviceFeatures2 base{};
  // Extensions that the linked structures need on this version.
  const std::vector<const char*>& extensions() const { return extensions_; }

  // After vkGetPhysicalDeviceFeatures2.
  void read(DeviceCaps* caps) const;

 private:
  void write(const DeviceCaps& caps);
  void take(const VkPhysicalDeviceVulkan11Features& from);
  void take(const VkPhysicalDeviceVulkan12Features& from);
  void take(const VkPhysicalDeviceVulkan13Features& from);

  std::vector<const char*> extensions_;
  VkPhysicalDevice16BitStorageFeatures storage16_{};
  VkPhysicalDevice8BitStorageFeatures storage8_{};
  VkPhysicalDeviceShaderFloat16Int8Features float16_int8_{};
  VkPhysicalDeviceVariablePointersFeatures variable_pointers_{};
  VkPhysicalDeviceVulkanMemoryModelFeatures memory_model_{};
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot_product_{};
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR cooperative_matrix_{};
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_sizes_{};
};

}  // namespace spirkiln
