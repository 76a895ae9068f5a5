// SPDX-License-Identifier: Apache-2.0
#include "raw_access.hpp"

#include <fmt/format.h>

#include <set>
#include <string>

#include "tokens.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::size_t kMaxErrors = 20;

bool is_storage_type(std::string_view name) {
  return name == "sfp" || name == "sfpvec2" || name == "sfpvec4" || name == "sfpvec8" ||
         name == "sfpmat4" || name == "sint8" || name == "sint8vec4" || name == "sint16" ||
         name == "sint16vec4";
}

}  // namespace

std::vector<Diagnostic> find_raw_access(const SourceFile& file) {
  const auto tokens = tokenize(file.text);
  std::set<std::string_view> stored;
  std::set<std::size_t> declared;
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (is_storage_type(tokens[i].text) && tokens[i + 1].kind == TokenKind::kName &&
        tokens[i + 2].text == "[") {
      stored.insert(tokens[i + 1].text);
      declared.insert(i + 1);
    }
  }
  std::vector<Diagnostic> errors;
  std::vector<std::string_view> calls;  // what each open bracket belongs to
  for (std::size_t i = 0; i < tokens.size() && errors.size() < kMaxErrors; ++i) {
    const Token& t = tokens[i];
    if (t.text == "(" || t.text == "[") {
      calls.push_back(t.text == "(" && i > 0 ? tokens[i - 1].text : std::string_view());
    } else if ((t.text == ")" || t.text == "]") && !calls.empty()) {
      calls.pop_back();
    }
    if (t.kind != TokenKind::kName || i + 1 >= tokens.size() || tokens[i + 1].text != "[" ||
        stored.count(t.text) == 0 || declared.count(i) != 0) {
      continue;
    }
    if (!calls.empty() && calls.back().starts_with("sfp2")) continue;
    errors.push_back({Severity::kError, file.path.string(), t.line, t.column,
                      fmt::format("'{}': stored values are touched through the dialect's functions "
                                  "only (strict)",
                                  t.text)});
  }
  return errors;
}

}  // namespace spirkiln::gen
