// SPDX-License-Identifier: Apache-2.0
// A Vulkan instance, with validation where it is asked for, and its devices.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "loader/caps.hpp"
#include "loader/library.hpp"

namespace spirkiln {

// What the validation layer said. Outlives the instance's messenger.
struct MessageSink {
  std::atomic<std::uint64_t> count{0};
  MessageCallback message;
};

class Instance {
 public:
  // Errors: kNoVulkan (no library, no layer where validation is asked for), kVulkan,
  // kInvalidArgument (a value of $SPIRKILN_VALIDATION).
  static Result<std::shared_ptr<Instance>> create(bool validation, const MessageCallback& message);
  // One of the caller's, which stays the caller's. `api_version` as in its VkApplicationInfo.
  static Result<std::shared_ptr<Instance>> adopt(VkInstance handle, PFN_vkGetInstanceProcAddr entry,
                                                 std::uint32_t api_version);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // In the driver's order. kNoVulkan when there is none.
  Result<std::vector<VkPhysicalDevice>> devices() const;
  Result<DeviceCaps> query(VkPhysicalDevice device) const;

  const InstanceFunctions& functions() const { return f_; }
  VkInstance handle() const { return instance_; }
  const MessageSink& sink() const { return *sink_; }

 private:
  Instance() = default;
  // `origin` is what messages call where the functions come from.
  Status load(PFN_vkGetInstanceProcAddr entry, const std::string& origin);
  bool is_foreign_ = false;
  std::shared_ptr<VulkanLibrary> library_;  // null for a foreign one
  std::unique_ptr<MessageSink> sink_;
  InstanceFunctions f_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::uint32_t api_version_ = VK_API_VERSION_1_0;
};

// True for "1" and "gpu" in $SPIRKILN_VALIDATION; Instance::create() refuses what is neither of
// them nor "0".
bool validation_in_environment();

}  // namespace spirkiln
