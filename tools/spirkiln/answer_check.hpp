// SPDX-License-Identifier: Apache-2.0
// Known answers, held against the modules of the kernel's variants.
#pragma once

#include <vector>

#include "constant_check.hpp"

namespace spirkiln::gen {

// Every answer has to fit each variant that it is for: its bindings, its push constants, its
// constants, its workgroup; and to be for one or more. Errors have the answer's place. Where every
// variant was left out, nothing is known and nothing is wrong.
std::vector<Diagnostic> check_answers(const KernelManifest& kernel,
                                      const std::vector<VariantModule>& modules);

// Whether the answer is for the variant: by its axes, and by the tolerances that it has.
bool is_for(const Answer& answer, const Variant& variant);

}  // namespace spirkiln::gen
