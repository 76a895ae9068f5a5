// SPDX-License-Identifier: Apache-2.0
// What each operator asks of its node, apart from shapes.
#include <array>
#include <vector>

#include "graph/model.hpp"

namespace spirkiln {
namespace {

using namespace model;

std::uint64_t cpad(std::uint64_t c) { return (c + 3) / 4 * 4; }

struct Expected {
  ConstType type;
  std::uint64_t elements;
};

class NodeCheck {
 public:
  NodeCheck(const Model::State& m, const Node& n) : m_(m), n_(n) {}

  std::string run() {
    const std::uint32_t residual = (n_.flags & kHasResidual) != 0 ? 1 : 0;
    if (residual == 0 && (n_.flags & kResidualBefore) != 0) return "flags";
    const std::string wrong = by_operator(residual);
    if (!wrong.empty()) return wrong;
    if (residual != 0) {
      const std::uint32_t r = m_.inputs_of(n_).back();
      if (m_.channels(r) != out()) return "the residual has other channels than the output";
    }
    return check_consts();
  }

 private:
  std::uint32_t in(std::uint32_t i) const { return m_.channels(m_.inputs_of(n_)[i]); }
  std::uint32_t out() const { return m_.channels(n_.output); }
  std::string inputs(std::uint32_t expected) const {
    if (n_.input_count == expected) return {};
    return std::to_string(n_.input_count) + " inputs, expected " + std::to_string(expected);
  }
  void expect(ConstType type, std::uint64_t elements) { consts_.push_back({type, elements}); }
  void expect_scaled(std::uint64_t weights, std::uint64_t channels) {
    expect(ConstType::kHalfPair, weights);
    expect(ConstType::kFloat32, cpad(channels));
    expect(ConstType::kFloat32, cpad(channels));
  }
  bool between(int first, int last, std::int32_t low, std::int32_t high) const {
    for (int i = first; i <= last; ++i) {
      if (n_.i[i] < low || n_.i[i] > high) return false;
    }
    return true;
  }
  std::uint64_t taps() const {
    return static_cast<std::uint64_t>(n_.i[0]) * static_cast<std::uint64_t>(n_.i[1]);
  }

  std::string by_operator(std::uint32_t residual) {
    std::string wrong;
    switch (n_.op) {
      case Op::kConv:
      case Op::kDepthwise:
        if (wrong = inputs(1 + residual); !wrong.empty()) return wrong;
        if (!between(0, 3, 1, kMaxWindow) || !between(4, 7, 0, kMaxWindow) ||
            !between(8, 9, 1, kMaxWindow)) {
          return "kernel, stride, padding or dilation out of range";
        }
        return channels_and_weights(n_.op == Op::kDepthwise);
      case Op::kDeconv:
        if (wrong = inputs(1 + residual); !wrong.empty()) return wrong;
        if (!between(0, 1, 1, kMaxWindow)) return "kernel out of range";
        return channels_and_weights(false);
      case Op::kMaxPool:
      case Op::kAvgPool:
        if (wrong = inputs(1 + residual); !wrong.empty()) return wrong;
        if (!between(0, 3, 1, kMaxWindow) || !between(4, 7, 0, kMaxWindow)) {
          return "kernel, stride or padding out of range";
        }
        // Padding as wide as the kernel would make windows that hold no value at all.
        if (n_.i[4] >= n_.i[0] || n_.i[6] >= n_.i[0] || n_.i[5] >= n_.i[1] || n_.i[7] >= n_.i[1]) {
          return "padding is not smaller than the kernel";
        }
        if (n_.op == Op::kAvgPool && !between(8, 8, 0, 1)) return "attribute 8";
        return same_channels();
      case Op::kGlobalMean:
      case Op::kSoftmax:
        if (wrong = inputs(1 + residual); !wrong.empty()) return wrong;
        return same_channels();
      case Op::kSqueezeExcite:
        if (wrong = inputs(1 + residual); !wrong.empty()) return wrong;
        return squeeze_excite();
      case Op::kBinary: {
        if (wrong = inputs(2 + residual); !wrong.empty()) return wrong;
        if (!between(0, 0, 0, 3)) return "unknown binary operation";
        if (in(1) != in(0) && in(1) != 1) return "the operands' channels";
        return same_channels();
      }
      case Op::kAffine:
        if (wrong = inputs(1 + residual); !wrong.empty()) return wrong;
        expect(ConstType::kFloat32, cpad(out()));
        expect(ConstType::kFloat32, cpad(out()));
        return same_channels();
      case Op::kResize:
        if (wrong = inputs(1 + residual); !wrong.empty()) return wrong;
        if (!between(0, 1, 1, kMaxWindow)) return "factor out of range";
        return same_channels();
      case Op::kConcat:
        return concat(residual);
      case Op::kLayerNorm:
        if (wrong = inputs(1 + residual); !wrong.empty()) return wrong;
        if (n_.f[0] < 0) return "epsilon is negative";
        expect(ConstType::kFloat32, cpad(out()));
        expect(ConstType::kFloat32, cpad(out()));
        return same_channels();
      case Op::kAttention:
        if (wrong = inputs(1 + residual); !wrong.empty()) return wrong;
        if (!between(0, 1, 1, 1 << 16)) return "heads or head size out of range";
        {
          const std::uint64_t width =
              static_cast<std::uint64_t>(n_.i[0]) * static_cast<std::uint64_t>(n_.i[1]);
          if (width != out() || 3 * width != in(0)) return "heads x head size and channels";
        }
        return {};
    }
    return "unknown operator";
  }

