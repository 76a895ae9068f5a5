// SPDX-License-Identifier: Apache-2.0
// Checks a dispatch against its kernel and the device, before anything is recorded.
#include <algorithm>
#include <map>

#include "compute/sequence.hpp"
#include "graph/program.hpp"

namespace spirkiln::compute {
namespace {

Error wrong(const Kernel::State& kernel, const std::string& what) {
  return Error{ErrorCode::kInvalidArgument, kernel.name + ": " + what};
}

std::string list(const std::vector<Binding>& bindings) {
  if (bindings.empty()) return "nothing is bound";
  std::string text = "bound are";
  for (const Binding& b : bindings) {
    text += " " + std::to_string(b.set) + "." + std::to_string(b.binding);
  }
  return text;
}

Result<Bound> bind_buffer(const DeviceState& device, const Kernel::State& kernel,
                          const BindingInfo& info, const BufferRange& range) {
  const auto& state = range.buffer.state();
  if (state == nullptr) return wrong(kernel, text_of(info) + ": the buffer was never made");
  if (state->device != device) {
    return wrong(kernel, text_of(info) + ": the buffer is of another device");
  }
  const VkPhysicalDeviceLimits limits = limits_of(*device);
  const bool uniform = info.kind == ResourceKind::kUniformBuffer;
  const std::uint64_t alignment =
      uniform ? limits.minUniformBufferOffsetAlignment : limits.minStorageBufferOffsetAlignment;
  const std::uint64_t most = uniform ? limits.maxUniformBufferRange : limits.maxStorageBufferRange;
  if (range.offset >= state->bytes || range.bytes > state->bytes - range.offset) {
    return wrong(kernel, text_of(info) + ": " + std::to_string(range.bytes) + " bytes from " +
                             std::to_string(range.offset) +
                             " on lie beyond the end of a buffer of " +
                             std::to_string(state->bytes));
  }
  if (alignment != 0 && range.offset % alignment != 0) {
    return wrong(kernel, text_of(info) + ": begins at byte " + std::to_string(range.offset) + ", " +
                             device->info.name + " wants a multiple of " +
                             std::to_string(alignment));
  }
  Bound bound;
  bound.buffer = state;
  bound.offset = range.offset;
  bound.bytes = range.bytes != 0 ? range.bytes : state->bytes - range.offset;
  if (bound.bytes < info.min_bytes) {
    return wrong(kernel, text_of(info) + ": " + std::to_string(bound.bytes) +
                             " bytes, the kernel declares " + std::to_string(info.min_bytes) +
                             " at least");
  }
  if (bound.bytes > most) {
    return Error{ErrorCode::kUnsupported,
                 kernel.name + ": " + text_of(info) + ": " + std::to_string(bound.bytes) +
                     " bytes, " + device->info.name + " binds at most " + std::to_string(most)};
  }
  return bound;
}

Result<Bound> bind_image(const DeviceState& device, const Kernel::State& kernel,
                         const BindingInfo& info, const Image& image) {
  const auto& state = image.state();
  if (state == nullptr) return wrong(kernel, text_of(info) + ": the image was never made");
  if (state->device != device) {
    return wrong(kernel, text_of(info) + ": the image is of another device");
  }
  if (state->shape.dimensions != info.dimensions) {
    return wrong(kernel, text_of(info) + ": an image of " +
                             std::to_string(state->shape.dimensions) +
                             " dimensions, the kernel declares " + std::to_string(info.dimensions));
  }
  if (info.format && *info.format != state->shape.format) {
    return wrong(kernel, text_of(info) + ": an image of " + name_of(state->shape.format) +
                             ", the kernel declares " + name_of(*info.format));
  }
  if (info.kind == ResourceKind::kStorageImage && !state->is_foreign &&
      state->shape.format == ImageFormat::kR16f && !device->caps.image_extended_formats) {
    return Error{ErrorCode::kUnsupported, kernel.name + ": " + text_of(info) + ": " +
                                              device->info.name + " stores no images of r16f"};
  }
  Bound bound;
  bound.image = state;
  return bound;
}

Result<Bound> bind_one(const DeviceState& device, const Kernel::State& kernel,
                       const BindingInfo& info, const std::vector<Binding>& bindings) {
  const auto it = std::find_if(bindings.begin(), bindings.end(), [&](const Binding& b) {
    return b.set == info.set && b.binding == info.binding;
  });
  if (it == bindings.end()) {
    return wrong(kernel,
                 text_of(info) + ", " + kind_name(info.kind) + ", is not bound; " + list(bindings));
  }
  const bool wants_buffer =
      info.kind == ResourceKind::kStorageBuffer || info.kind == ResourceKind::kUniformBuffer;
  const BufferRange* buffer = std::get_if<BufferRange>(&it->resource);
  if (wants_buffer != (buffer != nullptr)) {
    return wrong(kernel, text_of(info) + " is " + kind_name(info.kind) + ", bound is " +
                             (buffer != nullptr ? "a buffer" : "an image"));
  }
  return buffer != nullptr ? bind_buffer(device, kernel, info, *buffer)
                           : bind_image(device, kernel, info, std::get<Image>(it->resource));
}

Status check_twice(const Kernel::State& kernel, const std::vector<Binding>& bindings) {
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (bindings[i].set == bindings[j].set && bindings[i].binding == bindings[j].binding) {
        return wrong(kernel, "set " + std::to_string(bindings[i].set) + " binding " +
                                 std::to_string(bindings[i].binding) + " is bound twice");
      }
    }
  }
  return Ok{};
}

