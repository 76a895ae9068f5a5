// SPDX-License-Identifier: Apache-2.0
#include "expanded_source.hpp"

#include <fmt/format.h>

#include <optional>

#include "compose.hpp"
#include "expanded_text.hpp"
#include "include_resolver.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxBytes = 16u << 20;

// The name in `#include "name"` or `#include <name>`; nothing for any other row.
std::optional<std::string_view> included_name(std::string_view row) {
  const auto skip_spaces = [&] {
    while (row.starts_with(' ') || row.starts_with('\t')) row.remove_prefix(1);
  };
  skip_spaces();
  if (!row.starts_with('#')) return std::nullopt;
  row.remove_prefix(1);
  skip_spaces();
  constexpr std::string_view kWord = "include";
  if (!row.starts_with(kWord)) return std::nullopt;
  row.remove_prefix(kWord.size());
  skip_spaces();
  if (!row.starts_with('"') && !row.starts_with('<')) return std::nullopt;
  const std::size_t end = row.find(row.front() == '"' ? '"' : '>', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return row.substr(1, end - 1);
}

class Inliner {
 public:
  Inliner(const fs::path& dialect, const std::vector<fs::path>& folders, SourceStore& sources)
      : dialect_(dialect), folders_(folders), sources_(sources) {}

  void add(std::string_view text, const fs::path& file, std::size_t depth) {
    std::size_t line = 0;
    while (!text.empty() && out_.size() < kMaxBytes) {
      ++line;
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view row = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      // The composed text counts the kernel's lines from there.
      if (depth == 0 && row.starts_with("#line "))
        line = std::stoul(std::string(row.substr(6))) - 1;
      const auto name = included_name(row);
      const auto found = name && depth < kMaxDepth ? find(*name, file.parent_path()) : nullptr;
      if (found == nullptr) {
        out_ += row;
        out_ += '\n';
        continue;
      }
      out_ += fmt::format("#line 1 \"{}\"\n", line_name(found->path.string()));
      add(without_line_directives(found->text), found->path, depth + 1);
      out_ += fmt::format("#line {} \"{}\"\n", line + 1, line_name(file.string()));
    }
  }
  std::string take() { return std::move(out_); }

 private:
  std::shared_ptr<const SourceFile> find(std::string_view name, const fs::path& folder) {
    for (const fs::path& path : include_candidates(name, folder, folders_, dialect_)) {
      auto file = sources_.find(path);
      if (file.ok() && *file != nullptr) return *file;
    }
    return nullptr;
  }

  const fs::path& dialect_;
  const std::vector<fs::path>& folders_;
  SourceStore& sources_;
  std::string out_;
};

}  // namespace

std::string with_includes(std::string_view text, const fs::path& kernel, const fs::path& dialect,
                          const std::vector<fs::path>& folders, SourceStore& sources) {
  Inliner inliner(dialect, folders, sources);
  inliner.add(text, kernel, 0);
  return inliner.take();
}

}  // namespace spirkiln::gen
