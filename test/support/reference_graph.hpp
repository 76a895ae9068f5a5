// SPDX-License-Identifier: Apache-2.0
// A packed graph computed in double precision on the CPU, as plainly as model_format.hpp reads. The
// oracle of the packer's tests and of the kernels'; shares no code with either.
#pragma once

#include <spirkiln/model_format.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace spirkiln::test {

// Dense N x H x W x C, channels innermost, no padding lanes.
struct RefTensor {
  int n = 0, h = 0, w = 0, c = 0;
  std::vector<double> v;

  RefTensor() = default;
  RefTensor(int n_, int h_, int w_, int c_)
      : n(n_),
        h(h_),
        w(w_),
        c(c_),
        v(static_cast<std::size_t>(n_) * static_cast<std::size_t>(h_) *
          static_cast<std::size_t>(w_) * static_cast<std::size_t>(c_)) {}
  std::size_t index(int in, int ih, int iw, int ic) const {
    return ((static_cast<std::size_t>(in) * static_cast<std::size_t>(h) +
             static_cast<std::size_t>(ih)) *
                static_cast<std::size_t>(w) +
            static_cast<std::size_t>(iw)) *
               static_cast<std::size_t>(c) +
           static_cast<std::size_t>(ic);
  }
  double& at(int in, int ih, int iw, int ic) { return v[index(in, ih, iw, ic)]; }
  double at(int in, int ih, int iw, int ic) const { return v[index(in, ih, iw, ic)]; }
};

enum class RefWeights {
  kFull,  // hi + lo * 2^-12: what the fp32 variants multiply with
  kHiOnly,  // what the fp16 variants multiply with
};

// A constant as doubles, padding lanes included.
using RefConst = std::vector<double>;

// One node. `consts` in the order of the header; `out` has the shape of the result. The residual,
// where the flags ask for one, is the last input.
RefTensor reference_node(const model::Node& node, const std::vector<const RefTensor*>& inputs,
                         const std::vector<RefConst>& consts, RefTensor out);

double reference_activation(model::Activation act, double a, double b, double x);

// Throws std::runtime_error for anything malformed: tests only.
class ReferenceGraph {
 public:
  explicit ReferenceGraph(std::vector<std::uint8_t> pack);
  static ReferenceGraph load(const std::string& path);

  const model::ModelHeader& header() const { return header_; }
  const std::vector<model::Node>& nodes() const { return nodes_; }
  std::string text(std::uint32_t offset) const;
  std::vector<std::uint32_t> tensor_refs(const model::Node& node) const;
  std::vector<RefConst> constants(const model::Node& node, RefWeights weights) const;
  // N, H, W, C of every tensor for an input of n x h x w; throws where a constraint fails.
  std::vector<std::vector<int>> shapes(int n, int h, int w) const;

  // Pixels of 4 bytes: the three stored channels and validity (0 = outside the picture).
  RefTensor normalise(std::span<const std::uint8_t> pixels, int n, int h, int w) const;

  // Called after each node with its index and result.
  using Observer = std::function<void(std::size_t, const RefTensor&)>;
  std::vector<RefTensor> run(const RefTensor& input, RefWeights weights = RefWeights::kFull,
                             const Observer& observer = {}) const;

 private:
  template <typename T>
  std::vector<T> section(const model::Section& s) const;

  std::vector<std::uint8_t> pack_;
  model::ModelHeader header_{};
  std::vector<model::Expr> exprs_;
  std::vector<model::Constraint> constraints_;
  std::vector<model::Tensor> tensors_;
  std::vector<model::Node> nodes_;
  std::vector<std::uint32_t> refs_, outputs_;
  std::vector<model::Const> consts_;
};

}  // namespace spirkiln::test
