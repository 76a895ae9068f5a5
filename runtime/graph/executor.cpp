// SPDX-License-Identifier: Apache-2.0
#include "graph/executor.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include "graph/work.hpp"

namespace spirkiln {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

MemoryUse memory_use(Home home) {
  switch (home) {
    case Home::kUpload:
      return MemoryUse::kInput;
    case Home::kDownload:
      return MemoryUse::kDownload;
    default:
      return MemoryUse::kDevice;
  }
}

}  // namespace

Recording::~Recording() {
  if (!device_->may_destroy()) return;
  const DeviceFunctions& f = device_->f;
  const VkDevice d = device_->device;
  if (queries_ != VK_NULL_HANDLE) f.vkDestroyQueryPool(d, queries_, nullptr);
  if (commands_ != VK_NULL_HANDLE) f.vkDestroyCommandPool(d, commands_, nullptr);
  if (descriptors_ != VK_NULL_HANDLE) f.vkDestroyDescriptorPool(d, descriptors_, nullptr);
}

Result<std::unique_ptr<Executor>> Executor::create(std::shared_ptr<Device::State> device) {
  std::unique_ptr<Executor> self(new Executor(std::move(device)));
  auto fence = Fence::create(self->device_);
  if (!fence) return std::move(fence).error();
  self->fence_ = *std::move(fence);
  return self;
}

Status Executor::reserve(Home home, std::uint64_t bytes) {
  if (bytes_of(home) >= bytes) return Ok{};
  ++generation_;
  // A little more than asked for where shapes seem to grow: each growth stales every recording.
  if (bytes_of(home) != 0) bytes += bytes / 8;
  if (home == Home::kImages) return image_memory_.allocate(device_, bytes);
  Buffer& block = blocks_[static_cast<std::size_t>(home)];
  block.reset();  // before the new one is made: both together may not fit
  auto grown = Buffer::create(device_, bytes, memory_use(home));
  if (!grown) return std::move(grown).error();
  block = *std::move(grown);
  return Ok{};
}

Status Executor::reserve_for(const Program& program) {
  for (std::size_t i = 0; i < kHomes; ++i) {
    if (static_cast<Home>(i) == Home::kWeights) continue;
    if (auto s = reserve(static_cast<Home>(i), program.home_bytes[i]); !s) return s;
  }
  return Ok{};
}

bool Executor::holds(const Program& program) const {
  for (std::size_t i = 0; i < kHomes; ++i) {
    if (bytes_of(static_cast<Home>(i)) < program.home_bytes[i]) return false;
  }
  return true;
}

std::uint64_t Executor::bytes() const {
  std::uint64_t sum = image_memory_.bytes();
  for (const Buffer& b : blocks_) sum += b.bytes();
  return sum;
}

std::span<std::byte> Executor::mapped(Home home) const { return block(home).mapped(); }

Status Executor::write(Home home, std::uint64_t offset, std::span<const std::byte> bytes) {
  return write(home, offset, bytes.size(), [&](std::span<std::byte> out) {
    std::memcpy(out.data(), bytes.data(), bytes.size());
  });
}

Status Executor::write(Home home, std::uint64_t offset, std::uint64_t bytes,
                       const std::function<void(std::span<std::byte>)>& fill) {
  const Buffer& target = block(home);
  if (bytes == 0) return Ok{};
  if (offset > target.bytes() || bytes > target.bytes() - offset) {
    return Error{ErrorCode::kInvalidArgument, "a write beyond the end of a block"};
  }
  if (!target.mapped().empty()) {
    fill(target.mapped().subspan(offset, bytes));
    return target.flush();
  }
  auto staging = Buffer::create(device_, bytes, MemoryUse::kUpload);
  if (!staging) return std::move(staging).error();
  fill(staging->mapped());
  if (auto s = staging->flush(); !s) return s;

  return run_once(device_, [&](VkCommandBuffer c) {
    const DeviceFunctions& f = device_->f;
    const VkBufferCopy copy{0, offset, bytes};
    f.vkCmdCopyBuffer(c, staging->handle(), target.handle(), 1, &copy);
    const VkMemoryBarrier barrier = memory_barrier(
        VK_ACCESS_TRANSFER_WRITE_BIT,
        VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT);
    f.vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_TRANSFER_BIT,
                           VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                           1, &barrier, 0, nullptr, 0, nullptr);
  });
}

