// SPDX-License-Identifier: Apache-2.0
#include "proof/verdicts.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "table/read_file.hpp"

namespace spirkiln {
namespace {

struct Header {
  char magic[8];
  std::uint64_t bytes;
  std::uint64_t checksum;
};
constexpr char kMagic[8] = {'S', 'P', 'K', 'V', 'R', 'D', 'C', '1'};
constexpr std::uint64_t kMaxFileBytes = sizeof(Header) + kMaxVerdicts * sizeof(StoredVerdict);

std::string hex(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t b : bytes) {
    text += kDigits[b >> 4];
    text += kDigits[b & 15];
  }
  return text;
}

}  // namespace

std::string verdict_path(const std::string& folder, const DeviceCaps& caps) {
  if (folder.empty()) return {};
  // A driver of Vulkan 1.0 has no UUIDs: then its own numbers tell devices apart.
  return folder + "/verdicts/" + hex(caps.device_uuid) + "-" + hex(caps.driver_uuid) + "-" +
         std::to_string(caps.vendor_id) + "-" + std::to_string(caps.device_id) + "-" +
         std::to_string(caps.driver_version) + ".bin";
}

std::vector<StoredVerdict> read_verdicts(const std::string& path, bool* damaged) {
  *damaged = false;
  std::vector<StoredVerdict> verdicts;
  const auto file = read_file(path, kMaxFileBytes);
  if (!file) return verdicts;  // most often there is none yet
  *damaged = true;
  Header header{};
  if (file->size() < sizeof header) return verdicts;
  std::memcpy(&header, file->data(), sizeof header);
  const auto payload = std::span(*file).subspan(sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.bytes != payload.size() ||
      payload.size() % sizeof(StoredVerdict) != 0 ||
      XXH3_64bits(payload.data(), payload.size()) != header.checksum) {
    return verdicts;
  }
  verdicts.resize(payload.size() / sizeof(StoredVerdict));
  if (!payload.empty()) std::memcpy(verdicts.data(), payload.data(), payload.size());
  for (const StoredVerdict& v : verdicts) {
    if (v.verdict > Verdict::kWrong && v.verdict != kUnended) return {};
  }
  *damaged = false;
  return verdicts;
}

Status add_verdicts(const std::string& path, std::span<const StoredVerdict> fresh) {
  bool damaged = false;
  std::vector<StoredVerdict> all = read_verdicts(path, &damaged);
  std::set<VerdictKey> keys;
  for (const StoredVerdict& v : fresh) keys.insert(v.key);
  std::erase_if(all, [&](const StoredVerdict& v) { return keys.contains(v.key); });
  all.insert(all.end(), fresh.begin(), fresh.end());
  if (all.size() > kMaxVerdicts) {
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kMaxVerdicts));
  }
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.bytes = all.size() * sizeof(StoredVerdict);
  header.checksum = XXH3_64bits(all.data(), header.bytes);
  std::vector<std::byte> file(sizeof header + header.bytes);
  std::memcpy(file.data(), &header, sizeof header);
  if (!all.empty()) std::memcpy(file.data() + sizeof header, all.data(), header.bytes);
  return write_file_atomically(path, file);
}

}  // namespace spirkiln
