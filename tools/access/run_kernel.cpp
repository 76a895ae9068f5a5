// SPDX-License-Identifier: Apache-2.0
#include "run_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "loader/memory.hpp"

namespace spirkiln::access {
namespace {

template <typename T>
T make(VkStructureType type) {
  T info{};
  info.sType = type;
  return info;
}

std::uint32_t key_of(const table::BindingEntry& b) {
  return std::uint32_t{b.set} << 16 | b.binding;
}

VkDescriptorType type_of(table::BindingKind kind) {
  switch (kind) {
    case table::BindingKind::kUniformBuffer:
      return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    case table::BindingKind::kStorageImage:
      return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
    case table::BindingKind::kSampledImage:
      return VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    default:
      return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  }
}

bool is_image(table::BindingKind kind) {
  return kind == table::BindingKind::kStorageImage || kind == table::BindingKind::kSampledImage;
}

struct BoundImage {
  VkImage image = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkImageView view = VK_NULL_HANDLE;
  VkSampler sampler = VK_NULL_HANDLE;
  VkExtent3D extent{1, 1, 1};
  std::uint32_t key = 0;
};

class Run {
 public:
  Run(const Device& device, const RunRequest& request)
      : shared_(device.state()), s_(*shared_), f_(s_.f), request_(request) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    f_.vkDestroyPipeline(s_.device, pipeline_, nullptr);
    f_.vkDestroyPipelineLayout(s_.device, layout_, nullptr);
    for (VkDescriptorSetLayout set : sets_) {
      f_.vkDestroyDescriptorSetLayout(s_.device, set, nullptr);
    }
    f_.vkDestroyDescriptorPool(s_.device, pool_, nullptr);
    f_.vkDestroyCommandPool(s_.device, commands_, nullptr);
    f_.vkDestroyFence(s_.device, fence_, nullptr);
    f_.vkDestroyQueryPool(s_.device, queries_, nullptr);
    for (BoundImage& i : images_) {
      f_.vkDestroyImageView(s_.device, i.view, nullptr);
      f_.vkDestroyImage(s_.device, i.image, nullptr);
      f_.vkFreeMemory(s_.device, i.memory, nullptr);
      f_.vkDestroySampler(s_.device, i.sampler, nullptr);
    }
  }

  Status prepare() {
    if (auto s = check_limits(); !s) return s;
    for (const table::BindingEntry& b : request_.bindings) {
      if (auto s = make_resource(b); !s) return s;
    }
    if (request_.trace) {
      if (auto s = make_trace(*request_.trace); !s) return s;
    }
    if (auto s = make_pipeline(); !s) return s;
    if (auto s = make_descriptors(); !s) return s;
    return record();
  }

  // False: not in time.
  Result<bool> run() {
    auto ended = submit_and_wait(buffer_);
    if (!ended || !*ended || request_.repeats == 0) return ended;
    double worked_us = 0;
    for (std::uint32_t turns = 0; turns < std::max(request_.turns, 1u);) {
      ended = submit_and_wait(timed_);
      if (!ended || !*ended) return ended;
      const auto us = time_of_turn();
      if (!us) return us.error();
      const bool warm = worked_us >= request_.warm_ms * 1e3;
      // Never nothing, so that a clock that stands still ends the warming, too.
      worked_us += std::max(*us, 1.0) * request_.repeats;
      if (warm) least_us_ = turns++ == 0 ? *us : std::min(least_us_, *us);
    }
    return true;
  }

