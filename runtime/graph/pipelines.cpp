// SPDX-License-Identifier: Apache-2.0
#include "graph/pipelines.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <xxhash.h>

#include "loader/messages.hpp"

namespace spirkiln {
namespace {

// Far above what a program's graphs need; only a stream of ever new constants gets there.
constexpr std::size_t kMaxPipelines = 1024;

void append(std::string* key, const void* data, std::size_t bytes) {
  key->append(static_cast<const char*>(data), bytes);
}

std::string pipeline_key(const table::BlobEntry& blob, const PipelineRequest& request) {
  std::string key;
  append(&key, &blob.hash, sizeof blob.hash);
  append(&key, &blob.bytes, sizeof blob.bytes);
  append(&key, request.specs.data(), request.specs.size() * sizeof(SpecValue));
  return key;
}

}  // namespace

Pipeline::~Pipeline() {
  if (handle == VK_NULL_HANDLE || !device.may_destroy()) return;
  device.f.vkDestroyPipeline(device.device, handle, nullptr);
}

std::unique_ptr<PipelineStore> PipelineStore::create(Device::State& device) {
  std::unique_ptr<PipelineStore> store(new PipelineStore(device));
  store->load();
  return store;
}

PipelineStore::~PipelineStore() {
  save();
  pipelines_.clear();
  if (!device_.may_destroy()) return;
  const DeviceFunctions& f = device_.f;
  for (const auto& [key, layout] : layouts_) destroy(layout);
  if (sampler_ != VK_NULL_HANDLE) f.vkDestroySampler(device_.device, sampler_, nullptr);
  if (cache_ != VK_NULL_HANDLE) f.vkDestroyPipelineCache(device_.device, cache_, nullptr);
}

VkDescriptorType descriptor_type(table::BindingKind kind) {
  switch (kind) {
    case table::BindingKind::kStorageImage:
      return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
    case table::BindingKind::kSampledImage:
      return VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    case table::BindingKind::kUniformBuffer:
      return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
    default:
      return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  }
}

void PipelineStore::destroy(const Layout& layout) {
  const DeviceFunctions& f = device_.f;
  if (layout.layout != VK_NULL_HANDLE) {
    f.vkDestroyPipelineLayout(device_.device, layout.layout, nullptr);
  }
  for (VkDescriptorSetLayout set : layout.sets) {
    f.vkDestroyDescriptorSetLayout(device_.device, set, nullptr);
  }
}

// Kernels fetch texels by their coordinates, so it decides nothing; but Vulkan wants one.
Status PipelineStore::make_sampler() {
  if (sampler_ != VK_NULL_HANDLE) return Ok{};
  VkSamplerCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
  info.addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  info.addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  info.addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  const VkResult r =
      made(device_.f.vkCreateSampler(device_.device, &info, nullptr, &sampler_), &sampler_);
  if (r != VK_SUCCESS) return device_.error("vkCreateSampler", r);
  return Ok{};
}

Result<VkDescriptorSetLayout> PipelineStore::make_set(
    std::span<const table::BindingEntry> bindings) {
  std::vector<VkDescriptorSetLayoutBinding> list;
  for (const table::BindingEntry& b : bindings) {
    const bool sampled = b.kind == table::BindingKind::kSampledImage;
    if (auto s = sampled ? make_sampler() : Ok{}; !s) return std::move(s).error();
    list.push_back({b.binding, descriptor_type(b.kind), 1, VK_SHADER_STAGE_COMPUTE_BIT,
                    sampled ? &sampler_ : nullptr});
  }
  VkDescriptorSetLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  info.bindingCount = static_cast<std::uint32_t>(list.size());
  info.pBindings = list.data();
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  const VkResult r =
      made(device_.f.vkCreateDescriptorSetLayout(device_.device, &info, nullptr, &set), &set);
  if (r != VK_SUCCESS) return device_.error("vkCreateDescriptorSetLayout", r);
  return set;
}

Result<const PipelineStore::Layout*> PipelineStore::layout_of(
    std::span<const table::BindingEntry> bindings, std::uint32_t push_bytes) {
  std::string key;
  append(&key, &push_bytes, sizeof push_bytes);
  for (const table::BindingEntry& b : bindings) {
    append(&key, &b.set, sizeof b.set);
    append(&key, &b.binding, sizeof b.binding);
    append(&key, &b.kind, sizeof b.kind);
  }
  if (const auto it = layouts_.find(key); it != layouts_.end()) return &it->second;

  const DeviceFunctions& f = device_.f;
  Layout layout;
  // One set at least, and an empty one for each number that is left out.
  const std::uint32_t sets = bindings.empty() ? 1u : bindings.back().set + 1u;
  for (std::uint32_t i = 0; i < sets; ++i) {
    const auto first = std::find_if(bindings.begin(), bindings.end(),
                                    [&](const table::BindingEntry& b) { return b.set >= i; });
    const auto last = std::find_if(first, bindings.end(),
                                   [&](const table::BindingEntry& b) { return b.set > i; });
    auto set = make_set({first, last});
    if (!set) {
      destroy(layout);
      return std::move(set).error();
    }
    layout.sets.push_back(*set);
  }
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes};
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.setLayoutCount = sets;
  info.pSetLayouts = layout.sets.data();
  info.pushConstantRangeCount = push_bytes > 0 ? 1 : 0;
  info.pPushConstantRanges = &push;
  const VkResult r = made(f.vkCreatePipelineLayout(device_.device, &info, nullptr, &layout.layout),
                          &layout.layout);
  if (r != VK_SUCCESS) {
    destroy(layout);
    return device_.error("vkCreatePipelineLayout", r);
  }
  return &layouts_.emplace(std::move(key), std::move(layout)).first->second;
}

