// SPDX-License-Identifier: Apache-2.0
// A Vulkan loader that stands between the runtime and the real one, as a shared library: name it in
// $SPIRKILN_VULKAN_LIBRARY. It counts calls and live objects, makes a chosen call fail, and knows
// what Vulkan forbids around a failure.
//
// A call that is made to fail does not reach the driver, and what it was to fill holds junk, since
// Vulkan leaves it undefined then. Behind VK_ERROR_DEVICE_LOST a device stays lost.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

namespace spirkiln::test {

struct FaultableCall {
  std::string name;
  std::uint32_t nth;  // from 1
};

// The library's vulkan_faults() gives the only one. It is opened by name like the loader that it
// stands for, never linked with: the real one would find its vkGetInstanceProcAddr.
class VulkanFaults {
 public:
  virtual ~VulkanFaults() = default;
  // Forgets counts, faults and complaints; live objects stay.
  virtual void reset() = 0;
  // From then on devices look like cards: type "discrete", device memory that is not mapped, host
  // memory that has to be flushed and invalidated.
  virtual void pose_as_card(bool card) = 0;
  // The nth call (from 1) of `name` since reset() gives `code`.
  virtual void fail(const std::string& name, std::uint32_t nth, VkResult code) = 0;
  // The nth vkQueueSubmit since reset() never ends for whoever asks, nor does anything behind it on
  // its device, until the next reset(): waits time out at once. To wait without a limit, or to
  // destroy what the work may use, is a complaint.
  virtual void hang(std::uint32_t nth) = 0;
  // What the driver compiles in place of a module's words; an empty result leaves them. Null: all
  // modules as they are. Called from any thread.
  using Doctor = std::function<std::vector<std::uint32_t>(std::span<const std::uint32_t>)>;
  virtual void doctor(Doctor doctor) = 0;
  // What the driver says of images of this type with a format: the answer to change, and the code.
  // Null: as it is.
  using ImageAnswer =
      std::function<VkResult(VkFormat, VkImageType, VkImageUsageFlags, VkImageFormatProperties*)>;
  virtual void images(ImageAnswer answer) = 0;
  // Functions of this name are not found; "" for none.
  virtual void hide(const std::string& name) = 0;

  // Whether the fault that was asked for has happened.
  virtual bool failed() const = 0;
  // Calls since reset() that Vulkan lets fail, in their order.
  virtual std::vector<FaultableCall> calls() const = 0;
  // What of the objects that were made is not destroyed, "Buffer" and so on.
  virtual std::vector<std::string> live() const = 0;
  // Destroyed though never made, or while the device may still use it; and the like.
  virtual std::vector<std::string> complaints() const = 0;
  // Codes that the specification lists for the command (vk.xml's errorcodes, without those of
  // extensions that are not used here).
  virtual std::vector<VkResult> error_codes_of(const std::string& name) const = 0;
};
using VulkanFaultsEntry = VulkanFaults* (*)();

}  // namespace spirkiln::test
