// SPDX-License-Identifier: Apache-2.0
#include "manifest_errors.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace spirkiln::gen {
namespace {

// What follows is more of the same.
constexpr std::size_t kMaxErrors = 100;

}  // namespace

Diagnostic ManifestErrors::at(const toml::source_region& where) const {
  return {Severity::kError, file_, where.begin.line, where.begin.column, {}};
}

void ManifestErrors::fail(const toml::source_region& where, std::string text) {
  Diagnostic d = at(where);
  d.text = std::move(text);
  fail(std::move(d));
}

void ManifestErrors::fail(Diagnostic diagnostic) {
  if (errors_.size() == kMaxErrors) {
    ++unsaid_;
    return;
  }
  errors_.push_back(std::move(diagnostic));
}

std::string ManifestErrors::message() const {
  std::vector<Diagnostic> sorted = errors_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  std::string text;
  for (const Diagnostic& d : sorted) {
    if (!text.empty()) text += '\n';
    text += to_string(d);
  }
  if (unsaid_ != 0) text += fmt::format("\n{}: error: {} more mistakes", shown(file_), unsaid_);
  return text;
}

}  // namespace spirkiln::gen
