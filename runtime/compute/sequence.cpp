// SPDX-License-Identifier: Apache-2.0
#include "compute/sequence.hpp"

#include <array>

#include "graph/executor.hpp"
#include "loader/guard.hpp"
#include "spirkiln/vulkan.hpp"

namespace spirkiln::compute {
namespace {

constexpr VkAccessFlags kShader = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
constexpr VkPipelineStageFlags kKernels = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
constexpr VkPipelineStageFlags kCopies = VK_PIPELINE_STAGE_TRANSFER_BIT;

}  // namespace

Sequence::State::~State() {
  if (!device->may_destroy()) return;
  const DeviceFunctions& f = device->f;
  const VkDevice d = device->device;
  if (command_pool != VK_NULL_HANDLE) f.vkDestroyCommandPool(d, command_pool, nullptr);
  if (pool != VK_NULL_HANDLE) f.vkDestroyDescriptorPool(d, pool, nullptr);
}

Status Sequence::State::make_pool() {
  // One of each kind, so that no size is 0.
  std::array<VkDescriptorPoolSize, 4> sizes{{{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1},
                                             {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1},
                                             {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1},
                                             {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1}}};
  VkDescriptorPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  for (const BoundDispatch& d : dispatches) {
    info.maxSets += static_cast<std::uint32_t>(d.kernel->pipeline->sets.size());
    for (const table::BindingEntry& e : d.kernel->entries) {
      for (VkDescriptorPoolSize& size : sizes) {
        if (size.type == descriptor_type(e.kind)) ++size.descriptorCount;
      }
    }
  }
  info.poolSizeCount = static_cast<std::uint32_t>(sizes.size());
  info.pPoolSizes = sizes.data();
  const VkResult r =
      made(device->f.vkCreateDescriptorPool(device->device, &info, nullptr, &pool), &pool);
  if (r != VK_SUCCESS) return device->error("vkCreateDescriptorPool", r);
  return Ok{};
}

void Sequence::State::write_sets() {
  for (std::size_t i = 0; i < dispatches.size(); ++i) {
    const BoundDispatch& d = dispatches[i];
    for (std::size_t j = 0; j < d.bound.size(); ++j) {
      const Bound& b = d.bound[j];
      const table::BindingEntry& e = d.kernel->entries[j];
      VkWriteDescriptorSet write{};
      write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
      write.dstSet = sets[i][e.set];
      write.dstBinding = e.binding;
      write.descriptorCount = 1;
      write.descriptorType = descriptor_type(e.kind);
      VkDescriptorBufferInfo buffer{};
      VkDescriptorImageInfo image{};
      if (b.image != nullptr) {
        image = {VK_NULL_HANDLE, b.image->view, VK_IMAGE_LAYOUT_GENERAL};
        write.pImageInfo = &image;
      } else {
        buffer = {b.buffer->handle, b.offset, b.bytes};
        write.pBufferInfo = &buffer;
      }
      device->f.vkUpdateDescriptorSets(device->device, 1, &write, 0, nullptr);
    }
  }
}

Status Sequence::State::prepare() {
  if (device->lost.load(std::memory_order_relaxed)) return device->lost_error();
  if (prepared) return Ok{};
  if (dispatches.empty()) {
    return Error{ErrorCode::kInvalidArgument, "a sequence without a dispatch"};
  }
  if (pool == VK_NULL_HANDLE) {
    if (auto s = make_pool(); !s) return s;
  }
  // What an earlier try got stays in the pool, so sets that are there are kept.
  for (std::size_t i = sets.size(); i < dispatches.size(); ++i) {
    const auto layouts = dispatches[i].kernel->pipeline->sets;
    std::vector<VkDescriptorSet> own(layouts.size());
    VkDescriptorSetAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    info.descriptorPool = pool;
    info.descriptorSetCount = static_cast<std::uint32_t>(layouts.size());
    info.pSetLayouts = layouts.data();
    const VkResult r = device->f.vkAllocateDescriptorSets(device->device, &info, own.data());
    if (r != VK_SUCCESS) return device->error("vkAllocateDescriptorSets", r);
    sets.push_back(std::move(own));
  }
  write_sets();
  barriers = place_barriers(&dispatches);
  prepared = true;
  return Ok{};
}

void Sequence::State::record(VkCommandBuffer c) const {
  const DeviceFunctions& f = device->f;
  const VkMemoryBarrier between = memory_barrier(kShader, kShader | VK_ACCESS_UNIFORM_READ_BIT);
  const Pipeline* bound = nullptr;
  for (std::size_t i = 0; i < dispatches.size(); ++i) {
    const BoundDispatch& d = dispatches[i];
    const Pipeline* pipeline = d.kernel->pipeline.get();
    if (d.barrier_before) {
      f.vkCmdPipelineBarrier(c, kKernels, kKernels, 0, 1, &between, 0, nullptr, 0, nullptr);
    }
    if (pipeline != bound) {
      f.vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->handle);
      bound = pipeline;
    }
    f.vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->layout, 0,
                              static_cast<std::uint32_t>(sets[i].size()), sets[i].data(), 0,
                              nullptr);
    if (!d.push.empty()) {
      f.vkCmdPushConstants(c, pipeline->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                           static_cast<std::uint32_t>(d.push.size()), d.push.data());
    }
    f.vkCmdDispatch(c, d.groups.x, d.groups.y, d.groups.z);
  }
}

