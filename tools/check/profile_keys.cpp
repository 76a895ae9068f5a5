// SPDX-License-Identifier: Apache-2.0
#include "profile_keys.hpp"

#include <vector>

#include "loader/driver_names.hpp"

namespace spirkiln::check {
namespace {

using C = DeviceCaps;
constexpr std::uint32_t k11 = make_version(1, 1);
constexpr std::uint32_t k12 = make_version(1, 2);
constexpr std::uint32_t k13 = make_version(1, 3);

constexpr FeatureKey kFeatures[] = {
    {"shaderInt16", &C::int16},
    {"shaderInt64", &C::int64},
    {"shaderFloat64", &C::float64},
    {"shaderStorageImageExtendedFormats", &C::image_extended_formats},
    {"shaderStorageImageReadWithoutFormat", &C::image_read_without_format},
    {"shaderStorageImageWriteWithoutFormat", &C::image_write_without_format},
    {"storageBuffer16BitAccess", &C::storage16, k11, "VK_KHR_16bit_storage"},
    {"uniformAndStorageBuffer16BitAccess", &C::uniform_storage16, k11, "VK_KHR_16bit_storage"},
    {"storagePushConstant16", &C::push_constant16, k11, "VK_KHR_16bit_storage"},
    {"variablePointersStorageBuffer", &C::variable_pointers_storage, k11,
     "VK_KHR_variable_pointers"},
    {"variablePointers", &C::variable_pointers, k11, "VK_KHR_variable_pointers"},
    {"storageBuffer8BitAccess", &C::storage8, k12, "VK_KHR_8bit_storage"},
    {"uniformAndStorageBuffer8BitAccess", &C::uniform_storage8, k12, "VK_KHR_8bit_storage"},
    {"storagePushConstant8", &C::push_constant8, k12, "VK_KHR_8bit_storage"},
    {"shaderFloat16", &C::float16, k12, "VK_KHR_shader_float16_int8"},
    {"shaderInt8", &C::int8, k12, "VK_KHR_shader_float16_int8"},
    {"vulkanMemoryModel", &C::vulkan_memory_model, k12, "VK_KHR_vulkan_memory_model"},
    {"vulkanMemoryModelDeviceScope", &C::vulkan_memory_model_device_scope, k12,
     "VK_KHR_vulkan_memory_model"},
    {"shaderIntegerDotProduct", &C::integer_dot_product, k13, "VK_KHR_shader_integer_dot_product"},
    {"cooperativeMatrix", &C::cooperative_matrix, 0, "VK_KHR_cooperative_matrix"},
    {"subgroupSizeControl", &C::subgroup_size_control, k13, "VK_EXT_subgroup_size_control"},
    {"computeFullSubgroups", &C::full_subgroups, k13, "VK_EXT_subgroup_size_control"},
};

constexpr LimitKey u32(std::string_view name, std::uint64_t guaranteed,
                       std::uint32_t DeviceCaps::* member, std::string_view partner = {}) {
  LimitKey key{name, guaranteed};
  key.u32 = member;
  key.partner = partner;
  return key;
}
constexpr LimitKey u64(std::string_view name, std::uint64_t guaranteed,
                       std::uint64_t DeviceCaps::* member,
                       std::uint32_t core = make_version(1, 0)) {
  LimitKey key{name, guaranteed};
  key.u64 = member;
  key.core = core;
  return key;
}
constexpr LimitKey triple(std::string_view name, std::uint64_t guaranteed,
                          std::uint64_t guaranteed_z,
                          std::array<std::uint32_t, 3> DeviceCaps::* member) {
  LimitKey key{name, guaranteed, guaranteed_z};
  key.triple = member;
  return key;
}
constexpr LimitKey alignment(std::string_view name, std::uint64_t guaranteed,
                             std::uint64_t DeviceCaps::* member) {
  LimitKey key = u64(name, guaranteed, member);
  key.alignment = true;
  return key;
}

// Guarantees: table "Required Limits" of the Vulkan specification. Those of a descriptor set are a
// stage's times the stages that the device has: at least vertex, fragment and compute.
constexpr LimitKey kLimits[] = {
    u64("maxStorageBufferRange", 1u << 27, &C::max_storage_range),
    u32("maxPushConstantsSize", 128, &C::max_push_bytes),
    u32("maxBoundDescriptorSets", 4, &C::max_bound_sets),
    u32("maxPerStageDescriptorStorageBuffers", 4, &C::max_storage_buffers,
        "maxDescriptorSetStorageBuffers"),
    u32("maxDescriptorSetStorageBuffers", 12, &C::max_storage_buffers,
        "maxPerStageDescriptorStorageBuffers"),
    u32("maxPerStageDescriptorUniformBuffers", 12, &C::max_uniform_buffers,
        "maxDescriptorSetUniformBuffers"),
    u32("maxDescriptorSetUniformBuffers", 36, &C::max_uniform_buffers,
        "maxPerStageDescriptorUniformBuffers"),
    u32("maxPerStageDescriptorStorageImages", 4, &C::max_storage_images,
        "maxDescriptorSetStorageImages"),
    u32("maxDescriptorSetStorageImages", 12, &C::max_storage_images,
        "maxPerStageDescriptorStorageImages"),
    u32("maxPerStageDescriptorSampledImages", 16, &C::max_sampled_images,
        "maxDescriptorSetSampledImages"),
    u32("maxDescriptorSetSampledImages", 48, &C::max_sampled_images,
        "maxPerStageDescriptorSampledImages"),
    u32("maxImageDimension2D", 4096, &C::max_image_size),
    u32("maxComputeSharedMemorySize", 16384, &C::max_shared_bytes),
    triple("maxComputeWorkGroupCount", 65535, 65535, &C::max_group_count),
    u32("maxComputeWorkGroupInvocations", 128, &C::max_invocations),
    triple("maxComputeWorkGroupSize", 128, 64, &C::max_group_size),
    alignment("minStorageBufferOffsetAlignment", 256, &C::storage_alignment),
    u64("maxBufferSize", 1u << 30, &C::max_buffer_bytes, k13),
};

constexpr SubgroupOperation kOperations[] = {
    {"BASIC", 0x1},
    {"VOTE", 0x2},
    {"ARITHMETIC", 0x4},
    {"BALLOT", 0x8},
    {"SHUFFLE", 0x10},
    {"SHUFFLE_RELATIVE", 0x20},
    {"CLUSTERED", 0x40},
    {"QUAD", 0x80},
    {"PARTITIONED_NV", 0x100},
    {"ROTATE", 0x200},
    {"ROTATE_CLUSTERED", 0x400},
};

constexpr FloatControlKey kFloatControls[] = {
    {"shaderSignedZeroInfNanPreserveFloat", &FloatControls::signed_zero_inf_nan_preserve},
    {"shaderDenormPreserveFloat", &FloatControls::denorm_preserve},
    {"shaderDenormFlushToZeroFloat", &FloatControls::denorm_flush_to_zero},
    {"shaderRoundingModeRTEFloat", &FloatControls::rounding_rte},
    {"shaderRoundingModeRTZFloat", &FloatControls::rounding_rtz},
};

// Of the runtime's list.
std::vector<ValueName> driver_values() {
  std::vector<ValueName> values;
  for (const DriverName& d : kDriverNames) values.push_back({d.name, d.value});
  return values;
}

constexpr ValueName kIndependences[] = {
    {"32_BIT_ONLY", static_cast<std::uint32_t>(FloatIndependence::kFloat32Only)},
    {"ALL", static_cast<std::uint32_t>(FloatIndependence::kAll)},
    {"NONE", static_cast<std::uint32_t>(FloatIndependence::kNone)},
};

constexpr ValueName kComponentTypes[] = {
    {"FLOAT16", kMatrixHalf},
    {"FLOAT32", kMatrixFloat},
    {"FLOAT64", 2},
    {"SINT8", 3},
    {"SINT16", 4},
    {"SINT32", 5},
    {"SINT64", 6},
    {"UINT8", 7},
    {"UINT16", 8},
    {"UINT32", 9},
    {"UINT64", 10},
    {"BFLOAT16", 1000141000},
    {"FLOAT8_E4M3_EXT", 1000491002},
    {"FLOAT8_E5M2_EXT", 1000491003},
};

constexpr MatrixKey kMatrixKeys[] = {
    {"MSize", &MatrixShape::m, false},          {"NSize", &MatrixShape::n, false},
    {"KSize", &MatrixShape::k, false},          {"AType", &MatrixShape::a, true},
    {"BType", &MatrixShape::b, true},           {"CType", &MatrixShape::c, true},
    {"ResultType", &MatrixShape::result, true},
};

constexpr DeviceTypeName kTypes[] = {
    {"OTHER", "other"},
    {"INTEGRATED_GPU", "integrated"},
    {"DISCRETE_GPU", "discrete"},
    {"VIRTUAL_GPU", "virtual"},
    {"CPU", "cpu"},
};

}  // namespace

std::span<const FeatureKey> feature_keys() { return kFeatures; }
std::span<const LimitKey> limit_keys() { return kLimits; }
std::span<const SubgroupOperation> subgroup_operations() { return kOperations; }
std::span<const FloatControlKey> float_control_keys() { return kFloatControls; }
std::span<const ValueName> driver_ids() {
  static const std::vector<ValueName> values = driver_values();
  return values;
}
std::span<const ValueName> independences() { return kIndependences; }
std::span<const ValueName> component_types() { return kComponentTypes; }
std::span<const MatrixKey> matrix_keys() { return kMatrixKeys; }
std::span<const DeviceTypeName> device_types() { return kTypes; }

}  // namespace spirkiln::check
