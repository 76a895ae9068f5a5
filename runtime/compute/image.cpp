// SPDX-License-Identifier: Apache-2.0
// Between calls images are in the layout GENERAL, from their making to their end.
#include <algorithm>
#include <array>
#include <cstring>

#include "compute/resources.hpp"
#include "loader/guard.hpp"
#include "loader/submit.hpp"

namespace spirkiln::compute {
namespace {

struct Format {
  const char* name;
  VkFormat vulkan;
  std::uint32_t texel_bytes;
  std::uint32_t spirv;  // spv::ImageFormat
};
// In the order of ImageFormat.
constexpr Format kFormats[] = {
    {"r16f", VK_FORMAT_R16_SFLOAT, 2, 9},
    {"r32f", VK_FORMAT_R32_SFLOAT, 4, 3},
    {"rgba16f", VK_FORMAT_R16G16B16A16_SFLOAT, 8, 2},
    {"rgba32f", VK_FORMAT_R32G32B32A32_SFLOAT, 16, 1},
    {"rgba8", VK_FORMAT_R8G8B8A8_UNORM, 4, 4},
};
const Format& format_of(ImageFormat format) { return kFormats[static_cast<std::size_t>(format)]; }

std::string text_of(const ImageShape& s) {
  return " of " + std::to_string(s.size.x) + " x " + std::to_string(s.size.y) + " x " +
         std::to_string(s.size.z) + " texels, " + name_of(s.format);
}

// The usages of an image, in words.
std::string words_of(VkImageUsageFlags usage) {
  std::string words = "copied";
  if ((usage & VK_IMAGE_USAGE_SAMPLED_BIT) != 0) words += ", sampled";
  if ((usage & VK_IMAGE_USAGE_STORAGE_BIT) != 0) words += ", stored";
  return words;
}

// Whether the device has such images at all, and of this size: Vulkan promises few formats for
// images that are stored, and none of one or three dimensions. One level, one layer and one sample
// are there wherever the format is.
Status check_limits(const spirkiln::Device::State& device, const ImageShape& s,
                    const VkImageCreateInfo& info) {
  const InstanceFunctions& fi = device.instance->functions();
  VkImageFormatProperties most{};
  const auto ask = [&](VkImageUsageFlags usage) {
    return fi.vkGetPhysicalDeviceImageFormatProperties(device.physical, info.format, info.imageType,
                                                       info.tiling, usage, info.flags, &most);
  };
  const std::string image = "an image" + text_of(s) + ": " + device.info.name + " ";
  const VkResult r = ask(info.usage);
  if (r == VK_ERROR_FORMAT_NOT_SUPPORTED) {
    constexpr VkImageUsageFlags kCopied =
        VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    std::string given;
    for (const VkImageUsageFlags usage : {VK_IMAGE_USAGE_SAMPLED_BIT, VK_IMAGE_USAGE_STORAGE_BIT}) {
      if ((info.usage & usage) == 0 || ask(kCopied | usage) != VK_SUCCESS) continue;
      given += (given.empty() ? "" : ", or ") + words_of(kCopied | usage);
    }
    return Error{
        ErrorCode::kUnsupported,
        image + "has no " + name_of(s.format) + " of " + std::to_string(s.dimensions) +
            " dimensions that is " + words_of(info.usage) + "; it has " +
            (given.empty() ? "none at all. Take another format or a buffer"
                           : "one that is " + given + ". Take another format or a buffer")};
  }
  if (r != VK_SUCCESS) return vk_error("vkGetPhysicalDeviceImageFormatProperties", r);
  const VkExtent3D& e = most.maxExtent;
  if (s.size.x > e.width || s.size.y > e.height || s.size.z > e.depth) {
    return Error{ErrorCode::kUnsupported,
                 image + "has such images of up to " + std::to_string(e.width) + " x " +
                     std::to_string(e.height) + " x " + std::to_string(e.depth) + " texels"};
  }
  if (const std::uint64_t bytes = bytes_of(s).value(); bytes > most.maxResourceSize) {
    return Error{ErrorCode::kUnsupported, image + "has such images of up to " +
                                              std::to_string(most.maxResourceSize) +
                                              " bytes, this one has " + std::to_string(bytes)};
  }
  return Ok{};
}

// A layout, and what uses the image in it.
struct Use {
  VkImageLayout layout;
  VkAccessFlags access;
};
constexpr Use kNothing{VK_IMAGE_LAYOUT_UNDEFINED, 0};
constexpr Use kInKernels{VK_IMAGE_LAYOUT_GENERAL,
                         VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
constexpr Use kWritten{VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_ACCESS_TRANSFER_WRITE_BIT};
constexpr Use kRead{VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_ACCESS_TRANSFER_READ_BIT};

// Every call ends with images in the layout that kernels use, so kernels and copies are all there
// is to wait for.
void change(const Image::State& s, VkCommandBuffer commands, const Use& from, const Use& to) {
  constexpr VkPipelineStageFlags kUsers =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkImageMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
  barrier.srcAccessMask = from.access;
  barrier.dstAccessMask = to.access;
  barrier.oldLayout = from.layout;
  barrier.newLayout = to.layout;
  barrier.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  barrier.image = s.image;
  barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  s.device->f.vkCmdPipelineBarrier(commands, kUsers, kUsers, 0, 0, nullptr, 0, nullptr, 1,
                                   &barrier);
}

Status allocate(Image::State& s) {
  const DeviceFunctions& f = s.device->f;
  VkMemoryRequirements need{};
  f.vkGetImageMemoryRequirements(s.device->device, s.image, &need);
  const std::uint32_t type =
      choose_memory_type(s.device->memory, need.memoryTypeBits, MemoryUse::kDevice);
  if (type >= s.device->memory.memoryTypeCount) {
    return Error{ErrorCode::kUnsupported, s.device->info.name + " has no memory type for images"};
  }
  if (need.size > s.device->memory.memoryHeaps[s.device->memory.memoryTypes[type].heapIndex].size) {
    return Error{ErrorCode::kOutOfMemory, "an image" + text_of(s.shape) +
                                              " is larger than the whole memory of " +
                                              s.device->info.name};
  }
  VkMemoryAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.allocationSize = need.size;
  info.memoryTypeIndex = type;
  VkResult r = made(f.vkAllocateMemory(s.device->device, &info, nullptr, &s.memory), &s.memory);
  if (r != VK_SUCCESS)
    return s.device->error("vkAllocateMemory for an image" + text_of(s.shape), r);
  r = f.vkBindImageMemory(s.device->device, s.image, s.memory, 0);
  if (r != VK_SUCCESS) return s.device->error("vkBindImageMemory", r);
  return Ok{};
}

Result<Image> make_image(const Device& device, const ImageShape& shape) {
  auto vulkan = vulkan_of(device);
  if (!vulkan) return std::move(vulkan).error();
  if (auto bytes = bytes_of(shape); !bytes) return std::move(bytes).error();
  auto state = std::make_shared<Image::State>(*std::move(vulkan));
  Image::State& s = *state;
  s.shape = shape;
  const DeviceFunctions& f = s.device->f;
  VkImageCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
  info.imageType = static_cast<VkImageType>(shape.dimensions - 1);
  info.format = format_of(shape.format).vulkan;
  info.extent = {shape.size.x, shape.size.y, shape.size.z};
  info.mipLevels = 1;
  info.arrayLayers = 1;
  info.samples = VK_SAMPLE_COUNT_1_BIT;
  info.tiling = VK_IMAGE_TILING_OPTIMAL;
  info.usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
               VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  // Not every device stores single lanes of 16 bits; kernels that do are not chosen there.
  if (shape.format != ImageFormat::kR16f || s.device->caps.image_extended_formats) {
    info.usage |= VK_IMAGE_USAGE_STORAGE_BIT;
  }
  info.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
  info.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
  if (auto status = check_limits(*s.device, shape, info); !status) {
    return std::move(status).error();
  }
  VkResult r = made(f.vkCreateImage(s.device->device, &info, nullptr, &s.image), &s.image);
  if (r != VK_SUCCESS) return s.device->error("vkCreateImage" + text_of(shape), r);
  if (auto status = allocate(s); !status) return std::move(status).error();
  VkImageViewCreateInfo view{};
  view.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
  view.image = s.image;
  view.viewType = static_cast<VkImageViewType>(shape.dimensions - 1);
  view.format = info.format;
  view.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  r = made(f.vkCreateImageView(s.device->device, &view, nullptr, &s.view), &s.view);
  if (r != VK_SUCCESS) return s.device->error("vkCreateImageView" + text_of(shape), r);
  auto begun = run_once(s.device, [&](VkCommandBuffer c) { change(s, c, kNothing, kInKernels); });
  if (!begun) return std::move(begun).error();
  return Image(std::move(state));
}

Status check_copy(const Image::State& s, std::size_t bytes) {
  if (s.is_foreign) {
    return Error{ErrorCode::kUnsupported,
                 "an image that was made by the caller is read and written by the caller"};
  }
  const std::uint64_t all = bytes_of(s.shape).value();
  if (bytes == all) return Ok{};
  return Error{ErrorCode::kInvalidArgument, std::to_string(bytes) + " bytes for an image" +
                                                text_of(s.shape) + ", which has " +
                                                std::to_string(all)};
}

// Between all texels and a buffer.
Status copy(const Image::State& s, const spirkiln::Buffer& buffer, bool to_host) {
  const DeviceFunctions& f = s.device->f;
  return run_once(s.device, [&](VkCommandBuffer c) {
    VkBufferImageCopy region{};
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = {s.shape.size.x, s.shape.size.y, s.shape.size.z};
    const Use& copied = to_host ? kRead : kWritten;
    change(s, c, kInKernels, copied);
    if (!to_host) {
      f.vkCmdCopyBufferToImage(c, buffer.handle(), s.image, copied.layout, 1, &region);
    } else {
      f.vkCmdCopyImageToBuffer(c, s.image, copied.layout, buffer.handle(), 1, &region);
      VkMemoryBarrier host{};
      host.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
      host.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
      host.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
      f.vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                             &host, 0, nullptr, 0, nullptr);
    }
    change(s, c, copied, kInKernels);
  });
}

Status write_image(const Image::State& s, std::span<const std::byte> texels) {
  if (auto status = check_copy(s, texels.size()); !status) return status;
  auto staging = spirkiln::Buffer::create(s.device, texels.size(), MemoryUse::kUpload);
  if (!staging) return std::move(staging).error();
  std::memcpy(staging->mapped().data(), texels.data(), texels.size());
  if (auto status = staging->flush(); !status) return status;
  return copy(s, *staging, false);
}

Status read_image(const Image::State& s, std::span<std::byte> texels) {
  if (auto status = check_copy(s, texels.size()); !status) return status;
  auto staging = spirkiln::Buffer::create(s.device, texels.size(), MemoryUse::kDownload);
  if (!staging) return std::move(staging).error();
  if (auto status = copy(s, *staging, true); !status) return status;
  if (auto status = staging->invalidate(); !status) return status;
  std::memcpy(texels.data(), staging->mapped().data(), texels.size());
  return Ok{};
}

}  // namespace

const char* name_of(ImageFormat format) { return format_of(format).name; }

std::optional<ImageFormat> format_from_spirv(std::uint32_t format) {
  for (std::size_t i = 0; i < std::size(kFormats); ++i) {
    if (kFormats[i].spirv == format) return static_cast<ImageFormat>(i);
  }
  return std::nullopt;
}

Result<std::uint64_t> bytes_of(const ImageShape& s) {
  if (static_cast<std::size_t>(s.format) >= std::size(kFormats)) {
    return Error{ErrorCode::kInvalidArgument,
                 "no image format has the number " +
                     std::to_string(static_cast<std::uint32_t>(s.format)) + ", 0 to 4 are known"};
  }
  const bool flat = (s.dimensions >= 2 || s.size.y == 1) && (s.dimensions >= 3 || s.size.z == 1);
  if (s.dimensions < 1 || s.dimensions > 3 || s.size.x == 0 || s.size.y == 0 || s.size.z == 0 ||
      !flat) {
    return Error{ErrorCode::kInvalidArgument,
                 "an image" + text_of(s) + " of " + std::to_string(s.dimensions) +
                     " dimensions: expected 1, 2 or 3, and a size of 1 along each further axis"};
  }
  // Any size that a device takes stays far below 2^64.
  const double texels = double(s.size.x) * s.size.y * s.size.z;
  if (texels > 1e15) {
    return Error{
        ErrorCode::kUnsupported,
        "an image" + text_of(s) +
            ": more than 10^15 texels, which no device has memory for. Are its sizes right?"};
  }
  return std::uint64_t{s.size.x} * s.size.y * s.size.z * format_of(s.format).texel_bytes;
}

Image::State::~State() {
  if (is_foreign || !device->may_destroy()) return;
  const DeviceFunctions& f = device->f;
  if (view != VK_NULL_HANDLE) f.vkDestroyImageView(device->device, view, nullptr);
  if (image != VK_NULL_HANDLE) f.vkDestroyImage(device->device, image, nullptr);
  if (memory != VK_NULL_HANDLE) f.vkFreeMemory(device->device, memory, nullptr);
}

Result<Image> Image::create(const Device& device, const ImageShape& shape) {
  return guarded([&] { return make_image(device, shape); });
}
Status Image::write(std::span<const std::byte> texels) {
  if (state_ == nullptr) return never_made("image");
  return guarded([&] { return write_image(*state_, texels); });
}
Status Image::read(std::span<std::byte> texels) const {
  if (state_ == nullptr) return never_made("image");
  return guarded([&] { return read_image(*state_, texels); });
}
const ImageShape& Image::shape() const {
  static const ImageShape nothing{0, {0, 0, 0}, ImageFormat::kRgba32f};
  return state_ != nullptr ? state_->shape : nothing;
}
std::uint64_t Image::bytes() const {
  return state_ != nullptr ? bytes_of(state_->shape).value() : 0;
}

}  // namespace spirkiln::compute