Status Executor::record_descriptors(const Program& program, Recording* recording,
                                    std::vector<VkDescriptorSet>* sets) {
  const DeviceFunctions& f = device_->f;
  // One of each kind, so that no size is 0.
  std::array<VkDescriptorPoolSize, 3> sizes{{{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1},
                                             {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1},
                                             {VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1}}};
  std::size_t bindings = 0;
  for (const Step& step : program.steps) {
    for (const Use& use : step.uses) {
      for (VkDescriptorPoolSize& size : sizes) {
        if (size.type == descriptor_type(use.kind)) ++size.descriptorCount;
      }
    }
    bindings += step.uses.size();
  }
  VkDescriptorPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool.maxSets = static_cast<std::uint32_t>(program.steps.size());
  pool.poolSizeCount = static_cast<std::uint32_t>(sizes.size());
  pool.pPoolSizes = sizes.data();
  VkResult r =
      made(f.vkCreateDescriptorPool(device_->device, &pool, nullptr, &recording->descriptors_),
           &recording->descriptors_);
  if (r != VK_SUCCESS) return device_->error("vkCreateDescriptorPool", r);
  std::vector<VkDescriptorSetLayout> layouts;
  for (const auto& p : recording->pipelines_) layouts.push_back(p->sets.front());
  sets->resize(layouts.size());
  VkDescriptorSetAllocateInfo alloc{};
  alloc.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  alloc.descriptorPool = recording->descriptors_;
  alloc.descriptorSetCount = static_cast<std::uint32_t>(layouts.size());
  alloc.pSetLayouts = layouts.data();
  r = f.vkAllocateDescriptorSets(device_->device, &alloc, sets->data());
  if (r != VK_SUCCESS) return device_->error("vkAllocateDescriptorSets", r);

  std::vector<VkDescriptorBufferInfo> buffers;
  std::vector<VkDescriptorImageInfo> images;
  std::vector<VkWriteDescriptorSet> writes;
  buffers.reserve(bindings);  // the writes point into both
  images.reserve(bindings);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    for (const Use& use : program.steps[i].uses) {
      const ProgramBuffer& b = program.buffers[use.buffer];
      VkWriteDescriptorSet w{};
      w.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
      w.dstSet = (*sets)[i];
      w.dstBinding = use.binding;
      w.descriptorCount = 1;
      w.descriptorType = descriptor_type(use.kind);
      if (b.is_image()) {
        const VkImageView view = recording->images_[use.buffer]->view();
        images.push_back({VK_NULL_HANDLE, view, VK_IMAGE_LAYOUT_GENERAL});
        w.pImageInfo = &images.back();
      } else {
        buffers.push_back({block(b.home).handle(), b.offset, b.bytes});
        w.pBufferInfo = &buffers.back();
      }
      writes.push_back(w);
    }
  }
  f.vkUpdateDescriptorSets(device_->device, static_cast<std::uint32_t>(writes.size()),
                           writes.data(), 0, nullptr);
  return Ok{};
}

