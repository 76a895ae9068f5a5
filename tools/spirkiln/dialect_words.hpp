// SPDX-License-Identifier: Apache-2.0
// The names that the dialect's headers define: its macros, with what they are made of, and its
// functions.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "files.hpp"

namespace spirkiln::gen {

class DialectWords {
 public:
  // `dialect` is dialect.glsl; what it includes in any variant counts.
  DialectWords(const std::filesystem::path& dialect, SourceStore& sources);

  bool has(std::string_view word) const { return words_.find(word) != words_.end(); }
  // "buffer_ld4(buf, i)"; empty for what is no macro with arguments.
  std::string signature(std::string_view word) const;
  // Whether the expansion of a macro may hold `token`, here or in a macro that it uses.
  bool brings_in(std::string_view word, std::string_view token) const;

 private:
  struct Word {
    std::string parameters;       // "(buf, i)"
    std::set<std::string> parts;  // names and symbols in its bodies
  };
  void read(const SourceFile& file);

  std::map<std::string, Word, std::less<>> words_;
};

}  // namespace spirkiln::gen