  Result<bool> submit_and_wait(VkCommandBuffer commands) {
    VkResult r = VK_SUCCESS;
    if (fence_ == VK_NULL_HANDLE) {
      const auto fence = make<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
      r = f_.vkCreateFence(s_.device, &fence, nullptr, &fence_);
      if (r != VK_SUCCESS) return vk_error("vkCreateFence", r);
    } else {
      r = f_.vkResetFences(s_.device, 1, &fence_);
      if (r != VK_SUCCESS) return vk_error("vkResetFences", r);
    }
    auto submit = make<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    r = f_.vkQueueSubmit(s_.queue, 1, &submit, fence_);
    if (r != VK_SUCCESS) return vk_error("vkQueueSubmit", r);
    r = f_.vkWaitForFences(s_.device, 1, &fence_, VK_TRUE,
                           std::uint64_t{request_.timeout_s} * 1'000'000'000);
    if (r == VK_TIMEOUT) return false;
    if (r != VK_SUCCESS) return vk_error("vkWaitForFences", r);
    return true;
  }

  Result<RunResult> results() {
    RunResult out;
    if (request_.repeats > 0) {
      out.us = least_us_;
      return out;
    }
    for (const auto& [key, buffer] : buffers_) {
      if (auto s = buffer.invalidate(); !s) return std::move(s).error();
      const auto mapped = buffer.mapped();
      out.buffers[key].assign(mapped.begin(), mapped.end());
    }
    if (!request_.trace) return out;
    if (auto s = trace_.invalidate(); !s) return std::move(s).error();
    const auto mapped = trace_.mapped();
    TraceHeader header;
    std::memcpy(&header, mapped.data(), sizeof header);
    out.trace.records.resize(std::min(header.count, header.capacity));
    if (!out.trace.records.empty()) {
      std::memcpy(out.trace.records.data(), mapped.data() + sizeof header,
                  out.trace.records.size() * sizeof(Record));
    }
    out.trace.lost = std::uint64_t{header.lost_high} << 32 | header.lost_low;
    out.trace.flops = std::uint64_t{header.flops_high} << 32 | header.flops_low;
    out.trace.groups = groups();
    const std::uint64_t first = request_.trace->first, step = request_.trace->step;
    out.trace.traced_groups = first < groups() ? (groups() - first + step - 1) / step : 0;
    return out;
  }

 private:
  // Of one of its dispatches.
  Result<double> time_of_turn() const {
    std::uint64_t ticks[2] = {};
    const VkResult r =
        f_.vkGetQueryPoolResults(s_.device, queries_, 0, 2, sizeof ticks, ticks, sizeof ticks[0],
                                 VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
    if (r != VK_SUCCESS) return vk_error("vkGetQueryPoolResults", r);
    return static_cast<double>(ticks[1] - ticks[0]) * s_.timestamp_ns / 1e3 / request_.repeats;
  }

  std::uint64_t groups() const {
    const auto& g = request_.groups;
    return std::uint64_t{g[0]} * g[1] * g[2];
  }

  Status check_limits() const {
    const auto refuse = [](std::string text) { return Error{ErrorCode::kUnsupported, text}; };
    for (std::size_t i = 0; i < 3; ++i) {
      if (request_.groups[i] == 0 || request_.groups[i] > s_.caps.max_group_count[i]) {
        return refuse(fmt::format("{} groups along axis {}; the device takes 1 to {}",
                                  request_.groups[i], i, s_.caps.max_group_count[i]));
      }
    }
    if (groups() > 0xffffffffu) return refuse("more than 2^32 groups in one dispatch");
    if (request_.push.size() * 4 > s_.caps.max_push_bytes) {
      return refuse(fmt::format("{} bytes of push constants; the device takes {}",
                                request_.push.size() * 4, s_.caps.max_push_bytes));
    }
    for (const auto& [key, bytes] : request_.extents.buffers) {
      if (bytes <= s_.caps.max_storage_range) continue;
      return refuse(fmt::format("binding {} of {} bytes; the device binds {} at most", key & 0xffff,
                                bytes, s_.caps.max_storage_range));
    }
    return Ok{};
  }

  Status make_resource(const table::BindingEntry& b) {
    const std::uint32_t key = key_of(b);
    std::uint64_t bytes = 0;
    if (is_image(b.kind)) {
      const ImageShape& shape = request_.extents.images.at(key);
      bytes = std::uint64_t{shape.width} * shape.height * shape.depth * shape.texel_bytes;
    } else {
      bytes = request_.extents.buffers.at(key);
    }
    auto buffer = Buffer::create(shared_, std::max<std::uint64_t>(bytes, 16), MemoryUse::kDownload,
                                 VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT);
    if (!buffer) return std::move(buffer).error();
    fill_seeded(request_.seed + key, buffer->mapped());
    if (auto s = buffer->flush(); !s) return s;
    if (request_.repeats > 0 && !is_image(b.kind)) {
      auto on_device = Buffer::create(shared_, buffer->bytes(), MemoryUse::kDevice,
                                      VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT);
      if (!on_device) return std::move(on_device).error();
      staging_[key] = *std::move(buffer);
      buffers_[key] = *std::move(on_device);
      return Ok{};
    }
    buffers_[key] = *std::move(buffer);
    return is_image(b.kind) ? make_image(b, key) : Status(Ok{});
  }

  Status make_image(const table::BindingEntry& b, std::uint32_t key) {
    const ImageShape& shape = request_.extents.images.at(key);
    const VkImageType type = request_.dimensions.at(key);
    BoundImage& out = images_.emplace_back();
    out.key = key;
    out.extent = {shape.width, shape.height, shape.depth};
    auto info = make<VkImageCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO);
    info.imageType = type;
    info.format = request_.formats.at(key);
    info.extent = out.extent;
    info.mipLevels = 1;
    info.arrayLayers = 1;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                 (b.kind == table::BindingKind::kSampledImage ? VK_IMAGE_USAGE_SAMPLED_BIT
                                                              : VK_IMAGE_USAGE_STORAGE_BIT);
    VkResult r = made(f_.vkCreateImage(s_.device, &info, nullptr, &out.image), &out.image);
    if (r != VK_SUCCESS) return vk_error(fmt::format("vkCreateImage of binding {}", b.binding), r);
    VkMemoryRequirements need{};
    f_.vkGetImageMemoryRequirements(s_.device, out.image, &need);
    auto alloc = make<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    alloc.allocationSize = need.size;
    alloc.memoryTypeIndex = choose_memory_type(s_.memory, need.memoryTypeBits, MemoryUse::kDevice);
    r = made(f_.vkAllocateMemory(s_.device, &alloc, nullptr, &out.memory), &out.memory);
    if (r != VK_SUCCESS) return vk_error("vkAllocateMemory of an image", r);
    r = f_.vkBindImageMemory(s_.device, out.image, out.memory, 0);
    if (r != VK_SUCCESS) return vk_error("vkBindImageMemory", r);
    auto view = make<VkImageViewCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO);
    view.image = out.image;
    view.viewType = static_cast<VkImageViewType>(type);  // 1D, 2D and 3D have the same numbers
    view.format = info.format;
    view.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    r = made(f_.vkCreateImageView(s_.device, &view, nullptr, &out.view), &out.view);
    if (r != VK_SUCCESS) return vk_error("vkCreateImageView", r);
    auto sampler = make<VkSamplerCreateInfo>(VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO);
    sampler.magFilter = sampler.minFilter = shape.linear ? VK_FILTER_LINEAR : VK_FILTER_NEAREST;
    sampler.addressModeU = sampler.addressModeV = sampler.addressModeW =
        VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
    r = made(f_.vkCreateSampler(s_.device, &sampler, nullptr, &out.sampler), &out.sampler);
    return r == VK_SUCCESS ? Status(Ok{}) : vk_error("vkCreateSampler", r);
  }

