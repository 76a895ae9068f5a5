// SPDX-License-Identifier: Apache-2.0
// An open device: functions, queue, memory types and the pipeline store. What Device points to.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "loader/caps.hpp"
#include "loader/instance.hpp"
#include "spirkiln/spirkiln.hpp"
#include "table/table.hpp"

namespace spirkiln {

class CpuBackend;
class PipelineStore;

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
  MessageCallback message;
  std::string cache_folder;  // of what is kept between processes; empty: nothing is
  std::mutex queue_mutex;  // submission is serialised over all graphs of the device
  std::atomic<bool> lost{false};
  // What one submission may take, so that no watchdog ends it (graph/work.hpp); 0: anything.
  double submission_ms = 0;
  std::unique_ptr<PipelineStore> pipelines;

  static Device wrap(std::shared_ptr<State> state);
  static Result<Device> open(const DeviceOptions& options);
  static Device on_cpu(const CpuBackend& backend);
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
};

// Device::open for the kernels of another table than the built-in one: only the features that its
// blobs ask for are enabled (all that selection knows, where `table` is an error).
Result<Device> open_device(const DeviceOptions& options, const Result<Table>& table);

}  // namespace spirkiln
