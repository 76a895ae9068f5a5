// SPDX-License-Identifier: Apache-2.0
// Work for the device's queue, and the wait for it.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "loader/device.hpp"

namespace spirkiln {

// A fence of one owner.
class Fence {
 public:
  static Result<Fence> create(std::shared_ptr<Device::State> device);
  Fence() = default;
  ~Fence();
  Fence(Fence&& other) noexcept : device_(std::move(other.device_)), fence_(other.fence_) {
    other.fence_ = VK_NULL_HANDLE;
  }
  Fence& operator=(Fence&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(fence_, other.fence_);
    return *this;
  }
  VkFence handle() const { return fence_; }

 private:
  std::shared_ptr<Device::State> device_;
  VkFence fence_ = VK_NULL_HANDLE;
};

// Submits the command buffers in their order, each by itself, and waits for the last, however long
// that takes: what was proved may well take minutes on a software device, and nobody but the user
// knows how long is too long. Behind an error nothing of them runs any more, or the device is
// marked as lost.
Status submit_and_wait(Device::State& device, VkFence fence,
                       std::span<const VkCommandBuffer> commands);

// How long one command buffer that is watched may take, in seconds.
std::uint32_t watched_seconds(const Device::State& device);

// The same with a fence for each, for work that may never end: a kernel that is run for the first
// time. Gives the index of the one that did not end within watched_seconds(); the device is
// abandoned then, since nothing that runs can be stopped. Nullopt: all have ended.
Result<std::optional<std::size_t>> submit_and_watch(Device::State& device,
                                                    std::span<const VkFence> fences,
                                                    std::span<const VkCommandBuffer> commands);

// A command buffer that is recorded, run once and gone.
Status run_once(const std::shared_ptr<Device::State>& device,
                const std::function<void(VkCommandBuffer)>& record);

}  // namespace spirkiln
