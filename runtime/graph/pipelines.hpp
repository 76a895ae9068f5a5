// SPDX-License-Identifier: Apache-2.0
// Compute pipelines of a device: made once for each (blob, constants), shared by all plans, and
// kept on disk through the driver's own cache.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "loader/device.hpp"
#include "table/table.hpp"

namespace spirkiln {

struct SpecValue {
  std::uint32_t id, bits;
  bool operator==(const SpecValue&) const = default;
};

struct PipelineRequest {
  std::uint32_t blob = 0;
  std::vector<SpecValue> specs;  // ascending id
  std::string_view kernel;       // for messages
};

// A module that lies in no table. `words` and `bindings` (ascending set and binding) need to live
// during the call only.
struct ModuleRequest {
  std::span<const std::uint32_t> words;
  std::span<const table::BindingEntry> bindings;
  std::uint32_t push_bytes = 0;
  std::vector<SpecValue> specs;  // ascending id
  std::string entry = "main";
  std::string kernel;  // for messages
};

struct Pipeline {
  explicit Pipeline(Device::State& d) : device(d) {}
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  Device::State& device;
  VkPipeline handle = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;        // owned by the store
  std::span<const VkDescriptorSetLayout> sets;     // 0, 1, ...; owned by the store
};

VkDescriptorType descriptor_type(table::BindingKind kind);

struct PipelineStats {
  std::uint32_t created = 0;
  double create_ms = 0;  // wall time, all threads together
};

class PipelineStore {
 public:
  static std::unique_ptr<PipelineStore> create(Device::State& device);
  ~PipelineStore();

  // One pipeline for each request, in order; the missing ones are created on all cores.
  // Thread-safe.
  Result<std::vector<std::shared_ptr<Pipeline>>> get(const Table& table,
                                                     std::span<const PipelineRequest> requests);
  // The pipeline of a module, made where there is none yet. Thread-safe.
  Result<std::shared_ptr<Pipeline>> get(const ModuleRequest& request);
  // Writes the driver's cache to disk when pipelines were made since the last time. Failing to is
  // only worth a note.
  void save();

  PipelineStats stats() const;
  const std::string& cache_path() const { return path_; }

 private:
  explicit PipelineStore(Device::State& device) : device_(device) {}
  void load();
  struct Layout {
    std::vector<VkDescriptorSetLayout> sets;
    VkPipelineLayout layout = VK_NULL_HANDLE;
  };
  Status make_sampler();
  // Valid as long as the store.
  Result<const Layout*> layout_of(std::span<const table::BindingEntry> bindings,
                                  std::uint32_t push_bytes);
  Result<VkDescriptorSetLayout> make_set(std::span<const table::BindingEntry> bindings);
  void destroy(const Layout& layout);
  struct Code {
    std::span<const std::uint32_t> words;
    std::span<const SpecValue> specs;
    const char* entry;
    std::string_view kernel;
  };
  Status create_pipeline(const Code& code, Pipeline* pipeline);
  void drop_unused();

  Device::State& device_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  VkSampler sampler_ = VK_NULL_HANDLE;  // part of every layout with a sampled image
  std::string path_;
  bool dirty_ = false;
  std::size_t saved_bytes_ = 0;  // size of the driver's data on disk
  PipelineStats stats_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Layout> layouts_;
  std::unordered_map<std::string, std::shared_ptr<Pipeline>> pipelines_;
};

// ${SPIRKILN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/spirkiln} (%LOCALAPPDATA% on Windows), or empty
// when none of them is set.
std::string cache_folder();

// A cache file is the driver's bytes behind a header with their length and checksum, since drivers
// trust what they are given. unwrap gives an empty span for anything that is not whole.
std::vector<std::byte> wrap_cache(std::span<const std::byte> payload);
std::span<const std::byte> unwrap_cache(std::span<const std::byte> file);

}  // namespace spirkiln
