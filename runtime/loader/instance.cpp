// SPDX-License-Identifier: Apache-2.0
#include "loader/instance.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "loader/messages.hpp"
#include "table/printable.hpp"

namespace spirkiln {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

bool has_extension(const std::vector<VkExtensionProperties>& list, std::string_view name) {
  return std::any_of(list.begin(), list.end(),
                     [&](const VkExtensionProperties& e) { return name == e.extensionName; });
}

Result<std::vector<VkExtensionProperties>> instance_extensions(const GlobalFunctions& f,
                                                               const char* layer) {
  return listed<VkExtensionProperties>("vkEnumerateInstanceExtensionProperties",
                                       [&](std::uint32_t* count, VkExtensionProperties* out) {
                                         return f.vkEnumerateInstanceExtensionProperties(
                                             layer, count, out);
                                       });
}

Result<bool> has_layer(const GlobalFunctions& f, std::string_view name) {
  const auto list = listed<VkLayerProperties>("vkEnumerateInstanceLayerProperties",
                                              f.vkEnumerateInstanceLayerProperties);
  if (!list) return list.error();
  return std::any_of(list->begin(), list->end(),
                     [&](const VkLayerProperties& l) { return name == l.layerName; });
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data,
                                          void* user) {
  auto* sink = static_cast<MessageSink*>(user);
  sink->count.fetch_add(1, std::memory_order_relaxed);
  if (sink->message) {
    const bool error = severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    sink->message(error ? Severity::kError : Severity::kWarning,
                  data->pMessage != nullptr ? data->pMessage : "(validation message without text)");
  }
  return VK_FALSE;
}

}  // namespace

bool validation_in_environment() {
  const char* text = std::getenv("SPIRKILN_VALIDATION");
  return text != nullptr && *text != '\0' && std::strcmp(text, "0") != 0;
}

