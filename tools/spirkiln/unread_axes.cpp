// SPDX-License-Identifier: Apache-2.0
#include "unread_axes.hpp"

#include <fmt/format.h>

#include <set>

#include "tokens.hpp"

namespace spirkiln::gen {
namespace {

void add_names(std::string_view text, std::set<std::string, std::less<>>& names) {
  for (const Token& token : tokenize(text)) {
    if (token.kind == TokenKind::kName) names.emplace(token.text);
  }
}

}  // namespace

std::vector<Diagnostic> unread_axes(const KernelManifest& kernel,
                                    const std::vector<std::shared_ptr<const SourceFile>>& files) {
  std::vector<Diagnostic> warnings;
  std::set<std::string, std::less<>> names;
  for (const auto& file : files) add_names(file->text, names);
  for (const auto& [name, value] : kernel.defines) add_names(value, names);
  for (const Axis& axis : kernel.axes) {
    // A value of an axis may be the name of another.
    for (const std::string& value : axis.values) add_names(value, names);
  }
  for (const Axis& axis : kernel.axes) {
    if (axis.name == "acc" || axis.values.size() < 2 || axis.position.line == 0) continue;
    if (names.contains(axis.name)) continue;
    Diagnostic d = axis.position;
    d.severity = Severity::kWarning;
    d.text = fmt::format(
        "the axis '{}' changes nothing: neither the source of '{}' nor what it "
        "includes reads the macro",
        axis.name, kernel.name);
    warnings.push_back(std::move(d));
  }
  return warnings;
}

}  // namespace spirkiln::gen
