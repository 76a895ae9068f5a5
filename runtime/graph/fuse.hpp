// SPDX-License-Identifier: Apache-2.0
// Which nodes of a graph become one step, or fewer steps than nodes. Lowering says whether it can;
// here is where they stand in the graph, and that nobody else wants what lies between them.
#pragma once

#include <optional>
#include <vector>

#include "graph/model.hpp"
#include "graph/plan.hpp"

namespace spirkiln {

// What lowering is asked of a node; the node, and `traits`, have to live as long.
LowerRequest lower_request(const Model::State& model, const std::vector<Dims>& shapes,
                           const DeviceTraits& traits, const model::Node& node);

// What lowering made of several nodes, in the order in which it was asked of them: BufferRef::node
// counts them. The group's output is the last one's.
struct NodeGroup {
  std::vector<const model::Node*> nodes;
  Lowered lowered;
};

struct NodeGroups {
  // By node: the group that ends there, in whose place it stands. (Steps run by what they wait for,
  // so an earlier place would gain nothing.)
  std::vector<std::optional<NodeGroup>> at;
  std::vector<bool> inside;  // by node: it is part of a group that ends later
  bool reads_picture = false;  // one of them reads its bytes: the input tensor is not wanted
};

// How outputs leave.
enum class OutputForm : std::uint8_t { kFloats, kBytes, kBest };

// `whole`: the graph is run to its end; else nothing is fused.
NodeGroups fuse_nodes(const Model::State& model, const std::vector<Dims>& shapes,
                      const DeviceTraits& traits, const Lowering& lowering, bool whole,
                      OutputForm outputs);

}  // namespace spirkiln
