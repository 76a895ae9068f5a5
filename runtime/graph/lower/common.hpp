// SPDX-License-Identifier: Apache-2.0
// What all lowerings share: refusals, the epilogue's constants and numbers, grids.
#pragma once

#include <functional>
#include <string>

#include "graph/dispatch.hpp"
#include "graph/lower/tuning.hpp"

namespace spirkiln::lower {

inline const tuning::Numbers& numbers(const DeviceTraits& traits) {
  return tuning::built_in().numbers(traits.software);
}

// Tensors are indexed with 32 bits in the kernels, and sums of indices must not wrap.
inline constexpr std::uint64_t kMaxVectors = std::uint64_t{1} << 31;

const char* op_name(model::Op op);
std::string to_string(const Dims& d);  // "1x48x320x3"

// "conv (1x48x320x3 -> 1x24x160x16): WHY"
Error unsupported(const LowerRequest& request, const std::string& why);

// Refuses shapes beyond the index arithmetic, wrong input counts and unknown activations.
// `operands` counts inputs without the residual.
Status check_node(const LowerRequest& request, std::uint32_t operands);

inline bool has_residual(const model::Node& node) {
  return (node.flags & model::kHasResidual) != 0;
}
// The residual's buffer; where there is none, the first input stands in and is never read.
BufferRef residual_ref(const LowerRequest& request);

// Numbers of an activation that is made of lines (epilogue.glsl); 32 bytes.
void push_epilogue(Dispatch& d, const model::Epilogue& epilogue);
// The constants act_kind and residual.
void set_epilogue_specs(Dispatch& d, const model::Epilogue& epilogue, std::uint32_t flags);
inline void set_epilogue_specs(Dispatch& d, const model::Node& node) {
  set_epilogue_specs(d, node.epilogue, node.flags);
}
bool activation_is_lines(model::Activation act);

// One invocation for each of `jobs`, folded over y where the device allows too few groups along x.
void set_linear_grid(Dispatch& d, std::uint64_t jobs, const DeviceTraits& traits);
// The same in workgroups that share what they load, as large as `shared_bytes` of them fit the
// device's workgroup memory. False where not even one invocation's do.
bool set_sharing_grid(Dispatch& d, std::uint64_t jobs, const DeviceTraits& traits,
                      const std::function<std::uint64_t(std::uint32_t threads)>& shared_bytes);
// A row of `width` invocations for each of `rows`, rows along y folded over z.
void set_row_grid(Dispatch& d, std::uint64_t width, std::uint64_t rows, const DeviceTraits& traits);
// `groups` workgroups along x folded over y, the local size being set already.
void set_group_grid(Dispatch& d, std::uint64_t groups, const DeviceTraits& traits);

// Workgroups of `block_m` rows and `block_n` vectors of columns: columns along x, rows along y
// folded over z.
void set_matrix_grid(Dispatch& d, std::uint32_t rows, std::uint32_t n4, std::uint32_t block_m,
                     std::uint32_t block_n, const DeviceTraits& traits);

// output[rows][n4] = epilogue(input[rows][k4] * weights * scale + bias), by the device's best
// kernel.
struct MatrixProduct {
  BufferRef input, residual, weights, scale, bias, output;
  std::uint32_t rows, k4, n4;
  model::Epilogue epilogue;
  std::uint32_t flags;
};
Dispatch matrix_product(const MatrixProduct& product, const DeviceTraits& traits);

// Puts a tiled matrix product (gemm_nc, conv_nc, deconv_nc) on cooperative matrices, in tiles of
// this shape; of the tuning's, where none is given.
void use_matrices(Dispatch& d, const tuning::Product& p, const tuning::MatrixTile& tile,
                  const DeviceTraits& traits);
void use_matrices(Dispatch& d, const tuning::Product& p, const DeviceTraits& traits);
// The same for a dense convolution of stride 1, by conv_coopmat. False where it cannot take it.
bool use_window_matrices(Dispatch& d, const Dims& x, const Dims& y, std::uint32_t kh,
                         std::uint32_t kw, std::uint32_t pad_top, std::uint32_t pad_left,
                         const tuning::WindowTile& tile, const DeviceTraits& traits);

// One function for each operator, or group of operators with one contract.
Result<Lowered> conv(const LowerRequest& request);
Result<Lowered> depthwise(const LowerRequest& request);
Result<Lowered> deconv(const LowerRequest& request);
Result<Lowered> pool(const LowerRequest& request);
Result<Lowered> global_mean(const LowerRequest& request);
Result<Lowered> squeeze_excite(const LowerRequest& request);
Result<Lowered> gate_of_mean(const LowerRequest& mean, const LowerRequest& gate);  // lower_gate
Result<Lowered> scaled_by_gate(const LowerRequest& mean, const LowerRequest& gate,
                               const LowerRequest& product);  // lower_scale
Result<Lowered> binary(const LowerRequest& request);
Result<Lowered> affine(const LowerRequest& request);
Result<Lowered> resize(const LowerRequest& request);
Result<Lowered> concat(const LowerRequest& request);
Result<Lowered> layer_norm(const LowerRequest& request);
Result<Lowered> attention(const LowerRequest& request);
Result<Lowered> softmax(const LowerRequest& request);

}  // namespace spirkiln::lower
