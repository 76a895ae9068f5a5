// SPDX-License-Identifier: Apache-2.0
// Reading sources with bounds, each once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "read_file.hpp"
#include "shown.hpp"
#include "spirkiln/result.hpp"

namespace spirkiln::gen {

// No kernel comes near it, and made answers (tools/answers) to half; what does is not source text.
inline constexpr std::uintmax_t kMaxSourceBytes = 4u << 20;

using tool::read_file;
using tool::shown;

// One source text: without a byte-order mark, every line ended by '\n'.
struct SourceFile {
  std::filesystem::path path;
  std::string text;
  std::uint64_t hash = 0;  // of the file's bytes
};

// Every source that a bake reads, each once, from any thread. It also remembers the names that it
// looked for in vain: a file that appears there later changes the result just as an edit does.
class SourceStore {
 public:
  // Null without an error where there is no such file.
  Result<std::shared_ptr<const SourceFile>> find(const std::filesystem::path& path);
  // As find(), but a missing file is an error.
  Result<std::shared_ptr<const SourceFile>> load(const std::filesystem::path& path);

  // A text that is in memory; `path` is what messages call it. An error where it is no text.
  Result<std::shared_ptr<const SourceFile>> put(const std::filesystem::path& path,
                                                std::string_view bytes);

  struct Opened {
    std::filesystem::path path;
    bool exists;
    std::uint64_t hash;
  };
  // Sorted by path.
  std::vector<Opened> opened() const;

 private:
  struct Slot {
    std::shared_ptr<const SourceFile> file;
    std::string error;
  };
  mutable std::mutex mutex_;
  std::map<std::filesystem::path, Slot> slots_;
};

// Line `number` (from 1) of a text, without its end; empty behind the last.
std::string_view line_of(std::string_view text, std::size_t number);

std::uint64_t hash_bytes(std::string_view bytes);

}  // namespace spirkiln::gen
