// SPDX-License-Identifier: Apache-2.0
// A graph for one picture of one size: its steps, and where its tensors lie in the arena.
// Everything that can be refused is refused while it is made.
#pragma once

#include <memory>
#include <vector>

#include "cpu/convolution.hpp"
#include "cpu/step.hpp"
#include "graph/shapes.hpp"

namespace spirkiln::cpu {

// What the plans of all sizes of a graph share.
struct NodeStore {
  std::unique_ptr<ConvWeights> convolution;  // of those operators
  std::shared_ptr<const std::vector<std::vector<float>>> consts;  // of the others

  static Result<NodeStore> create(const Model::State& model, const model::Node& node,
                                  const Machine& machine);
  std::size_t bytes() const;
};

struct PlannedStep {
  Step step;
  std::uint32_t node = 0;
  std::vector<std::uint64_t> inputs;  // offsets in the arena
  std::uint64_t output = 0, scratch = 0;
  std::size_t values = 0;  // of the output
};

struct PlannedTensor {
  Dims dims;
  std::uint64_t offset = 0;
};

struct Plan {
  std::vector<PlannedStep> steps;
  PlannedTensor input;
  std::vector<PlannedTensor> outputs;  // in the model's order
  std::uint64_t arena_bytes = 0;
};

// `shapes` of one picture. Errors: kUnsupported where the tensors together overflow; what oneDNN
// throws is thrown.
Result<Plan> make_plan(const Model::State& model, const std::vector<Dims>& shapes,
                       std::vector<NodeStore>& nodes, const Machine& machine);

// Runs every step. `after` is called with the step that has just run and its output; the run ends
// where it gives false.
template <typename After>
void run_plan(const Plan& plan, std::byte* arena, const After& after) {
  for (const PlannedStep& s : plan.steps) {
    StepArgs args;
    for (std::size_t i = 0; i < s.inputs.size(); ++i) {
      args.in[i] = reinterpret_cast<const float*>(arena + s.inputs[i]);
    }
    args.out = reinterpret_cast<float*>(arena + s.output);
    args.scratch = arena + s.scratch;
    s.step.run(args);
    if (!after(s, args.out)) return;
  }
}

}  // namespace spirkiln::cpu
