// SPDX-License-Identifier: Apache-2.0
// Known answers in TOML: [[kernel.answers]] of a manifest, or [[answer]] of a file of them
// (../../variants/README.md is their reference).
#pragma once

#include <toml++/toml.h>

#include <vector>

#include "manifest.hpp"
#include "manifest_errors.hpp"

namespace spirkiln::gen {

// The tables of one array, each an answer. `kernel` is whose they are; where it is empty, each says
// so itself.
void read_answers(const toml::node& node, const std::string& kernel, std::vector<PlacedAnswer>& out,
                  ManifestErrors& errors);

// A file of [[answer]]. An Error's message is one or more lines "file:line:column: error: ...".
Result<std::vector<PlacedAnswer>> parse_answer_file(const SourceFile& file);

}  // namespace spirkiln::gen