Status Executor::record_commands(const Program& program, const std::vector<VkDescriptorSet>& sets,
                                 std::uint32_t profile, const std::vector<std::size_t>& begins,
                                 Recording* recording) {
  const DeviceFunctions& f = device_->f;
  recording->buffers_.resize(begins.size());
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.queueFamilyIndex = device_->queue_family;
  VkResult r = made(f.vkCreateCommandPool(device_->device, &pool, nullptr, &recording->commands_),
                    &recording->commands_);
  if (r != VK_SUCCESS) return device_->error("vkCreateCommandPool", r);
  VkCommandBufferAllocateInfo alloc{};
  alloc.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  alloc.commandPool = recording->commands_;
  alloc.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  alloc.commandBufferCount = static_cast<std::uint32_t>(begins.size());
  r = f.vkAllocateCommandBuffers(device_->device, &alloc, recording->buffers_.data());
  if (r != VK_SUCCESS) return device_->error("vkAllocateCommandBuffers", r);
  recording->repeats_ = profile;
  if (device_->timestamp_bits != 0) {
    VkQueryPoolCreateInfo queries{};
    queries.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
    // The start, what stands behind each step or, without profile, behind all of them, the end.
    recording->query_count_ =
        profile != 0 ? static_cast<std::uint32_t>(program.steps.size()) + 1 : 3;
    queries.queryCount = recording->query_count_;
    r = made(f.vkCreateQueryPool(device_->device, &queries, nullptr, &recording->queries_),
             &recording->queries_);
    if (r != VK_SUCCESS) return device_->error("vkCreateQueryPool", r);
  }

  if (auto s = next_buffer(0, recording); !s) return s;
  VkCommandBuffer c = recording->buffer_;
  if (recording->queries_ != VK_NULL_HANDLE) {
    f.vkCmdResetQueryPool(c, recording->queries_, 0, recording->query_count_);
    f.vkCmdWriteTimestamp(c, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, recording->queries_, 0);
  }
  const VkMemoryBarrier between =
      memory_barrier(VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                     VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
  record_loads(program, *recording);
  const Pipeline* bound = nullptr;
  std::size_t part = 0;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (part + 1 < begins.size() && begins[part + 1] == i) {
      // Barriers reach over submissions of one queue; what is bound does not.
      if (auto s = next_buffer(++part, recording); !s) return s;
      c = recording->buffer_;
      bound = nullptr;
    }
    const Pipeline* pipeline = recording->pipelines_[i].get();
    const bool barrier = step.barrier_before || (profile != 0 && i > 0);
    if (barrier) ++recording->barriers_;
    record_barrier(barrier ? &between : nullptr, step.begins, *recording);
    if (pipeline != bound) {
      f.vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->handle);
      bound = pipeline;
    }
    f.vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline->layout, 0, 1, &sets[i],
                              0, nullptr);
    if (step.push_words > 0) {
      f.vkCmdPushConstants(c, pipeline->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, step.push_words * 4,
                           step.push.data());
    }
    f.vkCmdDispatch(c, step.groups[0], step.groups[1], step.groups[2]);
    for (std::uint32_t again = 1; again < profile; ++again) {
      record_barrier(&between, {}, *recording);
      f.vkCmdDispatch(c, step.groups[0], step.groups[1], step.groups[2]);
    }
    if (profile != 0 && recording->queries_ != VK_NULL_HANDLE) {
      f.vkCmdWriteTimestamp(c, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, recording->queries_,
                            static_cast<std::uint32_t>(i) + 1);
    }
  }
  if (profile == 0 && recording->queries_ != VK_NULL_HANDLE) {
    f.vkCmdWriteTimestamp(c, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, recording->queries_, 1);
  }
  VkMemoryBarrier to_host = memory_barrier(VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_HOST_READ_BIT);
  VkPipelineStageFlags last_stage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  if (!program.copies.empty()) {
    record_copies(program, *recording);
    to_host.srcAccessMask |= VK_ACCESS_TRANSFER_WRITE_BIT;
    last_stage |= VK_PIPELINE_STAGE_TRANSFER_BIT;
  }
  f.vkCmdPipelineBarrier(c, last_stage, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, nullptr, 0,
                         nullptr);
  if (profile == 0 && recording->queries_ != VK_NULL_HANDLE) {
    f.vkCmdWriteTimestamp(c, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, recording->queries_, 2);
  }
  return next_buffer(recording->buffers_.size(), recording);
}

Status Executor::next_buffer(std::size_t index, Recording* recording) const {
  const DeviceFunctions& f = device_->f;
  if (index > 0) {
    const VkResult r = f.vkEndCommandBuffer(recording->buffer_);
    if (r != VK_SUCCESS) return device_->error("vkEndCommandBuffer", r);
  }
  if (index == recording->buffers_.size()) return Ok{};
  recording->buffer_ = recording->buffers_[index];
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  const VkResult r = f.vkBeginCommandBuffer(recording->buffer_, &begin);
  if (r != VK_SUCCESS) return device_->error("vkBeginCommandBuffer", r);
  return Ok{};
}

bool Executor::cut_badly(const Recording& recording, double ms) const {
  const double limit = device_->submission_ms;
  if (limit <= 0 || ms <= 0) return false;
  const auto parts = static_cast<double>(recording.submissions());
  // What was cut by time once stays: a single step cannot be cut further.
  return (ms > limit * parts && !recording.cut_by_time_) || (parts > 1 && ms < limit / 4);
}

Result<std::unique_ptr<Recording>> Executor::record(const Table& table, const Program& program,
                                                    std::uint32_t profile, double ms) {
  std::vector<double> work;
  for (const Step& step : program.steps) work.push_back(step_work(program, step));
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  // A small run is nothing but its start, so it says little of a far larger one.
  double per_ms = measured_ms_ > 0 ? measured_work_ / measured_ms_ : kSlowWorkPerMs;
  if (sum > 4 * measured_work_) per_ms = std::max(per_ms, kSlowWorkPerMs);
  if (ms > 0) per_ms = sum / ms;
  const auto begins = submission_begins(work, device_->submission_ms * per_ms);
  auto recording = record_cut(table, program, profile, begins);
  if (!recording) return recording;
  (*recording)->work_ = sum;
  (*recording)->cut_by_time_ = ms > 0;
  return recording;
}

