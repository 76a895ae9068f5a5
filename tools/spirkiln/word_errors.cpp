// SPDX-License-Identifier: Apache-2.0
#include "word_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "dialect_words.hpp"
#include "expanded_text.hpp"
#include "tokens.hpp"

namespace spirkiln::gen {
namespace {

// A call may be spread over some lines; the compiler names the last.
constexpr unsigned kMaxLinesUp = 16;

// Types and qualifiers that may stand before a name that is declared.
constexpr std::string_view kTypes[] = {"bool",  "bvec2",  "bvec3",  "bvec4", "double", "float",
                                       "int",   "ivec2",  "ivec3",  "ivec4", "mat2",   "mat3",
                                       "mat4",  "mat2x4", "struct", "uint",  "uvec2",  "uvec3",
                                       "uvec4", "vec2",   "vec3",   "vec4",  "void"};
constexpr std::string_view kQualifiers[] = {
    "buffer",    "coherent", "const",   "flat",     "highp",    "in",        "inout",
    "invariant", "layout",   "lowp",    "mediump",  "out",      "precise",   "readonly",
    "restrict",  "return",   "shared",  "uniform",  "volatile", "writeonly", "else",
    "do",        "case",     "default", "precision"};

template <std::size_t N>
bool is_in(const std::string_view (&list)[N], std::string_view s) {
  return std::find(std::begin(list), std::end(list), s) != std::end(list);
}

bool is_image_or_numbered_type(std::string_view s) {
  for (std::string_view part : {"image", "sampler", "texture", "mat", "vec", "_t"}) {
    if (s.find(part) != std::string_view::npos) return true;
  }
  return false;
}

struct Parts {
  std::string_view token;  // may be empty
  std::string_view rest;
};

Parts split(std::string_view text) {
  const std::size_t end = text.find("': ");
  if (!text.starts_with('\'') || end == std::string_view::npos) return {{}, text};
  return {text.substr(1, end - 1), text.substr(end + 3)};
}

std::string_view last_word(std::string_view s) { return s.substr(s.rfind(' ') + 1); }

class Rewriter {
 public:
  Rewriter(const SourceFiles& files, const std::filesystem::path& dialect, SourceStore& sources)
      : files_(files), words_(dialect, sources) {}

  void rewrite(Diagnostic& d) const {
    const SourceFile* file = find(d.file);
    if (file == nullptr || d.line == 0 || d.severity != Severity::kError) return;
    const Parts parts = split(d.text);
    const auto row = tokenize(line_of(file->text, d.line));
    if (const Token* word = declared_again(row); word != nullptr && may_be_declaration(parts)) {
      return say(d, *word, "this word belongs to the dialect; choose another name");
    }
    if (parts.rest.starts_with("Macro redefined")) {
      const std::string_view name = last_word(parts.rest);
      for (const Token& t : row) {
        if (t.text == name && words_.has(name)) {
          return say(d, t, "this word belongs to the dialect; choose another name");
        }
      }
      return;
    }
    if (parts.token.empty() && parts.rest.starts_with("syntax error, unexpected IDENTIFIER")) {
      if (const Token* type = unknown_type(row)) return say(d, *type, "no such type");
      return;
    }
    if (parts.token == "macro expansion") return wrong_count(d, *file, parts.rest);
    if (d.column == 0 && !parts.token.empty()) inner_token(d, *file, parts);
  }

 private:
  const SourceFile* find(const std::string& name) const {
    for (const auto& file : files_) {
      if (file->path == name) return file.get();
    }
    return nullptr;
  }

  static void say(Diagnostic& d, const Token& token, std::string_view text) {
    std::string said = fmt::format("'{}': {}", token.text, text);
    d.column = token.column;
    d.text = std::move(said);
  }

  static bool may_be_declaration(const Parts& parts) {
    return parts.rest.starts_with("syntax error") || parts.token == "macro expansion" ||
           parts.rest.starts_with("redefinition");
  }

