// SPDX-License-Identifier: Apache-2.0
// The commands of a recording that images need: their beginnings, and copies from and to them.
#include "graph/executor.hpp"

namespace spirkiln {

VkMemoryBarrier memory_barrier(VkAccessFlags from, VkAccessFlags to) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = from;
  barrier.dstAccessMask = to;
  return barrier;
}

namespace {

constexpr VkAccessFlags kShader = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;

struct State {
  VkImageLayout layout;
  VkAccessFlags access;
};
// Contents begin behind whatever used the memory before.
constexpr State kBefore{VK_IMAGE_LAYOUT_UNDEFINED, kShader};
constexpr State kInKernels{VK_IMAGE_LAYOUT_GENERAL, kShader};
constexpr State kLoaded{VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_ACCESS_TRANSFER_WRITE_BIT};
constexpr State kCopied{VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_ACCESS_TRANSFER_READ_BIT};

VkImageMemoryBarrier change(const Image& image, const State& from, const State& to) {
  VkImageMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
  barrier.srcAccessMask = from.access;
  barrier.dstAccessMask = to.access;
  barrier.oldLayout = from.layout;
  barrier.newLayout = to.layout;
  barrier.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = image.handle();
  barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  return barrier;
}

// The texels that a buffer's bytes are, as whole rows and what is left of one.
std::vector<VkBufferImageCopy> texel_regions(const ProgramBuffer& buffer,
                                             const TensorImage& image) {
  const auto texels = static_cast<std::uint32_t>(buffer.bytes / image.texel_bytes);
  const std::uint32_t rows = texels / image.width, rest = texels % image.width;
  std::vector<VkBufferImageCopy> regions;
  const auto add = [&](std::uint32_t row, std::uint32_t width, std::uint32_t height) {
    if (width == 0 || height == 0) return;
    VkBufferImageCopy r{};
    r.bufferOffset = buffer.offset + std::uint64_t{row} * image.width * image.texel_bytes;
    r.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    r.imageOffset = {0, static_cast<std::int32_t>(row), 0};
    r.imageExtent = {width, height, 1};
    regions.push_back(r);
  };
  add(0, image.width, rows);
  add(rows, rest, 1);
  return regions;
}

}  // namespace

void Executor::record_barrier(const VkMemoryBarrier* memory,
                              const std::vector<std::uint32_t>& begin,
                              const Recording& recording) const {
  std::vector<VkImageMemoryBarrier> images;
  for (const std::uint32_t buffer : begin) {
    images.push_back(change(*recording.images_[buffer], kBefore, kInKernels));
  }
  if (memory == nullptr && images.empty()) return;
  device_->f.vkCmdPipelineBarrier(recording.buffer_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                  VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0,
                                  memory != nullptr ? 1 : 0, memory, 0, nullptr,
                                  static_cast<std::uint32_t>(images.size()), images.data());
}

void Executor::record_loads(const Program& program, const Recording& recording) const {
  if (program.loads.empty()) return;
  const DeviceFunctions& f = device_->f;
  std::vector<VkImageMemoryBarrier> before, behind;
  for (const Copy& load : program.loads) {
    before.push_back(change(*recording.images_[load.to], kBefore, kLoaded));
    behind.push_back(change(*recording.images_[load.to], kLoaded, kInKernels));
  }
  const auto count = static_cast<std::uint32_t>(before.size());
  f.vkCmdPipelineBarrier(recording.buffer_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, nullptr, 0, nullptr, count,
                         before.data());
  for (const Copy& load : program.loads) {
    const ProgramBuffer& from = program.buffers[load.from];
    const auto regions = texel_regions(from, program.buffers[load.to].image);
    f.vkCmdCopyBufferToImage(recording.buffer_, block(from.home).handle(),
                             recording.images_[load.to]->handle(), kLoaded.layout,
                             static_cast<std::uint32_t>(regions.size()), regions.data());
  }
  f.vkCmdPipelineBarrier(recording.buffer_, VK_PIPELINE_STAGE_TRANSFER_BIT,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 0, nullptr, 0, nullptr, count,
                         behind.data());
}

void Executor::record_copies(const Program& program, const Recording& recording) const {
  const DeviceFunctions& f = device_->f;
  std::vector<VkImageMemoryBarrier> images;
  for (const Copy& copy : program.copies) {
    if (!program.buffers[copy.from].is_image()) continue;
    images.push_back(change(*recording.images_[copy.from], kInKernels, kCopied));
  }
  const VkMemoryBarrier memory =
      memory_barrier(VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_TRANSFER_READ_BIT);
  f.vkCmdPipelineBarrier(recording.buffer_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &memory, 0, nullptr,
                         static_cast<std::uint32_t>(images.size()), images.data());
  for (const Copy& copy : program.copies) {
    const ProgramBuffer& from = program.buffers[copy.from];
    const ProgramBuffer& to = program.buffers[copy.to];
    if (from.is_image()) {
      const auto regions = texel_regions(to, from.image);
      f.vkCmdCopyImageToBuffer(recording.buffer_, recording.images_[copy.from]->handle(),
                               kCopied.layout, block(to.home).handle(),
                               static_cast<std::uint32_t>(regions.size()), regions.data());
      continue;
    }
    const VkBufferCopy region{from.offset, to.offset, from.bytes};
    f.vkCmdCopyBuffer(recording.buffer_, block(from.home).handle(), block(to.home).handle(), 1,
                      &region);
  }
}

}  // namespace spirkiln
