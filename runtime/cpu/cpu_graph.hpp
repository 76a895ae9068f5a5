// SPDX-License-Identifier: Apache-2.0
// A packed graph on the CPU.
#pragma once

#include <memory>
#include <vector>

#include "cpu/plan.hpp"
#include "graph/backend.hpp"
#include "graph/lru.hpp"

namespace spirkiln::cpu {

// Memory that lasts until a larger block is needed.
class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Errors: kOutOfMemory, also for more than this machine has: the kernel would hand it out, and
  // end the process when it is touched.
  Status reserve(std::uint64_t bytes);
  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

class CpuGraph final : public GraphBackend {
 public:
  // `threads`: at least 1.
  static Result<std::unique_ptr<CpuGraph>> create(const Model& model, const GraphOptions& options,
                                                  int threads);

  Status prepare(const InputShape& shape, RunTimings* timings) override;
  Result<std::vector<TensorF32>> run(const Pictures& pictures, RunTimings* timings) override;
  Result<std::vector<TensorU8>> run_bytes(const Pictures& pictures, RunTimings* timings) override;
  Result<std::vector<TensorF32>> run_nodes(const Pictures& pictures, std::size_t first,
                                           std::size_t count) override;
  Result<std::vector<StepTime>> profile(const Pictures&, std::uint32_t, std::uint32_t) override {
    return Error{ErrorCode::kUnsupported,
                 "the CPU backend times no dispatches; SPIRKILN_PROFILE=1 tells its steps' times"};
  }
  std::string variant() const override { return "cpu"; }
  std::uint64_t bytes() const override;

 private:
  CpuGraph(const Model& model, const GraphOptions& options, int threads);
  Result<Plan*> plan_for(const InputShape& shape, RunTimings* timings);
  // Empty tensors for outputs, which `add` then gets the values of, picture by picture.
  template <typename Tensor, typename Add>
  Result<std::vector<Tensor>> run_all(const Pictures& pictures, RunTimings* timings,
                                      const Add& add);
  template <typename Tensor, typename Add>
  Status run_picture(const Plan& plan, const std::uint8_t* bytes, std::vector<Tensor>& outputs,
                     std::uint32_t picture, const Add& add);
  Error not_finite(const Plan& plan, const std::uint8_t* bytes, std::uint32_t picture);
  void load_input(const Plan& plan, const std::uint8_t* bytes);
  void profile_run(const Plan& plan);

  Model model_;
  GraphOptions options_;
  bool profile_ = false;
  Machine machine_;
  std::vector<NodeStore> nodes_;
  Arena arena_;
  // By height and width: a batch is run picture by picture, which keeps it in the caches and makes
  // all numbers of pictures one shape.
  LruCache<InputShape, Plan> plans_{32};
};

}  // namespace spirkiln::cpu
