// SPDX-License-Identifier: Apache-2.0
// What the runtime would do with a graph on a device that is not here: which variant of each kernel
// it would take, and what it would refuse. The runtime's own functions decide; none calls Vulkan.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "graph/shapes.hpp"
#include "loader/caps.hpp"
#include "table/select.hpp"

namespace spirkiln::check {

struct ChosenVariant {
  std::uint32_t blob = 0;
  std::uint32_t dispatches = 0;
  bool operator==(const ChosenVariant&) const = default;
};

struct KernelFailure {
  std::string kernel;
  std::string node;  // the first that needs it
  std::uint32_t dispatches = 0;
  std::vector<Candidate> candidates;  // each variant with what excludes it
  bool operator==(const KernelFailure&) const = default;
};

// The outcome for all shapes that have the same one.
struct Outcome {
  std::vector<InputShape> shapes;
  std::map<std::string, ChosenVariant> chosen;  // by the variant's name
  std::vector<KernelFailure> kernels;  // that have no variant
  std::vector<std::string> refused;  // nodes without a lowering, or beyond a limit
  bool ok() const { return kernels.empty() && refused.empty(); }
};

struct GraphReport {
  std::string graph;  // the pack's own name
  std::string forms;  // "fp16s or fp16p"
  std::vector<Outcome> outcomes;
  bool ok() const;
};

// The usual shapes that the model accepts. Errors: kInvalidArgument where it accepts none of them.
Result<std::vector<InputShape>> usual_shapes(const Model::State& model);

// `rules`: the table's quirks of the device. `variant`: as $SPIRKILN_VARIANT, empty for the
// runtime's own choice. Errors: kInvalidArgument for a variant that is none, and for shapes that
// the model refuses.
Result<GraphReport> check_graph(const Model::State& model, const std::vector<InputShape>& shapes,
                                const Table& table, const DeviceCaps& caps,
                                const SelectRules& rules, const std::string& variant);

}  // namespace spirkiln::check
