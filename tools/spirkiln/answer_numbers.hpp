// SPDX-License-Identifier: Apache-2.0
// The numbers of known answers, in the types that the kernel's modules have them in.
#pragma once

#include <vector>

#include "constant_check.hpp"

namespace spirkiln::gen {

struct TypedAnswer {
  Answer answer;
  std::vector<Diagnostic> errors;  // numbers that their types do not have, at their places
};

// Sets the bits of constants and push constants. `modules` are those of the variants that the
// answer is for. Where a type is unknown, whole numbers are integers and others floats.
TypedAnswer typed_answer(const PlacedAnswer& placed, const std::vector<VariantModule>& modules);

}  // namespace spirkiln::gen
