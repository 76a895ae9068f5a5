// SPDX-License-Identifier: Apache-2.0
#include "dialect_words.hpp"

#include <vector>

#include "device_axes.hpp"
#include "tokens.hpp"

namespace spirkiln::gen {

DialectWords::DialectWords(const std::filesystem::path& dialect, SourceStore& sources) {
  auto file = sources.find(dialect);
  if (!file.ok() || *file == nullptr) return;
  for (const auto& part : lexical_includes(*file, {}, {}, sources)) read(*part);
}

void DialectWords::read(const SourceFile& file) {
  const auto tokens = tokenize(file.text);
  int depth = 0;
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (!t.directive) {
      if (t.text == "{") ++depth;
      if (t.text == "}") --depth;
      // "afp sfp2afp(": a function.
      if (depth == 0 && t.kind == TokenKind::kName && tokens[i + 1].kind == TokenKind::kName &&
          tokens[i + 2].text == "(" && !tokens[i + 1].directive) {
        words_.try_emplace(std::string(tokens[i + 1].text));
      }
      continue;
    }
    if (t.text != "#" || tokens[i + 1].text != "define") continue;
    const Token& name = tokens[i + 2];
    Word& word = words_[std::string(name.text)];
    std::size_t at = i + 3;
    const auto in_body = [&] {
      return at < tokens.size() && tokens[at].directive &&
             !(tokens[at].text == "#" && tokens[at].line != tokens[at - 1].line);
    };
    if (in_body() && tokens[at].text == "(" &&
        tokens[at].offset == name.offset + name.text.size()) {
      word.parameters.clear();
      for (bool open = true; open && in_body(); ++at) {
        word.parameters += tokens[at].text;
        if (tokens[at].text == ",") word.parameters += ' ';
        open = tokens[at].text != ")";
      }
    }
    for (; in_body(); ++at) word.parts.emplace(tokens[at].text);
    i = at - 1;
  }
}

std::string DialectWords::signature(std::string_view word) const {
  const auto it = words_.find(word);
  return it == words_.end() || it->second.parameters.empty()
             ? std::string()
             : std::string(word) + it->second.parameters;
}

bool DialectWords::brings_in(std::string_view word, std::string_view token) const {
  std::set<std::string_view> seen;
  std::vector<std::string_view> open = {word};
  while (!open.empty()) {
    const std::string_view now = open.back();
    open.pop_back();
    if (!seen.insert(now).second) continue;
    const auto it = words_.find(now);
    if (it == words_.end()) continue;
    for (const std::string& part : it->second.parts) {
      if (part == token) return true;
      open.push_back(part);
    }
  }
  return false;
}

}  // namespace spirkiln::gen
