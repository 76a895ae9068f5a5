// SPDX-License-Identifier: Apache-2.0
#include "json.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

namespace spirkiln::json {
namespace {

constexpr int kMaxDepth = 64;

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  bool document(Value& out) {
    if (!value(out, 0)) return false;
    blank();
    return at_ == text_.size() || fail("the end");
  }

  std::string where() const {
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < at_ && i < text_.size(); ++i) {
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      } else {
        ++column;
      }
    }
    return std::to_string(line) + ":" + std::to_string(column);
  }
  const std::string& expected() const { return expected_; }

 private:
  bool fail(const char* expected) {
    if (expected_.empty()) expected_ = expected;
    return false;
  }
  void blank() {
    while (at_ < text_.size() && std::strchr(" \t\r\n", text_[at_]) != nullptr && text_[at_] != 0) {
      ++at_;
    }
  }
  bool take(char c) {
    blank();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view w) {
    if (text_.substr(at_, w.size()) != w) return false;
    at_ += w.size();
    return true;
  }

  bool value(Value& out, int depth) {
    blank();
    if (depth > kMaxDepth) return fail("less nesting");
    if (at_ >= text_.size()) return fail("a value");
    switch (text_[at_]) {
      case '{':
        return object(out, depth);
      case '[':
        return array(out, depth);
      case '"':
        out.type = Value::Type::kString;
        return string(out.string);
      case 't':
        out.type = Value::Type::kBool;
        out.boolean = true;
        return word("true") || fail("true");
      case 'f':
        out.type = Value::Type::kBool;
        return word("false") || fail("false");
      case 'n':
        return word("null") || fail("null");
      default:
        return number(out);
    }
  }

  bool object(Value& out, int depth) {
    out.type = Value::Type::kObject;
    ++at_;
    if (take('}')) return true;
    do {
      blank();
      if (at_ >= text_.size() || text_[at_] != '"') return fail("a name in quotation marks");
      std::string name;
      if (!string(name)) return false;
      if (!take(':')) return fail("':'");
      if (!value(out.object[name], depth + 1)) return false;
    } while (take(','));
    return take('}') || fail("',' or '}'");
  }

  bool array(Value& out, int depth) {
    out.type = Value::Type::kArray;
    ++at_;
    if (take(']')) return true;
    do {
      if (!value(out.array.emplace_back(), depth + 1)) return false;
    } while (take(','));
    return take(']') || fail("',' or ']'");
  }

  bool number(Value& out) {
    out.type = Value::Type::kNumber;
    const char* first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), out.number);
    if (error != std::errc{} || end == first) return fail("a value");
    at_ += static_cast<std::size_t>(end - first);
    return true;
  }

  bool hex4(std::uint32_t& out) {
    if (at_ + 4 > text_.size()) return false;
    const char* first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, first + 4, out, 16);
    if (error != std::errc{} || end != first + 4) return false;
    at_ += 4;
    return true;
  }

  bool string(std::string& out) {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return fail("no control character in a string");
      if (c != '\\') {
        out += c;
        continue;
      }
      if (at_ >= text_.size()) break;
      const char escape = text_[at_++];
      static constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
      if (const auto i = kFrom.find(escape); i != std::string_view::npos) {
        out += kTo[i];
        continue;
      }
      std::uint32_t code = 0;
      if (escape != 'u' || !hex4(code)) return fail("an escape that JSON has");
      if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u") {
        at_ += 2;
        std::uint32_t low = 0;
        if (!hex4(low) || low < 0xdc00 || low > 0xdfff) return fail("the second half of a pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      }
      append_utf8(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
    }
    return fail("'\"'");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string expected_;
};

}  // namespace

const Value* Value::find(const std::string& name) const {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &found->second;
}

Result<Value> parse(std::string_view text, const std::string& name) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  Parser parser(text);
  Value out;
  if (!parser.document(out)) {
    return Error{ErrorCode::kCorrupt,
                 name + ":" + parser.where() + ": not JSON, expected " + parser.expected()};
  }
  return out;
}

Result<Value> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) {
    return Error{ErrorCode::kIo, path + ": cannot be opened: " + std::strerror(errno)};
  }
  std::string text;
  char piece[65536];
  for (std::size_t got; (got = std::fread(piece, 1, sizeof piece, file.get())) > 0;) {
    text.append(piece, got);
  }
  if (std::ferror(file.get()) != 0) {
    return Error{ErrorCode::kIo, path + ": cannot be read: " + std::strerror(errno)};
  }
  return parse(text, path);
}

}  // namespace spirkiln::json
