// SPDX-License-Identifier: Apache-2.0
#include "frames.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <memory>

#include "parallel.hpp"

namespace spirkiln::gen {
namespace {

constexpr int kZstdLevel = 22;
// Decoding it takes about a millisecond, most of which a device's first kernel pays for all others.
constexpr std::size_t kFrameBytes = std::size_t{1} << 20;

}  // namespace

Result<std::string> compress(const std::string& raw, const Cache& cache) {
  const std::string key =
      cache_key(fmt::format("frame {} {}\n", ZSTD_versionString(), kZstdLevel) + raw);
  if (auto hit = cache.load(key)) {
    std::string held(raw.size(), '\0');
    const std::size_t size = ZSTD_decompress(held.data(), held.size(), hit->data(), hit->size());
    if (size == raw.size() && held == raw) return *hit;
  }
  std::string packed(ZSTD_compressBound(raw.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), kZstdLevel);
  if (ZSTD_isError(size)) {
    return Error{ErrorCode::kOutOfMemory,
                 fmt::format("zstd cannot compress a frame: {}", ZSTD_getErrorName(size))};
  }
  packed.resize(size);
  cache.store(key, packed);
  return packed;
}

Result<Frames> make_frames(const std::vector<std::string>& items,
                           const std::vector<std::size_t>& groups, unsigned threads,
                           const Cache& cache) {
  Frames out;
  std::vector<std::string> raw;
  std::size_t item = 0;
  for (const std::size_t count : groups) {
    std::size_t group_bytes = 0;
    for (std::size_t i = item; i < item + count; ++i) group_bytes += items[i].size();
    if (raw.empty() || raw.back().size() + group_bytes > kFrameBytes) raw.emplace_back();
    for (; group_bytes != 0 && out.placements.size() < item + count;) {
      const std::string& bytes = items[out.placements.size()];
      if (!raw.back().empty() && raw.back().size() + bytes.size() > kFrameBytes) raw.emplace_back();
      out.placements.push_back({static_cast<std::uint32_t>(raw.size() - 1),
                                static_cast<std::uint32_t>(raw.back().size())});
      raw.back() += bytes;
    }
    item += count;
  }
  out.packed.resize(raw.size());
  std::vector<std::string> failures(raw.size());
  parallel_for(raw.size(), threads, [&](std::size_t i) {
    auto packed = compress(raw[i], cache);
    if (packed.ok()) {
      out.packed[i] = std::move(packed).value();
    } else {
      failures[i] = packed.error().message;
    }
  });
  for (const std::string& failure : failures) {
    if (!failure.empty()) return Error{ErrorCode::kOutOfMemory, failure};
  }
  for (const std::string& bytes : raw)
    out.raw_bytes.push_back(static_cast<std::uint32_t>(bytes.size()));
  return out;
}

}  // namespace spirkiln::gen
