// SPDX-License-Identifier: Apache-2.0
// Convolutions by stretches of a row of the output, with the same few primitives of oneDNN for
// pictures of any size.
//
// A primitive is made for one size, and making one compiles code (0.3 to 3 ms): for all
// convolutions of a graph that is several times a run, at each new size of picture. So rows are
// taken in stretches of fixed lengths, each by one thread. Nothing is lost: 128 pixels already run
// at full speed, and what they need stays in the second-level cache.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "cpu/step.hpp"

namespace spirkiln::cpu {

class RowConvolution {
 public:
  struct Window {
    std::size_t in, out;  // channels
    std::size_t kh = 1, kw = 1, stride_w = 1, dilation_w = 1;
  };
  // `weights` is [kh][kw][in][out]. `threads` bounds the worker of run().
  RowConvolution(const Window& window, std::vector<float> weights, std::vector<float> bias,
                 const model::Node& node, const dnnl::engine& engine, int threads);

  static constexpr std::array<std::size_t, 6> kLengths = {512, 128, 32, 16, 8, 1};

  // Calls f(first, length) for stretches of `longest` (one of kLengths) and shorter that cover
  // `pixels`. The last may overlap the one before, which computes the same again: eight pixels at
  // once cost little more than one.
  template <typename F>
  static void cover(std::size_t pixels, std::size_t longest, const F& f) {
    std::size_t at = 0;
    for (const std::size_t length : kLengths) {
      if (length > longest) continue;
      for (; pixels - at >= length; at += length) f(at, length);
      if (length == 8 && at < pixels && pixels >= length) return f(pixels - length, length);
    }
  }
  // Makes the primitives for that.
  void prepare(std::size_t pixels, std::size_t longest) {
    cover(pixels, longest, [&](std::size_t, std::size_t length) { make(length); });
  }
  // Input columns that a stretch sees.
  std::size_t seen(std::size_t length) const {
    return (length - 1) * window_.stride_w + (window_.kw - 1) * window_.dilation_w + 1;
  }
  // x: kh rows of seen(length) pixels, tight; y, and the residual r where there is one: `length`
  // pixels. Several threads may run at the same time, each as a `worker` of its own. Throws
  // dnnl::error.
  void run(std::size_t length, const float* x, const float* r, float* y, int worker);
  std::size_t bytes() const;

 private:
  // The memories that one worker executes a primitive on.
  struct Bound {
    dnnl::memory source, destination, scratch;
    std::unordered_map<int, dnnl::memory> args;
  };
  struct Kernel {
    dnnl::convolution_forward primitive;
    std::vector<Bound> workers;
  };
  static std::size_t index_of(std::size_t length);
  void make(std::size_t length);

  Window window_;
  std::vector<float> weights_, bias_;
  model::Epilogue epilogue_;
  bool residual_, before_;
  bool fused_ = true;  // activation and scale are the primitive's
  dnnl::engine engine_;
  dnnl::stream stream_;
  int threads_;
  std::array<std::optional<Kernel>, kLengths.size()> kernels_;
  std::vector<std::pair<dnnl::memory::desc, dnnl::memory>> layouts_;  // of the weights
};

}  // namespace spirkiln::cpu
