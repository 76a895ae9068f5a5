// SPDX-License-Identifier: Apache-2.0
// The files that a table is written as.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "output_set.hpp"
#include "pack.hpp"

namespace spirkiln::gen {

enum class EmbedForm { kIncbin, kArray, kNone };

struct TableTarget {
  std::string name;               // [a-z][a-z0-9_]*
  std::filesystem::path out_dir;  // made where it is missing
  EmbedForm embed = EmbedForm::kIncbin;
  std::optional<std::filesystem::path> quirks;  // quirks.hpp; nothing: the table has none
};

// Out_dir/NAME_table.EXTENSION.
std::filesystem::path table_path(const TableTarget& target, std::string_view extension);

// Names of table_outputs(), to be looked at before anything is compiled.
std::vector<std::filesystem::path> table_paths(const TableTarget& target);

// NAME_table.bin, .hpp and, by `embed`, .S or .cpp.
std::vector<tool::Output> table_outputs(const TableTarget& target,
                                        const std::vector<PackKernel>& kernels,
                                        const std::string& table);

// Makes the folder, which is gone again after an error, and writes all or none. One at a time in
// one folder; what a killed process left of these outputs is removed.
Status write_into(const std::filesystem::path& folder, const std::vector<tool::Output>& outputs);

}  // namespace spirkiln::gen