Status PipelineStore::create_pipeline(const Code& code, Pipeline* pipeline) {
  const DeviceFunctions& f = device_.f;
  const std::string of = " for kernel " + std::string(code.kernel);

  VkShaderModuleCreateInfo module_info{};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = code.words.size_bytes();
  module_info.pCode = code.words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  VkResult r =
      made(f.vkCreateShaderModule(device_.device, &module_info, nullptr, &module), &module);
  if (r != VK_SUCCESS) return device_.error("vkCreateShaderModule" + of, r);

  std::vector<VkSpecializationMapEntry> map;
  std::vector<std::uint32_t> data;
  for (const SpecValue& s : code.specs) {
    map.push_back({s.id, static_cast<std::uint32_t>(data.size() * 4), 4});
    data.push_back(s.bits);
  }
  VkSpecializationInfo specialization{};
  specialization.mapEntryCount = static_cast<std::uint32_t>(map.size());
  specialization.pMapEntries = map.data();
  specialization.dataSize = data.size() * 4;
  specialization.pData = data.data();

  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = code.entry;
  info.stage.pSpecializationInfo = map.empty() ? nullptr : &specialization;
  info.layout = pipeline->layout;
  r = f.vkCreateComputePipelines(device_.device, cache_, 1, &info, nullptr, &pipeline->handle);
  f.vkDestroyShaderModule(device_.device, module, nullptr);
  if (r != VK_SUCCESS) {
    pipeline->handle = VK_NULL_HANDLE;
    return device_.error("vkCreateComputePipelines" + of, r);
  }
  return Ok{};
}

Result<std::vector<std::shared_ptr<Pipeline>>> PipelineStore::get(
    const Table& table, std::span<const PipelineRequest> requests) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Pipeline>> result(requests.size());
  struct Missing {
    std::string key;
    const PipelineRequest* request;
    std::shared_ptr<Pipeline> pipeline;
    Status status = Ok{};
  };
  std::vector<Missing> missing;
  std::vector<std::size_t> missing_index(requests.size(), 0);
  std::unordered_map<std::string, std::size_t> queued;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const table::BlobEntry& blob = table.blobs()[requests[i].blob];
    std::string key = pipeline_key(blob, requests[i]);
    if (const auto it = pipelines_.find(key); it != pipelines_.end()) {
      result[i] = it->second;
      continue;
    }
    const auto [it, fresh] = queued.try_emplace(key, missing.size());
    missing_index[i] = it->second;
    if (!fresh) continue;
    auto layout = layout_of(table.bindings_of(blob), blob.push_bytes);
    if (!layout) return std::move(layout).error();
    auto pipeline = std::make_shared<Pipeline>(device_);
    pipeline->layout = (*layout)->layout;
    pipeline->sets = (*layout)->sets;
    missing.push_back({std::move(key), &requests[i], std::move(pipeline)});
  }
  if (missing.empty()) return result;

  // Compiling is the cold start, and drivers compile on the thread that asks.
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<std::size_t> next{0};
  MessageScope* const scope = MessageScope::current();
  auto work = [&] {
    const WorkerMessages messages(scope);
    for (std::size_t i = next++; i < missing.size(); i = next++) {
      const PipelineRequest& request = *missing[i].request;
      const auto words = table.words(request.blob);
      missing[i].status = words ? create_pipeline({*words, request.specs, "main", request.kernel},
                                                  missing[i].pipeline.get())
                                : Status(words.error());
    }
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min({cores, missing.size(), std::size_t{32}}); ++i) {
    try {
      threads.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // no more threads to be had: the others do the work
    }
  }
  work();
  for (std::thread& t : threads) t.join();
  stats_.create_ms +=
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  for (const Missing& m : missing) {
    if (!m.status) return m.status.error();
  }
  if (pipelines_.size() + missing.size() > kMaxPipelines) drop_unused();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (result[i] == nullptr) result[i] = missing[missing_index[i]].pipeline;
  }
  for (Missing& m : missing) pipelines_.emplace(std::move(m.key), std::move(m.pipeline));
  stats_.created += static_cast<std::uint32_t>(missing.size());
  dirty_ = true;
  return result;
}

Result<std::shared_ptr<Pipeline>> PipelineStore::get(const ModuleRequest& request) {
  // Two hashes, since nothing else of the words is compared.
  const std::size_t bytes = request.words.size_bytes();
  const std::uint64_t hashes[2] = {XXH3_64bits(request.words.data(), bytes),
                                   XXH3_64bits_withSeed(request.words.data(), bytes, bytes + 1)};
  std::string key = "module";
  append(&key, hashes, sizeof hashes);
  append(&key, request.specs.data(), request.specs.size() * sizeof(SpecValue));
  const std::lock_guard lock(mutex_);
  if (const auto it = pipelines_.find(key); it != pipelines_.end()) return it->second;
  auto layout = layout_of(request.bindings, request.push_bytes);
  if (!layout) return std::move(layout).error();
  auto pipeline = std::make_shared<Pipeline>(device_);
  pipeline->layout = (*layout)->layout;
  pipeline->sets = (*layout)->sets;
  const auto begin = std::chrono::steady_clock::now();
  const Code code{request.words, request.specs, request.entry.c_str(), request.kernel};
  if (auto s = create_pipeline(code, pipeline.get()); !s) return std::move(s).error();
  stats_.create_ms +=
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  ++stats_.created;
  dirty_ = true;
  if (pipelines_.size() >= kMaxPipelines) drop_unused();
  pipelines_.emplace(std::move(key), pipeline);
  return pipeline;
}

void PipelineStore::drop_unused() {
  std::erase_if(pipelines_, [](const auto& item) { return item.second.use_count() == 1; });
}

PipelineStats PipelineStore::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace spirkiln
