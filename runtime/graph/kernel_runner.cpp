// SPDX-License-Identifier: Apache-2.0
#include "graph/kernel_runner.hpp"

#include <algorithm>
#include <cstring>

#include "graph/half.hpp"
#include "graph/image.hpp"

namespace spirkiln {
namespace {

constexpr std::uint64_t kGuardBytes = 256;
constexpr std::byte kFill{0xff};

std::uint64_t round_up(std::uint64_t v, std::uint64_t to) { return (v + to - 1) / to * to; }

}  // namespace

std::vector<std::byte> as_bytes(std::span<const float> values) {
  std::vector<std::byte> bytes(values.size_bytes());
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<std::byte> to_storage(std::span<const float> values, Form form) {
  if (form.storage == table::Storage::kFp32) return as_bytes(values);
  std::vector<std::byte> bytes(values.size() * 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t h = float_to_half(values[i]);
    std::memcpy(bytes.data() + i * 2, &h, 2);
  }
  return bytes;
}

std::vector<float> from_storage(std::span<const std::byte> bytes, Form form) {
  const bool fp32 = form.storage == table::Storage::kFp32;
  std::vector<float> values(bytes.size() / (fp32 ? 4 : 2));
  if (fp32) {
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * 4);
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t h;
    std::memcpy(&h, bytes.data() + i * 2, 2);
    values[i] = half_to_float(h);
  }
  return values;
}

Result<KernelRunner> KernelRunner::create(const Device& device, const Table& table, Form form) {
  KernelRunner runner(device, table, form);
  if (device.state() == nullptr) {
    return Error{ErrorCode::kUnsupported, "single kernels run on Vulkan devices only"};
  }
  auto executor = Executor::create(device.state());
  if (!executor) return std::move(executor).error();
  runner.executor_ = *std::move(executor);
  return runner;
}

Result<KernelRunner::Outputs> KernelRunner::run(const Lowered& lowered, const Buffers& buffers) {
  const DeviceCaps& caps = device_.state()->caps;
  const auto needs = [&](const TensorImage& image) { return image_need(*device_.state(), image); };
  ProgramBuilder builder(table_, caps, {form_}, needs, rules_);
  if (int8_) builder.set_int8(*int8_);

  // Read-only bytes lie one after the other in the weights block.
  std::vector<std::byte> fixed;
  auto add_fixed = [&](const std::vector<std::byte>& bytes, const char* name) {
    const std::uint64_t offset = round_up(fixed.size(), caps.storage_alignment);
    fixed.resize(offset + round_up(bytes.size(), 16));
    if (!bytes.empty()) std::memcpy(fixed.data() + offset, bytes.data(), bytes.size());
    return builder.add_weights(offset, bytes.size(), name);
  };
  const std::uint32_t vector = vector_bytes(form_);
  auto add_image = [&](const std::vector<std::byte>& bytes, const char* name) {
    const std::uint32_t image = builder.add_tensor(bytes.size() / vector, name);
    builder.add_load(add_fixed(bytes, name), image);
    return image;
  };
  const bool images = form_.is_image();
  std::vector<std::uint32_t> inputs, consts;
  for (const auto& b : buffers.inputs) {
    inputs.push_back(images ? add_image(b, "input") : add_fixed(b, "input"));
  }
  for (const auto& b : buffers.consts) consts.push_back(add_fixed(b, "constant"));
  const std::uint32_t bytes_in = add_fixed(buffers.bytes_in, "picture bytes");
  // An image comes back whole, so that what was written behind the tensor's end shows.
  std::uint64_t output_bytes = buffers.output_bytes;
  std::uint32_t output_image = 0;
  if (images && output_bytes > 0) {
    const TensorImage image = tensor_image(output_bytes / vector, vector);
    output_bytes = std::uint64_t{image.width} * image.height * vector;
    output_image = add_image(std::vector<std::byte>(output_bytes, kFill), "output");
  }
  const std::uint32_t output = builder.add_buffer(Home::kDownload, output_bytes, "output");
  if (images && output_bytes > 0) builder.add_copy(output_image, output);
  const std::uint32_t guard = builder.add_buffer(Home::kDownload, kGuardBytes, "guard");
  const std::uint32_t floats_out =
      builder.add_buffer(Home::kDownload, buffers.floats_out_bytes, "float output");
  const std::uint32_t guard2 = builder.add_buffer(Home::kDownload, kGuardBytes, "guard");

  auto resolve = [&](const BufferRef& ref) -> Result<std::uint32_t> {
    switch (ref.kind) {
      case BufferKind::kInput:
        if (ref.index < inputs.size()) return inputs[ref.index];
        break;
      case BufferKind::kConst:
        if (ref.index < consts.size()) return consts[ref.index];
        break;
      case BufferKind::kOutput:
        return images ? output_image : output;
      case BufferKind::kBytesIn:
        return bytes_in;
      case BufferKind::kFloatsOut:
      case BufferKind::kBytesOut:
        return floats_out;
      case BufferKind::kScratch:
        break;
    }
    return Error{ErrorCode::kInvalidArgument,
                 "the dispatches name a buffer that the test does not give"};
  };
  if (auto s = builder.add(lowered, resolve, "run"); !s) return std::move(s).error();
  auto program = builder.finish();
  if (!program) return std::move(program).error();

  if (auto s = executor_->reserve_for(*program); !s) return std::move(s).error();
  if (auto s = executor_->reserve(Home::kWeights, std::max<std::size_t>(fixed.size(), 16)); !s) {
    return std::move(s).error();
  }
  if (auto s = executor_->write(Home::kWeights, 0, fixed); !s) return std::move(s).error();
  const std::vector<std::byte> scratch(program->home_bytes[static_cast<std::size_t>(Home::kArena)],
                                       kFill);
  if (auto s = executor_->write(Home::kArena, 0, scratch); !s) return std::move(s).error();
  const auto mapped = executor_->mapped(Home::kDownload);
  std::fill(mapped.begin(), mapped.end(), kFill);

  auto recording = executor_->record(table_, *program);
  if (!recording) return std::move(recording).error();
  auto ms = executor_->run(**recording);
  if (!ms) return std::move(ms).error();

  Outputs out;
  out.gpu_ms = *ms;
  out.barriers = (*recording)->barriers();
  for (const Step& step : program->steps) out.variants.emplace_back(step.pipeline.kernel);
  auto bytes_of = [&](std::uint32_t buffer) {
    const ProgramBuffer& b = program->buffers[buffer];
    return mapped.subspan(b.offset, b.bytes);
  };
  program->buffers[output].bytes = buffers.output_bytes;
  auto end_of = [&](std::uint32_t buffer) {
    return program->buffers[buffer].offset + program->buffers[buffer].bytes;
  };
  for (const auto& [buffer, next] : {std::pair{output, guard}, std::pair{floats_out, guard2}}) {
    const auto behind = mapped.subspan(end_of(buffer), end_of(next) - end_of(buffer));
    if (std::any_of(behind.begin(), behind.end(), [](std::byte b) { return b != kFill; })) {
      return Error{ErrorCode::kInvalidArgument,
                   "a kernel wrote behind the end of " + program->buffers[buffer].name};
    }
  }
  const auto o = bytes_of(output), fo = bytes_of(floats_out);
  out.output.assign(o.begin(), o.end());
  out.floats_out.assign(fo.begin(), fo.end());
  return out;
}

}  // namespace spirkiln
