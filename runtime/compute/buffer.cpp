// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>

#include "compute/resources.hpp"
#include "graph/executor.hpp"
#include "graph/kernel_runner.hpp"
#include "loader/guard.hpp"
#include "loader/submit.hpp"
#include "table/printable.hpp"
#include "table/select.hpp"

namespace spirkiln::compute {
namespace {

constexpr VkPipelineStageFlags kKernels = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
constexpr VkPipelineStageFlags kCopies = VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kShader = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;

Status check_range(const Buffer::State& b, std::uint64_t offset, std::uint64_t bytes) {
  if (offset <= b.bytes && bytes <= b.bytes - offset) return Ok{};
  return Error{ErrorCode::kInvalidArgument,
               std::to_string(bytes) + " bytes from " + std::to_string(offset) +
                   " on lie beyond the end of a buffer of " + std::to_string(b.bytes)};
}

Error not_ours() {
  return Error{ErrorCode::kUnsupported,
               "a buffer that was made by the caller is read and written by the caller"};
}

void record_copy(const DeviceFunctions& f, VkCommandBuffer c, VkBuffer from, VkBuffer to,
                 const VkBufferCopy& region, bool to_host) {
  const VkMemoryBarrier before = memory_barrier(
      VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
  f.vkCmdPipelineBarrier(c, kKernels | kCopies, kCopies, 0, 1, &before, 0, nullptr, 0, nullptr);
  f.vkCmdCopyBuffer(c, from, to, 1, &region);
  const VkMemoryBarrier behind =
      memory_barrier(VK_ACCESS_TRANSFER_WRITE_BIT,
                     to_host ? VK_ACCESS_HOST_READ_BIT
                             : kShader | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_UNIFORM_READ_BIT);
  f.vkCmdPipelineBarrier(c, kCopies, to_host ? VK_PIPELINE_STAGE_HOST_BIT : kKernels | kCopies, 0,
                         1, &behind, 0, nullptr, 0, nullptr);
}

Result<Buffer> make_buffer(const Device& device, std::uint64_t bytes, Memory memory) {
  auto vulkan = vulkan_of(device);
  if (!vulkan) return std::move(vulkan).error();
  if (bytes == 0) return Error{ErrorCode::kInvalidArgument, "a buffer without bytes"};
  if (memory > Memory::kDownload) {
    return Error{ErrorCode::kInvalidArgument,
                 "no kind of memory has the number " +
                     std::to_string(static_cast<std::uint32_t>(memory)) + ", 0 to 2 are known"};
  }
  static constexpr MemoryUse kUses[] = {MemoryUse::kDevice, MemoryUse::kUpload,
                                        MemoryUse::kDownload};
  auto made = spirkiln::Buffer::create(*vulkan, bytes, kUses[static_cast<std::size_t>(memory)],
                                       VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT);
  if (!made) return std::move(made).error();
  auto state = std::make_shared<Buffer::State>();
  state->device = *std::move(vulkan);
  state->memory = *std::move(made);
  state->handle = state->memory.handle();
  state->bytes = bytes;
  return Buffer(std::move(state));
}

Status write_buffer(Buffer::State& b, std::span<const std::byte> bytes, std::uint64_t offset) {
  if (auto s = check_range(b, offset, bytes.size()); !s) return s;
  if (b.memory.handle() == VK_NULL_HANDLE) return not_ours();
  if (bytes.empty()) return Ok{};
  if (const auto mapped = b.memory.mapped(); !mapped.empty()) {
    std::memcpy(mapped.data() + offset, bytes.data(), bytes.size());
    return b.memory.flush();
  }
  auto staging = spirkiln::Buffer::create(b.device, bytes.size(), MemoryUse::kUpload);
  if (!staging) return std::move(staging).error();
  std::memcpy(staging->mapped().data(), bytes.data(), bytes.size());
  if (auto s = staging->flush(); !s) return s;
  return run_once(b.device, [&](VkCommandBuffer c) {
    record_copy(b.device->f, c, staging->handle(), b.handle, {0, offset, bytes.size()}, false);
  });
}

Status read_buffer(const Buffer::State& b, std::span<std::byte> bytes, std::uint64_t offset) {
  if (auto s = check_range(b, offset, bytes.size()); !s) return s;
  if (b.memory.handle() == VK_NULL_HANDLE) return not_ours();
  if (bytes.empty()) return Ok{};
  if (const auto mapped = b.memory.mapped(); !mapped.empty()) {
    if (auto s = b.memory.invalidate(); !s) return s;
    std::memcpy(bytes.data(), mapped.data() + offset, bytes.size());
    return Ok{};
  }
  auto staging = spirkiln::Buffer::create(b.device, bytes.size(), MemoryUse::kDownload);
  if (!staging) return std::move(staging).error();
  auto copied = run_once(b.device, [&](VkCommandBuffer c) {
    record_copy(b.device->f, c, b.handle, staging->handle(), {offset, 0, bytes.size()}, true);
  });
  if (!copied) return copied;
  if (auto s = staging->invalidate(); !s) return s;
  std::memcpy(bytes.data(), staging->mapped().data(), bytes.size());
  return Ok{};
}

Result<Form> form_of_name(const std::string& name) {
  if (const auto form = form_from_name(name); form && form->storage <= table::Storage::kFp16) {
    return *form;
  }
  std::string known;
  for (const std::string_view n : form_names()) known += " " + std::string(n);
  return Error{ErrorCode::kInvalidArgument,
               "no form is called '" + printable(name) + "'; there are:" + known};
}

}  // namespace

Result<DeviceState> vulkan_of(const Device& device) {
  if (device.state() != nullptr) return device.state();
  if (device.backends() == nullptr) {
    return Error{ErrorCode::kInvalidArgument, "the device was never opened"};
  }
  return Error{ErrorCode::kUnsupported,
               "kernels run on Vulkan devices only, and this is the CPU backend; open one with "
               "compute::open_device"};
}

Error never_made(const char* what) {
  return Error{ErrorCode::kInvalidArgument,
               std::string("the ") + what + " was never made, or was moved from"};
}

VkPhysicalDeviceLimits limits_of(const spirkiln::Device::State& device) {
  VkPhysicalDeviceProperties properties{};
  device.instance->functions().vkGetPhysicalDeviceProperties(device.physical, &properties);
  return properties.limits;
}

Result<Buffer> Buffer::create(const Device& device, std::uint64_t bytes, Memory memory) {
  return guarded([&] { return make_buffer(device, bytes, memory); });
}
Status Buffer::write(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (state_ == nullptr) return never_made("buffer");
  return guarded([&] { return write_buffer(*state_, bytes, offset); });
}
Status Buffer::read(std::span<std::byte> bytes, std::uint64_t offset) const {
  if (state_ == nullptr) return never_made("buffer");
  return guarded([&] { return read_buffer(*state_, bytes, offset); });
}
std::uint64_t Buffer::bytes() const { return state_ != nullptr ? state_->bytes : 0; }

Result<std::vector<std::byte>> to_storage(std::span<const float> values, const std::string& form) {
  auto known = form_of_name(form);
  if (!known) return std::move(known).error();
  return guarded(
      [&]() -> Result<std::vector<std::byte>> { return spirkiln::to_storage(values, *known); });
}

Result<std::vector<float>> from_storage(std::span<const std::byte> bytes, const std::string& form) {
  auto known = form_of_name(form);
  if (!known) return std::move(known).error();
  const std::size_t lane = known->storage == table::Storage::kFp32 ? 4 : 2;
  if (bytes.size() % lane != 0) {
    return Error{ErrorCode::kInvalidArgument, std::to_string(bytes.size()) +
                                                  " bytes are no whole number of lanes: one has " +
                                                  std::to_string(lane) + " in " + form};
  }
  return guarded(
      [&]() -> Result<std::vector<float>> { return spirkiln::from_storage(bytes, *known); });
}

}  // namespace spirkiln::compute
