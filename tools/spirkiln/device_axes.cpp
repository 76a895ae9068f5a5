// SPDX-License-Identifier: Apache-2.0
#include "device_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "device_macros.hpp"
#include "tokens.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxFiles = 1024;

enum class Relation { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

struct Comparison {
  Relation relation;
  std::int64_t number;
};

std::optional<Relation> relation_of(std::string_view s) {
  constexpr std::pair<std::string_view, Relation> kAll[] = {
      {"==", Relation::kEqual},     {"!=", Relation::kNotEqual}, {"<", Relation::kLess},
      {"<=", Relation::kLessEqual}, {">", Relation::kGreater},   {">=", Relation::kGreaterEqual}};
  for (const auto& [text, relation] : kAll) {
    if (s == text) return relation;
  }
  return std::nullopt;
}

std::string_view text_of(Relation r) {
  constexpr std::string_view kTexts[] = {"==", "!=", "<", "<=", ">", ">="};
  return kTexts[static_cast<std::size_t>(r)];
}

// 4 < M is M > 4.
Relation mirrored(Relation r) {
  switch (r) {
    case Relation::kLess:
      return Relation::kGreater;
    case Relation::kLessEqual:
      return Relation::kGreaterEqual;
    case Relation::kGreater:
      return Relation::kLess;
    case Relation::kGreaterEqual:
      return Relation::kLessEqual;
    default:
      return r;
  }
}

bool holds(const Comparison& c, std::int64_t value) {
  switch (c.relation) {
    case Relation::kEqual:
      return value == c.number;
    case Relation::kNotEqual:
      return value != c.number;
    case Relation::kLess:
      return value < c.number;
    case Relation::kLessEqual:
      return value <= c.number;
    case Relation::kGreater:
      return value > c.number;
    default:
      return value >= c.number;
  }
}

std::optional<std::int64_t> number_of(std::string_view s) {
  while (!s.empty() && (s.back() == 'u' || s.back() == 'U')) s.remove_suffix(1);
  int base = 10;
  if (s.starts_with("0x") || s.starts_with("0X")) {
    base = 16;
    s.remove_prefix(2);
  } else if (s.size() > 1 && s[0] == '0') {
    base = 8;
  }
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(s.data(), s.data() + s.size(), value, base);
  if (error != std::errc{} || stop != s.data() + s.size() || value > 0xffffffffll) {
    return std::nullopt;
  }
  return value;
}

// What may stand beside a whole condition.
bool is_border(std::string_view s) {
  return s.empty() || s == "&&" || s == "||" || s == "(" || s == ")" || s == "?" || s == ":";
}

// The tokens of one #if line, and questions about them.
class Line {
 public:
  explicit Line(std::span<const Token> tokens) : tokens_(tokens) {}

  // How the condition depends on the macro at `at`; nothing where it depends on more.
  std::optional<Comparison> test_at(std::size_t at) const {
    const Comparison on{Relation::kNotEqual, 0};
    if (text(1) == "ifdef" || text(1) == "ifndef") return on;
    if (text(at - 1) == "defined") return on;
    std::size_t left = at - 1;
    std::size_t right = at + 1;
    while (text(left) == "(" && text(right) == ")") {
      if (text(left - 1) == "defined") return on;
      if (tokens_[left - 1].kind == TokenKind::kName && left - 1 > 1) return std::nullopt;
      --left;
      ++right;
    }
    if (const auto relation = relation_of(text(right))) {
      if (left > 1 && !is_border(text(left))) return std::nullopt;
      return number_between(right + 1, +1, *relation);
    }
    if (const auto relation = relation_of(text(left)); relation && left > 1) {
      if (!is_border(text(right))) return std::nullopt;
      return number_between(left - 1, -1, mirrored(*relation));
    }
    const bool begins = left <= 1 || text(left) == "!" || is_border(text(left));
    if (begins && is_border(text(right))) return on;
    return std::nullopt;
  }

 private:
  std::string_view text(std::size_t i) const {
    return i < tokens_.size() ? tokens_[i].text : std::string_view();
  }

  // A literal at `at`, perhaps in parentheses, with a border behind it.
  std::optional<Comparison> number_between(std::size_t at, int step, Relation relation) const {
    const std::string_view open = step > 0 ? "(" : ")";
    const std::string_view close = step > 0 ? ")" : "(";
    const auto move = [&] { at = static_cast<std::size_t>(static_cast<long>(at) + step); };
    int depth = 0;
    for (; text(at) == open; move()) ++depth;
    const auto number = number_of(text(at));
    if (!number) return std::nullopt;
    move();
    for (; depth > 0 && text(at) == close; move()) --depth;
    // Token 1 is the directive's own name.
    const bool ends = at <= 1 || is_border(text(at));
    if (depth != 0 || !ends) return std::nullopt;
    return Comparison{relation, *number};
  }

  std::span<const Token> tokens_;
};

std::vector<std::int64_t> telling_values(const std::vector<Comparison>& comparisons) {
  std::set<std::int64_t> starts = {0};
  for (const Comparison& c : comparisons) {
    if (c.number >= 0) starts.insert(c.number);
    if (c.number >= -1) starts.insert(c.number + 1);
  }
  std::vector<std::int64_t> values;
  std::set<std::vector<bool>> seen;
  for (const std::int64_t value : starts) {
    std::vector<bool> outcome;
    for (const Comparison& c : comparisons) outcome.push_back(holds(c, value));
    if (seen.insert(outcome).second) values.push_back(value);
  }
  return values;
}

std::set<std::string_view> defined_in(const std::vector<Token>& tokens) {
  std::set<std::string_view> own;
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i].directive && tokens[i].text == "#" && tokens[i + 1].text == "define") {
      own.insert(tokens[i + 2].text);
    }
  }
  return own;
}

