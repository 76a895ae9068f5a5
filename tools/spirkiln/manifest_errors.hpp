// SPDX-License-Identifier: Apache-2.0
// What is wrong with a manifest, with its places.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <vector>

#include "diagnostics.hpp"

namespace spirkiln::gen {

class ManifestErrors {
 public:
  explicit ManifestErrors(std::string file) : file_(std::move(file)) {}

  // A diagnostic without text, for what is said later.
  Diagnostic at(const toml::source_region& where) const;
  void fail(const toml::source_region& where, std::string text);
  void fail(Diagnostic diagnostic);

  bool empty() const { return errors_.empty(); }
  std::size_t count() const { return errors_.size() + unsaid_; }
  // One line each, in the order of their places.
  std::string message() const;

 private:
  std::string file_;
  std::vector<Diagnostic> errors_;
  std::size_t unsaid_ = 0;
};

}  // namespace spirkiln::gen
