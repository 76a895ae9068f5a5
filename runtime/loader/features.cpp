// SPDX-License-Identifier: Apache-2.0
#include "loader/features.hpp"

namespace spirkiln {

FeatureChain::FeatureChain(std::uint32_t api_version,
                           const std::set<std::string, std::less<>>& extensions,
                           const DeviceCaps* wanted) {
  base.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  void** tail = &base.pNext;
  const DeviceCaps any{};
  const DeviceCaps& w = wanted != nullptr ? *wanted : any;
  const bool all = wanted == nullptr;
  auto link = [&](auto* part, VkStructureType type, std::uint32_t core, const char* extension,
                  bool used) {
    if (!used && !all) return;
    const bool in_core = core != 0 && api_version >= core;
    if (!in_core && !extensions.contains(std::string_view(extension))) return;
    if (!in_core) extensions_.push_back(extension);
    part->sType = type;
    *tail = part;
    tail = &part->pNext;
  };
  link(&storage16_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, make_version(1, 1),
       VK_KHR_16BIT_STORAGE_EXTENSION_NAME,
       w.storage16 || w.uniform_storage16 || w.push_constant16);
  link(&storage8_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES, make_version(1, 2),
       VK_KHR_8BIT_STORAGE_EXTENSION_NAME, w.storage8 || w.uniform_storage8 || w.push_constant8);
  link(&float16_int8_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
       make_version(1, 2), VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, w.float16 || w.int8);
  link(&variable_pointers_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VARIABLE_POINTERS_FEATURES,
       make_version(1, 1), VK_KHR_VARIABLE_POINTERS_EXTENSION_NAME,
       w.variable_pointers || w.variable_pointers_storage);
  link(&memory_model_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES,
       make_version(1, 2), VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, w.vulkan_memory_model);
  link(&dot_product_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
       make_version(1, 3), VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME, w.integer_dot_product);
  link(&cooperative_matrix_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, 0,
       VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, w.cooperative_matrix);
  link(&subgroup_sizes_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
       make_version(1, 3), VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME,
       w.subgroup_size_control || w.full_subgroups);
  if (api_version < make_version(1, 1)) {
    // What the extensions above are built on where the core lacks it.
    if (extensions.contains(std::string_view("VK_KHR_storage_buffer_storage_class"))) {
      extensions_.push_back("VK_KHR_storage_buffer_storage_class");
    }
  }
  if (wanted != nullptr) write(*wanted);
}

FeatureChain::FeatureChain(const VkDeviceCreateInfo& made_with) {
  if (made_with.pEnabledFeatures != nullptr) base.features = *made_with.pEnabledFeatures;
  for (auto* part = static_cast<const VkBaseInStructure*>(made_with.pNext); part != nullptr;
       part = part->pNext) {
    const auto copy = [&]<typename T>(T* to) { *to = *reinterpret_cast<const T*>(part); };
    switch (static_cast<int>(part->sType)) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2:
        base.features = reinterpret_cast<const VkPhysicalDeviceFeatures2*>(part)->features;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
        take(*reinterpret_cast<const VkPhysicalDeviceVulkan11Features*>(part));
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES:
        take(*reinterpret_cast<const VkPhysicalDeviceVulkan12Features*>(part));
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES:
        take(*reinterpret_cast<const VkPhysicalDeviceVulkan13Features*>(part));
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
        copy(&storage16_);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES:
        copy(&storage8_);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES:
        copy(&float16_int8_);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VARIABLE_POINTERS_FEATURES:
        copy(&variable_pointers_);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES:
        copy(&memory_model_);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES:
        copy(&dot_product_);
        break;
      case static_cast<int>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR):
        copy(&cooperative_matrix_);
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES:
        copy(&subgroup_sizes_);
        break;
      default:  // of features that selection does not know
        break;
    }
  }
}

void FeatureChain::take(const VkPhysicalDeviceVulkan11Features& from) {
  storage16_.storageBuffer16BitAccess = from.storageBuffer16BitAccess;
  storage16_.uniformAndStorageBuffer16BitAccess = from.uniformAndStorageBuffer16BitAccess;
  storage16_.storagePushConstant16 = from.storagePushConstant16;
  variable_pointers_.variablePointersStorageBuffer = from.variablePointersStorageBuffer;
  variable_pointers_.variablePointers = from.variablePointers;
}

