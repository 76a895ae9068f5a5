// SPDX-License-Identifier: Apache-2.0
#include "loader/memory.hpp"

#include <utility>

namespace spirkiln {
namespace {

constexpr VkDeviceSize kWideHeap = VkDeviceSize{1} << 30;

}  // namespace

std::uint32_t choose_memory_type(const VkPhysicalDeviceMemoryProperties& memory,
                                 std::uint32_t allowed, MemoryUse use) {
  bool unified = true;
  for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    unified = unified && (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
  }
  std::uint32_t best = 32;
  int best_score = -1;
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    if ((allowed & (1u << i)) == 0) continue;
    const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    const bool local = (flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0;
    const bool visible = (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0;
    const bool cached = (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
    const bool coherent = (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
    // Lazily allocated and protected memory is not for buffers; AMD's device-coherent is slow.
    if ((flags & ~static_cast<VkMemoryPropertyFlags>(0xf)) != 0) continue;
    int score = 0;
    switch (use) {
      case MemoryUse::kDevice:
        score = (local ? 8 : 0) + (unified && visible ? 4 : 0) + (unified && cached ? 1 : 0);
        break;
      case MemoryUse::kUpload:
        if (!visible) continue;
        // Written once, read once: host memory spares the small window into device memory.
        score = (local == unified ? 8 : 0) + (coherent ? 4 : 0) + (cached ? 0 : 1);
        break;
      case MemoryUse::kInput: {
        if (!visible) continue;
        // Kernels wait for what they read through the bus (3.7 MB: 66 us on an H200); the host does
        // not wait for what it writes through it. A window of 256 MiB is left to the driver.
        const bool wide = memory.memoryHeaps[memory.memoryTypes[i].heapIndex].size >= kWideHeap;
        score = (local && wide ? 16 : 0) + (local == unified ? 8 : 0) + (coherent ? 4 : 0) +
                (cached ? 0 : 1);
        break;
      }
      case MemoryUse::kDownload:
        if (!visible) continue;
        // Reading device-local memory through the bus runs at 30 MB/s.
        score = (local == unified ? 8 : 0) + (cached ? 16 : 0) + (coherent ? 4 : 0);
        break;
    }
    if (score > best_score) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

Result<Buffer> Buffer::create(const std::shared_ptr<Device::State>& device, std::uint64_t bytes,
                              MemoryUse use, VkBufferUsageFlags further_usage) {
  Buffer out;
  out.device_ = device;
  out.bytes_ = bytes;
  const DeviceFunctions& f = device->f;
  const std::string size = " of " + std::to_string(bytes) + " bytes";
  if (bytes > device->caps.max_buffer_bytes) {
    return Error{ErrorCode::kOutOfMemory, device->info.name + " makes no buffer" + size +
                                              ", at most of " +
                                              std::to_string(device->caps.max_buffer_bytes)};
  }
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT | further_usage;
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  VkResult r = made(f.vkCreateBuffer(device->device, &info, nullptr, &out.buffer_), &out.buffer_);
  if (r != VK_SUCCESS) return device->error("vkCreateBuffer" + size, r);
  VkMemoryRequirements need{};
  f.vkGetBufferMemoryRequirements(device->device, out.buffer_, &need);
  const std::uint32_t type = choose_memory_type(device->memory, need.memoryTypeBits, use);
  if (type >= device->memory.memoryTypeCount) {
    return Error{ErrorCode::kUnsupported,
                 device->info.name + " has no memory type for a buffer" + size};
  }
  const std::uint32_t heap = device->memory.memoryTypes[type].heapIndex;
  if (need.size > device->memory.memoryHeaps[heap].size) {
    return Error{ErrorCode::kOutOfMemory,
                 "a buffer" + size + " is larger than the whole memory of " + device->info.name};
  }
  VkMemoryAllocateInfo alloc{};
  alloc.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  alloc.allocationSize = need.size;
  alloc.memoryTypeIndex = type;
  r = made(f.vkAllocateMemory(device->device, &alloc, nullptr, &out.memory_), &out.memory_);
  if (r != VK_SUCCESS) return device->error("vkAllocateMemory" + size, r);
  r = f.vkBindBufferMemory(device->device, out.buffer_, out.memory_, 0);
  if (r != VK_SUCCESS) return device->error("vkBindBufferMemory" + size, r);
  const VkMemoryPropertyFlags flags = device->memory.memoryTypes[type].propertyFlags;
  out.coherent_ = (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
  const bool map = use != MemoryUse::kDevice || device->caps.unified_memory;
  if (map && (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0) {
    void* address = nullptr;
    r = f.vkMapMemory(device->device, out.memory_, 0, VK_WHOLE_SIZE, 0, &address);
    if (r != VK_SUCCESS) return device->error("vkMapMemory" + size, r);
    out.mapped_ = static_cast<std::byte*>(address);
  }
  return out;
}

void Buffer::reset() {
  if (device_ == nullptr) return;
  // Freeing memory unmaps it.
  const bool may_destroy = device_->may_destroy();
  if (may_destroy && buffer_ != VK_NULL_HANDLE) {
    device_->f.vkDestroyBuffer(device_->device, buffer_, nullptr);
  }
  if (may_destroy && memory_ != VK_NULL_HANDLE) {
    device_->f.vkFreeMemory(device_->device, memory_, nullptr);
  }
  device_.reset();
  buffer_ = VK_NULL_HANDLE;
  memory_ = VK_NULL_HANDLE;
  bytes_ = 0;
  mapped_ = nullptr;
}

void Buffer::swap(Buffer& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(buffer_, other.buffer_);
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  std::swap(coherent_, other.coherent_);
}

Status Buffer::flush() const {
  if (mapped_ == nullptr || coherent_) return Ok{};
  VkMappedMemoryRange range{};
  range.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE;
  range.memory = memory_;
  range.size = VK_WHOLE_SIZE;
  const VkResult r = device_->f.vkFlushMappedMemoryRanges(device_->device, 1, &range);
  if (r != VK_SUCCESS) return device_->error("vkFlushMappedMemoryRanges", r);
  return Ok{};
}

Status Buffer::invalidate() const {
  if (mapped_ == nullptr || coherent_) return Ok{};
  VkMappedMemoryRange range{};
  range.sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE;
  range.memory = memory_;
  range.size = VK_WHOLE_SIZE;
  const VkResult r = device_->f.vkInvalidateMappedMemoryRanges(device_->device, 1, &range);
  if (r != VK_SUCCESS) return device_->error("vkInvalidateMappedMemoryRanges", r);
  return Ok{};
}

}  // namespace spirkiln
