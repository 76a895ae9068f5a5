// SPDX-License-Identifier: Apache-2.0
#include "dispatch_timer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace spirkiln::bench {

DispatchTimer::DispatchTimer(Device device, Table table, Operands operands)
    : device_(std::move(device)), table_(std::move(table)), operands_(std::move(operands)) {
  const std::uint64_t alignment =
      std::max<std::uint64_t>(device_.state()->caps.storage_alignment, 16);
  for (const auto* list : {&operands_.inputs, &operands_.consts}) {
    for (const auto& bytes : *list) {
      offsets_.push_back(fixed_bytes_);
      fixed_bytes_ += (bytes.size() + alignment - 1) / alignment * alignment;
    }
  }
}

Result<std::unique_ptr<DispatchTimer>> DispatchTimer::create(const Device& device,
                                                             const Table& table,
                                                             Operands operands) {
  if (device.state() == nullptr) {
    return Error{ErrorCode::kUnsupported, "single dispatches run on Vulkan devices only"};
  }
  std::unique_ptr<DispatchTimer> timer(new DispatchTimer(device, table, std::move(operands)));
  auto executor = Executor::create(device.state());
  if (!executor) return std::move(executor).error();
  timer->executor_ = *std::move(executor);
  if (auto s = timer->executor_->reserve(Home::kWeights,
                                         std::max<std::uint64_t>(timer->fixed_bytes_, 16));
      !s) {
    return std::move(s).error();
  }
  std::size_t i = 0;
  for (auto* list : {&timer->operands_.inputs, &timer->operands_.consts}) {
    for (const auto& bytes : *list) {
      if (auto s = timer->executor_->write(Home::kWeights, timer->offsets_[i++], bytes); !s) {
        return std::move(s).error();
      }
    }
  }
  return timer;
}

Result<Program> DispatchTimer::build(const Dispatch& dispatch, Form form) const {
  ProgramBuilder builder(table_, device_.state()->caps, {form});
  std::vector<std::uint32_t> inputs, consts;
  std::size_t i = 0;
  for (const auto& bytes : operands_.inputs) {
    inputs.push_back(builder.add_weights(offsets_[i++], bytes.size(), "input"));
  }
  for (const auto& bytes : operands_.consts) {
    consts.push_back(builder.add_weights(offsets_[i++], bytes.size(), "constant"));
  }
  const bool in_place = operands_.output_bytes == 0;
  const std::uint64_t bytes = in_place ? operands_.inputs.at(0).size() : operands_.output_bytes;
  const std::uint32_t out =
      in_place ? inputs[0] : builder.add_buffer(Home::kArena, bytes, "result");
  const std::uint32_t download = builder.add_buffer(Home::kDownload, bytes, "download");
  builder.add_copy(out, download);
  Lowered lowered;
  lowered.dispatches.push_back(dispatch);
  const auto resolve = [&](const BufferRef& ref) -> Result<std::uint32_t> {
    if (ref.kind == BufferKind::kInput && ref.index < inputs.size()) return inputs[ref.index];
    if (ref.kind == BufferKind::kConst && ref.index < consts.size()) return consts[ref.index];
    if (ref.kind == BufferKind::kOutput) return out;
    return Error{ErrorCode::kInvalidArgument, "the dispatch names an operand that is not given"};
  };
  if (auto s = builder.add(lowered, resolve, "bench"); !s) return std::move(s).error();
  return builder.finish();
}

Result<std::size_t> DispatchTimer::add(const Dispatch& dispatch, Form form) {
  auto program = build(dispatch, form);
  if (!program) return std::move(program).error();
  ways_.push_back({*std::move(program), nullptr});
  return ways_.size() - 1;
}

Status DispatchTimer::prepare(std::uint32_t repeats) {
  std::vector<PipelineRequest> requests;
  for (const Way& w : ways_) {
    if (auto s = executor_->reserve_for(w.program); !s) return s;
    requests.push_back(w.program.steps.at(0).pipeline);
  }
  const auto held = device_.state()->pipelines->get(table_, requests);
  if (!held) return held.error();
  for (Way& w : ways_) {
    if (w.recording != nullptr && !executor_->stale(*w.recording)) continue;
    auto recording = executor_->record(table_, w.program, repeats);
    if (!recording) return std::move(recording).error();
    w.recording = *std::move(recording);
  }
  return Ok{};
}

Result<double> DispatchTimer::run(std::size_t i) {
  Way& way = ways_.at(i);
  if (auto ms = executor_->run(*way.recording); !ms) return std::move(ms).error();
  if (way.recording->step_ms().empty()) {
    return Error{ErrorCode::kUnsupported,
                 device_.info().name + " has no timestamps, so dispatches cannot be timed"};
  }
  for (const ProgramBuffer& b : way.program.buffers) {
    if (b.home == Home::kDownload) result_offset_ = b.offset, result_bytes_ = b.bytes;
  }
  return way.recording->step_ms().at(0) * 1e3;
}

std::span<const std::byte> DispatchTimer::result() const {
  return executor_->mapped(Home::kDownload).subspan(result_offset_, result_bytes_);
}

Result<double> least_us(DispatchTimer& timer, std::size_t i, std::uint32_t runs) {
  double least = 0;
  for (std::uint32_t run = 0; run < runs; ++run) {
    auto us = timer.run(i);
    if (!us) return us;
    least = run == 0 ? *us : std::min(least, *us);
  }
  return least;
}

}  // namespace spirkiln::bench
