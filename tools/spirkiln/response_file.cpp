// SPDX-License-Identifier: Apache-2.0
#include "response_file.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "files.hpp"
#include "output_set.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::uintmax_t kMaxFileBytes = 16u << 20;
constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxFiles = 4096;
constexpr std::size_t kMaxArguments = 1u << 20;  // of all files together

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

Error mistake(const std::string& file, std::size_t line, std::string_view text) {
  return Error{ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", file, line, text)};
}

Result<std::vector<std::string>> split(std::string_view text, const std::string& file) {
  std::vector<std::string> arguments;
  std::size_t line = 1;
  std::size_t quote_line = 0;
  char quote = '\0';
  bool inside = false;  // of an argument: it may be empty, as '' is
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\0') return mistake(file, line, "a NUL byte; expected a text of arguments");
    line += c == '\n';
    if (quote == '\0' && is_space(c)) {
      inside = false;
      continue;
    }
    if (!inside) arguments.emplace_back();
    inside = true;
    if (c == '\\') {
      if (++i == text.size()) return mistake(file, line, "a backslash at the end of the file");
      line += text[i] == '\n';
      arguments.back() += text[i];
    } else if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
      quote_line = line;
    } else {
      arguments.back() += c;
    }
  }
  if (quote != '\0') {
    return mistake(file, quote_line, fmt::format("no {} ends what begins here", quote));
  }
  return arguments;
}

struct Expansion {
  std::vector<std::string> arguments;
  std::size_t files = 0;

  Status add(const std::vector<std::string>& given, std::size_t depth) {
    for (const std::string& argument : given) {
      if (argument.size() > 1 && argument.front() == '@') {
        if (Status status = add_file(argument, depth); !status.ok()) return status;
        continue;
      }
      if (arguments.size() == kMaxArguments) {
        return Error{ErrorCode::kUnsupported, fmt::format("more than {} arguments", kMaxArguments)};
      }
      arguments.push_back(argument);
    }
    return Ok{};
  }

  Status add_file(const std::string& argument, std::size_t depth) {
    if (depth == kMaxDepth || ++files > kMaxFiles) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("'{}': more than {} files of arguments within each other, or {} in "
                               "all; does one name itself?",
                               argument, kMaxDepth, kMaxFiles)};
    }
    const std::string file = argument.substr(1);
    const auto bytes = read_file(file, kMaxFileBytes);
    if (!bytes.ok()) {
      return Error{bytes.error().code,
                   fmt::format("{}; '{}' stands for the arguments in it (a file whose name begins "
                               "with @ is written './{}')",
                               bytes.error().message, argument, argument)};
    }
    tool::protect_input(file);
    const auto words = split(*bytes, file);
    if (!words.ok()) return words.error();
    return add(*words, depth + 1);
  }
};

}  // namespace

Result<std::vector<std::string>> expand_response_files(const std::vector<std::string>& arguments) {
  Expansion expansion;
  if (Status status = expansion.add(arguments, 0); !status.ok()) return status.error();
  return std::move(expansion.arguments);
}

}  // namespace spirkiln::gen