  std::string same_channels() const {
    return in(0) == out() ? std::string() : "input and output have different channels";
  }

  std::string channels_and_weights(bool depthwise) {
    if (static_cast<std::uint32_t>(n_.i[10]) != in(0) ||
        static_cast<std::uint32_t>(n_.i[11]) != out()) {
      return "its channels are not those of its tensors";
    }
    if (depthwise && in(0) != out()) return "input and output have different channels";
    const std::uint64_t rows = depthwise ? 1 : cpad(in(0));
    expect_scaled(taps() * rows * cpad(out()), out());
    return {};
  }

  std::string squeeze_excite() {
    if (static_cast<std::uint32_t>(n_.i[10]) != in(0) ||
        static_cast<std::uint32_t>(n_.i[11]) != out() || n_.i[12] < 1 || n_.i[12] > kMaxChannels) {
      return "its channels are not those of its tensors";
    }
    if (!between(13, 13, 0, static_cast<std::int32_t>(Activation::kGelu))) {
      return "unknown activation";
    }
    const auto mid = static_cast<std::uint64_t>(n_.i[12]);
    expect_scaled(cpad(in(0)) * cpad(mid), mid);
    expect_scaled(cpad(mid) * cpad(out()), out());
    return {};
  }

  std::string concat(std::uint32_t residual) const {
    if (n_.i[0] < 1 || n_.i[0] > 8) return "1 to 8 inputs can be joined";
    const auto joined = static_cast<std::uint32_t>(n_.i[0]);
    if (std::string wrong = inputs(joined + residual); !wrong.empty()) return wrong;
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < joined; ++i) sum += in(i);
    return sum == out() ? std::string() : "the inputs' channels do not add up to the output's";
  }

  std::string check_consts() const {
    if (n_.const_count != consts_.size()) {
      return std::to_string(n_.const_count) + " constants, expected " +
             std::to_string(consts_.size());
    }
    const auto ids = m_.consts_of(n_);
    for (std::size_t i = 0; i < consts_.size(); ++i) {
      const Const& c = m_.consts[ids[i]];
      if (c.type != consts_[i].type) return "constant " + std::to_string(i) + " has another type";
      if (c.elements != consts_[i].elements) {
        return "constant " + std::to_string(i) + " has " + std::to_string(c.elements) +
               " elements, expected " + std::to_string(consts_[i].elements);
      }
    }
    return {};
  }

  const Model::State& m_;
  const Node& n_;
  std::vector<Expected> consts_;
};

}  // namespace

std::string check_operator(const Model::State& model, const Node& node) {
  return NodeCheck(model, node).run();
}

std::string_view op_name(Op op) {
  static constexpr std::array<std::string_view, 14> kNames = {
      "conv",   "depthwise", "deconv", "max pool", "average pool", "global mean", "squeeze-excite",
      "binary", "affine",    "resize", "concat",   "layer norm",   "attention",   "softmax"};
  const auto i = static_cast<std::size_t>(op);
  return i < kNames.size() ? kNames[i] : "unknown operator";
}

}  // namespace spirkiln
