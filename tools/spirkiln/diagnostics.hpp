// SPDX-License-Identifier: Apache-2.0
// What is wrong with a source, and saying it once for all variants that share it.
#pragma once

#include <string>
#include <vector>

#include "files.hpp"

namespace spirkiln::gen {

struct Diagnostic {
  Severity severity = Severity::kError;
  std::string file;
  unsigned line = 0;    // from 1; 0 where no line is to blame
  unsigned column = 0;  // from 1; 0 where it is unknown
  std::string text;

  bool operator==(const Diagnostic&) const = default;
};

// Reads glslang's log ("ERROR: file:12: 'token' : text"). Columns are found by looking for the
// token in the named line of the source.
std::vector<Diagnostic> parse_glslang_log(std::string_view log, SourceStore& sources);

// One message of glslang's, "'token' : text", behind those that were found before it. `place` has
// its severity and, where there is one, file and line.
void add_glslang_message(std::vector<Diagnostic>& found, Diagnostic place, std::string_view message,
                         SourceStore& sources);

// Where a token stands in a line, from 1; 0 where it does not.
unsigned column_of(std::string_view line, std::string_view token);

// "file:line:column: error: text", as compilers write it.
std::string to_string(const Diagnostic& diagnostic);

// Collects the diagnostics of many variants; equal ones become one message that lists the variants.
class DiagnosticGroups {
 public:
  void add(const Diagnostic& diagnostic, const std::string& kernel, const std::string& variant);
  // In the order of first appearance. `variants_of(kernel)` are counted for "3 of 5 variants".
  void report(const MessageCallback& message,
              const std::vector<std::pair<std::string, std::size_t>>& variants_of_kernel) const;
  bool empty() const { return groups_.empty(); }

 private:
  struct Group {
    Diagnostic diagnostic;
    std::vector<std::pair<std::string, std::string>> uses;  // kernel, variant
  };
  std::vector<Group> groups_;
};

}  // namespace spirkiln::gen