Result<std::unique_ptr<Recording>> Executor::record_watched(const Table& table,
                                                            const Program& program) {
  std::vector<std::size_t> begins(program.steps.size());
  std::iota(begins.begin(), begins.end(), std::size_t{0});
  return record_cut(table, program, 0, begins);
}

Result<std::unique_ptr<Recording>> Executor::record_cut(const Table& table, const Program& program,
                                                        std::uint32_t profile,
                                                        const std::vector<std::size_t>& begins) {
  if (program.steps.empty()) {
    return Error{ErrorCode::kInvalidArgument, "a program without steps"};
  }
  auto recording = std::make_unique<Recording>(device_);
  std::vector<PipelineRequest> requests;
  for (const Step& step : program.steps) requests.push_back(step.pipeline);
  auto pipelines = device_->pipelines->get(table, requests);
  if (!pipelines) return std::move(pipelines).error();
  recording->pipelines_ = *std::move(pipelines);
  for (const ProgramBuffer& b : program.buffers) {
    auto& slot = recording->images_.emplace_back();
    if (!b.is_image() || b.bytes == 0) continue;
    auto image = Image::create(device_, b.image, image_memory_, b.offset);
    if (!image) return std::move(image).error();
    slot = *std::move(image);
  }
  std::vector<VkDescriptorSet> sets;
  if (auto s = record_descriptors(program, recording.get(), &sets); !s) {
    return std::move(s).error();
  }
  if (auto s = record_commands(program, sets, profile, begins, recording.get()); !s) {
    return std::move(s).error();
  }
  recording->generation_ = generation_;
  return recording;
}

Result<double> Executor::run(Recording& recording) {
  if (stale(recording)) {
    return Error{ErrorCode::kInvalidArgument, "the recording refers to memory that is gone"};
  }
  if (auto s = block(Home::kUpload).flush(); !s) return std::move(s).error();
  const auto begin = Clock::now();
  if (auto s = submit_and_wait(*device_, fence_.handle(), recording.buffers_); !s)
    return std::move(s).error();
  double ms = ms_since(begin);
  if (auto s = block(Home::kDownload).invalidate(); !s) return std::move(s).error();
  if (auto s = read_times(&recording, &ms); !s) return std::move(s).error();
  // A step that was repeated took longer than its work says.
  if (recording.repeats_ <= 1 && recording.work_ >= measured_work_) {
    measured_work_ = recording.work_;
    measured_ms_ = ms;
  }
  return ms;
}

Result<std::optional<std::size_t>> Executor::run_watched(const Recording& recording) {
  if (stale(recording)) {
    return Error{ErrorCode::kInvalidArgument, "the recording refers to memory that is gone"};
  }
  if (auto s = block(Home::kUpload).flush(); !s) return std::move(s).error();
  std::vector<Fence> fences;
  std::vector<VkFence> handles;
  for (std::size_t i = 0; i < recording.submissions(); ++i) {
    auto fence = Fence::create(device_);
    if (!fence) return std::move(fence).error();
    handles.push_back(fence->handle());
    fences.push_back(*std::move(fence));
  }
  auto unended = submit_and_watch(*device_, handles, recording.buffers_);
  if (!unended || *unended) return unended;
  if (auto s = block(Home::kDownload).invalidate(); !s) return std::move(s).error();
  return unended;
}

Status Executor::read_times(Recording* recording, double* ms) const {
  if (recording->queries_ == VK_NULL_HANDLE) return Ok{};
  std::vector<std::uint64_t> ticks(recording->query_count_);
  const VkResult r = device_->f.vkGetQueryPoolResults(
      device_->device, recording->queries_, 0, recording->query_count_, ticks.size() * 8,
      ticks.data(), 8, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (r != VK_SUCCESS) return device_->error("vkGetQueryPoolResults", r);
  const std::uint64_t mask = device_->timestamp_bits >= 64
                                 ? ~std::uint64_t{0}
                                 : (std::uint64_t{1} << device_->timestamp_bits) - 1;
  auto between = [&](std::uint64_t from, std::uint64_t to) {
    return static_cast<double>((to - from) & mask) * device_->timestamp_ns * 1e-6;
  };
  *ms = between(ticks.front(), ticks.back());
  recording->kernels_ms_ =
      recording->repeats_ != 0 ? *ms : between(ticks.front(), ticks[ticks.size() - 2]);
  recording->step_ms_.clear();
  for (std::size_t i = 1; recording->repeats_ != 0 && i < ticks.size(); ++i) {
    recording->step_ms_.push_back(between(ticks[i - 1], ticks[i]) / recording->repeats_);
  }
  return Ok{};
}

}  // namespace spirkiln
