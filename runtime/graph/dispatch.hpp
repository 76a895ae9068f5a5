// SPDX-License-Identifier: Apache-2.0
// What lowering hands to the planner: a node of the graph as dispatches of named kernels.
//
// Lowering knows kernels and shapes, and nothing of Vulkan; the planner knows memory, variants and
// barriers, and nothing of operators. Which bindings a kernel reads and writes is not said here:
// the planner takes it from the blob's own reflection (readonly, writeonly).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "spirkiln/model_format.hpp"
#include "spirkiln/result.hpp"

namespace spirkiln {

// N x H x W x C of one tensor; stored as vectors() vectors of four lanes (model_format.hpp).
struct Dims {
  std::uint32_t n = 1, h = 1, w = 1, c = 1;
  std::uint32_t c4() const { return (c + 3) / 4; }
  std::uint64_t pixels() const { return std::uint64_t{n} * h * w; }
  std::uint64_t vectors() const { return pixels() * c4(); }
  bool operator==(const Dims&) const = default;
};

// What lowering may know of a device: numbers, never names.
struct DeviceTraits {
  std::uint32_t subgroup_size = 32;
  std::uint32_t max_invocations = 128;     // of one workgroup
  std::uint32_t max_group_size[3] = {128, 128, 64};
  std::uint32_t max_group_count[3] = {65535, 65535, 65535};
  std::uint32_t shared_bytes = 16384;
  std::uint64_t max_storage_range = 1u << 27;
  std::uint32_t max_storage_buffers = 4;  // of one kernel
  bool software = false;  // a CPU driver: no cache-line coalescing, barriers are costly
  // What one subgroup multiplies in one step, halves into floats; 0 where it does not, or where the
  // table has no kernel for it.
  std::uint32_t matrix_m = 0, matrix_n = 0, matrix_k = 0;
  std::string_view matrix;  // the value of the axis MATRIX; static storage
  // Kernels that may not be used: of those that others replace, what has no variant.
  std::vector<std::string_view> without;
  bool may_use(std::string_view kernel) const {
    return std::find(without.begin(), without.end(), kernel) == without.end();
  }
};

// Kernels whose work another one can do: lowering asks DeviceTraits::may_use of them alone.
// DeviceTraits::matrix stands for all of kMatrixKernels; what kReplaceableMatrixKernels do in one
// step, two of those can.
inline constexpr std::string_view kReplaceableKernels[] = {"conv_nc",
                                                           "conv_subgroup",
                                                           "deconv_nc",
                                                           "deconv_subgroup",
                                                           "depthwise_line",
                                                           "gemm_nc",
                                                           "gemm_subgroup",
                                                           "stem",
                                                           "deconv_bytes",
                                                           "deconv_floats",
                                                           "squeeze_excite_scale",
                                                           "squeeze",
                                                           "excite"};
inline constexpr std::string_view kMatrixKernels[] = {"conv_coopmat", "deconv_coopmat",
                                                      "gemm_coopmat", "window_coopmat"};
inline constexpr std::string_view kReplaceableMatrixKernels[] = {"separable_coopmat",
                                                                 "transformer_coopmat"};

enum class BufferKind : std::uint8_t {
  kInput,  // index: the node's index-th input tensor (the residual is the last one)
  kOutput,  // the node's output tensor
  kConst,  // index: the node's index-th constant. kHalfPair arrives in the storage type of the
           // variant (sfpvec4), kFloat32 as vec4
  kScratch,  // index into Lowered::scratch_bytes
  kBytesIn,  // the caller's picture, one uint a pixel (lower_input, lower_stem)
  kFloatsOut,  // the caller's result, tight fp32 N x H x W x C (lower_output, lower_head,
               // lower_best)
  kBytesOut  // the same as bytes_out.glsl has it: a byte a value, in whole words, and a word for
             // each workgroup of the dispatch (lower_output_bytes, lower_head_bytes)
};
struct BufferRef {
  BufferKind kind;
  std::uint32_t index = 0;
  std::uint32_t node = 0;  // in a group of nodes, whose input or constant it is: in the order in
                           // which lowering is asked of them. The output is the last one's
};

struct AxisChoice {  // a value of one of the kernel's own axes; the manifest's default otherwise
  std::string_view axis;
  std::string_view value;
};
struct SpecChoice {  // by the constant's name in the kernel; unnamed ones keep their defaults
  std::string_view name;
  std::uint32_t bits;
};

inline constexpr std::uint32_t kMaxPushWords = 32;  // 128 bytes: what every device has

struct Dispatch {
  std::string_view kernel;  // static storage
  std::vector<AxisChoice> axes;
  std::vector<BufferRef> buffers;  // bindings 0, 1, 2, ... of set 0
  std::vector<SpecChoice> specs;
  std::array<std::uint32_t, kMaxPushWords> push{};
  std::uint32_t push_words = 0;
  std::array<std::uint32_t, 3> groups{1, 1, 1};
  std::array<std::uint32_t, 3> local_size{0, 0,
                                          0};  // 0: the kernel's own; else its local-size constants
  double flops = 0;  // additions and multiplications; for profiles only

