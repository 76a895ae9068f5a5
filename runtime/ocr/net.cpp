// SPDX-License-Identifier: Apache-2.0
// Graphs of libspirkiln as the pipeline's Nets.
#include <mutex>
#include <utility>

#include "spirkiln/ocr.hpp"

namespace spirkiln {
namespace {

class GraphNet final : public Net {
 public:
  GraphNet(Graph graph, bool best_class, bool bytes)
      : graph_(std::move(graph)), best_class_(best_class), bytes_(bytes) {}

  Result<TensorF32> run(const Pictures& pictures) override {
    RunTimings timings;
    return first_of(graph_.run(pictures, &timings), timings);
  }
  Result<TensorU8> run_bytes(const Pictures& pictures) override {
    RunTimings timings;
    return first_of(graph_.run_bytes(pictures, &timings), timings);
  }

  Status prepare(std::uint32_t n, std::uint32_t h, std::uint32_t w) override {
    return graph_.prepare(n, h, w);
  }
  bool gives_best_class() const override { return best_class_; }
  bool gives_bytes() const override { return bytes_; }

  RunTimings timings() const override {
    const std::lock_guard lock(mutex_);
    return sum_;
  }

 private:
  template <typename Tensor>
  Result<Tensor> first_of(Result<std::vector<Tensor>> outputs, const RunTimings& timings) {
    if (!outputs) return outputs.error();
    if (outputs->empty()) {
      return Error{ErrorCode::kUnsupported, "the model has no output: pack it again"};
    }
    const std::lock_guard lock(mutex_);
    sum_.plan_ms += timings.plan_ms;
    sum_.upload_ms += timings.upload_ms;
    sum_.gpu_ms += timings.gpu_ms;
    sum_.download_ms += timings.download_ms;
    sum_.dispatches += timings.dispatches;
    return std::move(outputs->front());
  }

  Graph graph_;
  bool best_class_, bytes_;
  mutable std::mutex mutex_;
  RunTimings sum_;
};

}  // namespace

std::shared_ptr<Net> make_net(Graph graph, bool best_class, bool bytes) {
  return std::make_shared<GraphNet>(std::move(graph), best_class, bytes);
}

}  // namespace spirkiln
