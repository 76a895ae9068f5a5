// SPDX-License-Identifier: Apache-2.0
// Images that hold tensors, and the memory that they share.
#pragma once

#include <memory>

#include "graph/tensor_image.hpp"
#include "loader/device.hpp"

namespace spirkiln {

// What the device wants for an image. Errors: kUnsupported, kVulkan.
Result<ImageNeed> image_need(const Device::State& device, const TensorImage& image);

// Memory for images and nothing else: beside buffers they would have to keep the device's
// bufferImageGranularity, and some memory types take buffers only.
class ImageMemory {
 public:
  ImageMemory() = default;
  ~ImageMemory() { reset(); }
  ImageMemory(const ImageMemory&) = delete;
  ImageMemory& operator=(const ImageMemory&) = delete;

  // In place of what was there. Errors: kOutOfMemory or kVulkan naming the call and the size.
  Status allocate(const std::shared_ptr<Device::State>& device, std::uint64_t bytes);
  void reset();
  VkDeviceMemory handle() const { return memory_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Device::State> device_;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  std::uint64_t bytes_ = 0;
};

class Image {
 public:
  // At `offset` of memory that outlives it.
  static Result<std::unique_ptr<Image>> create(const std::shared_ptr<Device::State>& device,
                                               const TensorImage& image, const ImageMemory& memory,
                                               std::uint64_t offset);
  explicit Image(std::shared_ptr<Device::State> device) : device_(std::move(device)) {}
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  VkImage handle() const { return image_; }
  VkImageView view() const { return view_; }

 private:
  std::shared_ptr<Device::State> device_;
  VkImage image_ = VK_NULL_HANDLE;
  VkImageView view_ = VK_NULL_HANDLE;
};

}  // namespace spirkiln