Result<std::shared_ptr<Instance>> Instance::create(bool validation,
                                                   const MessageCallback& message) {
  if (const char* text = std::getenv("SPIRKILN_VALIDATION")) {
    const std::string_view value = text;
    if (!value.empty() && value != "0" && value != "1" && value != "gpu") {
      return Error{ErrorCode::kInvalidArgument,
                   "SPIRKILN_VALIDATION is '" + printable(value) + "'; expected 0, 1 or gpu"};
    }
  }
  auto library = VulkanLibrary::open(vulkan_library_names());
  if (!library) return std::move(library).error();
  std::shared_ptr<Instance> self(new Instance());
  self->library_ = *library;
  self->sink_ = std::make_unique<MessageSink>();
  self->sink_->message = kept_messages(message);
  const GlobalFunctions& g = self->library_->functions();

  std::uint32_t loader_version = VK_API_VERSION_1_0;
  if (g.vkEnumerateInstanceVersion != nullptr) {
    const VkResult r = g.vkEnumerateInstanceVersion(&loader_version);
    if (r != VK_SUCCESS) return vk_error("vkEnumerateInstanceVersion", r);
  }
  // 1.3 brings every structure that caps are read from; devices may be older.
  self->api_version_ =
      std::min<std::uint32_t>(VK_MAKE_API_VERSION(0, VK_API_VERSION_MAJOR(loader_version),
                                                  VK_API_VERSION_MINOR(loader_version), 0),
                              kNewestApi);

  const auto all = instance_extensions(g, nullptr);
  if (!all) {
    // The loader reads the files of all drivers for this.
    return Error{
        all.error().code,
        all.error().message +
            ". A driver's file may be wrong: look at VK_DRIVER_FILES, VK_ICD_FILENAMES and "
            "vulkan/icd.d/*.json (VK_LOADER_DEBUG=all says more)"};
  }
  const std::vector<VkExtensionProperties>& available = *all;
  std::vector<const char*> extensions, layers;
  VkInstanceCreateFlags flags = 0;
  if (has_extension(available, VK_KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME)) {
    extensions.push_back(VK_KHR_GET_PHYSICAL_DEVICE_PROPERTIES_2_EXTENSION_NAME);
  }
#ifdef VK_KHR_portability_enumeration
  if (has_extension(available, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
    extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  }
#endif

  VkDebugUtilsMessengerCreateInfoEXT messenger{};
  messenger.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  messenger.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                              VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  // Not GENERAL: the loader reports broken drivers and layers of the machine there.
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                          VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;
  messenger.pfnUserCallback = on_message;
  messenger.pUserData = self->sink_.get();

  std::vector<VkValidationFeatureEnableEXT> enables = {
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  const char* mode = std::getenv("SPIRKILN_VALIDATION");
  if (mode != nullptr && std::strcmp(mode, "gpu") == 0) {
    enables.push_back(VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT);
    enables.push_back(VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT);
  }
  VkValidationFeaturesEXT features{};
  features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
  features.enabledValidationFeatureCount = static_cast<std::uint32_t>(enables.size());
  features.pEnabledValidationFeatures = enables.data();

  if (validation) {
    const auto found = has_layer(g, kValidationLayer);
    if (!found) return found.error();
    if (!*found) {
      return Error{ErrorCode::kNoVulkan,
                   "validation was asked for, but the layer VK_LAYER_KHRONOS_validation is not "
                   "installed (package vulkan-validationlayers)"};
    }
    layers.push_back(kValidationLayer);
    const auto layer_extensions = instance_extensions(g, kValidationLayer);
    if (!layer_extensions) return layer_extensions.error();
    const std::vector<VkExtensionProperties>& of_layer = *layer_extensions;
    if (!has_extension(available, VK_EXT_DEBUG_UTILS_EXTENSION_NAME) &&
        !has_extension(of_layer, VK_EXT_DEBUG_UTILS_EXTENSION_NAME)) {
      return Error{ErrorCode::kNoVulkan,
                   "validation was asked for, but VK_EXT_debug_utils is not available"};
    }
    extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    messenger.pNext = nullptr;
    if (has_extension(of_layer, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME)) {
      extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
      messenger.pNext = &features;
    }
  }

  VkApplicationInfo app{};
  app.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  app.pEngineName = "spirkiln";
  app.apiVersion = self->api_version_;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.flags = flags;
  info.pNext = validation ? &messenger : nullptr;
  info.pApplicationInfo = &app;
  info.enabledLayerCount = static_cast<std::uint32_t>(layers.size());
  info.ppEnabledLayerNames = layers.data();
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  const VkResult created =
      made(g.vkCreateInstance(&info, nullptr, &self->instance_), &self->instance_);
  if (created == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return Error{ErrorCode::kNoVulkan,
                 self->library_->name() +
                     " finds no usable Vulkan driver (vkCreateInstance failed: "
                     "VK_ERROR_INCOMPATIBLE_DRIVER). Install one (mesa-vulkan-drivers on Debian)"};
  }
  if (created != VK_SUCCESS) return vk_error("vkCreateInstance", created);

  if (auto loaded = self->load(g.vkGetInstanceProcAddr, self->library_->name()); !loaded) {
    return std::move(loaded).error();
  }
  InstanceFunctions& f = self->f_;
  auto load = [&](const char* name) { return g.vkGetInstanceProcAddr(self->instance_, name); };
  if (validation) {
    f.vkCreateDebugUtilsMessengerEXT = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
        load("vkCreateDebugUtilsMessengerEXT"));
    f.vkDestroyDebugUtilsMessengerEXT = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
        load("vkDestroyDebugUtilsMessengerEXT"));
    if (f.vkCreateDebugUtilsMessengerEXT == nullptr ||
        f.vkDestroyDebugUtilsMessengerEXT == nullptr) {
      return Error{ErrorCode::kNoVulkan, "VK_EXT_debug_utils lacks its functions"};
    }
    messenger.pNext = nullptr;
    const VkResult r = made(
        f.vkCreateDebugUtilsMessengerEXT(self->instance_, &messenger, nullptr, &self->messenger_),
        &self->messenger_);
    if (r != VK_SUCCESS) return vk_error("vkCreateDebugUtilsMessengerEXT", r);
  }
  return self;
}

