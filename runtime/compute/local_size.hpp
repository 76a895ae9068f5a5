// SPDX-License-Identifier: Apache-2.0
// The shape of a workgroup: what is asked for, what the module lets be set, what the device allows.
#pragma once

#include "graph/pipelines.hpp"
#include "loader/caps.hpp"
#include "spirkiln/compute.hpp"
#include "table/module_reader.hpp"

namespace spirkiln::compute {

// Behind optimal_local_size(). Pure, for tests. Axes for which `fixed` is not 0 have that size.
Extent optimal_for(const DeviceCaps& caps, const Extent& invocations, const Extent& fixed = {});

struct LocalSize {
  Extent size;
  bool rewrite = false;  // the module's words say another one, which nothing in it reads
};
// Adds to `specs` what sets the size. Errors: kInvalidArgument, kUnsupported.
Result<LocalSize> choose_local_size(const ModuleInfo& module, const KernelOptions& options,
                                    const DeviceCaps& caps, const std::string& name,
                                    std::vector<SpecValue>* specs);

}  // namespace spirkiln::compute
