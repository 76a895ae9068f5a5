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

struct Scan {
  const SourceFile* file;
  std::vector<Token> tokens;
  std::set<std::size_t> declared;  // tokens that name an array where it is declared
};

std::size_t behind_brackets(const std::vector<Token>& tokens, std::size_t i) {
  for (int depth = 0; i < tokens.size(); ++i) {
    if (tokens[i].text == "[") ++depth;
    if (tokens[i].text == "]" && --depth == 0) return i + 1;
  }
  return i;
}

// Arrays of stored values: "sfp a[], b[4];" and "sfp[4] c;".
void find_arrays(Scan& scan, std::set<std::string_view>& stored) {
  const auto& tokens = scan.tokens;
  const auto text = [&](std::size_t i) {
    return i < tokens.size() ? tokens[i].text : std::string_view();
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!is_storage_type(tokens[i].text)) continue;
    const bool array_type = text(i + 1) == "[";
    std::size_t at = array_type ? behind_brackets(tokens, i + 1) : i + 1;
    while (at < tokens.size() && tokens[at].kind == TokenKind::kName) {
      const bool array = text(at + 1) == "[";
      if (array || (array_type && text(at + 1) != "(")) {
        stored.insert(tokens[at].text);
        scan.declared.insert(at);
      }
      at = array ? behind_brackets(tokens, at + 1) : at + 1;
      if (text(at) != ",") break;
      ++at;
    }
  }
}

}  // namespace

std::vector<Diagnostic> find_raw_access(
    const std::vector<std::shared_ptr<const SourceFile>>& files) {
  std::vector<Scan> scans;
  std::set<std::string_view> stored;
  std::set<const SourceFile*> seen;
  for (const auto& file : files) {
    if (!seen.insert(file.get()).second) continue;
    scans.push_back({file.get(), tokenize(file->text), {}});
    find_arrays(scans.back(), stored);
  }
  std::vector<Diagnostic> errors;
  for (const Scan& scan : scans) {
    const auto& tokens = scan.tokens;
    std::vector<std::string_view> calls;  // what each open bracket belongs to
    for (std::size_t i = 0; i < tokens.size() && errors.size() < kMaxErrors; ++i) {
      const Token& t = tokens[i];
      if (t.text == "(" || t.text == "[") {
        calls.push_back(t.text == "(" && i > 0 ? tokens[i - 1].text : std::string_view());
      } else if ((t.text == ")" || t.text == "]") && !calls.empty()) {
        calls.pop_back();
      }
      if (t.kind != TokenKind::kName || i + 1 >= tokens.size() || tokens[i + 1].text != "[" ||
          stored.count(t.text) == 0 || scan.declared.count(i) != 0) {
        continue;
      }
      if (!calls.empty() && calls.back().starts_with("sfp2")) continue;
      errors.push_back({Severity::kError, scan.file->path.string(), t.line, t.column,
                        fmt::format("'{}': stored values are touched through the dialect's "
                                    "functions only (strict)",
                                    t.text)});
    }
  }
  return errors;
}

}  // namespace spirkiln::gen
