// SPDX-License-Identifier: Apache-2.0
#include "loader/submit.hpp"

#include <chrono>

namespace spirkiln {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kSecond = 1'000'000'000;

// Known answers are small: a card runs one in microseconds, and one that is a thousand times slower
// and shared with others stays far below.
constexpr std::uint32_t kWatchedSeconds = 60;
// Software devices compile a kernel when it first runs, for up to some seconds if they have a core
// to themselves. On a device of the caller's, work of its own may be ahead in the queue.
constexpr std::uint32_t kPatience = 10;

// Its place in the queue, while somebody waits for it. A fence stands for all that was submitted
// before, too.
class InFlight {
 public:
  explicit InFlight(Device::State& device) : device_(device) {}
  ~InFlight() {
    const std::lock_guard lock(device_.queue_mutex);
    device_.in_flight.erase(number_);
  }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  // With the queue locked.
  void begin() {
    number_ = ++device_.submissions;
    device_.in_flight.insert(number_);
  }
  bool is_first() const {
    const std::lock_guard lock(device_.queue_mutex);
    return *device_.in_flight.begin() == number_;
  }

 private:
  Device::State& device_;
  std::uint64_t number_ = 0;
};

// VK_SUCCESS, VK_NOT_READY or an error.
VkResult poll(const Device::State& device, VkFence fence) {
  // Waking up from vkWaitForFences costs 30 us on a GPU: short work is polled for. On a CPU driver
  // polling would take the core that does the work.
  if (device.info.type != "cpu") {
    const auto begin = Clock::now();
    while (Clock::now() - begin < std::chrono::microseconds(500)) {
      const VkResult r = device.f.vkGetFenceStatus(device.device, fence);
      if (r != VK_NOT_READY) return r;
    }
  }
  return VK_NOT_READY;
}

// False where `may_go_on`, which is asked once a second, ended the wait.
Result<bool> wait(Device::State& device, VkFence fence, const std::function<bool()>& may_go_on) {
  VkResult r = poll(device, fence);
  if (r == VK_SUCCESS) return true;
  if (r != VK_NOT_READY) return device.error("vkGetFenceStatus", r);
  while (true) {
    r = device.f.vkWaitForFences(device.device, 1, &fence, VK_TRUE, kSecond);
    if (r == VK_SUCCESS) return true;
    if (r != VK_TIMEOUT) return device.error("vkWaitForFences", r);
    // Behind work that another thread has given up, this one may wait for ever.
    if (!device.may_destroy()) return device.lost_error();
    if (!may_go_on()) return false;
  }
}

// A wait that failed says nothing of the work, and whoever gets the error may free or write what it
// uses.
void drain(Device::State& device) {
  if (device.lost.load(std::memory_order_relaxed)) return;
  const QueueLock lock(device);
  // A device of somebody else may have further queues, which we must not touch.
  const VkResult r = device.is_foreign ? device.f.vkQueueWaitIdle(device.queue)
                                       : device.f.vkDeviceWaitIdle(device.device);
  if (r == VK_SUCCESS) return;
  device.lost.store(true, std::memory_order_relaxed);
  // Not even this: its objects may not be touched. Those of a lost device may.
  if (r != VK_ERROR_DEVICE_LOST) device.abandon();
}

// With `fences`, one for each or one for the last.
Status submit(Device::State& device, std::span<const VkFence> fences,
              std::span<const VkCommandBuffer> commands, InFlight* in_flight) {
  if (device.lost.load(std::memory_order_relaxed)) return device.lost_error();
  const DeviceFunctions& f = device.f;
  VkResult r =
      f.vkResetFences(device.device, static_cast<std::uint32_t>(fences.size()), fences.data());
  if (r != VK_SUCCESS) return device.error("vkResetFences", r);
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  const std::size_t without = commands.size() - fences.size();
  std::size_t submitted = 0;
  {
    const QueueLock lock(device);
    in_flight->begin();
    for (; submitted < commands.size(); ++submitted) {
      submit.pCommandBuffers = &commands[submitted];
      const VkFence fence = submitted < without ? VK_NULL_HANDLE : fences[submitted - without];
      r = f.vkQueueSubmit(device.queue, 1, &submit, fence);
      if (r != VK_SUCCESS) break;
    }
  }
  if (r == VK_SUCCESS) return Ok{};
  const Error error = device.error("vkQueueSubmit", r);
  if (submitted > 0) drain(device);
  return error;
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
  if (fence_ == VK_NULL_HANDLE || !device_->may_destroy()) return;
  device_->f.vkDestroyFence(device_->device, fence_, nullptr);
}

Status submit_and_wait(Device::State& device, VkFence fence,
                       std::span<const VkCommandBuffer> commands) {
  InFlight in_flight(device);
  if (auto s = submit(device, {&fence, 1}, commands, &in_flight); !s) return s;
  const auto waited = wait(device, fence, [] { return true; });
  if (waited) return Ok{};
  drain(device);
  return waited.error();
}

std::uint32_t watched_seconds(const Device::State& device) {
  return kWatchedSeconds * (device.info.type == "cpu" || device.is_foreign ? kPatience : 1);
}

Result<std::optional<std::size_t>> submit_and_watch(Device::State& device,
                                                    std::span<const VkFence> fences,
                                                    std::span<const VkCommandBuffer> commands) {
  InFlight in_flight(device);
  if (auto s = submit(device, fences, commands, &in_flight); !s) return std::move(s).error();
  for (std::size_t i = 0; i < fences.size(); ++i) {
    // Waits are counted, not read off a clock: a machine that sleeps, or swaps, gives more time.
    std::uint32_t seconds = 0;
    const auto waited = wait(device, fences[i], [&] {
      return !in_flight.is_first() || ++seconds < watched_seconds(device);
    });
    if (!waited) {
      drain(device);
      return waited.error();
    }
    if (*waited) continue;
    device.abandon();
    return std::optional(i);
  }
  return std::optional<std::size_t>();
}

Status run_once(const std::shared_ptr<Device::State>& device,
                const std::function<void(VkCommandBuffer)>& record) {
  const DeviceFunctions& f = device->f;
  auto fence = Fence::create(device);
  if (!fence) return std::move(fence).error();
  struct Pool {
    explicit Pool(Device::State& d) : device(d) {}
    ~Pool() {
      if (handle == VK_NULL_HANDLE || !device.may_destroy()) return;
      device.f.vkDestroyCommandPool(device.device, handle, nullptr);
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
