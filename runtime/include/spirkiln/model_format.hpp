// SPDX-License-Identifier: Apache-2.0
// The stored form of a packed graph: written by spirkiln-model, read by the runtime.
//
// A pack is one little-endian block: a ModelHeader, sections of plain structs, then constant data.
// Offsets count bytes from the start of the pack. A string is an offset into the string section,
// where it ends with a NUL byte; offset 0 is the empty string.
//
// Tensors. Every tensor is four-dimensional, N x H x W x C (a sequence [N,T,C] is N x 1 x T x C, a
// matrix [N,C] is N x 1 x 1 x C). In memory channels are innermost and padded with further lanes to
// a multiple of 4, so a tensor is an array of 4-lane vectors:
//   vector index of (n, h, w, c) = ((n * H + h) * W + w) * C4 + c / 4,   C4 = (C + 3) / 4.
// Padding lanes hold finite but otherwise arbitrary values: a consumer that mixes channels either
// has zero weights for them (convolution, squeeze-excite) or must mask them (softmax, layer norm).
//
// Shapes depend on the input's N, H, W through the expressions of the expression section, which the
// runtime evaluates once for each input shape.
#pragma once

#include <cstdint>

namespace spirkiln::model {

inline constexpr char kMagic[8] = {'S', 'P', 'K', 'M', 'O', 'D', 'E', 'L'};
inline constexpr std::uint32_t kVersion = 2;
inline constexpr std::uint32_t kNone = 0xffffffffu;

// What a pack may hold. Readers refuse more, since a small file could otherwise ask for any amount
// of memory or time. Sections do not overlap, nor do the planes of constants.
inline constexpr std::uint64_t kMaxPackBytes = 1ull << 30;
inline constexpr std::uint32_t kMaxStringBytes = 4096;  // without its NUL byte
inline constexpr std::uint32_t kMaxNodes = 1u << 16;
inline constexpr std::uint32_t kMaxTensors = 1u << 17;
inline constexpr std::uint32_t kMaxConsts = 1u << 18;
inline constexpr std::uint32_t kMaxExprs = 1u << 18;
inline constexpr std::uint32_t kMaxConstraints = 1u << 16;
inline constexpr std::uint32_t kMaxOutputs = 64;
inline constexpr std::int32_t kMaxChannels = 1 << 20;
inline constexpr std::int32_t kMaxWindow = 1 << 12;  // kernel, stride, padding, dilation, factor
inline constexpr std::uint32_t kMaxNodeInputs = 9;  // eight that are joined, and a residual
inline constexpr std::uint32_t kMaxNodeConsts = 6;

struct Section {
  std::uint64_t offset;
  std::uint32_t count;
  std::uint32_t stride;  // bytes of one entry; readers check it against sizeof
};

struct ModelHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;  // sizeof(ModelHeader)
  std::uint64_t total_bytes;
  // XXH3 (64 bits) of the bytes behind the header; its seed is the same of the header itself, with
  // this field as 0.
  std::uint64_t checksum;
  std::uint32_t name;  // string
  std::uint32_t producer;  // string: tool and version
  // The picture that enters: byte b of channel c becomes b * input_scale[c] + input_shift[c],
  // channels in the order in which the caller stores them (BGR). Where the fourth byte (validity)
  // of a pixel is 0 the value is 0, whatever the three colour bytes say.
  float input_scale[4];
  float input_shift[4];
  std::uint32_t input_tensor;  // index of the only input, C = 3
  std::uint32_t reserved;
  Section strings;
  Section exprs;  // Expr
  Section constraints;  // Constraint
  Section tensors;  // Tensor
  Section nodes;  // Node, in an order in which they may run
  Section refs;  // uint32_t, tensor and constant indices named by nodes
  Section consts;  // Const
  Section outputs;  // uint32_t, tensor indices
  Section data;  // bytes; every constant starts at a multiple of 16
};

enum class ExprOp : std::uint32_t {
  kConst = 0,  // value a (signed)
  kInput = 1,  // input dimension a: 0 = N, 1 = H, 2 = W
  kAdd = 2,  // of expressions a and b, which stand before this one
  kSub = 3,
  kMul = 4,
  kFloorDiv = 5,  // b > 0, else the shape is refused
  kCeilDiv = 6,
  kExactDiv = 7,  // the shape is refused unless b divides a
  kMin = 8,
  kMax = 9,
};
struct Expr {
  ExprOp op;
  std::int32_t a;
  std::int32_t b;
};

// The shape is refused with `message` unless expressions a and b are equal.
struct Constraint {
  std::uint32_t a;
  std::uint32_t b;
  std::uint32_t message;  // string
};

struct Tensor {
  std::uint32_t name;  // string: the ONNX name that it came from
  std::uint32_t dim[4];  // expression indices: N, H, W, C. C is always a kConst
};

enum class ConstType : std::uint32_t {
  kFloat32 = 0,
  // Two planes of IEEE half, each padded to 16 bytes: first hi, then lo.
  // value = hi + lo * 2^-12. fp16 variants use hi as it is; fp32 variants use the sum.
  kHalfPair = 1,
};
struct Const {
  std::uint32_t name;  // string
  ConstType type;
  std::uint64_t offset;  // of the first plane
  std::uint64_t elements;  // of one plane, padding lanes included; a multiple of 4
  std::uint64_t lo_offset;  // of the second plane, 0 without one
};