Status Sequence::State::record_own() {
  const DeviceFunctions& f = device->f;
  VkResult r = VK_SUCCESS;
  if (command_pool == VK_NULL_HANDLE) {
    VkCommandPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;  // where recording fails
    info.queueFamilyIndex = device->queue_family;
    r = made(f.vkCreateCommandPool(device->device, &info, nullptr, &command_pool), &command_pool);
    if (r != VK_SUCCESS) return device->error("vkCreateCommandPool", r);
  }
  if (commands == VK_NULL_HANDLE) {
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = command_pool;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    r = made(f.vkAllocateCommandBuffers(device->device, &info, &commands), &commands);
    if (r != VK_SUCCESS) return device->error("vkAllocateCommandBuffers", r);
  }
  if (fence.handle() == VK_NULL_HANDLE) {
    auto made_fence = Fence::create(device);
    if (!made_fence) return std::move(made_fence).error();
    fence = *std::move(made_fence);
  }
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  r = f.vkBeginCommandBuffer(commands, &begin);
  if (r != VK_SUCCESS) return device->error("vkBeginCommandBuffer", r);
  // Earlier submissions wrote, as kernels or as copies.
  const VkMemoryBarrier before =
      memory_barrier(VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                     kShader | VK_ACCESS_UNIFORM_READ_BIT);
  f.vkCmdPipelineBarrier(commands, kKernels | kCopies, kKernels, 0, 1, &before, 0, nullptr, 0,
                         nullptr);
  record(commands);
  const VkMemoryBarrier behind =
      memory_barrier(VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_HOST_READ_BIT);
  f.vkCmdPipelineBarrier(commands, kKernels, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &behind, 0, nullptr,
                         0, nullptr);
  r = f.vkEndCommandBuffer(commands);
  if (r != VK_SUCCESS) return device->error("vkEndCommandBuffer", r);
  recorded = true;
  return Ok{};
}

Status Sequence::State::run() {
  if (auto s = prepare(); !s) return s;
  if (!recorded) {
    if (auto s = record_own(); !s) return s;
  }
  return submit_and_wait(*device, fence.handle(), {&commands, 1});
}

Result<Sequence> Sequence::create(const Device& device) {
  return guarded([&]() -> Result<Sequence> {
    auto vulkan = vulkan_of(device);
    if (!vulkan) return std::move(vulkan).error();
    Sequence sequence;
    sequence.state_ = std::make_shared<State>(*std::move(vulkan));
    return sequence;
  });
}

Status Sequence::add(const Kernel& kernel, const Dispatch& dispatch) {
  if (state_ == nullptr) return never_made("sequence");
  return guarded([&]() -> Status {
    const std::lock_guard lock(state_->mutex);
    if (state_->prepared) {
      return Error{ErrorCode::kInvalidArgument,
                   "the sequence has been run or recorded; make another one for further "
                   "dispatches"};
    }
    auto bound = bind_dispatch(state_->device, kernel, dispatch);
    if (!bound) return std::move(bound).error();
    state_->dispatches.push_back(*std::move(bound));
    return Ok{};
  });
}

Status Sequence::run() {
  if (state_ == nullptr) return never_made("sequence");
  return guarded([&] {
    const std::lock_guard lock(state_->mutex);
    return state_->run();
  });
}

std::uint32_t Sequence::dispatches() const {
  if (state_ == nullptr) return 0;
  const std::lock_guard lock(state_->mutex);
  return static_cast<std::uint32_t>(state_->dispatches.size());
}

std::uint32_t Sequence::barriers() const {
  if (state_ == nullptr) return 0;
  const std::lock_guard lock(state_->mutex);
  return state_->barriers;
}

Status record(Sequence& sequence, VkCommandBuffer commands) {
  if (commands == VK_NULL_HANDLE || sequence.state() == nullptr) {
    return Error{ErrorCode::kInvalidArgument, "the command buffer or the sequence is null"};
  }
  return guarded([&]() -> Status {
    Sequence::State& s = *sequence.state();
    const std::lock_guard lock(s.mutex);
    if (auto prepared = s.prepare(); !prepared) return prepared;
    s.record(commands);
    return Ok{};
  });
}

Status run(const Kernel& kernel, const Dispatch& dispatch) {
  if (kernel.state() == nullptr) {
    return Error{ErrorCode::kInvalidArgument, "the kernel was never made"};
  }
  return guarded([&]() -> Status {
    Sequence::State once(kernel.state()->device);
    auto bound = bind_dispatch(once.device, kernel, dispatch);
    if (!bound) return std::move(bound).error();
    once.dispatches.push_back(*std::move(bound));
    return once.run();
  });
}

}  // namespace spirkiln::compute
