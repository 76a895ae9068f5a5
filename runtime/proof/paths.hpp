// SPDX-License-Identifier: Apache-2.0
// Which known answers tell of a dispatch: those on the path that its constants choose through the
// module. Each path is a pipeline of its own, and compiling it is nearly all that a proof costs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/pipelines.hpp"
#include "proof/prove.hpp"

namespace spirkiln {

// A variant, and the constants (with those of the local size) that it is dispatched with.
struct ProofRequest {
  std::uint32_t variant = 0;
  std::vector<SpecValue> specs;  // those that are not here have their defaults
  bool operator==(const ProofRequest&) const = default;
};

// Of the variant's answers `own` those that agree with the request's constants, and those about
// subnormals, whatever their path. All of `own` where none agrees.
//
// A constant counts where the answers differ in it and its default is 0: it chooses what is left
// out otherwise. Of the shares of a sum (constants `groups_k` and `parts`, the local size in z) it
// counts whether there is more than one. All others are sizes, of tiles and windows.
std::vector<std::uint32_t> answers_on_path(const Table& table, const ProofRequest& request,
                                           const DecodedAnswers& all,
                                           std::span<const std::uint32_t> own);

}  // namespace spirkiln