  // A word of the dialect behind a type, as in "float afp".
  const Token* declared_again(const std::vector<Token>& row) const {
    for (std::size_t i = 1; i < row.size(); ++i) {
      const std::string_view before = row[i - 1].text;
      const bool type =
          is_in(kTypes, before) || (words_.has(before) && words_.signature(before).empty());
      if (type && row[i].kind == TokenKind::kName && words_.has(row[i].text)) return &row[i];
    }
    return nullptr;
  }

  // "X y" where X is nothing that GLSL, the dialect or the kernel knows.
  const Token* unknown_type(const std::vector<Token>& row) const {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      const std::string_view name = row[i].text;
      if (row[i].directive || row[i].kind != TokenKind::kName ||
          row[i + 1].kind != TokenKind::kName) {
        continue;
      }
      if (is_in(kTypes, name) || is_in(kQualifiers, name) || words_.has(name) || is_own(name))
        continue;
      // GLSL's own long lists; but "afpvec3" is one of the dialect's, misspelt.
      const bool ours = name.starts_with("sfp") || name.starts_with("afp") ||
                        name.starts_with("lfp") || name.starts_with("acp") ||
                        name.starts_with("sint") || name.starts_with("aint");
      if (!ours && is_image_or_numbered_type(name)) continue;
      return &row[i];
    }
    return nullptr;
  }

  // Whether a file declares it as a struct or a macro.
  bool is_own(std::string_view name) const {
    for (const auto& file : files_) {
      const auto tokens = tokenize(file->text);
      for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        const bool declares = tokens[i].text == "struct" || tokens[i].text == "define";
        if (declares && tokens[i + 1].text == name) return true;
      }
    }
    return false;
  }

  // The first word, from the line up, for which `fits` holds.
  template <typename Fits>
  bool blame(Diagnostic& d, const SourceFile& file, std::string_view text, const Fits& fits) const {
    for (unsigned up = 0; up < kMaxLinesUp && up < d.line; ++up) {
      const std::string_view line = line_of(file.text, d.line - up);
      // Another statement ends here.
      if (up > 0 && line.find(';') != std::string_view::npos) return false;
      const auto row = tokenize(line);
      for (const Token& t : row) {
        if (t.kind != TokenKind::kName || !fits(t.text)) continue;
        d.line -= up;
        const std::string signature = words_.signature(t.text);
        say(d, t,
            signature.empty() ? std::string(text) : fmt::format(fmt::runtime(text), signature));
        return true;
      }
    }
    return false;
  }

  void wrong_count(Diagnostic& d, const SourceFile& file, std::string_view rest) const {
    const std::string name(last_word(rest));
    const std::string text = fmt::format("too {} arguments; expected {{}}",
                                         rest.starts_with("Too few") ? "few" : "many");
    if (!words_.has(name)) return;
    blame(d, file, text, [&](std::string_view word) { return word == name; });
  }

  static bool constructs(std::string_view line) {
    const auto row = tokenize(line);
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      const bool type = row[i].text.find("vec") != std::string_view::npos ||
                        row[i].text.find("mat") != std::string_view::npos;
      if (type && row[i].text.find('_') == std::string_view::npos && row[i + 1].text == "(") {
        return true;
      }
    }
    return false;
  }

  // What stands in no line of the kernel came out of a macro.
  void inner_token(Diagnostic& d, const SourceFile& file, const Parts& parts) const {
    const std::string token(parts.token);
    const bool misfit = parts.rest.find("no matching overloaded function") != std::string::npos ||
                        parts.rest.find("cannot convert") != std::string::npos ||
                        parts.rest.find("cannot construct") != std::string::npos ||
                        parts.rest.find("wrong operand types") != std::string::npos ||
                        parts.rest.find("not enough data") != std::string::npos ||
                        parts.rest.find("too many arguments") != std::string::npos;
    std::string text = misfit ? "these arguments do not fit {}" : std::string(parts.rest);
    if (!misfit) {
      // Kept as it is, braces too.
      std::string plain;
      for (const char c : text) plain += c == '{' ? "{{" : c == '}' ? "}}" : std::string(1, c);
      text = std::move(plain);
    }
    // A load without 16-bit arithmetic is a constructor, unless the kernel's line has its own.
    const bool load = token == "constructor" && !constructs(line_of(file.text, d.line));
    blame(d, file, text, [&](std::string_view word) {
      return !words_.signature(word).empty() &&
             (words_.brings_in(word, token) || (token == "assign" && words_.brings_in(word, "=")) ||
              (load && (words_.brings_in(word, "vec2") || words_.brings_in(word, "mat2x4"))));
    });
  }

  const SourceFiles& files_;
  DialectWords words_;
};