void FeatureChain::take(const VkPhysicalDeviceVulkan12Features& from) {
  storage8_.storageBuffer8BitAccess = from.storageBuffer8BitAccess;
  storage8_.uniformAndStorageBuffer8BitAccess = from.uniformAndStorageBuffer8BitAccess;
  storage8_.storagePushConstant8 = from.storagePushConstant8;
  float16_int8_.shaderFloat16 = from.shaderFloat16;
  float16_int8_.shaderInt8 = from.shaderInt8;
  memory_model_.vulkanMemoryModel = from.vulkanMemoryModel;
  memory_model_.vulkanMemoryModelDeviceScope = from.vulkanMemoryModelDeviceScope;
}

void FeatureChain::take(const VkPhysicalDeviceVulkan13Features& from) {
  dot_product_.shaderIntegerDotProduct = from.shaderIntegerDotProduct;
  subgroup_sizes_.subgroupSizeControl = from.subgroupSizeControl;
  subgroup_sizes_.computeFullSubgroups = from.computeFullSubgroups;
}

void FeatureChain::read(DeviceCaps* caps) const {
  const VkPhysicalDeviceFeatures& f = base.features;
  caps->int16 = f.shaderInt16;
  caps->int64 = f.shaderInt64;
  caps->float64 = f.shaderFloat64;
  caps->image_extended_formats = f.shaderStorageImageExtendedFormats;
  caps->image_read_without_format = f.shaderStorageImageReadWithoutFormat;
  caps->image_write_without_format = f.shaderStorageImageWriteWithoutFormat;
  caps->storage16 = storage16_.storageBuffer16BitAccess;
  caps->uniform_storage16 = storage16_.uniformAndStorageBuffer16BitAccess;
  caps->push_constant16 = storage16_.storagePushConstant16;
  caps->storage8 = storage8_.storageBuffer8BitAccess;
  caps->uniform_storage8 = storage8_.uniformAndStorageBuffer8BitAccess;
  caps->push_constant8 = storage8_.storagePushConstant8;
  caps->float16 = float16_int8_.shaderFloat16;
  caps->int8 = float16_int8_.shaderInt8;
  caps->variable_pointers_storage = variable_pointers_.variablePointersStorageBuffer;
  caps->variable_pointers = variable_pointers_.variablePointers;
  caps->vulkan_memory_model = memory_model_.vulkanMemoryModel;
  caps->vulkan_memory_model_device_scope = memory_model_.vulkanMemoryModelDeviceScope;
  caps->integer_dot_product = dot_product_.shaderIntegerDotProduct;
  caps->cooperative_matrix = cooperative_matrix_.cooperativeMatrix;
  caps->subgroup_size_control = subgroup_sizes_.subgroupSizeControl;
  caps->full_subgroups = subgroup_sizes_.computeFullSubgroups;
}

void FeatureChain::write(const DeviceCaps& caps) {
  VkPhysicalDeviceFeatures& f = base.features;
  f.shaderInt16 = caps.int16;
  f.shaderInt64 = caps.int64;
  f.shaderFloat64 = caps.float64;
  f.shaderStorageImageExtendedFormats = caps.image_extended_formats;
  f.shaderStorageImageReadWithoutFormat = caps.image_read_without_format;
  f.shaderStorageImageWriteWithoutFormat = caps.image_write_without_format;
  storage16_.storageBuffer16BitAccess = caps.storage16;
  storage16_.uniformAndStorageBuffer16BitAccess = caps.uniform_storage16;
  storage16_.storagePushConstant16 = caps.push_constant16;
  storage8_.storageBuffer8BitAccess = caps.storage8;
  storage8_.uniformAndStorageBuffer8BitAccess = caps.uniform_storage8;
  storage8_.storagePushConstant8 = caps.push_constant8;
  float16_int8_.shaderFloat16 = caps.float16;
  float16_int8_.shaderInt8 = caps.int8;
  variable_pointers_.variablePointersStorageBuffer =
      caps.variable_pointers_storage || caps.variable_pointers;
  variable_pointers_.variablePointers = caps.variable_pointers;
  memory_model_.vulkanMemoryModel = caps.vulkan_memory_model;
  // Where the model is on, kernels without it (atomics of plain GLSL) need the scope as well.
  memory_model_.vulkanMemoryModelDeviceScope =
      caps.vulkan_memory_model && caps.vulkan_memory_model_device_scope;
  dot_product_.shaderIntegerDotProduct = caps.integer_dot_product;
  cooperative_matrix_.cooperativeMatrix = caps.cooperative_matrix;
  subgroup_sizes_.subgroupSizeControl = caps.subgroup_size_control;
  subgroup_sizes_.computeFullSubgroups = caps.full_subgroups;
}

}  // namespace spirkiln
