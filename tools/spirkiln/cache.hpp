// SPDX-License-Identifier: Apache-2.0
// Stage 5: results by content. A key covers everything that a result depends on, so an entry is
// never stale; a damaged one is ignored and written again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace spirkiln::gen {

class Cache {
 public:
  // Without a folder nothing is found or kept.
  explicit Cache(std::optional<std::filesystem::path> folder) : folder_(std::move(folder)) {}

  bool enabled() const { return folder_.has_value(); }
  std::optional<std::string> load(std::string_view key) const;
  // A full disk or a read-only folder costs the entry, not the bake.
  void store(std::string_view key, std::string_view bytes) const;
  // Removes the oldest entries while all together exceed `max_bytes`.
  void trim(std::uintmax_t max_bytes) const;

  std::filesystem::path entry_path(std::string_view key) const;

 private:
  std::optional<std::filesystem::path> folder_;
};

// 128 bits of XXH3 as 32 hexadecimal digits.
std::string cache_key(std::string_view bytes);

// $SPIRKILN_CACHE, else $XDG_CACHE_HOME/spirkiln, else ~/.cache/spirkiln; nothing without a home.
std::optional<std::filesystem::path> cache_root();

// The folder bake/ in it.
std::optional<std::filesystem::path> default_cache_folder();

}  // namespace spirkiln::gen
