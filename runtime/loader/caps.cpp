// SPDX-License-Identifier: Apache-2.0
// Reads a device's capabilities and limits into DeviceCaps.
#include "loader/caps.hpp"

#include <algorithm>
#include <cstdio>

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

Result<std::vector<MatrixShape>> matrix_shapes(const InstanceFunctions& f,
                                               VkPhysicalDevice device) {
  std::vector<MatrixShape> shapes;
  const auto ask = f.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR;
  if (ask == nullptr) return shapes;
  const auto all = listed<VkCooperativeMatrixPropertiesKHR>(
      "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
      [&](std::uint32_t* count, VkCooperativeMatrixPropertiesKHR* out) {
        for (std::uint32_t i = 0; out != nullptr && i < *count; ++i) {
          out[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
        }
        return ask(device, count, out);
      });
  if (!all) return all.error();
  for (const auto& p : *all) {
    if (p.scope != VK_SCOPE_SUBGROUP_KHR) continue;
    const auto type = [](VkComponentTypeKHR t) { return static_cast<std::uint32_t>(t); };
    shapes.push_back({p.MSize, p.NSize, p.KSize, type(p.AType), type(p.BType), type(p.CType),
                      type(p.ResultType), p.saturatingAccumulation == VK_TRUE});
  }
  return shapes;
}

Result<std::set<std::string, std::less<>>> extensions_of(const InstanceFunctions& f,
                                                         VkPhysicalDevice device) {
  const auto list = listed<VkExtensionProperties>(
      "vkEnumerateDeviceExtensionProperties",
      [&](std::uint32_t* count, VkExtensionProperties* out) {
        return f.vkEnumerateDeviceExtensionProperties(device, nullptr, count, out);
      });
  if (!list) return list.error();
  std::set<std::string, std::less<>> names;
  for (const auto& e : *list) names.emplace(e.extensionName);
  return names;
}

void read_limits(const VkPhysicalDeviceLimits& l, DeviceCaps* caps) {
  caps->max_push_bytes = l.maxPushConstantsSize;
  caps->max_shared_bytes = l.maxComputeSharedMemorySize;
  caps->max_invocations = l.maxComputeWorkGroupInvocations;
  for (int i = 0; i < 3; ++i) {
    caps->max_group_size[i] = l.maxComputeWorkGroupSize[i];
    caps->max_group_count[i] = l.maxComputeWorkGroupCount[i];
  }
  caps->max_storage_buffers =
      std::min(l.maxPerStageDescriptorStorageBuffers, l.maxDescriptorSetStorageBuffers);
  caps->max_uniform_buffers =
      std::min(l.maxPerStageDescriptorUniformBuffers, l.maxDescriptorSetUniformBuffers);
  caps->max_storage_images =
      std::min(l.maxPerStageDescriptorStorageImages, l.maxDescriptorSetStorageImages);
  caps->max_sampled_images =
      std::min(l.maxPerStageDescriptorSampledImages, l.maxDescriptorSetSampledImages);
  caps->max_bound_sets = l.maxBoundDescriptorSets;
  caps->max_storage_range = l.maxStorageBufferRange;
  caps->max_image_size = l.maxImageDimension2D;
  caps->storage_alignment = std::max<VkDeviceSize>(l.minStorageBufferOffsetAlignment, 16);
}

void read_float_controls(const VkPhysicalDeviceFloatControlsProperties& p, DeviceCaps* caps) {
  caps->float_controls = {{
      {p.shaderSignedZeroInfNanPreserveFloat16 == VK_TRUE, p.shaderDenormPreserveFloat16 == VK_TRUE,
       p.shaderDenormFlushToZeroFloat16 == VK_TRUE, p.shaderRoundingModeRTEFloat16 == VK_TRUE,
       p.shaderRoundingModeRTZFloat16 == VK_TRUE},
      {p.shaderSignedZeroInfNanPreserveFloat32 == VK_TRUE, p.shaderDenormPreserveFloat32 == VK_TRUE,
       p.shaderDenormFlushToZeroFloat32 == VK_TRUE, p.shaderRoundingModeRTEFloat32 == VK_TRUE,
       p.shaderRoundingModeRTZFloat32 == VK_TRUE},
      {p.shaderSignedZeroInfNanPreserveFloat64 == VK_TRUE, p.shaderDenormPreserveFloat64 == VK_TRUE,
       p.shaderDenormFlushToZeroFloat64 == VK_TRUE, p.shaderRoundingModeRTEFloat64 == VK_TRUE,
       p.shaderRoundingModeRTZFloat64 == VK_TRUE},
  }};
  caps->denorm_independence = static_cast<FloatIndependence>(p.denormBehaviorIndependence);
  caps->rounding_independence = static_cast<FloatIndependence>(p.roundingModeIndependence);
}

// What came after Vulkan 1.0: structures that the device's version or an extension of its brings.
void read_newer_properties(const InstanceFunctions& f, VkPhysicalDevice device, DeviceCaps* caps) {
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  void** tail = &properties.pNext;
  const auto link = [&](auto* part, VkStructureType type, std::uint32_t core,
                        std::string_view extension = {}) {
    if (caps->api_version < core && !caps->extensions.contains(extension)) return false;
    part->sType = type;
    *tail = part;
    tail = &part->pNext;
    return true;
  };
  VkPhysicalDeviceSubgroupProperties subgroup{};
  VkPhysicalDeviceIDProperties id{};
  VkPhysicalDeviceDriverProperties driver{};
  VkPhysicalDeviceFloatControlsProperties floats{};
  VkPhysicalDeviceSubgroupSizeControlProperties sizes{};
  VkPhysicalDeviceMaintenance4Properties maintenance4{};
  link(&subgroup, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES, VK_API_VERSION_1_1);
  link(&id, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES, VK_API_VERSION_1_1);
  link(&driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES, VK_API_VERSION_1_2,
       VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
  const bool has_floats = link(&floats, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES,
                               VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
  link(&sizes, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES,
       VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  link(&maintenance4, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES,
       VK_API_VERSION_1_3);
  f.vkGetPhysicalDeviceProperties2(device, &properties);

  if (maintenance4.maxBufferSize != 0) caps->max_buffer_bytes = maintenance4.maxBufferSize;
  caps->subgroup_size = subgroup.subgroupSize;
  if ((subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0) {
    caps->subgroup_operations = subgroup.supportedOperations;
  }
  caps->min_subgroup_size = sizes.minSubgroupSize;
  caps->max_subgroup_size = sizes.maxSubgroupSize;
  caps->max_group_subgroups = sizes.maxComputeWorkgroupSubgroups;
  caps->pins_subgroup_size = (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  if (has_floats) read_float_controls(floats, caps);
  std::copy_n(id.deviceUUID, caps->device_uuid.size(), caps->device_uuid.begin());
  std::copy_n(id.driverUUID, caps->driver_uuid.size(), caps->driver_uuid.begin());
  caps->driver_id = driver.driverID;
  if (driver.driverName[0] != '\0') {
    caps->driver = std::string(driver.driverName) + " " + driver.driverInfo;
  }
}

}  // namespace

void set_heaps(DeviceCaps* caps, std::vector<MemoryHeap> heaps) {
  caps->unified_memory = !heaps.empty();
  caps->device_local_bytes = 0;
  for (const MemoryHeap& heap : heaps) {
    if (heap.device_local) caps->device_local_bytes += heap.bytes;
    caps->unified_memory = caps->unified_memory && heap.device_local;
  }
  caps->heaps = std::move(heaps);
}

std::vector<std::uint32_t> pinned_subgroup_sizes(const DeviceCaps& caps) {
  std::vector<std::uint32_t> sizes;
  if (!caps.subgroup_size_control || !caps.pins_subgroup_size) return sizes;
  // Both ends are powers of two.
  for (std::uint64_t size = caps.min_subgroup_size; size != 0 && size <= caps.max_subgroup_size;
       size *= 2) {
    sizes.push_back(static_cast<std::uint32_t>(size));
  }
  return sizes;
}

Result<DeviceCaps> Instance::query(VkPhysicalDevice device) const {
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
  auto extensions = extensions_of(f_, device);
  if (!extensions) return std::move(extensions).error();
  caps.extensions = *std::move(extensions);
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
  if (caps.cooperative_matrix) {
    auto shapes = matrix_shapes(f_, device);
    if (!shapes) return std::move(shapes).error();
    caps.matrix_shapes = *std::move(shapes);
  }
  read_limits(props.limits, &caps);

  char version[64];
  std::snprintf(version, sizeof version, "driver 0x%08x", props.driverVersion);
  caps.driver = version;
  if (f_.vkGetPhysicalDeviceProperties2 != nullptr) read_newer_properties(f_, device, &caps);

  VkPhysicalDeviceMemoryProperties memory{};
  f_.vkGetPhysicalDeviceMemoryProperties(device, &memory);
  std::vector<MemoryHeap> heaps;
  for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryHeaps[i];
    heaps.push_back({heap.size, (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0});
  }
  set_heaps(&caps, std::move(heaps));
  return caps;
}

}  // namespace spirkiln
