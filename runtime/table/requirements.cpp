// SPDX-License-Identifier: Apache-2.0
// What a blob needs against what a device has.
#include "table/requirements.hpp"

#include <algorithm>
#include <array>

#include "table/select.hpp"

namespace spirkiln {
namespace {

using Caps = DeviceCaps;

// A capability is there when `member` is set or one of the `subgroup` operations is offered; where
// both are empty, every device has it.
struct CapabilityRule {
  std::uint32_t capability;  // spv::Capability
  const char* name;
  const char* feature = "";  // what Vulkan calls it
  bool Caps::* member = nullptr;
  std::uint32_t subgroup = 0;  // VkSubgroupFeatureFlagBits

  bool met(const Caps& caps) const {
    if (member != nullptr) return caps.*member;
    return subgroup == 0 || (caps.subgroup_operations & subgroup) != 0;
  }
};

// Ascending. A capability that is not here is not supported, however harmless it may look.
constexpr CapabilityRule kCapabilities[] = {
    {0, "Matrix"},
    {1, "Shader"},
    {9, "Float16", "shaderFloat16", &Caps::float16},
    {10, "Float64", "shaderFloat64", &Caps::float64},
    {11, "Int64", "shaderInt64", &Caps::int64},
    {22, "Int16", "shaderInt16", &Caps::int16},
    {39, "Int8", "shaderInt8", &Caps::int8},
    {43, "Sampled1D"},
    {44, "Image1D"},
    {46, "SampledBuffer"},
    {47, "ImageBuffer"},
    {49, "StorageImageExtendedFormats", "shaderStorageImageExtendedFormats",
     &Caps::image_extended_formats},
    {50, "ImageQuery"},
    {55, "StorageImageReadWithoutFormat", "shaderStorageImageReadWithoutFormat",
     &Caps::image_read_without_format},
    {56, "StorageImageWriteWithoutFormat", "shaderStorageImageWriteWithoutFormat",
     &Caps::image_write_without_format},
    {61, "GroupNonUniform", "subgroup operations (basic)", nullptr, 0x1},
    {62, "GroupNonUniformVote", "subgroup operations (vote)", nullptr, 0x2},
    {63, "GroupNonUniformArithmetic", "subgroup operations (arithmetic)", nullptr, 0x4},
    {64, "GroupNonUniformBallot", "subgroup operations (ballot)", nullptr, 0x8},
    {65, "GroupNonUniformShuffle", "subgroup operations (shuffle)", nullptr, 0x10},
    {66, "GroupNonUniformShuffleRelative", "subgroup operations (shuffle relative)", nullptr, 0x20},
    {67, "GroupNonUniformClustered", "subgroup operations (clustered)", nullptr, 0x40},
    {68, "GroupNonUniformQuad", "subgroup operations (quad)", nullptr, 0x80},
    {4433, "StorageBuffer16BitAccess", "storageBuffer16BitAccess", &Caps::storage16},
    {4434, "UniformAndStorageBuffer16BitAccess", "uniformAndStorageBuffer16BitAccess",
     &Caps::uniform_storage16},
    {4435, "StoragePushConstant16", "storagePushConstant16", &Caps::push_constant16},
    {4441, "VariablePointersStorageBuffer", "variablePointersStorageBuffer",
     &Caps::variable_pointers_storage},
    {4442, "VariablePointers", "variablePointers", &Caps::variable_pointers},
    {4448, "StorageBuffer8BitAccess", "storageBuffer8BitAccess", &Caps::storage8},
    {4449, "UniformAndStorageBuffer8BitAccess", "uniformAndStorageBuffer8BitAccess",
     &Caps::uniform_storage8},
    {4450, "StoragePushConstant8", "storagePushConstant8", &Caps::push_constant8},
    {5345, "VulkanMemoryModel", "vulkanMemoryModel", &Caps::vulkan_memory_model},
    {6016, "DotProductInputAll", "shaderIntegerDotProduct", &Caps::integer_dot_product},
    {6017, "DotProductInput4x8Bit", "shaderIntegerDotProduct", &Caps::integer_dot_product},
    {6018, "DotProductInput4x8BitPacked", "shaderIntegerDotProduct", &Caps::integer_dot_product},
    {6019, "DotProduct", "shaderIntegerDotProduct", &Caps::integer_dot_product},
    {6022, "CooperativeMatrixKHR", "cooperativeMatrix", &Caps::cooperative_matrix},
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

const CapabilityRule* rule_of(std::uint32_t capability) {
  const auto* rule = std::lower_bound(
      std::begin(kCapabilities), std::end(kCapabilities), capability,
      [](const CapabilityRule& r, std::uint32_t value) { return r.capability < value; });
  return rule != std::end(kCapabilities) && rule->capability == capability ? rule : nullptr;
}

std::optional<std::string> missing_capability(std::uint32_t capability, const Caps& caps) {
  const CapabilityRule* rule = rule_of(capability);
  if (rule == nullptr) {
    return "SPIR-V capability " + std::to_string(capability) + ", which this library does not know";
  }
  if (rule->met(caps)) return std::nullopt;
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

DeviceCaps only_used_features(const DeviceCaps& caps, const Table& table) {
  return only_used_features(caps, {&table, 1});
}

DeviceCaps only_used_features(const DeviceCaps& all, std::span<const Table> tables) {
  DeviceCaps used = all;
  for (const CapabilityRule& rule : kCapabilities) {
    if (rule.member != nullptr) used.*rule.member = false;
  }
  for (const Table& table : tables) {
    for (const table::BlobEntry& blob : table.blobs()) {
      for (const std::uint32_t capability : table.capabilities_of(blob)) {
        const CapabilityRule* rule = rule_of(capability);
        if (rule != nullptr && rule->member != nullptr) used.*rule->member = all.*rule->member;
      }
    }
  }
  // Vulkan 1.0 modules keep their storage buffers in the Uniform storage class, marked BufferBlock.
  // That needs storageBuffer16BitAccess and no more, but validation layers (1.3.239) do not look at
  // the mark and ask for the uniform feature.
  used.uniform_storage16 = all.uniform_storage16 && (used.storage16 || used.uniform_storage16);
  used.uniform_storage8 = all.uniform_storage8 && (used.storage8 || used.uniform_storage8);
  // No pipeline asks for subgroups of its own size.
  used.subgroup_size_control = used.full_subgroups = false;
  return used;
}

ModuleNeeds needs_of(const Table& table, const table::BlobEntry& blob) {
  ModuleNeeds needs;
  needs.vulkan_version = blob.vulkan_version;
  needs.spirv_version = blob.spirv_version;
  needs.capabilities = table.capabilities_of(blob);
  for (const std::uint32_t e : table.extensions_of(blob)) {
    needs.extensions.push_back(table.string(e));
  }
  needs.bindings = table.bindings_of(blob);
  needs.push_bytes = blob.push_bytes;
  needs.shared_bytes = blob.shared_bytes;
  std::copy_n(blob.local_size, 3, needs.local_size.begin());
  std::copy_n(blob.local_size_id, 3, needs.local_size_id.begin());
  return needs;
}

std::optional<std::string> missing_requirement(const Table& table, const table::BlobEntry& blob,
                                               const DeviceCaps& caps) {
  return missing_requirement(needs_of(table, blob), caps);
}

std::optional<std::string> missing_requirement(const ModuleNeeds& needs, const DeviceCaps& caps) {
  if (needs.vulkan_version > caps.api_version) {
    return "Vulkan " + version_text(needs.vulkan_version) + " (the device has " +
           version_text(caps.api_version) + ")";
  }
  if (needs.spirv_version > caps.spirv_version) {
    return "SPIR-V " + spirv_text(needs.spirv_version) + " (the device takes " +
           spirv_text(caps.spirv_version) + ")";
  }
  for (const std::uint32_t capability : needs.capabilities) {
    if (auto m = missing_capability(capability, caps)) return m;
  }
  for (const std::string_view extension : needs.extensions) {
    if (auto m = missing_extension(extension, caps)) return m;
  }
  if (auto m = too_many("bytes of push constants", needs.push_bytes, caps.max_push_bytes)) return m;
  if (auto m = too_many("bytes of shared memory", needs.shared_bytes, caps.max_shared_bytes)) {
    return m;
  }
  // Local sizes that are specialization constants are chosen for the device; fixed ones must fit.
  std::uint64_t invocations = 1;
  for (int i = 0; i < 3; ++i) {
    if (needs.local_size_id[i] != table::kNone) continue;
    invocations *= needs.local_size[i];
    static constexpr const char* kAxis[3] = {"x", "y", "z"};
    if (auto m = too_many((std::string("invocations along ") + kAxis[i]).c_str(),
                          needs.local_size[i], caps.max_group_size[i])) {
      return m;
    }
  }
  if (auto m = too_many("invocations in a workgroup", invocations, caps.max_invocations)) return m;
  std::array<std::uint32_t, 4> count{};
  std::uint32_t sets = 0;
  for (const table::BindingEntry& b : needs.bindings) {
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