bool is_condition(std::string_view word) {
  return word == "if" || word == "elif" || word == "ifdef" || word == "ifndef";
}

struct Found {
  TestedMacro macro;
  std::vector<Comparison> comparisons;
};

void find_tests(const SourceFile& file, std::map<std::string, Found>& found) {
  if (file.text.find("NCNN_") == std::string::npos && file.text.find("ncnn_") == std::string::npos)
    return;
  const auto tokens = tokenize(file.text);
  const auto own = defined_in(tokens);
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (!tokens[i].directive || tokens[i].text != "#" || !is_condition(tokens[i + 1].text))
      continue;
    std::size_t end = i + 1;
    while (end < tokens.size() && tokens[end].directive && tokens[end].text != "#") ++end;
    const Line line(std::span<const Token>(tokens).subspan(i, end - i));
    for (std::size_t t = i + 2; t < end; ++t) {
      const Token& token = tokens[t];
      if (token.kind != TokenKind::kName || !is_device_axis(token.text) ||
          own.count(token.text) != 0) {
        continue;
      }
      const Diagnostic where{Severity::kError, file.path.string(), token.line, token.column, {}};
      auto [it, is_new] = found.try_emplace(std::string(token.text));
      TestedMacro& macro = it->second.macro;
      if (is_new) {
        macro.name = token.text;
        macro.first = where;
      }
      std::string condition = "something else";
      if (const auto test = line.test_at(t - i)) {
        it->second.comparisons.push_back(*test);
        const bool on = test->relation == Relation::kNotEqual && test->number == 0;
        condition = on ? "on or off" : fmt::format("{} {}", text_of(test->relation), test->number);
      } else if (!macro.unclear) {
        macro.unclear = where;
      }
      if (std::find(macro.conditions.begin(), macro.conditions.end(), condition) ==
          macro.conditions.end()) {
        macro.conditions.push_back(std::move(condition));
      }
    }
    i = end - 1;
  }
}

// The file that an #include line names; empty where it names none.
std::string_view included_name(std::string_view row) {
  const std::size_t open = row.find_first_of("\"<");
  if (open == std::string_view::npos) return {};
  const std::size_t close = row.find(row[open] == '"' ? '"' : '>', open + 1);
  if (close == std::string_view::npos) return {};
  return row.substr(open + 1, close - open - 1);
}

}  // namespace

bool is_device_axis(std::string_view macro) {
  return is_axis_macro(macro) && macro != "NCNN_image_shader" && !macro.starts_with("NCNN_int8_");
}

std::vector<TestedMacro> tested_macros(const SourceFiles& files) {
  std::map<std::string, Found> found;
  for (const auto& file : files) find_tests(*file, found);
  std::vector<TestedMacro> all;
  for (auto& [name, one] : found) {
    one.macro.values = telling_values(one.comparisons);
    all.push_back(std::move(one.macro));
  }
  return all;
}

SourceFiles lexical_includes(const std::shared_ptr<const SourceFile>& kernel,
                             const std::vector<fs::path>& folders, const fs::path& dialect,
                             SourceStore& sources) {
  SourceFiles files = {kernel};
  std::set<fs::path> seen = {kernel->path.lexically_normal()};
  for (std::size_t i = 0; i < files.size() && files.size() < kMaxFiles; ++i) {
    const std::shared_ptr<const SourceFile> file = files[i];
    if (file->text.find("include") == std::string::npos) continue;
    const auto tokens = tokenize(file->text);
    for (std::size_t t = 0; t + 1 < tokens.size(); ++t) {
      if (!tokens[t].directive || tokens[t].text != "#" || tokens[t + 1].text != "include")
        continue;
      const std::string_view name = included_name(line_of(file->text, tokens[t + 1].line));
      if (name.empty() || name.size() > 4096) continue;
      std::vector<fs::path> candidates = {file->path.parent_path() / name};
      for (const fs::path& folder : folders) candidates.push_back(folder / name);
      for (const fs::path& path : candidates) {
        auto other = sources.find(path);
        if (!other.ok()) break;  // the compiler says it where the line counts
        if (*other == nullptr) continue;
        if (path.parent_path() != dialect.parent_path() &&
            seen.insert((*other)->path.lexically_normal()).second) {
          files.push_back(*other);
        }
        break;
      }
    }
  }
  return files;
}

Status add_device_axes(KernelManifest& kernel, const std::vector<TestedMacro>& tested) {
  std::string errors;
  for (const TestedMacro& macro : tested) {
    const bool listed = std::any_of(kernel.axes.begin(), kernel.axes.end(),
                                    [&](const Axis& axis) { return axis.name == macro.name; });
    if (listed) continue;
    if (macro.unclear) {
      Diagnostic d = *macro.unclear;
      d.text = fmt::format(
          "'{}': which values matter cannot be told from this condition; list them "
          "under [kernel.device] of '{}'",
          macro.name, kernel.name);
      errors += (errors.empty() ? "" : "\n") + to_string(d);
      continue;
    }
    Axis axis;
    axis.name = macro.name;
    for (const std::int64_t value : macro.values) axis.values.push_back(fmt::format("{}", value));
    axis.default_value = "0";
    axis.device = true;
    kernel.axes.push_back(std::move(axis));
  }
  if (!errors.empty()) return Error{ErrorCode::kInvalidArgument, errors};
  std::sort(kernel.axes.begin(), kernel.axes.end(),
            [](const Axis& a, const Axis& b) { return a.name < b.name; });
  return Ok{};
}

}  // namespace spirkiln::gen
