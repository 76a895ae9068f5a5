// SPDX-License-Identifier: Apache-2.0
#include "loader/submit.hpp"

#include <chrono>

namespace spirkiln {
namespace {

using Clock = std::chrono::steady_clock;

Status wait(Device::State& device, VkFence fence) {
  const DeviceFunctions& f = device.f;
  VkResult r = VK_NOT_READY;
  // Waking up from vkWaitForFences costs 30 us on a GPU: short work is polled for. On a CPU driver
  // polling would take the core that does the work.
  if (device.info.type != "cpu") {
    const auto begin = Clock::now();
    while (Clock::now() - begin < std::chrono::microseconds(500)) {
      r = f.vkGetFenceStatus(device.device, fence);
      if (r != VK_NOT_READY) break;
    }
    if (r == VK_SUCCESS) return Ok{};
    if (r != VK_NOT_READY) return device.error("vkGetFenceStatus", r);
  }
  do {
    r = f.vkWaitForFences(device.device, 1, &fence, VK_TRUE, 1'000'000'000);
  } while (r == VK_TIMEOUT);
  if (r != VK_SUCCESS) return device.error("vkWaitForFences", r);
  return Ok{};
}

// A wait that failed says nothing of the work, and whoever gets the error may free or write what it
// uses.
void drain(Device::State& device) {
  if (device.lost.load(std::memory_order_relaxed)) return;
  const QueueLock lock(device);
  // A device of somebody else may have further queues, which we must not touch.
  const VkResult r = device.is_foreign ? device.f.vkQueueWaitIdle(device.queue)
                                       : device.f.vkDeviceWaitIdle(device.device);
  // Not even this: the device is of no more use, and its objects may not be touched.
  if (r != VK_SUCCESS) device.lost.store(true, std::memory_order_relaxed);
}

}  // namespace

Result<Fence> Fence::create(std::shared_ptr<Device::State> device) {
  Fence out;
  VkFenceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  const VkResult r =
      made(device->f.vkCreateFence(device->device, &info, nullptr, &out.fence_), &out.fence_);
  if (r != VK_SUCCESS) return device->error("vkCreateFence", r);
  out.device_ = std::move(device);
  return out;
}

Fence::~Fence() {
  if (fence_ != VK_NULL_HANDLE) device_->f.vkDestroyFence(device_->device, fence_, nullptr);
}

Status submit_and_wait(Device::State& device, VkFence fence,
                       std::span<const VkCommandBuffer> commands) {
  if (device.lost.load(std::memory_order_relaxed)) return device.lost_error();
  const DeviceFunctions& f = device.f;
  VkResult r = f.vkResetFences(device.device, 1, &fence);
  if (r != VK_SUCCESS) return device.error("vkResetFences", r);
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  std::size_t submitted = 0;
  {
    const QueueLock lock(device);
    for (; submitted < commands.size(); ++submitted) {
      submit.pCommandBuffers = &commands[submitted];
      const bool last = submitted + 1 == commands.size();  // the fence stands for those before, too
      r = f.vkQueueSubmit(device.queue, 1, &submit, last ? fence : VK_NULL_HANDLE);
      if (r != VK_SUCCESS) break;
    }
  }
  if (r != VK_SUCCESS) {
    const Error error = device.error("vkQueueSubmit", r);
    if (submitted > 0) drain(device);
    return error;
  }
  auto waited = wait(device, fence);
  if (!waited) drain(device);
  return waited;
}

Status run_once(const std::shared_ptr<Device::State>& device,
                const std::function<void(VkCommandBuffer)>& record) {
  const DeviceFunctions& f = device->f;
  auto fence = Fence::create(device);
  if (!fence) return std::move(fence).error();
  struct Pool {
    explicit Pool(Device::State& d) : device(d) {}
    ~Pool() {
      if (handle != VK_NULL_HANDLE) device.f.vkDestroyCommandPool(device.device, handle, nullptr);
    }
    Device::State& device;
    VkCommandPool handle = VK_NULL_HANDLE;
  } pool(*device);
  VkCommandPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.queueFamilyIndex = device->queue_family;
  VkResult r =
      made(f.vkCreateCommandPool(device->device, &info, nullptr, &pool.handle), &pool.handle);
  if (r != VK_SUCCESS) return device->error("vkCreateCommandPool", r);
  VkCommandBufferAllocateInfo alloc{};
  alloc.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  alloc.commandPool = pool.handle;
  alloc.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  alloc.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  r = f.vkAllocateCommandBuffers(device->device, &alloc, &commands);
  if (r != VK_SUCCESS) return device->error("vkAllocateCommandBuffers", r);
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  r = f.vkBeginCommandBuffer(commands, &begin);
  if (r != VK_SUCCESS) return device->error("vkBeginCommandBuffer", r);
  record(commands);
  r = f.vkEndCommandBuffer(commands);
  if (r != VK_SUCCESS) return device->error("vkEndCommandBuffer", r);
  return submit_and_wait(*device, fence->handle(), {&commands, 1});
}

}  // namespace spirkiln
