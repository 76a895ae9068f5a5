// SPDX-License-Identifier: Apache-2.0
// Of every variant of a kernel on a device that is not here: whether it is the one that runs, or
// the one thing that excludes it.
#pragma once

#include <string>
#include <vector>

#include "profile.hpp"
#include "table/select.hpp"

namespace spirkiln::check {

struct KernelExplanation {
  std::string kernel;
  std::vector<Form> forms;  // that were asked for, best first
  std::vector<Candidate> variants;
};

struct DeviceExplanation {
  DeviceProfile device;
  std::vector<KernelExplanation> kernels;
};

// Which forms are asked for where `variant` is empty: those that graphs take on the device, or all
// on buffers, as compute::Kernel::create does. By kernel: the former for kernels that the built-in
// table has, too.
enum class ExplainedForms { kByKernel, kOfGraphs, kAll };

// `kernels`: names, or "all"; `axes`: of those kernels, "AXIS=VALUE" each; `variant` as for
// check_graph(). Errors: kInvalidArgument for names and values that are none.
Result<DeviceExplanation> explain_kernels(const DeviceProfile& device, const Table& table,
                                          const std::vector<std::string>& kernels,
                                          const std::vector<std::string>& axes,
                                          const std::string& variant,
                                          ExplainedForms which = ExplainedForms::kByKernel);

// How many of the kernels, on each device, have no variant that may run.
std::size_t without_variant(const std::vector<DeviceExplanation>& devices);

// Variants with the same reason share a line, and those of forms that nobody asked for are counted.
std::string explanation_text(const std::vector<DeviceExplanation>& devices);
std::string explanation_json(const std::vector<DeviceExplanation>& devices);

}  // namespace spirkiln::check
