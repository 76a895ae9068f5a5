// SPDX-License-Identifier: Apache-2.0
// What a blob needs against what a device has.
#include <algorithm>
#include <array>

#include "table/select.hpp"

namespace spirkiln {
namespace {

using Caps = DeviceCaps;

struct CapabilityRule {
  std::uint32_t capability;  // spv::Capability
  const char* name;
  const char* feature;  // what Vulkan calls it
  bool (*has)(const Caps&);
};

bool yes(const Caps&) { return true; }
template <bool Caps::*Member>
bool flag(const Caps& c) {
  return c.*Member;
}
template <std::uint32_t Bit>
bool subgroup(const Caps& c) {
  return (c.subgroup_operations & Bit) != 0;
}

// Ascending. A capability that is not here is not supported, however harmless it may look.
constexpr CapabilityRule kCapabilities[] = {
    {0, "Matrix", "", yes},
    {1, "Shader", "", yes},
    {9, "Float16", "shaderFloat16", flag<&Caps::float16>},
    {10, "Float64", "shaderFloat64", flag<&Caps::float64>},
    {11, "Int64", "shaderInt64", flag<&Caps::int64>},
    {22, "Int16", "shaderInt16", flag<&Caps::int16>},
    {39, "Int8", "shaderInt8", flag<&Caps::int8>},
    {43, "Sampled1D", "", yes},
    {44, "Image1D", "", yes},
    {46, "SampledBuffer", "", yes},
    {47, "ImageBuffer", "", yes},
    {49, "StorageImageExtendedFormats", "shaderStorageImageExtendedFormats",
     flag<&Caps::image_extended_formats>},
    {50, "ImageQuery", "", yes},
    {55, "StorageImageReadWithoutFormat", "shaderStorageImageReadWithoutFormat",
     flag<&Caps::image_read_without_format>},
    {56, "StorageImageWriteWithoutFormat", "shaderStorageImageWriteWithoutFormat",
     flag<&Caps::image_write_without_format>},
    {61, "GroupNonUniform", "subgroup operations (basic)", subgroup<0x1>},
    {62, "GroupNonUniformVote", "subgroup operations (vote)", subgroup<0x2>},
    {63, "GroupNonUniformArithmetic", "subgroup operations (arithmetic)", subgroup<0x4>},
    {64, "GroupNonUniformBallot", "subgroup operations (ballot)", subgroup<0x8>},
    {65, "GroupNonUniformShuffle", "subgroup operations (shuffle)", subgroup<0x10>},
    {66, "GroupNonUniformShuffleRelative", "subgroup operations (shuffle relative)",
     subgroup<0x20>},
    {67, "GroupNonUniformClustered", "subgroup operations (clustered)", subgroup<0x40>},
    {68, "GroupNonUniformQuad", "subgroup operations (quad)", subgroup<0x80>},
    {4433, "StorageBuffer16BitAccess", "storageBuffer16BitAccess", flag<&Caps::storage16>},
    {4434, "UniformAndStorageBuffer16BitAccess", "uniformAndStorageBuffer16BitAccess",
     flag<&Caps::uniform_storage16>},
    {4435, "StoragePushConstant16", "storagePushConstant16", flag<&Caps::push_constant16>},
    {4441, "VariablePointersStorageBuffer", "variablePointersStorageBuffer",
     flag<&Caps::variable_pointers_storage>},
    {4442, "VariablePointers", "variablePointers", flag<&Caps::variable_pointers>},
    {4448, "StorageBuffer8BitAccess", "storageBuffer8BitAccess", flag<&Caps::storage8>},
    {4449, "UniformAndStorageBuffer8BitAccess", "uniformAndStorageBuffer8BitAccess",
     flag<&Caps::uniform_storage8>},
    {4450, "StoragePushConstant8", "storagePushConstant8", flag<&Caps::push_constant8>},
    {5345, "VulkanMemoryModel", "vulkanMemoryModel", flag<&Caps::vulkan_memory_model>},
    {6016, "DotProductInputAll", "shaderIntegerDotProduct", flag<&Caps::integer_dot_product>},
    {6017, "DotProductInput4x8Bit", "shaderIntegerDotProduct", flag<&Caps::integer_dot_product>},
    {6018, "DotProductInput4x8BitPacked", "shaderIntegerDotProduct",
     flag<&Caps::integer_dot_product>},
    {6019, "DotProduct", "shaderIntegerDotProduct", flag<&Caps::integer_dot_product>},
    {6022, "CooperativeMatrixKHR", "cooperativeMatrix", flag<&Caps::cooperative_matrix>},
};

struct ExtensionRule {
  std::string_view spirv;
  std::string_view vulkan;
  std::uint32_t core;  // version that has it without the extension, 0: none
};
constexpr ExtensionRule kExtensions[] = {
    {"SPV_KHR_16bit_storage", "VK_KHR_16bit_storage", make_version(1, 1)},
    {"SPV_KHR_8bit_storage", "VK_KHR_8bit_storage", make_version(1, 2)},
    {"SPV_KHR_storage_buffer_storage_class", "VK_KHR_storage_buffer_storage_class",
     make_version(1, 1)},
    {"SPV_KHR_variable_pointers", "VK_KHR_variable_pointers", make_version(1, 1)},
    {"SPV_KHR_vulkan_memory_model", "VK_KHR_vulkan_memory_model", make_version(1, 2)},
    {"SPV_KHR_integer_dot_product", "VK_KHR_shader_integer_dot_product", make_version(1, 3)},
    {"SPV_KHR_cooperative_matrix", "VK_KHR_cooperative_matrix", 0},
};

std::string version_text(std::uint32_t v) {
  return std::to_string(v >> 22) + "." + std::to_string((v >> 12) & 0x3ff);
}
std::string spirv_text(std::uint32_t v) {
  return std::to_string((v >> 16) & 0xff) + "." + std::to_string((v >> 8) & 0xff);
}

std::optional<std::string> too_many(const char* what, std::uint64_t needs, std::uint64_t has) {
  if (needs <= has) return std::nullopt;
  return std::to_string(needs) + " " + what + " (the device has " + std::to_string(has) + ")";
}

std::optional<std::string> missing_capability(std::uint32_t capability, const Caps& caps) {
  const auto* rule = std::lower_bound(
      std::begin(kCapabilities), std::end(kCapabilities), capability,
      [](const CapabilityRule& r, std::uint32_t value) { return r.capability < value; });
  if (rule == std::end(kCapabilities) || rule->capability != capability) {
    return "SPIR-V capability " + std::to_string(capability) + ", which this library does not know";
  }
  if (rule->has(caps)) return std::nullopt;
  return std::string(rule->feature) + " (SPIR-V capability " + rule->name + ")";
}

std::optional<std::string> missing_extension(std::string_view name, const Caps& caps) {
  for (const ExtensionRule& rule : kExtensions) {
    if (rule.spirv != name) continue;
    if (rule.core != 0 && caps.api_version >= rule.core) return std::nullopt;
    if (caps.extensions.contains(rule.vulkan)) return std::nullopt;
    return std::string(rule.vulkan) + " (for " + std::string(name) + ")";
  }
  return std::string(name) + ", which this library does not know";
}

}  // namespace

std::optional<std::string> missing_requirement(const Table& table, const table::BlobEntry& blob,
                                               const DeviceCaps& caps) {
  if (blob.vulkan_version > caps.api_version) {
    return "Vulkan " + version_text(blob.vulkan_version) + " (the device has " +
           version_text(caps.api_version) + ")";
  }
  if (blob.spirv_version > caps.spirv_version) {
    return "SPIR-V " + spirv_text(blob.spirv_version) + " (the device takes " +
           spirv_text(caps.spirv_version) + ")";
  }
  for (const std::uint32_t capability : table.capabilities_of(blob)) {
    if (auto m = missing_capability(capability, caps)) return m;
  }
  for (const std::uint32_t extension : table.extensions_of(blob)) {
    if (auto m = missing_extension(table.string(extension), caps)) return m;
  }
  if (auto m = too_many("bytes of push constants", blob.push_bytes, caps.max_push_bytes)) return m;
  if (auto m = too_many("bytes of shared memory", blob.shared_bytes, caps.max_shared_bytes)) {
    return m;
  }
  // Local sizes that are specialization constants are chosen for the device; fixed ones must fit.
  std::uint64_t invocations = 1;
  for (int i = 0; i < 3; ++i) {
    if (blob.local_size_id[i] != table::kNone) continue;
    invocations *= blob.local_size[i];
    static constexpr const char* kAxis[3] = {"x", "y", "z"};
    if (auto m = too_many((std::string("invocations along ") + kAxis[i]).c_str(),
                          blob.local_size[i], caps.max_group_size[i])) {
      return m;
    }
  }
  if (auto m = too_many("invocations in a workgroup", invocations, caps.max_invocations)) return m;
  std::array<std::uint32_t, 4> count{};
  std::uint32_t sets = 0;
  for (const table::BindingEntry& b : table.bindings_of(blob)) {
    ++count[static_cast<std::size_t>(b.kind)];
    sets = std::max<std::uint32_t>(sets, b.set + 1u);
  }
  if (auto m = too_many("storage buffers", count[0], caps.max_storage_buffers)) return m;
  if (auto m = too_many("uniform buffers", count[1], caps.max_uniform_buffers)) return m;
  if (auto m = too_many("storage images", count[2], caps.max_storage_images)) return m;
  if (auto m = too_many("sampled images", count[3], caps.max_sampled_images)) return m;
  if (auto m = too_many("descriptor sets", sets, caps.max_bound_sets)) return m;
  return std::nullopt;
}

}  // namespace spirkiln
