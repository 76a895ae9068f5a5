// SPDX-License-Identifier: Apache-2.0
#include "half_repair.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "tokens.hpp"

namespace spirkiln::gen {
namespace {

// Compilations of one text at most; a kernel that needs more has a mistake of another kind.
constexpr int kMaxTries = 256;

struct Clash {
  std::string op;
  bool left_is_int = false;
  bool right_is_int = false;
};

bool is_half(std::string_view type) { return type.find("float16_t") != std::string_view::npos; }

bool is_int(std::string_view type) {
  return !is_half(type) && type.find("vector") == std::string_view::npos &&
         (type.ends_with(" int") || type.ends_with(" uint") || type == "int" || type == "uint");
}

// The text behind `lead`, up to the quote.
std::string_view quoted(std::string_view text, std::string_view lead) {
  std::size_t at = text.find(lead);
  if (at == std::string_view::npos) return {};
  at += lead.size();
  const std::size_t end = text.find('\'', at);
  if (end == std::string_view::npos) return {};
  std::string_view type = text.substr(at, end - at);
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  return type;
}

std::optional<Clash> find_clash(const Diagnostic& d) {
  if (d.severity != Severity::kError || !d.text.starts_with('\'')) return std::nullopt;
  Clash clash;
  clash.op = d.text.substr(1, d.text.find("':") - 1);
  std::string_view left = quoted(d.text, "left-hand operand of type '");
  std::string_view right = quoted(d.text, "right operand of type '");
  if (left.empty()) {
    right = quoted(d.text, "cannot convert from '");
    left = quoted(d.text, "to '");
    if (!is_half(left)) return std::nullopt;
  }
  clash.left_is_int = is_half(right) && is_int(left);
  clash.right_is_int = is_half(left) && is_int(right);
  if (!clash.left_is_int && !clash.right_is_int) return std::nullopt;
  return clash;
}

// The pieces of an expanded text that stand for one line of a file.
std::vector<std::string_view> rows_of(std::string_view text, const Diagnostic& d) {
  std::vector<std::string_view> rows;
  std::string file;
  unsigned line = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.starts_with("#line ")) {
      row.remove_prefix(6);
      const auto [stop, error] = std::from_chars(row.data(), row.data() + row.size(), line);
      if (error != std::errc{}) continue;
      row.remove_prefix(static_cast<std::size_t>(stop - row.data()));
      const std::size_t open = row.find('"');
      const std::size_t close = row.rfind('"');
      if (close > open && open != std::string_view::npos) {
        file = std::string(row.substr(open + 1, close - open - 1));
      }
      continue;
    }
    if (line == d.line && file == d.file) rows.push_back(row);
    ++line;
  }
  return rows;
}

bool is_operand(const Token& t) {
  if (t.kind == TokenKind::kName) return true;
  return t.kind == TokenKind::kNumber && t.text.find('.') == std::string_view::npos;
}

struct Piece {
  std::size_t offset;
  std::size_t length;
};

// Operands of one token (with a sign) next to the operator, in the order of the text.
std::vector<Piece> candidates(std::string_view text, const Clash& clash, const Diagnostic& d) {
  std::vector<Piece> found;
  for (const std::string_view row : rows_of(text, d)) {
    const std::size_t base = static_cast<std::size_t>(row.data() - text.data());
    const auto tokens = tokenize(row);
    const auto text_at = [&](std::size_t i) {
      return i < tokens.size() ? tokens[i].text : std::string_view(";");
    };
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool assigns = tokens[i].text.ends_with('=') && tokens[i].text != "==" &&
                           tokens[i].text != "!=" && tokens[i].text != "<=" &&
                           tokens[i].text != ">=";
      const bool named = clash.op == "return" || tokens[i].text == clash.op ||
                         ((clash.op == "=" || clash.op == "assign") && assigns);
      if (!named) continue;
      if (clash.right_is_int) {
        std::size_t first = i + 1;
        if (text_at(first) == "-" || text_at(first) == "+") ++first;
        if (first < tokens.size() && is_operand(tokens[first]) && text_at(first + 1) != "." &&
            text_at(first + 1) != "[" && text_at(first + 1) != "(") {
          found.push_back({base + tokens[first].offset, tokens[first].text.size()});
        }
      }
      if (clash.left_is_int && i > 0 && is_operand(tokens[i - 1]) &&
          (i < 2 || tokens[i - 2].text != ".")) {
        found.push_back({base + tokens[i - 1].offset, tokens[i - 1].text.size()});
      }
    }
  }
  return found;
}

const Diagnostic* first_error(const FrontResult& result) {
  for (const Diagnostic& d : result.diagnostics) {
    if (d.severity == Severity::kError) return &d;
  }
  return nullptr;
}

}  // namespace

FrontResult compile_with_repair(const std::string& text, const std::string& name,
                                const Target& target, SourceStore& sources) {
  FrontResult first = compile(text, name, target, sources);
  if (first.ok || text.find("explicit_arithmetic_types_float16") == std::string::npos) return first;
  std::string now = text;
  FrontResult result = first;
  for (int tries = 0; tries < kMaxTries;) {
    const Diagnostic* error = first_error(result);
    if (error == nullptr) return first;
    const auto clash = find_clash(*error);
    // What is left is no such clash: an error of the kernel's own, at the place it really has.
    if (!clash) return result;
    bool helped = false;
    for (const Piece& piece : candidates(now, *clash, *error)) {
      if (++tries > kMaxTries) break;
      std::string next = now;
      next.insert(piece.offset + piece.length, ")");
      next.insert(piece.offset, "float16_t(");
      FrontResult attempt = compile(next, name, target, sources);
      const Diagnostic* other = first_error(attempt);
      // Another error in the same line may be the doing of this very conversion.
      const bool worse = other != nullptr && other->line == error->line &&
                         other->file == error->file &&
                         (other->text == error->text || !find_clash(*other));
      if (!attempt.ok && (other == nullptr || worse)) continue;
      if (other != nullptr && other->line < error->line && other->file == error->file) continue;
      now = std::move(next);
      result = std::move(attempt);
      helped = true;
      break;
    }
    if (!helped) return result;
    if (result.ok) return result;
  }
  return result;
}

}  // namespace spirkiln::gen
