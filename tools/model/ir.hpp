// SPDX-License-Identifier: Apache-2.0
// The graph between ONNX and the pack: stored tensors (N x H x W x C) and nodes that the passes
// fuse. Each pass leaves a graph that computes the same.
#pragma once

#include "sym.hpp"
#include "view.hpp"

#include <spirkiln/model_format.hpp>

#include <string>
#include <vector>

namespace spirkiln::packer {

enum class Kind {
  // Those that a pack can hold.
  kConv,
  kDepthwise,
  kDeconv,
  kMaxPool,
  kAvgPool,
  kGlobalMean,
  kSqueezeExcite,
  kBinary,
  kAffine,
  kResize,
  kConcat,
  kLayerNorm,
  kAttention,
  kSoftmax,
  // Those that a pass has to fuse into one of the above.
  kErf,
  kSqrt,
  kSquare,
  kMeanC,
};
const char* kind_name(Kind kind);

// Weights before packing. `values` is row-major: conv [Cout][Cin][kh][kw], depthwise [C][kh][kw],
// deconv [Cin][Cout][kh][kw], fc [Cout][Cin].
struct Weights {
  std::string name;
  std::vector<float> values;
};

struct ConvParams {
  int kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1;
  int pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int dilation_h = 1, dilation_w = 1;
};

struct Node {
  Kind kind = Kind::kAffine;
  std::string name;     // of the last ONNX node that is part of this one
  std::string op_type;  // of the ONNX node that it began as, for messages
  std::vector<int> inputs;
  int output = -1;
  bool dead = false;

  // Epilogue: y = act(v (+ r)) * post_scale + post_bias (+ r), as model_format.hpp says.
  model::Activation act = model::Activation::kNone;
  double act_a = 0, act_b = 0;
  double post_scale = 1, post_bias = 0;
  bool has_residual = false;  // then the last input is r
  bool residual_before = false;

  ConvParams conv;          // convolutions and pools
  int channels_in = 0, channels_out = 0, channels_mid = 0;
  Weights weights, weights2;
  // Per output channel (size C), or one value for all (size 1). kLayerNorm: gamma, beta.
  // kSqueezeExcite: of the first product; scale2, bias2 of the second.
  std::vector<double> scale, bias, scale2, bias2;
  model::Activation mid_act = model::Activation::kNone;
  double mid_a = 0, mid_b = 0;
  model::BinaryOp binary = model::BinaryOp::kAdd;
  bool count_include_pad = false;
  int factor_h = 1, factor_w = 1;  // kResize
  double epsilon = 0;              // kLayerNorm
  int heads = 0, head_dim = 0;     // kAttention
  double score_factor = 1;

  bool plain_epilogue() const {
    return act == model::Activation::kNone && post_scale == 1 && post_bias == 0 && !has_residual;
  }
};

struct Tensor {
  std::string name;
  Dims dims;
};

struct Requirement {
  Sym a, b;
  std::string message;
};

struct Graph {
  SymContext syms;
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;  // in an order in which they may run
  std::vector<Requirement> requirements;
  int input = -1;
  std::vector<int> outputs;

  int add_tensor(std::string name, Dims dims);
  // The message is what a caller with a wrong shape reads. Throws where a and b can never be equal.
  void require_equal(const Sym& a, const Sym& b, const std::string& message);
};

}  // namespace spirkiln::packer
