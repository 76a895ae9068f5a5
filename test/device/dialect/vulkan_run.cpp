// SPDX-License-Identifier: Apache-2.0
#include "vulkan_run.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "loader/memory.hpp"

namespace spirkiln::test {
namespace {

constexpr std::size_t kJobsOfOneSubmission = 48;
constexpr std::size_t kGuardBytes = 256;
constexpr std::byte kGuard{0xa5};

template <typename T>
T make(VkStructureType type) {
  T info{};
  info.sType = type;
  return info;
}

VkFormat format_of(const ImageShape& shape) {
  if (shape.bytes) return VK_FORMAT_R8G8B8A8_UNORM;
  if (shape.lanes == 1) return shape.half ? VK_FORMAT_R16_SFLOAT : VK_FORMAT_R32_SFLOAT;
  return shape.half ? VK_FORMAT_R16G16B16A16_SFLOAT : VK_FORMAT_R32G32B32A32_SFLOAT;
}

VkImageLayout layout_of(const ImageShape& shape) {
  return shape.sampled ? VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL : VK_IMAGE_LAYOUT_GENERAL;
}

struct BoundImage {
  VkImage image = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkImageView view = VK_NULL_HANDLE;
};

// What one job needs on the device.
struct Made {
  std::vector<Buffer> buffers;      // an image's bytes pass through one
  std::vector<BoundImage> images;   // empty for buffers
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkDescriptorSet set = VK_NULL_HANDLE;
};

class Batch {
 public:
  Batch(const Device& device, std::span<Job> jobs)
      : s_(*device.state()), shared_(device.state()), f_(s_.f), jobs_(jobs) {}
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch() {
    for (Made& m : made_) {
      f_.vkDestroyPipeline(s_.device, m.pipeline, nullptr);
      f_.vkDestroyPipelineLayout(s_.device, m.layout, nullptr);
      f_.vkDestroyDescriptorSetLayout(s_.device, m.set_layout, nullptr);
      for (BoundImage& i : m.images) {
        f_.vkDestroyImageView(s_.device, i.view, nullptr);
        f_.vkDestroyImage(s_.device, i.image, nullptr);
        f_.vkFreeMemory(s_.device, i.memory, nullptr);
      }
    }
    f_.vkDestroyDescriptorPool(s_.device, pool_, nullptr);
    f_.vkDestroyCommandPool(s_.device, commands_, nullptr);
    f_.vkDestroyFence(s_.device, fence_, nullptr);
    f_.vkDestroySampler(s_.device, sampler_, nullptr);
  }