  void push_u32(std::uint32_t v) { push.at(push_words++) = v; }
  void push_f32(float v) {
    std::uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    push_u32(bits);
  }
};

struct Lowered {
  std::vector<Dispatch> dispatches;  // in order; each may depend on all before it
  std::vector<std::uint64_t> scratch_bytes;  // buffers that live only within this node
};

struct LowerRequest {
  const model::Node& node;
  std::vector<Dims> inputs;  // as the node lists them, residual included
  Dims output;
  const DeviceTraits& traits;
};

// Errors: kUnsupported with the operator's name and the shape when no kernel can take it.
Result<Lowered> lower_node(const LowerRequest& request);
// A squeeze-excite gate and the global mean that only it reads, together. kUnsupported also where
// that gains nothing.
Result<Lowered> lower_gate(const LowerRequest& mean, const LowerRequest& gate);
// The same with the product that alone reads the gate: what the mean is taken of, times the gate.
// kUnsupported also where that gains nothing.
Result<Lowered> lower_scale(const LowerRequest& mean, const LowerRequest& gate,
                            const LowerRequest& product);
// A depthwise convolution and the pointwise one that alone reads it, together. kUnsupported also
// where that gains nothing.
Result<Lowered> lower_separable(const LowerRequest& window, const LowerRequest& point);
// A transformer's block, lines of rows as attention has them: layer norm, the product to queries,
// keys and values, attention, the product behind it with what went in added; then layer norm and
// two products, the same added to the second; these seven, and maybe a layer norm of the result.
// kUnsupported also where that gains nothing.
using TransformerNodes = std::vector<LowerRequest>;
Result<Lowered> lower_transformer(const TransformerNodes& nodes);
// Picture bytes to the input tensor; scale and shift as in ModelHeader.
Result<Lowered> lower_input(const Dims& input, const float scale[4], const float shift[4],
                            const DeviceTraits& traits);
// Picture bytes to what the graph's first convolution makes of the input tensor, which alone reads
// it. kUnsupported also where that gains nothing.
Result<Lowered> lower_stem(const LowerRequest& conv, const float scale[4], const float shift[4]);
// A graph's last node, straight to tight floats for the caller. kUnsupported also where that gains
// nothing.
Result<Lowered> lower_head(const LowerRequest& deconv);
// A tensor to tight floats for the caller.
Result<Lowered> lower_output(const Dims& output, const DeviceTraits& traits);
// The two as bytes: 255 times each value cut to 0 ... 1.
Result<Lowered> lower_head_bytes(const LowerRequest& deconv);
Result<Lowered> lower_output_bytes(const Dims& output, const DeviceTraits& traits);
// For each pixel its best channel and that channel's value, as two floats. `of_logits`: the value
// is the channel's share of the softmax.
Result<Lowered> lower_best(const Dims& output, bool of_logits, const DeviceTraits& traits);

}  // namespace spirkiln
