// SPDX-License-Identifier: Apache-2.0
// The driver's pipeline cache as a file.
#include <cstdlib>
#include <cstring>

#include <xxhash.h>

#include "graph/pipelines.hpp"
#include "loader/messages.hpp"
#include "table/read_file.hpp"

namespace spirkiln {
namespace {

constexpr std::uint64_t kMaxCacheBytes = 256u << 20;

struct CacheHeader {
  char magic[8];
  std::uint64_t bytes;
  std::uint64_t checksum;
};
constexpr char kCacheMagic[8] = {'S', 'P', 'K', 'P', 'I', 'P', 'E', '1'};

std::string hex(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t b : bytes) {
    text += kDigits[b >> 4];
    text += kDigits[b & 15];
  }
  return text;
}

std::string from_environment(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

}  // namespace

std::string cache_folder() {
  if (std::string own = from_environment("SPIRKILN_CACHE"); !own.empty()) return own;
  std::string base;
#ifdef _WIN32
  base = from_environment("LOCALAPPDATA");
#else
  base = from_environment("XDG_CACHE_HOME");
  if (base.empty()) {
    const std::string home = from_environment("HOME");
    if (!home.empty()) base = home + "/.cache";
  }
#endif
  return base.empty() ? base : base + "/spirkiln";
}

std::vector<std::byte> wrap_cache(std::span<const std::byte> payload) {
  CacheHeader header{};
  std::memcpy(header.magic, kCacheMagic, sizeof kCacheMagic);
  header.bytes = payload.size();
  header.checksum = XXH3_64bits(payload.data(), payload.size());
  std::vector<std::byte> file(sizeof header + payload.size());
  std::memcpy(file.data(), &header, sizeof header);
  if (!payload.empty()) std::memcpy(file.data() + sizeof header, payload.data(), payload.size());
  return file;
}

std::span<const std::byte> unwrap_cache(std::span<const std::byte> file) {
  CacheHeader header{};
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  const auto payload = file.subspan(sizeof header);
  if (std::memcmp(header.magic, kCacheMagic, sizeof kCacheMagic) != 0) return {};
  if (header.bytes != payload.size()) return {};
  if (XXH3_64bits(payload.data(), payload.size()) != header.checksum) return {};
  return payload;
}

void PipelineStore::load() {
  const DeviceCaps& caps = device_.caps;
  const std::string& folder = device_.cache_folder;
  if (!folder.empty()) {
    // The driver changes pipelineCacheUUID when old entries no longer fit; the device's own id
    // tells two equal cards of one machine with different drivers apart.
    path_ = folder + "/pipelines/" + hex(caps.pipeline_cache_uuid) + "-" + hex(caps.device_uuid) +
            "-" + std::to_string(caps.driver_version) + ".bin";
  }
  std::vector<std::byte> file;
  std::span<const std::byte> payload;
  if (!path_.empty()) {
    if (auto bytes = read_file(path_, kMaxCacheBytes)) {
      file = *std::move(bytes);
      payload = unwrap_cache(file);
      if (payload.empty()) {
        device_.say(Severity::kInfo, "the pipeline cache " + path_ + " is damaged and is ignored");
      }
    }
  }
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = payload.size();
  info.pInitialData = payload.data();
  VkResult r =
      made(device_.f.vkCreatePipelineCache(device_.device, &info, nullptr, &cache_), &cache_);
  saved_bytes_ = r == VK_SUCCESS ? payload.size() : 0;
  if (r != VK_SUCCESS && !payload.empty()) {
    device_.say(Severity::kInfo, "the driver refuses the pipeline cache " + path_ + " (" +
                                     vk_result_name(r) + "), which is ignored");
    info.initialDataSize = 0;
    info.pInitialData = nullptr;
    r = made(device_.f.vkCreatePipelineCache(device_.device, &info, nullptr, &cache_), &cache_);
  }
  if (r != VK_SUCCESS) {  // slower, not wrong
    device_.say(
        Severity::kInfo,
        "pipelines are made without a cache: vkCreatePipelineCache failed: " + vk_result_name(r));
  }
}

void PipelineStore::save() {
  const MessageScope messages;  // also where no call of the interface is around it
  const std::lock_guard lock(mutex_);
  if (!dirty_ || cache_ == VK_NULL_HANDLE || path_.empty()) return;
  if (device_.lost.load(std::memory_order_relaxed)) return;
  dirty_ = false;
  std::size_t size = 0;
  const DeviceFunctions& f = device_.f;
  std::vector<std::byte> data;
  VkResult r = f.vkGetPipelineCacheData(device_.device, cache_, &size, nullptr);
  if (r == VK_SUCCESS) {
    if (size == 0 || size > kMaxCacheBytes) return;
    if (size == saved_bytes_) return;  // every pipeline came out of the cache
    data.resize(size);
    r = f.vkGetPipelineCacheData(device_.device, cache_, &size, data.data());
  }
  if (r != VK_SUCCESS) {
    device_.say(Severity::kInfo, "the pipeline cache is not kept: vkGetPipelineCacheData failed: " +
                                     vk_result_name(r));
    return;
  }
  data.resize(size);
  saved_bytes_ = size;
  if (auto s = write_file_atomically(path_, wrap_cache(data)); !s) {
    device_.say(Severity::kInfo, "the pipeline cache is not kept: " + s.error().message);
  }
}

}  // namespace spirkiln
