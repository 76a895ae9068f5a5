// SPDX-License-Identifier: Apache-2.0
#include "stamp.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kHeader = "spirkiln stamp 1";
constexpr std::uintmax_t kMaxOutputBytes = std::uintmax_t{1} << 32;

bool file_has_hash(const fs::path& path, std::uint64_t hash, std::uintmax_t max_bytes) {
  auto bytes = read_file(path, max_bytes);
  return bytes.ok() && hash_bytes(*bytes) == hash;
}

}  // namespace

std::string encode_stamp(const StampContent& content) {
  std::string out = fmt::format("{}\n{}\n", kHeader, content.settings);
  for (const auto& input : content.inputs) {
    out += input.exists ? fmt::format("in {:016x} {}\n", input.hash, input.path.string())
                        : fmt::format("no 0000000000000000 {}\n", input.path.string());
  }
  for (const auto& [path, hash] : content.outputs) {
    out += fmt::format("to {:016x} {}\n", hash, path.string());
  }
  return out + "end\n";
}

bool stamp_holds(const fs::path& path, const std::string& settings) {
  auto bytes = read_file(path, 16u << 20);
  if (!bytes.ok()) return false;
  std::string_view rest = *bytes;
  const auto next = [&] {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view row = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return row;
  };
  if (next() != kHeader || next() != settings) return false;
  while (!rest.empty()) {
    const std::string_view row = next();
    if (row == "end") return rest.empty();
    if (row.size() < 21 || row[19] != ' ') return false;
    std::uint64_t hash = 0;
    const auto parsed = std::from_chars(row.data() + 3, row.data() + 19, hash, 16);
    if (parsed.ec != std::errc{} || parsed.ptr != row.data() + 19) return false;
    const fs::path named(std::string(row.substr(20)));
    std::error_code code;
    if (row.starts_with("in ")) {
      if (!file_has_hash(named, hash, kMaxSourceBytes)) return false;
    } else if (row.starts_with("no ")) {
      if (fs::exists(named, code)) return false;
    } else if (row.starts_with("to ")) {
      if (!file_has_hash(named, hash, kMaxOutputBytes)) return false;
    } else {
      return false;
    }
  }
  return false;
}

}  // namespace spirkiln::gen
