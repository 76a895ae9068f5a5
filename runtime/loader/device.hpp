// SPDX-License-Identifier: Apache-2.0
// An open device: functions, queue, memory types and the pipeline store. What Device points to.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "loader/caps.hpp"
#include "loader/instance.hpp"
#include "spirkiln/spirkiln.hpp"
#include "table/table.hpp"

namespace spirkiln {

class CpuBackend;
class PipelineStore;
class Proofs;

struct Device::State {
  std::shared_ptr<Instance> instance;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  DeviceFunctions f;
  VkQueue queue = VK_NULL_HANDLE;
  std::uint32_t queue_family = 0;
  std::uint32_t timestamp_bits = 0;
  double timestamp_ns = 0;  // of one tick
  VkPhysicalDeviceMemoryProperties memory{};
  DeviceCaps caps;
  DeviceInfo info;
  std::vector<Table> tables;  // that it was opened for; wishes may name their kernels
  MessageCallback message;
  std::string cache_folder;  // of what is kept between processes; empty: nothing is
  std::mutex queue_mutex;  // submission is serialised over all graphs of the device
  // A device of the caller's (loader/foreign.cpp): never destroyed here, and only its one queue is
  // touched, between these two where the caller gave them.
  bool is_foreign = false;
  std::function<void()> lock_queue, unlock_queue;
  std::atomic<bool> lost{false};
  // Lost, and what was submitted may still run: nothing that it may use is destroyed any more, the
  // device itself included, and no device of this process is opened on the same hardware.
  std::atomic<bool> abandoned{false};
  // Submissions that somebody waits for, by their order; both guarded by queue_mutex.
  std::set<std::uint64_t> in_flight;
  std::uint64_t submissions = 0;
  // What one submission may take, so that no watchdog ends it (graph/work.hpp); 0: anything.
  double submission_ms = 0;
  std::unique_ptr<PipelineStore> pipelines;
  std::unique_ptr<Proofs> proofs;

  static Device wrap(std::shared_ptr<State> state);
  static Result<Device> open(const DeviceOptions& options);
  static Device on_cpu(const CpuBackend& backend);
  // The functions, the queue and the pipeline store, of a device that is there.
  Status load(std::uint32_t queue_index);
  State();
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void say(Severity severity, std::string_view text) const {
    if (message) message(severity, text);
  }
  // vk_error, and remembers a lost device.
  Error error(const std::string& what, VkResult code);
  // What every call gives behind that.
  Error lost_error() const;
  // Behind a wait that says nothing of the work.
  void abandon();
  bool may_destroy() const { return !abandoned.load(std::memory_order_relaxed); }
};

// Held around every use of the queue.
class QueueLock {
 public:
  explicit QueueLock(Device::State& device) : device_(device), lock_(device.queue_mutex) {
    if (device_.lock_queue) device_.lock_queue();
  }
  ~QueueLock() {
    if (device_.unlock_queue) device_.unlock_queue();
  }
  QueueLock(const QueueLock&) = delete;
  QueueLock& operator=(const QueueLock&) = delete;

 private:
  Device::State& device_;
  std::lock_guard<std::mutex> lock_;
};

// Forgets what was abandoned in this process: tests live several lives in one.
void forget_abandoned_devices();

// Device::open for the kernels of another table than the built-in one: only the features that its
// blobs ask for are enabled (all that selection knows, where `table` is an error).
Result<Device> open_device(const DeviceOptions& options, const Result<Table>& table);
// The same for those of several tables; without one, all features that selection knows.
Result<Device> open_device(const DeviceOptions& options, std::span<const Table> tables);

}  // namespace spirkiln
