// SPDX-License-Identifier: Apache-2.0
#include "cache.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include "files.hpp"
#include "output_set.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kMagic = "SPKCACH2";
constexpr std::uintmax_t kMaxEntryBytes = 256u << 20;

// Over the key as well: an entry under another one's name is a damaged one.
std::uint64_t checksum(std::string_view key, std::string_view payload) {
  return hash_bytes(fmt::format("{}\n{}", key, payload));
}

}  // namespace

std::string cache_key(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

fs::path Cache::entry_path(std::string_view key) const {
  return *folder_ / key.substr(0, 2) / fmt::format("{}.bin", key.substr(2));
}

std::optional<std::string> Cache::load(std::string_view key) const {
  if (!folder_) return std::nullopt;
  auto file = read_file(entry_path(key), kMaxEntryBytes);
  if (!file.ok()) return std::nullopt;
  const std::string& bytes = *file;
  std::uint64_t sum = 0;
  if (bytes.size() < kMagic.size() + sizeof sum || !bytes.starts_with(kMagic)) return std::nullopt;
  std::memcpy(&sum, bytes.data() + kMagic.size(), sizeof sum);
  std::string payload = bytes.substr(kMagic.size() + sizeof sum);
  if (checksum(key, payload) != sum) return std::nullopt;
  return payload;
}

void Cache::store(std::string_view key, std::string_view bytes) const {
  if (!folder_) return;
  const fs::path path = entry_path(key);
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  // What is no file (a link, a pipe) is no entry of ours; it would be written to, not replaced.
  if (const auto type = fs::symlink_status(path, code).type();
      type != fs::file_type::regular && type != fs::file_type::not_found) {
    fs::remove(path, code);
  }
  const std::uint64_t sum = checksum(key, bytes);
  std::string file(kMagic);
  file.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  file += bytes;
  (void)tool::write_file(path, file).ok();
}

void Cache::trim(std::uintmax_t max_bytes) const {
  if (!folder_) return;
  struct Entry {
    fs::file_time_type time;
    std::uintmax_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::uintmax_t total = 0;
  std::error_code code;
  for (fs::recursive_directory_iterator it(*folder_, code), end; !code && it != end;
       it.increment(code)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    const std::uintmax_t bytes = it->file_size(ignored);
    if (ignored) continue;
    entries.push_back({it->last_write_time(ignored), bytes, it->path()});
    total += bytes;
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.time < b.time; });
  for (const Entry& entry : entries) {
    if (total <= max_bytes) break;
    fs::remove(entry.path, code);
    total -= entry.bytes;
  }
}

std::optional<fs::path> cache_root() {
  const auto variable = [](const char* name) -> std::optional<fs::path> {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return fs::path(value);
  };
  if (auto folder = variable("SPIRKILN_CACHE")) return *folder;
  if (auto folder = variable("XDG_CACHE_HOME")) return *folder / "spirkiln";
  if (auto folder = variable("HOME")) return *folder / ".cache" / "spirkiln";
  return std::nullopt;
}

std::optional<fs::path> default_cache_folder() {
  const auto root = cache_root();
  return root ? std::optional(*root / "bake") : std::nullopt;
}

}  // namespace spirkiln::gen