  Status run() {
    made_.resize(jobs_.size());
    auto sampler = make<VkSamplerCreateInfo>(VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO);
    sampler.addressModeU = sampler.addressModeV = sampler.addressModeW =
        VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
    VkResult r = f_.vkCreateSampler(s_.device, &sampler, nullptr, &sampler_);
    if (r != VK_SUCCESS) return vk_error("vkCreateSampler", r);
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (auto status = make_resources(jobs_[i], &made_[i]); !status) return status;
    }
    // A CPU driver compiles here, which is most of the time.
    std::vector<VkResult> results(jobs_.size(), VK_SUCCESS);
    in_parallel(jobs_.size(),
                [&](std::size_t i) { results[i] = make_pipeline(jobs_[i], &made_[i]); });
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (results[i] != VK_SUCCESS) return vk_error("the pipeline of " + jobs_[i].name, results[i]);
    }
    if (auto status = make_descriptors(); !status) return status;
    if (auto status = record_and_wait(); !status) return status;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (auto status = read_back(&jobs_[i], made_[i]); !status) return status;
    }
    return Ok{};
  }

 private:
  Status make_resources(const Job& job, Made* m) {
    for (const Binding& b : job.bindings) {
      const std::size_t size = b.bytes.size();
      auto buffer = Buffer::create(shared_, size + kGuardBytes, MemoryUse::kDownload);
      if (!buffer) return std::move(buffer).error();
      const auto mapped = buffer->mapped();
      std::memcpy(mapped.data(), b.bytes.data(), size);
      std::fill(mapped.begin() + static_cast<std::ptrdiff_t>(size), mapped.end(), kGuard);
      if (auto status = buffer->flush(); !status) return status;
      m->buffers.push_back(*std::move(buffer));
      m->images.emplace_back();
      if (!b.image) continue;
      if (auto status = make_image(*b.image, &m->images.back()); !status) return status;
    }
    return Ok{};
  }

  Status make_image(const ImageShape& shape, BoundImage* out) {
    auto info = make<VkImageCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO);
    info.imageType = static_cast<VkImageType>(shape.dims - 1);
    info.format = format_of(shape);
    info.extent = {shape.w, shape.h, shape.d};
    info.mipLevels = 1;
    info.arrayLayers = 1;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                 (shape.sampled ? VK_IMAGE_USAGE_SAMPLED_BIT : VK_IMAGE_USAGE_STORAGE_BIT);
    VkResult r = f_.vkCreateImage(s_.device, &info, nullptr, &out->image);
    if (r != VK_SUCCESS) return vk_error("vkCreateImage", r);
    VkMemoryRequirements need{};
    f_.vkGetImageMemoryRequirements(s_.device, out->image, &need);
    auto alloc = make<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    alloc.allocationSize = need.size;
    alloc.memoryTypeIndex = choose_memory_type(s_.memory, need.memoryTypeBits, MemoryUse::kDevice);
    r = f_.vkAllocateMemory(s_.device, &alloc, nullptr, &out->memory);
    if (r != VK_SUCCESS) return vk_error("vkAllocateMemory of an image", r);
    r = f_.vkBindImageMemory(s_.device, out->image, out->memory, 0);
    if (r != VK_SUCCESS) return vk_error("vkBindImageMemory", r);
    auto view = make<VkImageViewCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO);
    view.image = out->image;
    view.viewType = static_cast<VkImageViewType>(shape.dims - 1);
    view.format = info.format;
    view.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    r = f_.vkCreateImageView(s_.device, &view, nullptr, &out->view);
    return r == VK_SUCCESS ? Status(Ok{}) : vk_error("vkCreateImageView", r);
  }

  static VkDescriptorType type_of(const Binding& b) {
    if (!b.image) return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    return b.image->sampled ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
                            : VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
  }

  VkResult make_pipeline(const Job& job, Made* m) {
    std::vector<VkDescriptorSetLayoutBinding> list;
    for (std::uint32_t i = 0; i < job.bindings.size(); ++i) {
      list.push_back({i, type_of(job.bindings[i]), 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    }
    auto set =
        make<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
    set.bindingCount = static_cast<std::uint32_t>(list.size());
    set.pBindings = list.data();
    VkResult r = f_.vkCreateDescriptorSetLayout(s_.device, &set, nullptr, &m->set_layout);
    if (r != VK_SUCCESS) return r;
    const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                   static_cast<std::uint32_t>(job.push.size() * 4)};
    auto layout = make<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &m->set_layout;
    layout.pushConstantRangeCount = job.push.empty() ? 0 : 1;
    layout.pPushConstantRanges = &push;
    r = f_.vkCreatePipelineLayout(s_.device, &layout, nullptr, &m->layout);
    if (r != VK_SUCCESS) return r;
    auto shader = make<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    shader.codeSize = job.words.size() * 4;
    shader.pCode = job.words.data();
    VkShaderModule module = VK_NULL_HANDLE;
    r = f_.vkCreateShaderModule(s_.device, &shader, nullptr, &module);
    if (r != VK_SUCCESS) return r;
    std::vector<VkSpecializationMapEntry> map;
    std::vector<std::uint32_t> data;
    for (const auto& [id, bits] : job.specs) {
      map.push_back({id, static_cast<std::uint32_t>(data.size() * 4), 4});
      data.push_back(bits);
    }
    const VkSpecializationInfo specialization{static_cast<std::uint32_t>(map.size()), map.data(),
                                              data.size() * 4, data.data()};
    auto info = make<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
    info.stage =
        make<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = map.empty() ? nullptr : &specialization;
    info.layout = m->layout;
    r = f_.vkCreateComputePipelines(s_.device, VK_NULL_HANDLE, 1, &info, nullptr, &m->pipeline);
    f_.vkDestroyShaderModule(s_.device, module, nullptr);
    return r;
  }

  Status make_descriptors() {
    std::array<VkDescriptorPoolSize, 3> sizes = {
        VkDescriptorPoolSize{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1},
        VkDescriptorPoolSize{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1},
        VkDescriptorPoolSize{VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1}};
    for (const Job& job : jobs_) {
      for (const Binding& b : job.bindings) {
        for (VkDescriptorPoolSize& size : sizes) size.descriptorCount += size.type == type_of(b);
      }
    }
    auto pool = make<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
    pool.maxSets = static_cast<std::uint32_t>(jobs_.size());
    pool.poolSizeCount = static_cast<std::uint32_t>(sizes.size());
    pool.pPoolSizes = sizes.data();
    VkResult r = f_.vkCreateDescriptorPool(s_.device, &pool, nullptr, &pool_);
    if (r != VK_SUCCESS) return vk_error("vkCreateDescriptorPool", r);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      auto alloc =
          make<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
      alloc.descriptorPool = pool_;
      alloc.descriptorSetCount = 1;
      alloc.pSetLayouts = &made_[j].set_layout;
      r = f_.vkAllocateDescriptorSets(s_.device, &alloc, &made_[j].set);
      if (r != VK_SUCCESS) return vk_error("vkAllocateDescriptorSets", r);
      for (std::uint32_t i = 0; i < jobs_[j].bindings.size(); ++i) {
        const Binding& b = jobs_[j].bindings[i];
        const VkDescriptorBufferInfo buffer{made_[j].buffers[i].handle(), 0, b.bytes.size()};
        VkDescriptorImageInfo image{sampler_, made_[j].images[i].view, VK_IMAGE_LAYOUT_GENERAL};
        if (b.image) image.imageLayout = layout_of(*b.image);
        auto write = make<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
        write.dstSet = made_[j].set;
        write.dstBinding = i;
        write.descriptorCount = 1;
        write.descriptorType = type_of(b);
        write.pBufferInfo = &buffer;
        write.pImageInfo = &image;
        f_.vkUpdateDescriptorSets(s_.device, 1, &write, 0, nullptr);
      }
    }
    return Ok{};
  }

  // From the buffer into the image, or back.
  void copy_image(VkCommandBuffer c, const ImageShape& shape, const BoundImage& image,
                  const Buffer& buffer, bool back) {
    VkBufferImageCopy region{};
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = {shape.w, shape.h, shape.d};
    const VkImageLayout used =
        back ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    auto barrier = make<VkImageMemoryBarrier>(VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER);
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = image.image;
    barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    barrier.srcAccessMask = back ? VK_ACCESS_SHADER_WRITE_BIT : 0;
    barrier.dstAccessMask = back ? VK_ACCESS_TRANSFER_READ_BIT : VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.oldLayout = back ? layout_of(shape) : VK_IMAGE_LAYOUT_UNDEFINED;
    barrier.newLayout = used;
    const VkPipelineStageFlags before =
        back ? VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT : VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT;
    f_.vkCmdPipelineBarrier(c, before, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, nullptr, 0, nullptr, 1,
                            &barrier);
    if (back) {
      f_.vkCmdCopyImageToBuffer(c, image.image, used, buffer.handle(), 1, &region);
      return;
    }
    f_.vkCmdCopyBufferToImage(c, buffer.handle(), image.image, used, 1, &region);
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    barrier.oldLayout = used;
    barrier.newLayout = layout_of(shape);
    f_.vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                            0, 0, nullptr, 0, nullptr, 1, &barrier);
  }

  void record(VkCommandBuffer c) {
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const Job& job = jobs_[j];
      const Made& m = made_[j];
      for (std::size_t i = 0; i < job.bindings.size(); ++i) {
        if (job.bindings[i].image) {
          copy_image(c, *job.bindings[i].image, m.images[i], m.buffers[i], false);
        }
      }
      f_.vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, m.pipeline);
      f_.vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, m.layout, 0, 1, &m.set, 0,
                                 nullptr);
      if (!job.push.empty()) {
        f_.vkCmdPushConstants(c, m.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                              static_cast<std::uint32_t>(job.push.size() * 4), job.push.data());
      }
      f_.vkCmdDispatch(c, job.groups[0], job.groups[1], job.groups[2]);
      for (std::size_t i = 0; i < job.bindings.size(); ++i) {
        const auto& image = job.bindings[i].image;
        if (image && !image->sampled) copy_image(c, *image, m.images[i], m.buffers[i], true);
      }
    }
    auto end = make<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
    end.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    end.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    f_.vkCmdPipelineBarrier(c,
                            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                            VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &end, 0, nullptr, 0, nullptr);
  }

  Status record_and_wait() {
    auto pool = make<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.queueFamilyIndex = s_.queue_family;
    VkResult r = f_.vkCreateCommandPool(s_.device, &pool, nullptr, &commands_);
    if (r != VK_SUCCESS) return vk_error("vkCreateCommandPool", r);
    auto alloc = make<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    alloc.commandPool = commands_;
    alloc.commandBufferCount = 1;
    VkCommandBuffer c = VK_NULL_HANDLE;
    r = f_.vkAllocateCommandBuffers(s_.device, &alloc, &c);
    if (r != VK_SUCCESS) return vk_error("vkAllocateCommandBuffers", r);
    const auto begin = make<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    r = f_.vkBeginCommandBuffer(c, &begin);
    if (r != VK_SUCCESS) return vk_error("vkBeginCommandBuffer", r);
    record(c);
    r = f_.vkEndCommandBuffer(c);
    if (r != VK_SUCCESS) return vk_error("vkEndCommandBuffer", r);
    const auto fence = make<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
    r = f_.vkCreateFence(s_.device, &fence, nullptr, &fence_);
    if (r != VK_SUCCESS) return vk_error("vkCreateFence", r);
    auto submit = make<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &c;
    r = f_.vkQueueSubmit(s_.queue, 1, &submit, fence_);
    if (r != VK_SUCCESS) return vk_error("vkQueueSubmit", r);
    r = f_.vkWaitForFences(s_.device, 1, &fence_, VK_TRUE, 120'000'000'000);
    return r == VK_SUCCESS ? Status(Ok{}) : vk_error("vkWaitForFences", r);
  }

  Status read_back(Job* job, const Made& m) {
    for (std::size_t i = 0; i < job->bindings.size(); ++i) {
      if (auto status = m.buffers[i].invalidate(); !status) return status;
      const auto mapped = m.buffers[i].mapped();
      auto& bytes = job->bindings[i].bytes;
      std::memcpy(bytes.data(), mapped.data(), bytes.size());
      for (const std::byte b : mapped.subspan(bytes.size())) {
        if (b == kGuard) continue;
        return Error{ErrorCode::kInvalidArgument,
                     job->name + " wrote behind the end of binding " + std::to_string(i)};
      }
    }
    return Ok{};
  }

  const Device::State& s_;
  std::shared_ptr<Device::State> shared_;
  const DeviceFunctions& f_;
  std::span<Job> jobs_;
  std::vector<Made> made_;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  VkCommandPool commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  VkSampler sampler_ = VK_NULL_HANDLE;
};

}  // namespace

