// SPDX-License-Identifier: Apache-2.0
// Known answers, held against the modules of the kernel's variants.
#pragma once

#include <vector>

#include "constant_check.hpp"

namespace spirkiln::gen {

// Every answer has to fit each variant that it is for: its bindings, its push constants, its
// constants, its workgroup, the types of its numbers; and to be for one or more. Errors have the
// answer's place, or the number's. Where every variant was left out, nothing is known and nothing
// is wrong.
std::vector<Diagnostic> check_answers(const KernelManifest& kernel,
                                      const std::vector<VariantModule>& modules);

struct KernelModules {
  const KernelManifest* kernel;
  std::vector<VariantModule> modules;
};

// Warnings, one for each file of answers: kernels that have answers, but none for variants of some
// class. Kernels without any answer are no concern of a file.
std::vector<Diagnostic> unproved_classes(const std::vector<KernelModules>& kernels);

// The kernel's answers, which check_answers() found right, with their numbers in the modules'
// types.
std::vector<Answer> typed_answers(const KernelManifest& kernel,
                                  const std::vector<VariantModule>& modules);

// Whether the answer is for the variant: by its axes, and by the tolerances that it has.
bool is_for(const Answer& answer, const Variant& variant);

}  // namespace spirkiln::gen