  Status make_trace(const TraceRequest& t) {
    const std::uint64_t bytes = sizeof(TraceHeader) + std::uint64_t{t.capacity} * sizeof(Record);
    if (bytes > s_.caps.max_storage_range) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("a trace of {} records takes {} bytes; the device binds {} at most",
                               t.capacity, bytes, s_.caps.max_storage_range)};
    }
    auto buffer = Buffer::create(shared_, bytes, MemoryUse::kDownload);
    if (!buffer) return std::move(buffer).error();
    TraceHeader header;
    header.capacity = t.capacity;
    header.first = t.first;
    header.step = std::max(t.step, 1u);
    header.only_traced = t.only_traced;
    std::memcpy(buffer->mapped().data(), &header, sizeof header);
    if (auto s = buffer->flush(); !s) return s;
    trace_ = *std::move(buffer);
    return Ok{};
  }

  Status make_pipeline() {
    std::uint32_t sets = 0;
    for (const table::BindingEntry& b : request_.bindings) {
      sets = std::max(sets, std::uint32_t{b.set} + 1);
    }
    if (request_.trace) sets = std::max(sets, request_.trace->set + 1);
    if (sets > s_.caps.max_bound_sets) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("{} descriptor sets with that of the trace; the device takes {}",
                               sets, s_.caps.max_bound_sets)};
    }
    for (std::uint32_t set = 0; set < sets; ++set) {
      std::vector<VkDescriptorSetLayoutBinding> list;
      for (const table::BindingEntry& b : request_.bindings) {
        if (b.set != set) continue;
        list.push_back({b.binding, type_of(b.kind), 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
      }
      if (request_.trace && request_.trace->set == set) {
        list.push_back(
            {0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
      }
      auto info = make<VkDescriptorSetLayoutCreateInfo>(
          VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
      info.bindingCount = static_cast<std::uint32_t>(list.size());
      info.pBindings = list.data();
      VkDescriptorSetLayout& layout = sets_.emplace_back();
      const VkResult r =
          made(f_.vkCreateDescriptorSetLayout(s_.device, &info, nullptr, &layout), &layout);
      if (r != VK_SUCCESS) return vk_error("vkCreateDescriptorSetLayout", r);
    }
    const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                   static_cast<std::uint32_t>(request_.push.size() * 4)};
    auto layout_info =
        make<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
    layout_info.setLayoutCount = static_cast<std::uint32_t>(sets_.size());
    layout_info.pSetLayouts = sets_.data();
    layout_info.pushConstantRangeCount = request_.push.empty() ? 0 : 1;
    layout_info.pPushConstantRanges = &push;
    VkResult r =
        made(f_.vkCreatePipelineLayout(s_.device, &layout_info, nullptr, &layout_), &layout_);
    if (r != VK_SUCCESS) return vk_error("vkCreatePipelineLayout", r);
    auto shader = make<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    shader.codeSize = request_.words.size() * 4;
    shader.pCode = request_.words.data();
    VkShaderModule module = VK_NULL_HANDLE;
    r = made(f_.vkCreateShaderModule(s_.device, &shader, nullptr, &module), &module);
    if (r != VK_SUCCESS) return vk_error("vkCreateShaderModule", r);
    std::vector<VkSpecializationMapEntry> map;
    std::vector<std::uint32_t> data;
    for (const auto& [id, bits] : request_.specs) {
      map.push_back({id, static_cast<std::uint32_t>(data.size() * 4), 4});
      data.push_back(bits);
    }
    const VkSpecializationInfo special{static_cast<std::uint32_t>(map.size()), map.data(),
                                       data.size() * 4, data.data()};
    auto info = make<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
    info.stage =
        make<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = map.empty() ? nullptr : &special;
    info.layout = layout_;
    r = made(f_.vkCreateComputePipelines(s_.device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_),
             &pipeline_);
    f_.vkDestroyShaderModule(s_.device, module, nullptr);
    return r == VK_SUCCESS ? Status(Ok{}) : vk_error("vkCreateComputePipelines", r);
  }

  Status make_descriptors() {
    std::vector<VkDescriptorPoolSize> sizes;
    for (const VkDescriptorType type :
         {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
          VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER}) {
      sizes.push_back({type, static_cast<std::uint32_t>(request_.bindings.size() + 1)});
    }
    auto pool = make<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
    pool.maxSets = static_cast<std::uint32_t>(sets_.size());
    pool.poolSizeCount = static_cast<std::uint32_t>(sizes.size());
    pool.pPoolSizes = sizes.data();
    VkResult r = made(f_.vkCreateDescriptorPool(s_.device, &pool, nullptr, &pool_), &pool_);
    if (r != VK_SUCCESS) return vk_error("vkCreateDescriptorPool", r);
    descriptors_.resize(sets_.size());
    auto alloc = make<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
    alloc.descriptorPool = pool_;
    alloc.descriptorSetCount = static_cast<std::uint32_t>(sets_.size());
    alloc.pSetLayouts = sets_.data();
    if (sets_.empty()) return Ok{};
    r = f_.vkAllocateDescriptorSets(s_.device, &alloc, descriptors_.data());
    if (r != VK_SUCCESS) return vk_error("vkAllocateDescriptorSets", r);
    const auto write = [&](std::uint32_t set, std::uint32_t binding, VkDescriptorType type,
                           const VkDescriptorBufferInfo& buffer,
                           const VkDescriptorImageInfo& image) {
      auto w = make<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
      w.dstSet = descriptors_[set];
      w.dstBinding = binding;
      w.descriptorCount = 1;
      w.descriptorType = type;
      w.pBufferInfo = &buffer;
      w.pImageInfo = &image;
      f_.vkUpdateDescriptorSets(s_.device, 1, &w, 0, nullptr);
    };
    for (const table::BindingEntry& b : request_.bindings) {
      const std::uint32_t key = key_of(b);
      VkDescriptorBufferInfo buffer{buffers_.at(key).handle(), 0, buffers_.at(key).bytes()};
      VkDescriptorImageInfo image{};
      for (const BoundImage& i : images_) {
        if (i.key == key) image = {i.sampler, i.view, VK_IMAGE_LAYOUT_GENERAL};
      }
      write(b.set, b.binding, type_of(b.kind), buffer, image);
    }
    if (request_.trace) {
      write(request_.trace->set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            {trace_.handle(), 0, trace_.bytes()}, {});
    }
    return Ok{};
  }

  void fill_image(const BoundImage& image) {
    auto barrier = make<VkImageMemoryBarrier>(VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER);
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = image.image;
    barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    barrier.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.newLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    f_.vkCmdPipelineBarrier(buffer_, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT,
                            VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, nullptr, 0, nullptr, 1, &barrier);
    VkBufferImageCopy region{};
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = image.extent;
    f_.vkCmdCopyBufferToImage(buffer_, buffers_.at(image.key).handle(), image.image,
                              VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    barrier.oldLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
    f_.vkCmdPipelineBarrier(buffer_, VK_PIPELINE_STAGE_TRANSFER_BIT,
                            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 0, nullptr, 0, nullptr, 1,
                            &barrier);
  }

  // What buffers in device memory hold.
  void fill_staged() {
    for (const auto& [key, staging] : staging_) {
      const VkBufferCopy all{0, 0, staging.bytes()};
      f_.vkCmdCopyBuffer(buffer_, staging.handle(), buffers_.at(key).handle(), 1, &all);
    }
  }

  // Dispatches between timestamps, each behind the one before; a few before the first.
  Status record_timed() {
    auto info = make<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = 2;
    const VkResult r = made(f_.vkCreateQueryPool(s_.device, &info, nullptr, &queries_), &queries_);
    if (r != VK_SUCCESS) return vk_error("vkCreateQueryPool", r);
    const auto begin = make<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    if (const VkResult b = f_.vkBeginCommandBuffer(timed_, &begin); b != VK_SUCCESS) {
      return vk_error("vkBeginCommandBuffer", b);
    }
    f_.vkCmdResetQueryPool(timed_, queries_, 0, 2);
    bind(timed_);
    auto barrier = make<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
    barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    const std::uint32_t warm = std::min(request_.repeats, 3u);
    for (std::uint32_t i = 0; i < warm + request_.repeats; ++i) {
      f_.vkCmdPipelineBarrier(
          timed_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
          VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
      if (i == warm) {
        f_.vkCmdWriteTimestamp(timed_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, 0);
      }
      f_.vkCmdDispatch(timed_, request_.groups[0], request_.groups[1], request_.groups[2]);
    }
    f_.vkCmdWriteTimestamp(timed_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, 1);
    const VkResult e = f_.vkEndCommandBuffer(timed_);
    return e == VK_SUCCESS ? Status(Ok{}) : vk_error("vkEndCommandBuffer", e);
  }

  void bind(VkCommandBuffer to) const {
    f_.vkCmdBindPipeline(to, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
    if (!descriptors_.empty()) {
      f_.vkCmdBindDescriptorSets(to, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0,
                                 static_cast<std::uint32_t>(descriptors_.size()),
                                 descriptors_.data(), 0, nullptr);
    }
    if (!request_.push.empty()) {
      f_.vkCmdPushConstants(to, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                            static_cast<std::uint32_t>(request_.push.size() * 4),
                            request_.push.data());
    }
  }

  Status record() {
    auto pool = make<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.queueFamilyIndex = s_.queue_family;
    VkResult r = made(f_.vkCreateCommandPool(s_.device, &pool, nullptr, &commands_), &commands_);
    if (r != VK_SUCCESS) return vk_error("vkCreateCommandPool", r);
    auto alloc = make<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    alloc.commandPool = commands_;
    alloc.commandBufferCount = 2;
    VkCommandBuffer both[2] = {};
    r = f_.vkAllocateCommandBuffers(s_.device, &alloc, both);
    if (r != VK_SUCCESS) return vk_error("vkAllocateCommandBuffers", r);
    buffer_ = both[0];
    timed_ = both[1];
    const auto begin = make<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    r = f_.vkBeginCommandBuffer(buffer_, &begin);
    if (r != VK_SUCCESS) return vk_error("vkBeginCommandBuffer", r);
    for (const BoundImage& image : images_) fill_image(image);
    fill_staged();
    if (request_.repeats > 0) {
      if (auto s = record_timed(); !s) return s;
    } else {
      bind(buffer_);
      f_.vkCmdDispatch(buffer_, request_.groups[0], request_.groups[1], request_.groups[2]);
    }
    auto end = make<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
    end.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    end.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    f_.vkCmdPipelineBarrier(buffer_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                            VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &end, 0, nullptr, 0, nullptr);
    r = f_.vkEndCommandBuffer(buffer_);
    return r == VK_SUCCESS ? Status(Ok{}) : vk_error("vkEndCommandBuffer", r);
  }

  std::shared_ptr<Device::State> shared_;
  const Device::State& s_;
  const DeviceFunctions& f_;
  const RunRequest& request_;
  std::map<std::uint32_t, Buffer> buffers_;  // an image's first content, too
  std::map<std::uint32_t, Buffer> staging_;  // of timed runs
  VkQueryPool queries_ = VK_NULL_HANDLE;
  std::vector<BoundImage> images_;
  Buffer trace_;
  std::vector<VkDescriptorSetLayout> sets_;
  std::vector<VkDescriptorSet> descriptors_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
  VkDescriptorPool pool_ = VK_NULL_HANDLE;
  VkCommandPool commands_ = VK_NULL_HANDLE;
  VkCommandBuffer buffer_ = VK_NULL_HANDLE;
  VkCommandBuffer timed_ = VK_NULL_HANDLE;  // submitted again and again
  double least_us_ = 0;
  VkFence fence_ = VK_NULL_HANDLE;
};

}  // namespace

void fill_seeded(std::uint32_t seed, std::span<std::byte> bytes) {
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    state = state * 1664525u + 1013904223u;
    const auto half = static_cast<std::uint16_t>(0x3800u | (state >> 20 & 0x3ffu));  // 0.5 to 1
    std::memcpy(bytes.data() + i, &half, 2);
  }
}

Result<RunResult> run_kernel(const Device& device, const RunRequest& request, bool* hung) {
  if (device.state() == nullptr) {
    return Error{ErrorCode::kUnsupported, "kernels are traced on Vulkan devices only"};
  }
  auto run = std::make_unique<Run>(device, request);
  if (auto s = run->prepare(); !s) return std::move(s).error();
  const auto ended = run->run();
  if (!ended) return ended.error();
  if (!*ended) {
    *hung = true;
    (void)run.release();  // the device still uses all of it
    return Error{ErrorCode::kUnsupported,
                 fmt::format("the dispatch did not end within {} s; a kernel that ends wants a "
                             "smaller dispatch, or more --timeout",
                             request.timeout_s)};
  }
  return run->results();
}

}  // namespace spirkiln::access
