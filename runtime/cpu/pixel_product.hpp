// SPDX-License-Identifier: Apache-2.0
// Products of pixels with a matrix, which is what a 1x1 convolution is: y = epilogue(x w + b), for
// any number of pixels with the same few primitives.
//
// A primitive of oneDNN is made for one size, and making one compiles code (0.3 to 1 ms): for all
// convolutions of a graph that is several times a run, at each new size of picture. So pixels are
// taken in stretches of fixed lengths. Nothing is lost: 512 pixels already run at full speed, and
// what they need stays in the second-level cache.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "cpu/step.hpp"

namespace spirkiln::cpu {

class PixelProduct {
 public:
  // `weights` is [in][out]. `threads` bounds the argument of run().
  PixelProduct(std::size_t in, std::size_t out, std::vector<float> weights, std::vector<float> bias,
               const model::Node& node, const dnnl::engine& engine, int threads);

  // At most this many pixels are taken at once.
  static constexpr std::size_t kLongest = 512;

  // Makes what run() needs for `pixels`.
  void prepare(std::size_t pixels);
  // Pixels one after the other; r is null where the node has no residual. Several threads may run
  // at the same time, each as a `thread` of its own. Throws dnnl::error.
  void run(std::size_t pixels, const float* x, const float* r, float* y, int thread);
  std::size_t bytes() const;

 private:
  static constexpr std::array<std::size_t, 5> kLengths = {kLongest, 128, 32, 8, 1};

  // The memories that one thread executes a primitive on.
  struct Bound {
    dnnl::memory source, destination, residual, scratch;
    std::unordered_map<int, dnnl::memory> args;
  };
  struct Kernel {
    dnnl::convolution_forward primitive;
    std::vector<Bound> threads;
  };
  void make(std::size_t length);
  void execute(std::size_t length, const float* x, const float* r, float* y, int thread);
  // Calls f(length, first pixel) for stretches that cover `pixels`; the last may overlap the one
  // before, which computes the same again.
  template <typename F>
  static void stretches(std::size_t pixels, const F& f);

  std::size_t in_, out_;
  std::vector<float> weights_, bias_;
  model::Epilogue epilogue_;
  bool residual_, before_;
  bool fused_ = true;  // the epilogue is the primitive's
  dnnl::engine engine_;
  dnnl::stream stream_;
  int threads_;
  std::array<std::optional<Kernel>, kLengths.size()> kernels_;
  std::vector<std::pair<dnnl::memory::desc, dnnl::memory>> layouts_;  // of the weights
};

}  // namespace spirkiln::cpu
