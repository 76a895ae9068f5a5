// SPDX-License-Identifier: Apache-2.0
#include "graph/image.hpp"

#include <string>
#include <utility>

#include "loader/memory.hpp"

namespace spirkiln {
namespace {

// Both may be sampled and stored on every device.
VkFormat format_of(const TensorImage& image) {
  return image.texel_bytes == 16 ? VK_FORMAT_R32G32B32A32_SFLOAT : VK_FORMAT_R16G16B16A16_SFLOAT;
}

VkImageCreateInfo image_info(const TensorImage& image) {
  VkImageCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = format_of(image);
  info.extent = {image.width, image.height, 1};
  info.mipLevels = 1;
  info.arrayLayers = 1;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.tiling = VK_IMAGE_TILING_OPTIMAL;
  info.usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT;
  if (image.copied) {
    info.usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  }
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  info.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  return info;
}

std::string text_of(const TensorImage& image) {
  return " of " + std::to_string(image.width) + " x " + std::to_string(image.height) +
         " texels of " + std::to_string(image.texel_bytes) + " bytes";
}

Result<VkMemoryRequirements> requirements(const Device::State& device, const TensorImage& image) {
  const VkImageCreateInfo info = image_info(image);
  VkImage handle = VK_NULL_HANDLE;
  const VkResult r = made(device.f.vkCreateImage(device.device, &info, nullptr, &handle), &handle);
  if (r != VK_SUCCESS) return vk_error("vkCreateImage" + text_of(image), r);
  VkMemoryRequirements need{};
  device.f.vkGetImageMemoryRequirements(device.device, handle, &need);
  device.f.vkDestroyImage(device.device, handle, nullptr);
  return need;
}

}  // namespace

Result<ImageNeed> image_need(const Device::State& device, const TensorImage& image) {
  const auto need = requirements(device, image);
  if (!need) return need.error();
  return ImageNeed{need->size, need->alignment};
}

Status ImageMemory::allocate(const std::shared_ptr<Device::State>& device, std::uint64_t bytes) {
  reset();
  // Vulkan has the same memory types for all color images of one tiling.
  const auto need = requirements(*device, tensor_image(1, 8));
  if (!need) return need.error();
  const std::string size = " of " + std::to_string(bytes) + " bytes for images";
  const std::uint32_t type =
      choose_memory_type(device->memory, need->memoryTypeBits, MemoryUse::kDevice);
  if (type >= device->memory.memoryTypeCount) {
    return Error{ErrorCode::kUnsupported, device->info.name + " has no memory type for images"};
  }
  const std::uint32_t heap = device->memory.memoryTypes[type].heapIndex;
  if (bytes > device->memory.memoryHeaps[heap].size) {
    return Error{ErrorCode::kOutOfMemory,
                 "a block" + size + " is larger than the whole memory of " + device->info.name};
  }
  VkMemoryAllocateInfo alloc{};
  alloc.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  alloc.allocationSize = bytes;
  alloc.memoryTypeIndex = type;
  const VkResult r =
      made(device->f.vkAllocateMemory(device->device, &alloc, nullptr, &memory_), &memory_);
  if (r != VK_SUCCESS) return device->error("vkAllocateMemory" + size, r);
  device_ = device;
  bytes_ = bytes;
  return Ok{};
}

void ImageMemory::reset() {
  if (device_ == nullptr) return;
  if (device_->may_destroy()) device_->f.vkFreeMemory(device_->device, memory_, nullptr);
  device_.reset();
  memory_ = VK_NULL_HANDLE;
  bytes_ = 0;
}

Result<std::unique_ptr<Image>> Image::create(const std::shared_ptr<Device::State>& device,
                                             const TensorImage& image, const ImageMemory& memory,
                                             std::uint64_t offset) {
  const DeviceFunctions& f = device->f;
  auto out = std::make_unique<Image>(device);
  const VkImageCreateInfo info = image_info(image);
  VkResult r = made(f.vkCreateImage(device->device, &info, nullptr, &out->image_), &out->image_);
  if (r != VK_SUCCESS) return device->error("vkCreateImage" + text_of(image), r);
  // The planner asked already; a driver checks that somebody did so for this very image.
  VkMemoryRequirements need{};
  f.vkGetImageMemoryRequirements(device->device, out->image_, &need);
  if (need.size > memory.bytes() || offset > memory.bytes() - need.size) {
    return Error{ErrorCode::kInvalidArgument, "an image beyond the end of its memory"};
  }
  r = f.vkBindImageMemory(device->device, out->image_, memory.handle(), offset);
  if (r != VK_SUCCESS) return device->error("vkBindImageMemory" + text_of(image), r);
  VkImageViewCreateInfo view{};
  view.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
  view.image = out->image_;
  view.viewType = VK_IMAGE_VIEW_TYPE_2D;
  view.format = info.format;
  view.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  r = made(f.vkCreateImageView(device->device, &view, nullptr, &out->view_), &out->view_);
  if (r != VK_SUCCESS) return device->error("vkCreateImageView" + text_of(image), r);
  return out;
}

Image::~Image() {
  if (!device_->may_destroy()) return;
  const DeviceFunctions& f = device_->f;
  if (view_ != VK_NULL_HANDLE) f.vkDestroyImageView(device_->device, view_, nullptr);
  if (image_ != VK_NULL_HANDLE) f.vkDestroyImage(device_->device, image_, nullptr);
}

}  // namespace spirkiln
