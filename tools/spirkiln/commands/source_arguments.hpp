// SPDX-License-Identifier: Apache-2.0
// From words of the command line to options of the library.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "commands.hpp"

namespace spirkiln::gen {

std::optional<std::filesystem::path> cache_folder(const CacheArguments& arguments);
EmbedForm embed_form(std::string_view text);
void fill(SourceOptions& options, const SourceArguments& arguments);

}  // namespace spirkiln::gen
