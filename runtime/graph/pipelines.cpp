// SPDX-License-Identifier: Apache-2.0
#include "graph/pipelines.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

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
  if (handle != VK_NULL_HANDLE) device.f.vkDestroyPipeline(device.device, handle, nullptr);
}

std::unique_ptr<PipelineStore> PipelineStore::create(Device::State& device) {
  std::unique_ptr<PipelineStore> store(new PipelineStore(device));
  store->load();
  return store;
}

PipelineStore::~PipelineStore() {
  save();
  pipelines_.clear();
  const DeviceFunctions& f = device_.f;
  for (auto& [key, layout] : layouts_) {
    f.vkDestroyPipelineLayout(device_.device, layout.layout, nullptr);
    f.vkDestroyDescriptorSetLayout(device_.device, layout.set, nullptr);
  }
  if (sampler_ != VK_NULL_HANDLE) f.vkDestroySampler(device_.device, sampler_, nullptr);
  if (cache_ != VK_NULL_HANDLE) f.vkDestroyPipelineCache(device_.device, cache_, nullptr);
}

VkDescriptorType descriptor_type(table::BindingKind kind) {
  switch (kind) {
    case table::BindingKind::kStorageImage:
      return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
    case table::BindingKind::kSampledImage:
      return VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    default:
      return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
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

Result<PipelineStore::Layout> PipelineStore::layout_of(const Table& table,
                                                       const table::BlobEntry& blob) {
  const auto bindings = table.bindings_of(blob);
  std::string key;
  append(&key, &blob.push_bytes, sizeof blob.push_bytes);
  for (const table::BindingEntry& b : bindings) {
    append(&key, &b.binding, sizeof b.binding);
    append(&key, &b.kind, sizeof b.kind);
    if (b.set != 0 || b.kind == table::BindingKind::kUniformBuffer) {
      return Error{ErrorCode::kUnsupported,
                   "only storage buffers and images of set 0 can be bound, not set " +
                       std::to_string(b.set) + " binding " + std::to_string(b.binding)};
    }
  }
  if (const auto it = layouts_.find(key); it != layouts_.end()) return it->second;

  std::vector<VkDescriptorSetLayoutBinding> list;
  for (const table::BindingEntry& b : bindings) {
    const bool sampled = b.kind == table::BindingKind::kSampledImage;
    if (auto s = sampled ? make_sampler() : Ok{}; !s) return std::move(s).error();
    list.push_back({b.binding, descriptor_type(b.kind), 1, VK_SHADER_STAGE_COMPUTE_BIT,
                    sampled ? &sampler_ : nullptr});
  }
  const DeviceFunctions& f = device_.f;
  Layout layout;
  VkDescriptorSetLayoutCreateInfo set{};
  set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set.bindingCount = static_cast<std::uint32_t>(list.size());
  set.pBindings = list.data();
  VkResult r =
      made(f.vkCreateDescriptorSetLayout(device_.device, &set, nullptr, &layout.set), &layout.set);
  if (r != VK_SUCCESS) return device_.error("vkCreateDescriptorSetLayout", r);
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, blob.push_bytes};
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.setLayoutCount = 1;
  info.pSetLayouts = &layout.set;
  info.pushConstantRangeCount = blob.push_bytes > 0 ? 1 : 0;
  info.pPushConstantRanges = &push;
  r = made(f.vkCreatePipelineLayout(device_.device, &info, nullptr, &layout.layout),
           &layout.layout);
  if (r != VK_SUCCESS) {
    f.vkDestroyDescriptorSetLayout(device_.device, layout.set, nullptr);
    return device_.error("vkCreatePipelineLayout", r);
  }
  layouts_.emplace(std::move(key), layout);
  return layout;
}

Status PipelineStore::create_pipeline(const Table& table, const PipelineRequest& request,
                                      Pipeline* pipeline) {
  const DeviceFunctions& f = device_.f;
  auto words = table.words(request.blob);
  if (!words) return std::move(words).error();
  const std::string of = " for kernel " + std::string(request.kernel);

  VkShaderModuleCreateInfo module_info{};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = words->size_bytes();
  module_info.pCode = words->data();
  VkShaderModule module = VK_NULL_HANDLE;
  VkResult r =
      made(f.vkCreateShaderModule(device_.device, &module_info, nullptr, &module), &module);
  if (r != VK_SUCCESS) return device_.error("vkCreateShaderModule" + of, r);

  std::vector<VkSpecializationMapEntry> map;
  std::vector<std::uint32_t> data;
  for (const SpecValue& s : request.specs) {
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
  info.stage.pName = "main";
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
    auto layout = layout_of(table, blob);
    if (!layout) return std::move(layout).error();
    auto pipeline = std::make_shared<Pipeline>(device_);
    pipeline->layout = layout->layout;
    pipeline->set = layout->set;
    missing.push_back({std::move(key), &requests[i], std::move(pipeline)});
  }
  if (missing.empty()) return result;

  // Compiling is the cold start, and drivers compile on the thread that asks.
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t i = next++; i < missing.size(); i = next++) {
      missing[i].status = create_pipeline(table, *missing[i].request, missing[i].pipeline.get());
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

void PipelineStore::drop_unused() {
  std::erase_if(pipelines_, [](const auto& item) { return item.second.use_count() == 1; });
}

PipelineStats PipelineStore::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace spirkiln
