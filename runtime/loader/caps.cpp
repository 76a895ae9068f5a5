// SPDX-License-Identifier: Apache-2.0
// Reads a device's capabilities and limits into DeviceCaps.
#include "loader/caps.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "loader/features.hpp"
#include "loader/instance.hpp"

namespace spirkiln {
namespace {

std::string type_name(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "cpu";
    default:
      return "other";
  }
}

std::vector<MatrixShape> matrix_shapes(const InstanceFunctions& f, VkPhysicalDevice device) {
  const auto ask = f.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR;
  std::uint32_t count = 0;
  if (ask == nullptr || ask(device, &count, nullptr) != VK_SUCCESS) return {};
  VkCooperativeMatrixPropertiesKHR empty{};
  empty.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
  std::vector<VkCooperativeMatrixPropertiesKHR> all(count, empty);
  const VkResult r = ask(device, &count, all.data());
  if (r != VK_SUCCESS && r != VK_INCOMPLETE) return {};
  all.resize(count);
  std::vector<MatrixShape> shapes;
  for (const auto& p : all) {
    if (p.scope != VK_SCOPE_SUBGROUP_KHR) continue;
    const auto type = [](VkComponentTypeKHR t) { return static_cast<std::uint32_t>(t); };
    shapes.push_back({p.MSize, p.NSize, p.KSize, type(p.AType), type(p.BType), type(p.CType),
                      type(p.ResultType), p.saturatingAccumulation == VK_TRUE});
  }
  return shapes;
}

}  // namespace

DeviceCaps Instance::query(VkPhysicalDevice device) const {
  DeviceCaps caps;
  VkPhysicalDeviceProperties props{};
  f_.vkGetPhysicalDeviceProperties(device, &props);
  caps.name = props.deviceName;
  caps.type = type_name(props.deviceType);
  caps.vendor_id = props.vendorID;
  caps.device_id = props.deviceID;
  caps.driver_version = props.driverVersion;
  std::copy_n(props.pipelineCacheUUID, caps.pipeline_cache_uuid.size(),
              caps.pipeline_cache_uuid.begin());
  caps.api_version = std::min<std::uint32_t>(
      api_version_, VK_MAKE_API_VERSION(0, VK_API_VERSION_MAJOR(props.apiVersion),
                                        VK_API_VERSION_MINOR(props.apiVersion), 0));

  std::uint32_t count = 0;
  std::vector<VkExtensionProperties> extensions;
  if (f_.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) == VK_SUCCESS) {
    extensions.resize(count);
    const VkResult r =
        f_.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data());
    extensions.resize(r == VK_SUCCESS || r == VK_INCOMPLETE ? count : 0);
  }
  for (const auto& e : extensions) caps.extensions.emplace(e.extensionName);
  caps.spirv_version = newest_spirv(caps.api_version, caps.extensions.contains("VK_KHR_spirv_1_4"));

  if (f_.vkGetPhysicalDeviceFeatures2 != nullptr) {
    FeatureChain chain(caps.api_version, caps.extensions);
    f_.vkGetPhysicalDeviceFeatures2(device, &chain.base);
    chain.read(&caps);
  } else {
    FeatureChain chain(VK_API_VERSION_1_0, {});
    f_.vkGetPhysicalDeviceFeatures(device, &chain.base.features);
    chain.read(&caps);
  }

  if (caps.cooperative_matrix) caps.matrix_shapes = matrix_shapes(f_, device);

  const VkPhysicalDeviceLimits& l = props.limits;
  caps.max_push_bytes = l.maxPushConstantsSize;
  caps.max_shared_bytes = l.maxComputeSharedMemorySize;
  caps.max_invocations = l.maxComputeWorkGroupInvocations;
  for (int i = 0; i < 3; ++i) {
    caps.max_group_size[i] = l.maxComputeWorkGroupSize[i];
    caps.max_group_count[i] = l.maxComputeWorkGroupCount[i];
  }
  caps.max_storage_buffers =
      std::min(l.maxPerStageDescriptorStorageBuffers, l.maxDescriptorSetStorageBuffers);
  caps.max_uniform_buffers =
      std::min(l.maxPerStageDescriptorUniformBuffers, l.maxDescriptorSetUniformBuffers);
  caps.max_storage_images =
      std::min(l.maxPerStageDescriptorStorageImages, l.maxDescriptorSetStorageImages);
  caps.max_sampled_images =
      std::min(l.maxPerStageDescriptorSampledImages, l.maxDescriptorSetSampledImages);
  caps.max_bound_sets = l.maxBoundDescriptorSets;
  caps.max_storage_range = l.maxStorageBufferRange;
  caps.max_image_size = l.maxImageDimension2D;
  caps.storage_alignment = std::max<VkDeviceSize>(l.minStorageBufferOffsetAlignment, 16);

  char version[64];
  std::snprintf(version, sizeof version, "driver 0x%08x", props.driverVersion);
  caps.driver = version;
  if (f_.vkGetPhysicalDeviceProperties2 != nullptr) {
    VkPhysicalDeviceProperties2 props2{};
    props2.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    void** tail = &props2.pNext;
    auto link = [&](auto* part, VkStructureType type) {
      part->sType = type;
      *tail = part;
      tail = &part->pNext;
    };
    VkPhysicalDeviceSubgroupProperties subgroup{};
    VkPhysicalDeviceIDProperties id{};
    VkPhysicalDeviceDriverProperties driver{};
    if (caps.api_version >= VK_API_VERSION_1_1) {
      link(&subgroup, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
      link(&id, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
    }
    const bool has_driver = caps.api_version >= VK_API_VERSION_1_2 ||
                            caps.extensions.contains(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
    if (has_driver) link(&driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
    VkPhysicalDeviceMaintenance4Properties maintenance4{};
    if (caps.api_version >= VK_API_VERSION_1_3) {
      link(&maintenance4, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
    }
    f_.vkGetPhysicalDeviceProperties2(device, &props2);
    if (maintenance4.maxBufferSize != 0) caps.max_buffer_bytes = maintenance4.maxBufferSize;
    caps.subgroup_size = subgroup.subgroupSize;
    if ((subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0) {
      caps.subgroup_operations = subgroup.supportedOperations;
    }
    std::copy_n(id.deviceUUID, caps.device_uuid.size(), caps.device_uuid.begin());
    std::copy_n(id.driverUUID, caps.driver_uuid.size(), caps.driver_uuid.begin());
    if (has_driver && driver.driverName[0] != '\0') {
      caps.driver = std::string(driver.driverName) + " " + driver.driverInfo;
    }
  }

  VkPhysicalDeviceMemoryProperties memory{};
  f_.vkGetPhysicalDeviceMemoryProperties(device, &memory);
  caps.unified_memory = true;
  for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    const bool local = (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
    if (local) caps.device_local_bytes += memory.memoryHeaps[i].size;
    caps.unified_memory = caps.unified_memory && local;
  }
  return caps;
}

}  // namespace spirkiln
