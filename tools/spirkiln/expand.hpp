// SPDX-License-Identifier: Apache-2.0
// Stage 2: the variants of a kernel, as the product of its axes less what rules prune.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "manifest.hpp"
#include "spirkiln/table_format.hpp"

namespace spirkiln::gen {

inline constexpr std::size_t kMaxVariants = 4096;

// Defined where the axis acc is afp.
inline constexpr std::string_view kAccMacro = "SPIRKILN_acc_afp";

struct Variant {
  std::string name;  // "gemm_nc_fp16sa_direct"
  std::string form;  // as the dialect names it: "fp16sa", "image_fp16s"; empty out of an object
  table::Storage storage = table::Storage::kFp32;
  table::Arithmetic arithmetic = table::Arithmetic::kFp32;
  table::Resource resource = table::Resource::kBuffer;
  table::Int8 int8 = table::Int8::kNone;
  std::vector<std::pair<std::string, std::string>> axis_values;  // own axes, sorted by axis
  std::vector<std::string> interchangeable;  // of those axes, the ones whose every value does
  std::vector<std::pair<std::string, std::string>> macros;       // in order of definition
  std::vector<std::uint32_t>
      promised;  // SPIR-V capabilities that it may need, ascending (audit.hpp)
};

struct Pruned {
  std::string variant;
  std::string rule;
};

struct Expansion {
  // Buffers before images; then best first; own axes at their defaults first.
  std::vector<Variant> variants;
  std::vector<Pruned> pruned;
};

Result<Expansion> expand(const KernelManifest& kernel);

}  // namespace spirkiln::gen
