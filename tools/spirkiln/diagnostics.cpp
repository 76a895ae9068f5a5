// SPDX-License-Identifier: Apache-2.0
#include "diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "expanded_text.hpp"

namespace spirkiln::gen {
namespace {

// More lines than this from one kernel are follow-ups of the first.
constexpr std::size_t kMaxGroups = 50;
constexpr std::size_t kMaxListedVariants = 12;

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.back() == ' ' || s.back() == '\n')) s.remove_suffix(1);
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  return s;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// glslang writes types with runs of spaces, and include errors with a tail that says nothing new.
std::string tidy(std::string_view text) {
  if (const auto tail = text.find(" for header name: "); tail != std::string_view::npos) {
    text = text.substr(0, tail);
  }
  std::string out;
  for (const char c : text) {
    if (c == ' ' && (out.empty() || out.back() == ' ' || out.back() == '\'')) {
      if (!out.empty() && out.back() == '\'' && out.size() > 1 && out[out.size() - 2] != ' ') {
        out += c;  // behind a closing quote
      }
      continue;
    }
    out += c;
  }
  return out;
}

// Splits "file:12" from the left of `rest`; a file name may hold colons itself.
bool split_position(std::string_view& rest, std::string& file, unsigned& line) {
  for (std::size_t colon = rest.find(':'); colon != std::string_view::npos;
       colon = rest.find(':', colon + 1)) {
    const char* begin = rest.data() + colon + 1;
    const char* end = rest.data() + rest.size();
    unsigned value = 0;
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc{} || stop == end || *stop != ':') continue;
    file = std::string(rest.substr(0, colon));
    line = value;
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()) + 1);
    return true;
  }
  return false;
}

}  // namespace

unsigned column_of(std::string_view line, std::string_view token) {
  if (token.empty()) return 0;
  for (std::size_t at = line.find(token); at != std::string_view::npos;
       at = line.find(token, at + 1)) {
    const bool starts = at == 0 || !is_word(line[at - 1]) || !is_word(token.front());
    const std::size_t end = at + token.size();
    const bool ends = end == line.size() || !is_word(line[end]) || !is_word(token.back());
    if (starts && ends) return static_cast<unsigned>(at + 1);
  }
  return 0;
}

void add_glslang_message(std::vector<Diagnostic>& found, Diagnostic place, std::string_view message,
                         SourceStore& sources) {
  Diagnostic d = std::move(place);
  message = trim(message);
  // "'token' : text": the token may be empty, and may itself hold quotes.
  const std::size_t split = message.find("' : ");
  if (!d.file.empty() && message.starts_with('\'') && split != std::string_view::npos) {
    const std::string_view token = message.substr(1, split - 1);
    const std::string_view text = trim(message.substr(split + 4));
    d.text = token.empty() ? tidy(text) : fmt::format("'{}': {}", token, tidy(text));
    if (auto source = sources.find(d.file); source.ok() && *source) {
      d.column = column_of(line_of((*source)->text, d.line), token);
    }
  } else {
    d.text = tidy(message);
  }
  // A second error in one line follows from the first.
  const bool follows = !found.empty() && found.back().severity == d.severity &&
                       found.back().line == d.line && found.back().file == d.file && d.line != 0;
  if (!d.text.empty() && !follows) found.push_back(std::move(d));
}

std::vector<Diagnostic> parse_glslang_log(std::string_view log, SourceStore& sources) {
  std::vector<Diagnostic> found;
  while (!log.empty()) {
    const std::size_t end = log.find('\n');
    std::string_view row = trim(log.substr(0, end));
    log.remove_prefix(end == std::string_view::npos ? log.size() : end + 1);
    Diagnostic d;
    if (row.starts_with("ERROR: ")) {
      row.remove_prefix(7);
    } else if (row.starts_with("WARNING: ")) {
      d.severity = Severity::kWarning;
      row.remove_prefix(9);
    } else {
      continue;
    }
    if (row.ends_with("compilation errors.  No code generated.")) continue;
    if (row.ends_with("compilation terminated")) continue;
    if (split_position(row, d.file, d.line)) d.file = from_line_name(d.file);
    add_glslang_message(found, std::move(d), row, sources);
  }
  return found;
}

std::string to_string(const Diagnostic& d) {
  const std::string_view word = d.severity == Severity::kError     ? "error"
                                : d.severity == Severity::kWarning ? "warning"
                                                                   : "note";
  std::string position = shown(d.file);
  if (d.line != 0) position += fmt::format(":{}", d.line);
  if (d.line != 0 && d.column != 0) position += fmt::format(":{}", d.column);
  if (!position.empty()) position += ": ";
  return fmt::format("{}{}: {}", position, word, d.text);
}

void DiagnosticGroups::add(const Diagnostic& diagnostic, const std::string& kernel,
                           const std::string& variant) {
  auto it = std::find_if(groups_.begin(), groups_.end(),
                         [&](const Group& g) { return g.diagnostic == diagnostic; });
  if (it == groups_.end()) it = groups_.insert(groups_.end(), Group{diagnostic, {}});
  it->uses.emplace_back(kernel, variant);
}

void DiagnosticGroups::report(
    const MessageCallback& message,
    const std::vector<std::pair<std::string, std::size_t>>& variants_of_kernel) const {
  if (!message) return;
  std::size_t shown = 0;
  for (const Group& group : groups_) {
    if (shown++ == kMaxGroups) {
      message(Severity::kInfo, fmt::format("{} more messages", groups_.size() - kMaxGroups));
      return;
    }
    std::map<std::string, std::vector<std::string>> by_kernel;
    for (const auto& [kernel, variant] : group.uses) by_kernel[kernel].push_back(variant);
    std::string text = to_string(group.diagnostic);
    for (const auto& [kernel, variants] : by_kernel) {
      std::size_t total = variants.size();
      for (const auto& [name, count] : variants_of_kernel) {
        if (name == kernel) total = count;
      }
      if (total == 1) {
        text += fmt::format("\n  in {}", variants.front());
        continue;
      }
      const bool all = variants.size() == total;
      text += all ? fmt::format("\n  in all {} variants of {}", total, kernel)
                  : fmt::format("\n  in {} of {} variants of {}: ", variants.size(), total, kernel);
      if (all) continue;
      const std::size_t listed = std::min(variants.size(), kMaxListedVariants);
      text += fmt::format("{}", fmt::join(variants.begin(), variants.begin() + listed, ", "));
      if (listed < variants.size()) text += ", ...";
    }
    message(group.diagnostic.severity, text);
  }
}

}  // namespace spirkiln::gen
