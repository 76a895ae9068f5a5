// SPDX-License-Identifier: Apache-2.0
// Devices, buffers and images of the caller's.
#include <algorithm>
#include <set>

#include "compute/resources.hpp"
#include "graph/pipelines.hpp"
#include "loader/backends.hpp"
#include "loader/choose.hpp"
#include "loader/environment.hpp"
#include "loader/features.hpp"
#include "loader/guard.hpp"
#include "spirkiln/vulkan.hpp"

namespace spirkiln {
namespace {

Error missing(const char* what) {
  return Error{ErrorCode::kInvalidArgument, std::string("ExternalDevice: ") + what + " is null"};
}

Status check(const ExternalDevice& e) {
  if (e.get_instance_proc_addr == nullptr) return missing("get_instance_proc_addr");
  if (e.instance == VK_NULL_HANDLE) return missing("instance");
  if (e.physical == VK_NULL_HANDLE) return missing("physical");
  if (e.device == VK_NULL_HANDLE) return missing("device");
  if (e.made_with == nullptr) {
    return missing("made_with, the VkDeviceCreateInfo that the device was made with,");
  }
  for (std::uint32_t i = 0; i < e.made_with->queueCreateInfoCount; ++i) {
    const VkDeviceQueueCreateInfo& q = e.made_with->pQueueCreateInfos[i];
    // Queues with flags (protected ones) are found by another call than ours.
    if (q.queueFamilyIndex == e.queue_family && q.flags == 0 && e.queue_index < q.queueCount) {
      return Ok{};
    }
  }
  return Error{ErrorCode::kInvalidArgument,
               "ExternalDevice: the device was not made with a queue " +
                   std::to_string(e.queue_index) + " of family " + std::to_string(e.queue_family)};
}

// Of what the device can do, only what it was made with.
void keep_enabled(const VkDeviceCreateInfo& made_with, DeviceCaps* caps) {
  FeatureChain(made_with).read(caps);
  if (!caps->cooperative_matrix) caps->matrix_shapes.clear();
  std::set<std::string, std::less<>> enabled;
  for (std::uint32_t i = 0; i < made_with.enabledExtensionCount; ++i) {
    enabled.emplace(made_with.ppEnabledExtensionNames[i]);
  }
  caps->extensions = std::move(enabled);
  // As on devices of our own: no pipeline asks for subgroups of its own size.
  caps->subgroup_size_control = caps->full_subgroups = false;
}

Result<Device> open(const ExternalDevice& e) {
  if (auto s = check(e); !s) return std::move(s).error();
  const auto no_cache = environment_switch("SPIRKILN_NO_CACHE");
  if (!no_cache) return no_cache.error();
  auto instance = Instance::adopt(e.instance, e.get_instance_proc_addr, e.api_version);
  if (!instance) return std::move(instance).error();
  const InstanceFunctions& fi = (*instance)->functions();
  auto caps = (*instance)->query(e.physical);
  if (!caps) return std::move(caps).error();
  keep_enabled(*e.made_with, &*caps);
  caps->spirv_version =
      newest_spirv(caps->api_version, caps->extensions.contains("VK_KHR_spirv_1_4"));

  auto state = std::make_shared<Device::State>();
  state->is_foreign = true;
  state->instance = *std::move(instance);
  state->physical = e.physical;
  VkPhysicalDeviceProperties properties{};
  fi.vkGetPhysicalDeviceProperties(e.physical, &properties);
  state->info = make_info(*caps, properties.apiVersion, 0);
  state->caps = *std::move(caps);
  state->message = kept_messages(e.message);
  state->lock_queue = e.lock_queue;
  state->unlock_queue = e.unlock_queue;
  state->queue_family = e.queue_family;
  std::uint32_t count = 0;
  fi.vkGetPhysicalDeviceQueueFamilyProperties(e.physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  fi.vkGetPhysicalDeviceQueueFamilyProperties(e.physical, &count, families.data());
  if (e.queue_family >= count ||
      (families[e.queue_family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) {
    return Error{ErrorCode::kUnsupported, "queue family " + std::to_string(e.queue_family) +
                                              " of " + state->info.name + " takes no compute work"};
  }
  state->timestamp_bits = families[e.queue_family].timestampValidBits;
  state->timestamp_ns = properties.limits.timestampPeriod;
  if (state->info.type != "cpu") state->submission_ms = 500;
  fi.vkGetPhysicalDeviceMemoryProperties(e.physical, &state->memory);
  if (!*no_cache && !e.no_cache) state->cache_folder = cache_folder();
  state->device = e.device;
  if (auto s = state->load(e.queue_index); !s) return std::move(s).error();
  return Device::State::wrap(std::move(state));
}

}  // namespace

Result<Device> open_external_device(const ExternalDevice& external) {
  return guarded([&] { return open(external); });
}

namespace compute {

Result<Buffer> wrap(const Device& device, VkBuffer buffer, std::uint64_t bytes) {
  return guarded([&]() -> Result<Buffer> {
    auto vulkan = vulkan_of(device);
    if (!vulkan) return std::move(vulkan).error();
    if (buffer == VK_NULL_HANDLE || bytes == 0) {
      return Error{ErrorCode::kInvalidArgument, "a buffer that is null or has no bytes"};
    }
    auto state = std::make_shared<Buffer::State>();
    state->device = *std::move(vulkan);
    state->handle = buffer;
    state->bytes = bytes;
    return Buffer(std::move(state));
  });
}

Result<Image> wrap(const Device& device, VkImage image, VkImageView view, const ImageShape& shape) {
  return guarded([&]() -> Result<Image> {
    auto vulkan = vulkan_of(device);
    if (!vulkan) return std::move(vulkan).error();
    if (image == VK_NULL_HANDLE || view == VK_NULL_HANDLE) {
      return Error{ErrorCode::kInvalidArgument, "an image or a view that is null"};
    }
    if (auto size = bytes_of(shape); !size) return std::move(size).error();
    auto state = std::make_shared<Image::State>(*std::move(vulkan));
    state->is_foreign = true;
    state->image = image;
    state->view = view;
    state->shape = shape;
    return Image(std::move(state));
  });
}

}  // namespace compute
}  // namespace spirkiln
