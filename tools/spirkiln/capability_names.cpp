// SPDX-License-Identifier: Apache-2.0
#include "capability_names.hpp"

#include <fmt/format.h>

#include <spirv/unified1/spirv.hpp>

#include "newer_spirv.hpp"

namespace spirkiln::gen {
namespace {

struct Name {
  std::uint32_t capability;
  std::string_view name;
};

constexpr Name kNames[] = {
    {spv::CapabilityMatrix, "Matrix"},
    {spv::CapabilityShader, "Shader"},
    {spv::CapabilityFloat16, "Float16"},
    {spv::CapabilityFloat64, "Float64"},
    {spv::CapabilityInt64, "Int64"},
    {spv::CapabilityInt16, "Int16"},
    {spv::CapabilityInt8, "Int8"},
    {spv::CapabilityStorageBuffer16BitAccess, "StorageBuffer16BitAccess"},
    {spv::CapabilityStorageUniform16, "StorageUniform16"},
    {spv::CapabilityStoragePushConstant16, "StoragePushConstant16"},
    {spv::CapabilityStorageBuffer8BitAccess, "StorageBuffer8BitAccess"},
    {spv::CapabilityUniformAndStorageBuffer8BitAccess, "UniformAndStorageBuffer8BitAccess"},
    {spv::CapabilityGroupNonUniform, "GroupNonUniform"},
    {spv::CapabilityGroupNonUniformVote, "GroupNonUniformVote"},
    {spv::CapabilityGroupNonUniformArithmetic, "GroupNonUniformArithmetic"},
    {spv::CapabilityGroupNonUniformBallot, "GroupNonUniformBallot"},
    {spv::CapabilityGroupNonUniformShuffle, "GroupNonUniformShuffle"},
    {spv::CapabilityGroupNonUniformShuffleRelative, "GroupNonUniformShuffleRelative"},
    {spv::CapabilityGroupNonUniformClustered, "GroupNonUniformClustered"},
    {spv::CapabilityGroupNonUniformQuad, "GroupNonUniformQuad"},
    {spv::CapabilityVulkanMemoryModel, "VulkanMemoryModel"},
    {spv::CapabilityImageQuery, "ImageQuery"},
    {spv::CapabilityImage1D, "Image1D"},
    {spv::CapabilitySampled1D, "Sampled1D"},
    {spv::CapabilityStorageImageReadWithoutFormat, "StorageImageReadWithoutFormat"},
    {spv::CapabilityStorageImageWriteWithoutFormat, "StorageImageWriteWithoutFormat"},
    {spv::CapabilityStorageImageExtendedFormats, "StorageImageExtendedFormats"},
    {kCapabilityBFloat16TypeKhr, "BFloat16TypeKHR"},
    {kCapabilityBFloat16DotProductKhr, "BFloat16DotProductKHR"},
    {kCapabilityBFloat16CooperativeMatrixKhr, "BFloat16CooperativeMatrixKHR"},
    {kCapabilityCooperativeMatrixKhr, "CooperativeMatrixKHR"},
    {spv::CapabilityInt64Atomics, "Int64Atomics"},
    {spv::CapabilityVulkanMemoryModelDeviceScope, "VulkanMemoryModelDeviceScope"},
    {spv::CapabilityVariablePointers, "VariablePointers"},
    {spv::CapabilityVariablePointersStorageBuffer, "VariablePointersStorageBuffer"},
    {spv::CapabilityStoragePushConstant8, "StoragePushConstant8"},
    {spv::CapabilityDotProduct, "DotProduct"},
    {spv::CapabilityDotProductInputAll, "DotProductInputAll"},
    {spv::CapabilityDotProductInput4x8Bit, "DotProductInput4x8Bit"},
    {spv::CapabilityDotProductInput4x8BitPacked, "DotProductInput4x8BitPacked"},
    {spv::CapabilityImageBuffer, "ImageBuffer"},
    {spv::CapabilitySampledBuffer, "SampledBuffer"},
};

}  // namespace

std::string capability_name(std::uint32_t capability) {
  for (const Name& n : kNames) {
    if (n.capability == capability) return std::string(n.name);
  }
  return fmt::format("{}", capability);
}

std::optional<std::uint32_t> capability_from_name(std::string_view name) {
  for (const Name& n : kNames) {
    if (n.name == name) return n.capability;
  }
  return std::nullopt;
}

std::vector<std::string_view> capability_names() {
  std::vector<std::string_view> names;
  for (const Name& n : kNames) names.push_back(n.name);
  return names;
}

}  // namespace spirkiln::gen