void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto loop = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < count;) work(i);
  };
  std::vector<std::thread> threads;
  const std::size_t most = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
  for (std::size_t i = 1; i < std::min(most, count); ++i) threads.emplace_back(loop);
  loop();
  for (std::thread& t : threads) t.join();
}

Status run_jobs(const Device& device, std::span<Job> jobs) {
  while (!jobs.empty()) {
    const auto part = jobs.first(std::min(jobs.size(), kJobsOfOneSubmission));
    if (auto status = Batch(device, part).run(); !status) return status;
    jobs = jobs.subspan(part.size());
  }
  return Ok{};
}

std::optional<std::string> lacks(const DeviceCaps& caps, std::span<const std::uint32_t> words) {
  constexpr std::uint32_t kOpCapability = 17;
  for (std::size_t at = 5; at + 1 < words.size() && (words[at] & 0xffff) == kOpCapability;
       at += 2) {
    switch (words[at + 1]) {
      case 1:   // Shader
      case 43:  // Sampled1D
      case 44:  // Image1D
      case 50:  // ImageQuery
        break;
      case 9:
        if (!caps.float16) return "shaderFloat16";
        break;
      case 22:
        if (!caps.int16) return "shaderInt16";
        break;
      case 39:
        if (!caps.int8) return "shaderInt8";
        break;
      case 49:
        if (!caps.image_extended_formats) return "shaderStorageImageExtendedFormats";
        break;
      case 4433:
        if (!caps.storage16) return "storageBuffer16BitAccess";
        break;
      case 4449:  // what Vulkan 1.0's storage buffers of bytes need
        if (!caps.uniform_storage8) return "uniformAndStorageBuffer8BitAccess";
        break;
      case 4448:
        if (!caps.storage8) return "storageBuffer8BitAccess";
        break;
      default:
        return "SPIR-V capability " + std::to_string(words[at + 1]) +
               ", which the dialect should not ask for";
    }
  }
  return std::nullopt;
}

const Device* device() {
  static const std::optional<Device> opened = []() -> std::optional<Device> {
    DeviceOptions options;
    // Opting out is for machines without the layer; the test command never does.
    options.validation = std::getenv("SPIRKILN_TEST_NO_VALIDATION") == nullptr;
    options.message = [](Severity severity, std::string_view text) {
      if (severity == Severity::kInfo) return;
      std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
    };
    // No table: the device gets every feature that any kernel may ask for.
    auto device = open_device(options, Error{ErrorCode::kInvalidArgument, "no table"});
    if (device) return *std::move(device);
    std::fprintf(stderr, "%s\n", device.error().message.c_str());
    return std::nullopt;
  }();
  return opened ? &*opened : nullptr;
}

bool on_lavapipe() { return device()->info().name.starts_with("llvmpipe"); }

}  // namespace spirkiln::test