// Names that are declared, and those of them that are constants.
struct Declared {
  std::set<std::string_view> names;
  std::set<std::string_view> constants;
};

Declared declared_in(const std::vector<Token>& tokens) {
  Declared out;
  bool constant = false;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.text == "const") constant = true;
    if (t.text == ";" || t.text == "{" || t.text == ")") constant = false;
    const bool type = t.kind == TokenKind::kName && !is_in(kQualifiers, t.text);
    const bool more = t.text == "," && constant;
    if ((type || more) && tokens[i + 1].kind == TokenKind::kName) {
      out.names.insert(tokens[i + 1].text);
      if (constant) out.constants.insert(tokens[i + 1].text);
    }
  }
  return out;
}

}  // namespace

void name_written_words(std::vector<Diagnostic>& diagnostics, const SourceFiles& files,
                        const std::filesystem::path& dialect, SourceStore& sources) {
  const bool any = std::any_of(diagnostics.begin(), diagnostics.end(),
                               [](const Diagnostic& d) { return d.severity == Severity::kError; });
  if (!any) return;
  const Rewriter rewriter(files, dialect, sources);
  for (Diagnostic& d : diagnostics) rewriter.rewrite(d);
}

std::vector<Diagnostic> check_psc(std::string_view expanded, const std::string& name,
                                  const SourceFiles& files, SourceStore& sources) {
  const bool used = std::any_of(files.begin(), files.end(), [](const auto& file) {
    return file->text.find("psc") != std::string::npos;
  });
  if (!used) return {};
  std::vector<Diagnostic> errors;
  const auto tokens = tokenize(expanded);
  const auto text = [&](std::size_t i) {
    return i < tokens.size() ? tokens[i].text : std::string_view();
  };
  std::optional<Declared> declared;
  // psc(x) is ((x) == 0 ? p.x : (x)).
  for (std::size_t i = 0; i + 8 < tokens.size(); ++i) {
    if (text(i) != "(" || text(i + 1) != "(") continue;
    std::size_t end = i + 2;
    for (int depth = 1; end < tokens.size() && end < i + 64; ++end) {
      depth += text(end) == "(" ? 1 : text(end) == ")" ? -1 : 0;
      if (depth == 0) break;
    }
    if (text(end + 1) != "==" || text(end + 2) != "0" || text(end + 3) != "?" ||
        text(end + 4) != "p" || text(end + 5) != ".") {
      continue;
    }
    if (!declared) declared = declared_in(tokens);
    const Token& argument = tokens[i + 2];
    const bool is_name = end == i + 3 && argument.kind == TokenKind::kName;
    if (is_name && (declared->constants.count(argument.text) != 0 ||
                    declared->names.count(argument.text) == 0)) {
      continue;  // the compiler says what is not declared at all
    }
    const Place place = place_of(expanded, argument.offset, name);
    Diagnostic d{Severity::kError, place.file, place.line, 0, {}};
    const std::string shown(is_name ? argument.text : std::string_view("psc"));
    if (auto source = sources.find(d.file); source.ok() && *source) {
      d.column = column_of(line_of((*source)->text, d.line), shown);
    }
    d.text = is_name ? fmt::format(
                           "'{}': psc() takes a specialization constant, "
                           "'layout(constant_id = N) const int {} = 0;'",
                           shown, shown)
                     : "'psc': takes the name of a specialization constant, and nothing else";
    if (std::find(errors.begin(), errors.end(), d) == errors.end()) errors.push_back(std::move(d));
  }
  return errors;
}

}  // namespace spirkiln::gen