Status Instance::load(PFN_vkGetInstanceProcAddr entry, const std::string& origin) {
  auto find = [&](const char* name) { return entry(instance_, name); };
  std::string missing;
#define SPIRKILN_LOAD(fn)                        \
  f_.fn = reinterpret_cast<PFN_##fn>(find(#fn)); \
  if (f_.fn == nullptr) missing += " " #fn;
  SPIRKILN_VK_INSTANCE(SPIRKILN_LOAD)
#undef SPIRKILN_LOAD
  if (!missing.empty()) return Error{ErrorCode::kNoVulkan, origin + " lacks" + missing};
  // The extension's names work on 1.0 devices of a 1.1 instance, the core names do not. Loaders may
  // find core names in a 1.0 instance, too, where they must not be called.
  auto find2 = [&](const char* khr, const char* core) {
    auto fn = find(khr);
    return fn != nullptr || api_version_ < VK_API_VERSION_1_1 ? fn : find(core);
  };
  f_.vkGetPhysicalDeviceProperties2 = reinterpret_cast<PFN_vkGetPhysicalDeviceProperties2>(
      find2("vkGetPhysicalDeviceProperties2KHR", "vkGetPhysicalDeviceProperties2"));
  f_.vkGetPhysicalDeviceFeatures2 = reinterpret_cast<PFN_vkGetPhysicalDeviceFeatures2>(
      find2("vkGetPhysicalDeviceFeatures2KHR", "vkGetPhysicalDeviceFeatures2"));
  f_.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR =
      reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
          find("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  return Ok{};
}

Result<std::shared_ptr<Instance>> Instance::adopt(VkInstance handle,
                                                  PFN_vkGetInstanceProcAddr entry,
                                                  std::uint32_t api_version) {
  std::shared_ptr<Instance> self(new Instance());
  self->is_foreign_ = true;
  self->instance_ = handle;
  self->sink_ = std::make_unique<MessageSink>();
  self->api_version_ =
      std::clamp<std::uint32_t>(VK_MAKE_API_VERSION(0, VK_API_VERSION_MAJOR(api_version),
                                                    VK_API_VERSION_MINOR(api_version), 0),
                                VK_API_VERSION_1_0, kNewestApi);
  if (auto loaded = self->load(entry, "the given vkGetInstanceProcAddr"); !loaded) {
    return std::move(loaded).error();
  }
  return self;
}

Instance::~Instance() {
  if (is_foreign_) return;
  if (messenger_ != VK_NULL_HANDLE) {
    f_.vkDestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
  }
  if (instance_ != VK_NULL_HANDLE && f_.vkDestroyInstance != nullptr) {
    f_.vkDestroyInstance(instance_, nullptr);
  }
}

Result<std::vector<VkPhysicalDevice>> Instance::devices() const {
  // Some loaders say VK_ERROR_INITIALIZATION_FAILED where there is no driver at all.
  std::string reason;
  auto list = listed<VkPhysicalDevice>(
      "vkEnumeratePhysicalDevices", [&](std::uint32_t* count, VkPhysicalDevice* out) {
        const VkResult r = f_.vkEnumeratePhysicalDevices(instance_, count, out);
        if (r != VK_ERROR_INITIALIZATION_FAILED) return r;
        reason = " (vkEnumeratePhysicalDevices gives VK_ERROR_INITIALIZATION_FAILED)";
        *count = 0;
        return VK_SUCCESS;
      });
  if (list && list->empty()) {
    return Error{ErrorCode::kNoVulkan,
                 library_->name() + " works but no driver offers a device" + reason +
                     ". Install one (mesa-vulkan-drivers on Debian) or check VK_ICD_FILENAMES"};
  }
  return list;
}

}  // namespace spirkiln
