// SPDX-License-Identifier: Apache-2.0
#include "pipeline_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/pipelines.hpp"
#include "loader/features.hpp"

namespace spirkiln::access {
namespace {

using Statistics = std::vector<std::pair<std::string, std::string>>;

std::string value_of(const VkPipelineExecutableStatisticKHR& s) {
  switch (s.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      return s.value.b32 != 0 ? "true" : "false";
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      return fmt::to_string(s.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
      return fmt::to_string(s.value.u64);
    default:
      return fmt::to_string(s.value.f64);
  }
}

class Statistician {
 public:
  Statistician(const Device::State& state, const RunRequest& request)
      : s_(state), fi_(state.instance->functions()), request_(request) {}
  Statistician(const Statistician&) = delete;
  Statistician& operator=(const Statistician&) = delete;
  ~Statistician() {
    if (device_ == VK_NULL_HANDLE) return;
    call<PFN_vkDestroyPipeline>("vkDestroyPipeline")(device_, pipeline_, nullptr);
    call<PFN_vkDestroyPipelineLayout>("vkDestroyPipelineLayout")(device_, layout_, nullptr);
    for (const VkDescriptorSetLayout set : sets_) {
      call<PFN_vkDestroyDescriptorSetLayout>("vkDestroyDescriptorSetLayout")(device_, set, nullptr);
    }
    call<PFN_vkDestroyShaderModule>("vkDestroyShaderModule")(device_, module_, nullptr);
    call<PFN_vkDestroyDevice>("vkDestroyDevice")(device_, nullptr);
  }

  Result<Statistics> run() {
    if (!s_.caps.extensions.contains(std::string_view(kExtension))) {
      return Error{ErrorCode::kUnsupported, s_.info.name + " has no " + kExtension};
    }
    if (auto s = open(); !s) return std::move(s).error();
    if (auto s = make_pipeline(); !s) return std::move(s).error();
    return read();
  }

 private:
  static constexpr const char* kExtension = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;

  template <typename Function>
  Function call(const char* name) const {
    return reinterpret_cast<Function>(fi_.vkGetDeviceProcAddr(device_, name));
  }

  Status open() {
    FeatureChain chain(s_.caps.api_version, s_.caps.extensions, &s_.caps);
    std::vector<const char*> extensions = chain.extensions();
    extensions.push_back(kExtension);
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR wanted{};
    wanted.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
    wanted.pipelineExecutableInfo = VK_TRUE;
    wanted.pNext = chain.base.pNext;
    chain.base.pNext = &wanted;
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = s_.queue_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &chain.base;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    const VkResult r = made(fi_.vkCreateDevice(s_.physical, &info, nullptr, &device_), &device_);
    return r == VK_SUCCESS ? Status(Ok{}) : vk_error("vkCreateDevice for statistics", r);
  }

  Status make_pipeline() {
    VkShaderModuleCreateInfo shader{};
    shader.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    shader.codeSize = request_.words.size() * 4;
    shader.pCode = request_.words.data();
    VkResult r = made(
        call<PFN_vkCreateShaderModule>("vkCreateShaderModule")(device_, &shader, nullptr, &module_),
        &module_);
    if (r != VK_SUCCESS) return vk_error("vkCreateShaderModule", r);
    std::uint32_t sets = 0;
    for (const table::BindingEntry& b : request_.bindings) {
      sets = std::max(sets, std::uint32_t{b.set} + 1);
    }
    for (std::uint32_t set = 0; set < sets; ++set) {
      std::vector<VkDescriptorSetLayoutBinding> list;
      for (const table::BindingEntry& b : request_.bindings) {
        if (b.set != set) continue;
        list.push_back(
            {b.binding, descriptor_type(b.kind), 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
      }
      VkDescriptorSetLayoutCreateInfo info{};
      info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
      info.bindingCount = static_cast<std::uint32_t>(list.size());
      info.pBindings = list.data();
      VkDescriptorSetLayout& made_set = sets_.emplace_back();
      r = made(call<PFN_vkCreateDescriptorSetLayout>("vkCreateDescriptorSetLayout")(
                   device_, &info, nullptr, &made_set),
               &made_set);
      if (r != VK_SUCCESS) return vk_error("vkCreateDescriptorSetLayout", r);
    }
    const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                   static_cast<std::uint32_t>(request_.push.size() * 4)};
    VkPipelineLayoutCreateInfo layout{};
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.setLayoutCount = static_cast<std::uint32_t>(sets_.size());
    layout.pSetLayouts = sets_.data();
    layout.pushConstantRangeCount = request_.push.empty() ? 0 : 1;
    layout.pPushConstantRanges = &push;
    r = made(call<PFN_vkCreatePipelineLayout>("vkCreatePipelineLayout")(device_, &layout, nullptr,
                                                                        &layout_),
             &layout_);
    if (r != VK_SUCCESS) return vk_error("vkCreatePipelineLayout", r);
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module_;
    info.stage.pName = "main";
    info.layout = layout_;
    r = made(call<PFN_vkCreateComputePipelines>("vkCreateComputePipelines")(
                 device_, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline_),
             &pipeline_);
    return r == VK_SUCCESS ? Status(Ok{}) : vk_error("vkCreateComputePipelines", r);
  }

  Result<Statistics> read() const {
    const auto statistics =
        call<PFN_vkGetPipelineExecutableStatisticsKHR>("vkGetPipelineExecutableStatisticsKHR");
    if (statistics == nullptr) {
      return Error{ErrorCode::kUnsupported, s_.info.name + " lacks the call of " + kExtension};
    }
    VkPipelineExecutableInfoKHR info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
    info.pipeline = pipeline_;  // a compute pipeline's kernel is its first executable
    std::uint32_t count = 0;
    VkResult r = statistics(device_, &info, &count, nullptr);
    if (r != VK_SUCCESS) return vk_error("vkGetPipelineExecutableStatisticsKHR", r);
    VkPipelineExecutableStatisticKHR empty{};
    empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    std::vector<VkPipelineExecutableStatisticKHR> all(count, empty);
    r = statistics(device_, &info, &count, all.data());
    if (r != VK_SUCCESS) return vk_error("vkGetPipelineExecutableStatisticsKHR", r);
    Statistics out;
    for (const auto& s : all) out.emplace_back(s.name, value_of(s));
    return out;
  }

  const Device::State& s_;
  const InstanceFunctions& fi_;
  const RunRequest& request_;
  VkDevice device_ = VK_NULL_HANDLE;
  VkShaderModule module_ = VK_NULL_HANDLE;
  std::vector<VkDescriptorSetLayout> sets_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
};

}  // namespace

Result<Statistics> pipeline_statistics(const Device& device, const RunRequest& request) {
  return Statistician(*device.state(), request).run();
}

}  // namespace spirkiln::access
