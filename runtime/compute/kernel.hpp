// SPDX-License-Identifier: Apache-2.0
// What compute::Kernel points to.
#pragma once

#include "compute/resources.hpp"
#include "graph/pipelines.hpp"

namespace spirkiln::compute {

struct Kernel::State {
  // Outlives the pipeline.
  DeviceState device;
  std::string name, form;
  Extent local_size;
  std::vector<BindingInfo> bindings;  // ascending (set, binding), as `entries`
  std::vector<table::BindingEntry> entries;
  std::vector<ConstantInfo> constants;
  std::uint32_t push_bytes = 0;
  std::shared_ptr<Pipeline> pipeline;
};

inline bool is_size(const Extent& e) { return e.x != 0 || e.y != 0 || e.z != 0; }
std::string text_of(const Extent& e);
// "set 0 binding 1 (b_blob)"
std::string text_of(const BindingInfo& b);
const char* kind_name(ResourceKind kind);

}  // namespace spirkiln::compute
