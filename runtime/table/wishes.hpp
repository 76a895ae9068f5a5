// SPDX-License-Identifier: Apache-2.0
// The user's wishes, from the text of an option or of the environment.
#pragma once

#include <span>
#include <string>

#include "table/select.hpp"

namespace spirkiln {

// A text and what messages call it ("SPIRKILN_AXES").
struct WishText {
  std::string text;
  std::string origin;
};

struct WishTexts {
  WishText axes;     // "DIRECT=1,MATRIX=16161632"
  WishText kernels;  // "gemm_nc=fp32,softmax=fp16p"
  WishText avoid;    // "gemm_coopmat,conv_nc_fp16s": kernels and variants
};

// Errors (kInvalidArgument): what is no such list, and names and values that neither the table nor
// one of the others has, with those that they have. What only the others have is of no effect.
Result<Wishes> parse_wishes(const Table& table, const WishTexts& texts,
                            std::span<const Table> others = {});

}  // namespace spirkiln