Result<Extent> groups_of(const DeviceState& device, const Kernel& kernel,
                         const Dispatch& dispatch) {
  const Kernel::State& k = *kernel.state();
  if (is_size(dispatch.groups) == is_size(dispatch.invocations)) {
    return wrong(k, "one of groups and invocations must be given, and not both");
  }
  const bool by_groups = is_size(dispatch.groups);
  const Extent groups = by_groups ? dispatch.groups : kernel.groups_for(dispatch.invocations);
  const std::array<std::uint32_t, 3> count = {groups.x, groups.y, groups.z};
  for (std::size_t i = 0; i < 3; ++i) {
    if (count[i] == 0) {
      return wrong(k, "a size of " + text_of(by_groups ? groups : dispatch.invocations) +
                          "; what is not needed along an axis is 1");
    }
    if (count[i] > device->caps.max_group_count[i]) {
      return Error{ErrorCode::kUnsupported, k.name + ": " + text_of(groups) + " workgroups, " +
                                                device->info.name + " allows " +
                                                std::to_string(device->caps.max_group_count[i]) +
                                                " along axis " + std::to_string(i)};
    }
  }
  return groups;
}

}  // namespace

Result<BoundDispatch> bind_dispatch(const DeviceState& device, const Kernel& kernel,
                                    const Dispatch& dispatch) {
  if (kernel.state() == nullptr) {
    return Error{ErrorCode::kInvalidArgument, "the kernel was never made"};
  }
  const Kernel::State& k = *kernel.state();
  if (k.device != device) return wrong(k, "the kernel is of another device than the sequence");
  if (dispatch.push.size() != k.push_bytes) {
    return wrong(k, std::to_string(dispatch.push.size()) +
                        " bytes of push constants, the kernel declares " +
                        std::to_string(k.push_bytes));
  }
  if (auto s = check_twice(k, dispatch.bindings); !s) return std::move(s).error();
  auto groups = groups_of(device, kernel, dispatch);
  if (!groups) return std::move(groups).error();
  BoundDispatch out;
  out.kernel = kernel.state();
  out.groups = *groups;
  out.push.assign(dispatch.push.begin(), dispatch.push.end());
  for (const BindingInfo& info : k.bindings) {
    auto bound = bind_one(device, k, info, dispatch.bindings);
    if (!bound) return std::move(bound).error();
    out.bound.push_back(*std::move(bound));
  }
  return out;
}

// The rule of graphs, with each resource as a stretch of one memory.
std::uint32_t place_barriers(std::vector<BoundDispatch>* dispatches) {
  Program program;
  std::map<std::pair<VkBuffer, VkImage>, std::uint64_t> begins;
  std::uint64_t end = 0;
  for (const BoundDispatch& d : *dispatches) {
    Step step;
    for (std::size_t i = 0; i < d.bound.size(); ++i) {
      const Bound& b = d.bound[i];
      const bool is_image = b.image != nullptr;
      const std::pair<VkBuffer, VkImage> which{is_image ? VK_NULL_HANDLE : b.buffer->handle,
                                               is_image ? b.image->image : VK_NULL_HANDLE};
      const auto [it, fresh] = begins.try_emplace(which, end);
      if (fresh) end += is_image ? 1 : b.buffer->bytes;
      ProgramBuffer range;
      range.offset = it->second + b.offset;
      range.bytes = is_image ? 1 : b.bytes;
      Use use;
      use.buffer = static_cast<std::uint32_t>(program.buffers.size());
      use.reads = d.kernel->bindings[i].reads;
      use.writes = d.kernel->bindings[i].writes;
      program.buffers.push_back(std::move(range));
      step.uses.push_back(use);
    }
    program.steps.push_back(std::move(step));
  }
  const std::uint32_t count = spirkiln::place_barriers(&program);
  for (std::size_t i = 0; i < dispatches->size(); ++i) {
    (*dispatches)[i].barrier_before = program.steps[i].barrier_before;
  }
  return count;
}

}  // namespace spirkiln::compute
