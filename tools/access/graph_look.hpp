// SPDX-License-Identifier: Apache-2.0
// The dispatches of packed graphs, each looked at as a kernel by itself.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "graph/plan.hpp"
#include "look.hpp"

namespace spirkiln::access {

struct GraphRequest {
  std::string pack;  // file
  InputShape shape{1, 48, 320};
  std::string variant;  // as $SPIRKILN_VARIANT; empty: the device's best
  std::uint32_t sample = 4;  // groups of each dispatch
  // Of dispatches of one pipeline only the first: what a check of every change has time for.
  bool one_of_each = false;
};

struct DispatchLook {
  std::string kernel;   // of the manifests
  std::string variant;
  std::uint32_t times = 1;  // the graph has it, with equal sizes
  Report report;
};

struct GraphLook {
  std::vector<DispatchLook> dispatches;
  std::vector<std::string> not_seen;  // why, with the variant's name
  // Over all dispatches, scaled to all groups; memory outside the workgroup.
  double asked = 0, moved = 0, ideal = 0;
};

using SubjectOf =
    std::function<Result<Subject>(const std::string& kernel, const std::string& variant)>;

// Lowers, selects and plans as the runtime would on a device with these caps, but without
// cooperative matrices where the devices that run the kernels have none. These are the same device,
// opened once or more: each runs one dispatch at a time, from a thread of its own. `subject` gives
// a kernel's instrumentable form. Errors: those of planning.
Result<GraphLook> look_at_graph(const GraphRequest& request, const Table& table,
                                const DeviceCaps& caps, const MemoryShape& shape,
                                std::span<const Device> devices, const SubjectOf& subject,
                                bool* hung);

}  // namespace spirkiln::access
