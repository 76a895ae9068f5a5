// SPDX-License-Identifier: Apache-2.0
// Buffers with memory of their own.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "loader/device.hpp"

namespace spirkiln {

enum class MemoryUse {
  kDevice,    // only the device touches it
  kUpload,    // the host writes, the device copies it
  kInput,  // the host writes, kernels read: in the device's memory where the host sees all of it
  kDownload,  // the device writes, the host reads: cached, and never device-local beside a host
              // heap
};

class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      reset();
      swap(other);
    }
    return *this;
  }

  // Errors: kOutOfMemory or kVulkan naming the call and the size.
  static Result<Buffer> create(const std::shared_ptr<Device::State>& device, std::uint64_t bytes,
                               MemoryUse use, VkBufferUsageFlags further_usage = 0);
  void reset();

  VkBuffer handle() const { return buffer_; }
  std::uint64_t bytes() const { return bytes_; }
  // Mapped while the buffer lives where the host can see it (always but for kDevice, for
  // kDevice on unified memory), else empty.
  std::span<std::byte> mapped() const { return {mapped_, mapped_ != nullptr ? bytes_ : 0}; }
  // Before the device reads what the host wrote / before the host reads what the device wrote.
  Status flush() const;
  Status invalidate() const;

 private:
  void swap(Buffer& other) noexcept;
  std::shared_ptr<Device::State> device_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  std::uint64_t bytes_ = 0;
  std::byte* mapped_ = nullptr;
  bool coherent_ = false;
};

// Index of the best type among `allowed` (bit mask), or 32. Pure, for tests.
std::uint32_t choose_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                 std::uint32_t allowed, MemoryUse use);

}  // namespace spirkiln
