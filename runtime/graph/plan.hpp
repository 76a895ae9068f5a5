// SPDX-License-Identifier: Apache-2.0
// A graph at one input shape as a program. Needs no Vulkan: everything that can be refused is
// refused here, before anything has run.
#pragma once

#include <functional>
#include <vector>

#include "graph/program.hpp"
#include "graph/shapes.hpp"
#include "graph/weights.hpp"

namespace spirkiln {

// The functions of dispatch.hpp; tests put their own in their place.
struct Lowering {
  std::function<Result<Lowered>(const LowerRequest&)> node = lower_node;
  std::function<Result<Lowered>(const LowerRequest&, const LowerRequest&)> gate = lower_gate;
  std::function<Result<Lowered>(const LowerRequest&, const LowerRequest&, const LowerRequest&)>
      scale = lower_scale;
  std::function<Result<Lowered>(const LowerRequest&, const LowerRequest&)> separable =
      lower_separable;
  std::function<Result<Lowered>(const TransformerNodes&)> transformer = lower_transformer;
  std::function<Result<Lowered>(const Dims&, const float[4], const float[4], const DeviceTraits&)>
      input = lower_input;
  std::function<Result<Lowered>(const LowerRequest&, const float[4], const float[4])> stem =
      lower_stem;
  std::function<Result<Lowered>(const LowerRequest&)> head = lower_head;
  std::function<Result<Lowered>(const LowerRequest&)> head_bytes = lower_head_bytes;
  std::function<Result<Lowered>(const Dims&, const DeviceTraits&)> output = lower_output;
  std::function<Result<Lowered>(const Dims&, const DeviceTraits&)> output_bytes =
      lower_output_bytes;
  std::function<Result<Lowered>(const Dims&, bool, const DeviceTraits&)> best = lower_best;
};

struct PlannedOutput {
  Dims dims;
  std::uint64_t offset = 0;  // of tight floats in download memory; of bytes where they are wished
  // Behind these bytes and what fills their last word: words that are not 0 where a value is no
  // number.
  std::uint32_t checks = 0;
};

// What is wanted of a graph.
struct PlanWish {
  // Where `count` is not 0, the graph ends behind the last of these nodes, and its outputs are what
  // they compute.
  std::size_t first_node = 0, node_count = 0;
  bool best_class = false, bytes = false;  // as GraphOptions; of a whole graph
};

struct PlannedGraph {
  Program program;
  std::uint64_t upload_offset = 0;  // of the picture's bytes in upload memory
  std::vector<PlannedOutput> outputs;
};

// `needs` is asked where the forms are image forms. Errors: those of tensor_shapes, of lowering and
// of ProgramBuilder.
Result<PlannedGraph> plan_graph(const Model::State& model, const InputShape& input,
                                const Table& table, const DeviceCaps& caps,
                                const SelectRules& rules, const std::vector<Form>& forms,
                                const WeightLayout& weights, const ImageNeeds& needs = {},
                                const Lowering& lowering = {}, const PlanWish& wish = {});

// Which variants a graph may use: exactly the one that is named, or where `variant` is empty the
// device's best. Errors: kInvalidArgument for a name that is none.
Result<std::vector<Form>> choose_forms(const std::string& variant, const DeviceCaps& caps);

}  // namespace spirkiln
