// SPDX-License-Identifier: Apache-2.0
#include "own_device.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "compute_helpers.hpp"

namespace spirkiln::test {
namespace {

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  count_validation_message(data->pMessage);
  return VK_FALSE;
}

}  // namespace

std::unique_ptr<OwnDevice> OwnDevice::make(const Wish& wish) {
  auto own = std::make_unique<OwnDevice>();
  void* loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(loader != nullptr);
  own->get_instance_proc_addr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(loader, "vkGetInstanceProcAddr"));
  REQUIRE(own->get_instance_proc_addr != nullptr);

  const bool validation = std::getenv("SPIRKILN_TEST_NO_VALIDATION") == nullptr;
  const VkValidationFeatureEnableEXT synchronization =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT checks{};
  checks.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
  checks.enabledValidationFeatureCount = 1;
  checks.pEnabledValidationFeatures = &synchronization;
  const char* layer = "VK_LAYER_KHRONOS_validation";
  const char* instance_extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                       VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  VkApplicationInfo app{};
  app.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  app.apiVersion = own->api_version = wish.api_version;
  VkInstanceCreateInfo instance_info{};
  instance_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  instance_info.pApplicationInfo = &app;
  if (validation) {
    instance_info.pNext = &checks;
    instance_info.enabledLayerCount = 1;
    instance_info.ppEnabledLayerNames = &layer;
    instance_info.enabledExtensionCount = 2;
    instance_info.ppEnabledExtensionNames = instance_extensions;
  }
  REQUIRE(own->find<PFN_vkCreateInstance>("vkCreateInstance") != nullptr);
  REQUIRE(own->find<PFN_vkCreateInstance>("vkCreateInstance")(&instance_info, nullptr,
                                                              &own->instance) == VK_SUCCESS);
  if (validation) {
    VkDebugUtilsMessengerCreateInfoEXT messages{};
    messages.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    messages.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                               VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    messages.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    messages.pfnUserCallback = on_message;
    REQUIRE(own->find<PFN_vkCreateDebugUtilsMessengerEXT>("vkCreateDebugUtilsMessengerEXT")(
                own->instance, &messages, nullptr, &own->messenger) == VK_SUCCESS);
  }
  std::uint32_t count = 1;
  own->find<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices")(own->instance, &count,
                                                                          &own->physical);
  REQUIRE(count == 1);
  std::uint32_t families = 0;
  const auto list = own->find<PFN_vkGetPhysicalDeviceQueueFamilyProperties>(
      "vkGetPhysicalDeviceQueueFamilyProperties");
  list(own->physical, &families, nullptr);
  std::vector<VkQueueFamilyProperties> all(families);
  list(own->physical, &families, all.data());
  std::uint32_t family = 0;
  while (family < families && (all[family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) ++family;
  REQUIRE(family < families);

  own->queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  own->queue_info.queueFamilyIndex = family;
  own->queue_info.queueCount = 1;
  own->queue_info.pQueuePriorities = &own->priority;
  own->features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  own->storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  own->storage16.storageBuffer16BitAccess = wish.storage16;
  // Validation of 1.3.239 wants this one for Vulkan 1.0's storage buffers.
  own->storage16.uniformAndStorageBuffer16BitAccess = wish.storage16;
  own->float16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
  own->float16.shaderFloat16 = wish.float16;
  own->info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  if (wish.api_version >= VK_API_VERSION_1_1) {
    own->features.pNext = wish.storage16 ? &own->storage16 : nullptr;
    own->info.pNext = &own->features;
  }
  if (wish.float16) {
    own->extensions.push_back(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
    own->float16.pNext = own->features.pNext;
    own->features.pNext = &own->float16;
  }
  own->info.queueCreateInfoCount = 1;
  own->info.pQueueCreateInfos = &own->queue_info;
  own->info.enabledExtensionCount = static_cast<std::uint32_t>(own->extensions.size());
  own->info.ppEnabledExtensionNames = own->extensions.data();
  REQUIRE(own->find<PFN_vkCreateDevice>("vkCreateDevice")(own->physical, &own->info, nullptr,
                                                          &own->device) == VK_SUCCESS);
  own->find<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(own->device, family, 0, &own->queue);
  return own;
}

// The validation layer says here what was made of the device and not destroyed.
OwnDevice::~OwnDevice() {
  if (device != VK_NULL_HANDLE) find<PFN_vkDestroyDevice>("vkDestroyDevice")(device, nullptr);
  if (messenger != VK_NULL_HANDLE) {
    find<PFN_vkDestroyDebugUtilsMessengerEXT>("vkDestroyDebugUtilsMessengerEXT")(
        instance, messenger, nullptr);
  }
  if (instance != VK_NULL_HANDLE) {
    find<PFN_vkDestroyInstance>("vkDestroyInstance")(instance, nullptr);
  }
}

ExternalDevice OwnDevice::external() const {
  ExternalDevice e;
  e.get_instance_proc_addr = get_instance_proc_addr;
  e.instance = instance;
  e.api_version = api_version;
  e.physical = physical;
  e.device = device;
  e.made_with = &info;
  e.queue_family = queue_info.queueFamilyIndex;
  return e;
}

}  // namespace spirkiln::test