enum class Activation : std::uint32_t {
  kNone = 0,
  kRelu = 1,
  kClip = 2,  // clamp(x, a, b)
  kHardSigmoid = 3,  // clamp(a * x + b, 0, 1)
  kHardSwish = 4,  // x * clamp(a * x + b, 0, 1)
  kSigmoid = 5,
  kSwish = 6,  // x * sigmoid(x)
  kGelu = 7,  // x * 0.5 * (1 + erf(x / sqrt 2))
};

// What every node does last: y = act(v) * post_scale + post_bias, and the residual r (the node's
// last input where kHasResidual is set) is added before or after:
//   kResidualBefore: y = act(v + r) * post_scale + post_bias
//   otherwise:       y = act(v) * post_scale + post_bias + r
struct Epilogue {
  Activation act;
  float a;
  float b;
  float post_scale;  // 1 where unused
  float post_bias;  // 0 where unused
};
enum NodeFlags : std::uint32_t { kHasResidual = 1, kResidualBefore = 2 };

// cpad(x) below is x rounded up to a multiple of 4. Weights are kHalfPair, scaled for each output
// channel by a power of two so that the largest magnitude lies in [0.5, 1); the inverse is part of
// `scale`. scale and bias are kFloat32 of cpad(Cout) elements, 0 in the padding.
enum class Op : std::uint32_t {
  // inputs x (, r); consts w[kh][kw][cpad(Cin)][cpad(Cout)], scale, bias.
  // i: 0 kh, 1 kw, 2 stride h, 3 stride w, 4 pad top, 5 pad left, 6 pad bottom, 7 pad right,
  //    8 dilation h, 9 dilation w, 10 Cin, 11 Cout. v = conv(x, w) * scale + bias.
  // A matrix product with a constant right side is the 1x1 case.
  kConv = 0,
  // inputs x (, r); consts w[kh][kw][cpad(C)], scale, bias. i as kConv (10 = 11 = C). One filter a
  // channel.
  kDepthwise = 1,
  // inputs x (, r); consts w[cpad(Cin)][kh][kw][cpad(Cout)], scale, bias (both cpad(Cout)).
  // Kernel size equals stride, no padding: i: 0 kh, 1 kw, 10 Cin, 11 Cout.
  // out(n, h*kh+y, w*kw+x, o) = sum_c in(n,h,w,c) * w[c][y][x][o].
  kDeconv = 2,
  // inputs x. i: 0..7 as kConv, 8 = 1 when the average counts padding.
  kMaxPool = 3,
  kAvgPool = 4,
  // inputs x; out N x 1 x 1 x C: the mean over H and W.
  kGlobalMean = 5,
  // Squeeze-excite gate of a mean: inputs m (N x 1 x 1 x Cin); consts w1[cpad(Cin)][cpad(Cmid)],
  // scale1, bias1, w2[cpad(Cmid)][cpad(Cout)], scale2, bias2. i: 10 Cin, 11 Cout, 12 Cmid,
  // 13 Activation after the first; f: 0 a, 1 b of it. out N x 1 x 1 x Cout = epilogue(fc2(...)).
  kSqueezeExcite = 6,
  // inputs x, y (, r): v = x op y. i: 0 BinaryOp. y has x's shape, or N x 1 x 1 x C, or
  // 1 x 1 x 1 x C, or N x H x W x 1 (one value for all channels).
  kBinary = 7,
  // inputs x (, r); consts scale, bias (cpad(C) floats): v = x * scale + bias for each channel.
  kAffine = 8,
  // inputs x (, r): nearest neighbour by whole factors, floor of asymmetric coordinates:
  // out(h, w) = in(h / i[0], w / i[1]).
  kResize = 9,
  // inputs 1..8 tensors, along C. i: 0 number of inputs.
  kConcat = 10,
  // inputs x; consts gamma, beta (cpad(C) floats). f: 0 epsilon. Over the C real lanes.
  kLayerNorm = 11,
  // inputs qkv N x 1 x T x 3*heads*dim (q, k, v one after the other, each heads x dim).
  // i: 0 heads, 1 dim. f: 0 factor on the scores. out N x 1 x T x heads*dim = softmax(f q k') v.
  kAttention = 12,
  // inputs x: over the C real lanes; padding lanes are written 0.
  kSoftmax = 13,
};
enum class BinaryOp : std::uint32_t { kAdd = 0, kSub = 1, kMul = 2, kDiv = 3 };

struct Node {
  Op op;
  std::uint32_t name;  // string: the ONNX node (the last one of those that were fused)
  std::uint32_t flags;  // NodeFlags
  std::uint32_t output;  // tensor
  std::uint32_t first_input, input_count;  // into refs: tensors
  std::uint32_t first_const, const_count;  // into refs: constants
  Epilogue epilogue;
  std::int32_t i[16];
  float f[4];
};

static_assert(sizeof(Section) == 16 && sizeof(Expr) == 12 && sizeof(Constraint) == 12);
static_assert(sizeof(Tensor) == 20 && sizeof(Const) == 32 && sizeof(Epilogue) == 20);
static_assert(sizeof(Node) == 132);
static_assert(sizeof(ModelHeader) == 80 + 9 * sizeof(Section));

}  // namespace spirkiln::model
