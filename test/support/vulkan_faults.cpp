// SPDX-License-Identifier: Apache-2.0
#include "vulkan_faults.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace spirkiln::test {
namespace {

constexpr std::uint64_t kJunk = 0xdeadbeefdeadbee0;

struct State {
  std::mutex mutex;
  std::map<std::string, std::uint32_t> counts;
  std::vector<FaultableCall> calls;
  std::string fail_name, hidden;
  std::uint32_t fail_nth = 0;
  VulkanFaults::Doctor doctor;
  VulkanFaults::ImageAnswer images;
  VkResult fail_code = VK_SUCCESS;
  bool failed = false;
  bool card = false;
  std::set<std::pair<std::string, std::uint64_t>> live;
  std::vector<std::string> complaints;
  std::map<std::uint64_t, std::uint64_t> device_of_queue;
  std::set<std::uint64_t> lost;  // devices
  std::uint32_t hang_nth = 0;    // 0: none
  std::set<std::uint64_t> hung;  // devices with work that does not end
  std::set<std::uint64_t> hung_fences;
  std::set<std::uint64_t> busy;  // devices with work that nobody has waited for
};

State& state() {
  static State* s = new State();  // outlives whatever is destroyed at the end
  return *s;
}

// The real loader's own entry points find the right driver by the handle.
void* real(const char* name) {
  static void* library = [] {
    void* handle = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) std::abort();
    return handle;
  }();
  return dlsym(library, name);
}

template <typename T>
std::uint64_t number(T handle) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return handle;
  }
}
template <typename T>
void put(T* handle, std::uint64_t value) {
  if constexpr (std::is_pointer_v<T>) {
    *handle = reinterpret_cast<T>(static_cast<std::uintptr_t>(value));
  } else {
    *handle = static_cast<T>(value);
  }
}

constexpr bool creates(std::string_view name) {
  return (name.starts_with("vkCreate") && name != "vkCreateComputePipelines") ||
         name == "vkAllocateMemory";
}
constexpr bool destroys(std::string_view name) {
  return name.starts_with("vkDestroy") || name == "vkFreeMemory";
}
// "vkCreateBuffer" and "vkDestroyBuffer" are both of a "Buffer".
constexpr std::string_view kind_of(std::string_view name) {
  for (const std::string_view verb : {"vkCreate", "vkDestroy", "vkAllocate", "vkFree"}) {
    if (name.starts_with(verb)) return name.substr(verb.size());
  }
  return name;
}
constexpr bool can_be_lost(std::string_view name) {
  return name == "vkQueueSubmit" || name == "vkWaitForFences" || name == "vkGetFenceStatus" ||
         name == "vkDeviceWaitIdle" || name == "vkGetQueryPoolResults";
}

std::uint64_t device_of(std::uint64_t first_argument) {
  const auto it = state().device_of_queue.find(first_argument);
  return it != state().device_of_queue.end() ? it->second : first_argument;
}

void complain(std::string text) { state().complaints.push_back(std::move(text)); }

// Counts the call; gives the code that it fails with, or VK_SUCCESS.
VkResult enter(const char* name, std::uint64_t first_argument) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const std::uint32_t nth = ++s.counts[name];
  s.calls.push_back({name, nth});
  if (can_be_lost(name) && s.lost.contains(device_of(first_argument))) return VK_ERROR_DEVICE_LOST;
  if (s.fail_name != name || s.fail_nth != nth) return VK_SUCCESS;
  s.failed = true;
  if (s.fail_code == VK_ERROR_DEVICE_LOST && can_be_lost(name)) {
    // The driver knows nothing of this, so its work has to end before its objects go.
    const std::uint64_t device = device_of(first_argument);
    reinterpret_cast<PFN_vkDeviceWaitIdle>(real("vkDeviceWaitIdle"))(
        reinterpret_cast<VkDevice>(static_cast<std::uintptr_t>(device)));
    s.lost.insert(device);
    s.busy.erase(device);
  }
  return s.fail_code;
}

void made(std::string_view kind, std::uint64_t handle) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.live.emplace(kind, handle);
}

// False where the driver must not see the call.
bool destroyed(std::string_view kind, std::uint64_t handle, std::uint64_t device) {
  if (handle == 0) return true;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.live.erase({std::string(kind), handle}) == 0) {
    complain("destroyed, but never made: " + std::string(kind));
    return false;
  }
  if (s.busy.contains(device)) complain("destroyed while in use: " + std::string(kind));
  if (kind == "Device") s.lost.erase(handle);
  return true;
}

// What Vulkan says of the device's work behind a call that succeeded.
void track_work(std::string_view name, std::uint64_t first_argument) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const std::uint64_t device = device_of(first_argument);
  if (name == "vkQueueSubmit") {
    s.busy.insert(device);
  } else if (name == "vkWaitForFences" || name == "vkGetFenceStatus" ||
             name == "vkDeviceWaitIdle") {
    if (!s.hung.contains(device)) s.busy.erase(device);
  } else if (name == "vkResetFences" && s.busy.contains(device)) {
    complain("a fence is reset while in use");
  }
}

template <std::size_t kSize>
struct Name {
  constexpr Name(const char (&from)[kSize]) { std::copy_n(from, kSize, text); }
  char text[kSize];
};

template <Name kName, typename Function>
struct Call;

template <Name kName, typename R, typename... A>
struct Call<kName, R(VKAPI_PTR*)(A...)> {
  static constexpr std::string_view kText = kName.text;

  static R VKAPI_CALL run(A... args) {
    static const auto function = reinterpret_cast<R(VKAPI_PTR*)(A...)>(real(kName.text));
    const auto all = std::tuple(args...);
    const auto first = number(std::get<0>(all));
    if constexpr (std::is_same_v<R, VkResult>) {
      const VkResult r = enter(kName.text, first);
      if (r != VK_SUCCESS) {
        if constexpr (creates(kText)) put(std::get<sizeof...(A) - 1>(all), kJunk);
        return r;
      }
      const VkResult result = function(args...);
      if (result == VK_SUCCESS) {
        if constexpr (creates(kText)) {
          made(kind_of(kText), number(*std::get<sizeof...(A) - 1>(all)));
        }
        track_work(kText, first);
      }
      return result;
    } else {
      if constexpr (destroys(kText)) {
        constexpr std::size_t kHandle = sizeof...(A) == 2 ? 0 : 1;
        if (!destroyed(kind_of(kText), number(std::get<kHandle>(all)), first)) return;
      }
      function(args...);
    }
  }
};

// ---- Calls whose arguments need a look of their own ---------------------------------------------

VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, std::uint32_t count,
                                     const VkComputePipelineCreateInfo* infos,
                                     const VkAllocationCallbacks* allocator, VkPipeline* out) {
  const auto name = "vkCreateComputePipelines";
  if (const VkResult r = enter(name, number(device)); r != VK_SUCCESS) {
    std::fill_n(out, count, VkPipeline{});  // Vulkan says so
    return r;
  }
  const VkResult r = reinterpret_cast<PFN_vkCreateComputePipelines>(real(name))(
      device, cache, count, infos, allocator, out);
  if (r == VK_SUCCESS) {
    for (std::uint32_t i = 0; i < count; ++i) made("Pipeline", number(out[i]));
  }
  return r;
}

VkResult VKAPI_CALL create_module(VkDevice device, const VkShaderModuleCreateInfo* info,
                                  const VkAllocationCallbacks* allocator, VkShaderModule* out) {
  VkShaderModuleCreateInfo own = *info;
  std::vector<std::uint32_t> words;
  VulkanFaults::Doctor doctor;
  {
    const std::lock_guard lock(state().mutex);
    doctor = state().doctor;
  }
  if (doctor) words = doctor(std::span(info->pCode, info->codeSize / 4));
  if (!words.empty()) {
    own.codeSize = words.size() * 4;
    own.pCode = words.data();
  }
  return Call<"vkCreateShaderModule", PFN_vkCreateShaderModule>::run(device, &own, allocator, out);
}

VkResult VKAPI_CALL allocate_sets(VkDevice device, const VkDescriptorSetAllocateInfo* info,
                                  VkDescriptorSet* out) {
  const auto name = "vkAllocateDescriptorSets";
  if (const VkResult r = enter(name, number(device)); r != VK_SUCCESS) {
    std::fill_n(out, info->descriptorSetCount, VkDescriptorSet{});
    return r;
  }
  return reinterpret_cast<PFN_vkAllocateDescriptorSets>(real(name))(device, info, out);
}

VkResult VKAPI_CALL allocate_commands(VkDevice device, const VkCommandBufferAllocateInfo* info,
                                      VkCommandBuffer* out) {
  const auto name = "vkAllocateCommandBuffers";
  if (const VkResult r = enter(name, number(device)); r != VK_SUCCESS) {
    std::fill_n(out, info->commandBufferCount, VkCommandBuffer{});
    return r;
  }
  return reinterpret_cast<PFN_vkAllocateCommandBuffers>(real(name))(device, info, out);
}

VkResult VKAPI_CALL map_memory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                               VkDeviceSize size, VkMemoryMapFlags flags, void** out) {
  const auto name = "vkMapMemory";
  if (const VkResult r = enter(name, number(device)); r != VK_SUCCESS) {
    *out = reinterpret_cast<void*>(static_cast<std::uintptr_t>(kJunk));
    return r;
  }
  return reinterpret_cast<PFN_vkMapMemory>(real(name))(device, memory, offset, size, flags, out);
}

void VKAPI_CALL get_queue(VkDevice device, std::uint32_t family, std::uint32_t index,
                          VkQueue* out) {
  reinterpret_cast<PFN_vkGetDeviceQueue>(real("vkGetDeviceQueue"))(device, family, index, out);
  const std::lock_guard lock(state().mutex);
  state().device_of_queue[number(*out)] = number(device);
}

VkResult VKAPI_CALL queue_submit(VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos,
                                 VkFence fence) {
  const VkResult r = Call<"vkQueueSubmit", PFN_vkQueueSubmit>::run(queue, count, infos, fence);
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const std::uint64_t device = device_of(number(queue));
  if (r == VK_SUCCESS && s.hang_nth != 0 && s.counts["vkQueueSubmit"] == s.hang_nth) {
    s.hung.insert(device);
  }
  if (r == VK_SUCCESS && s.hung.contains(device)) s.hung_fences.insert(number(fence));
  return r;
}

// True, and the call is counted, where the work behind one of the fences does not end.
bool hangs(const char* name, const VkFence* fences, std::uint32_t count) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const bool any = std::any_of(fences, fences + count,
                               [&](VkFence f) { return s.hung_fences.contains(number(f)); });
  if (any) s.calls.push_back({name, ++s.counts[name]});
  return any;
}

VkResult VKAPI_CALL wait_for_fences(VkDevice device, std::uint32_t count, const VkFence* fences,
                                    VkBool32 all, std::uint64_t ns) {
  if (hangs("vkWaitForFences", fences, count)) {
    const std::lock_guard lock(state().mutex);
    if (ns == UINT64_MAX) complain("a wait without a limit for work that does not end");
    return VK_TIMEOUT;
  }
  return Call<"vkWaitForFences", PFN_vkWaitForFences>::run(device, count, fences, all, ns);
}

VkResult VKAPI_CALL fence_status(VkDevice device, VkFence fence) {
  if (hangs("vkGetFenceStatus", &fence, 1)) return VK_NOT_READY;
  return Call<"vkGetFenceStatus", PFN_vkGetFenceStatus>::run(device, fence);
}

VkResult VKAPI_CALL wait_idle(VkDevice device) {
  {
    const std::lock_guard lock(state().mutex);
    if (state().hung.contains(number(device))) complain("vkDeviceWaitIdle of work that never ends");
  }
  return Call<"vkDeviceWaitIdle", PFN_vkDeviceWaitIdle>::run(device);
}

// ---- A card: types 0 (device) and 1 (host, cached, not coherent) are both the driver's type 0 --

void VKAPI_CALL properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* out) {
  const auto name = "vkGetPhysicalDeviceProperties";
  reinterpret_cast<PFN_vkGetPhysicalDeviceProperties>(real(name))(device, out);
  if (state().card) out->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
}

void VKAPI_CALL memory_properties(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties* out) {
  const auto name = "vkGetPhysicalDeviceMemoryProperties";
  reinterpret_cast<PFN_vkGetPhysicalDeviceMemoryProperties>(real(name))(device, out);
  if (!state().card) return;
  out->memoryHeapCount = 2;
  out->memoryHeaps[0].flags = VK_MEMORY_HEAP_DEVICE_LOCAL_BIT;
  out->memoryHeaps[1] = {out->memoryHeaps[0].size, 0};
  out->memoryTypeCount = 2;
  out->memoryTypes[0] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
  out->memoryTypes[1] = {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                         1};
}

VkResult VKAPI_CALL image_format(VkPhysicalDevice device, VkFormat format, VkImageType type,
                                 VkImageTiling tiling, VkImageUsageFlags usage,
                                 VkImageCreateFlags flags, VkImageFormatProperties* out) {
  constexpr Name kName("vkGetPhysicalDeviceImageFormatProperties");
  const VkResult r = Call<kName, PFN_vkGetPhysicalDeviceImageFormatProperties>::run(
      device, format, type, tiling, usage, flags, out);
  VulkanFaults::ImageAnswer answer;
  {
    const std::lock_guard lock(state().mutex);
    answer = state().images;
  }
  return r == VK_SUCCESS && answer ? answer(format, type, usage, out) : r;
}

void VKAPI_CALL buffer_requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements* out) {
  const auto name = "vkGetBufferMemoryRequirements";
  reinterpret_cast<PFN_vkGetBufferMemoryRequirements>(real(name))(device, buffer, out);
  if (state().card) out->memoryTypeBits = 3;
}

void VKAPI_CALL image_requirements(VkDevice device, VkImage image, VkMemoryRequirements* out) {
  const auto name = "vkGetImageMemoryRequirements";
  reinterpret_cast<PFN_vkGetImageMemoryRequirements>(real(name))(device, image, out);
  if (state().card) out->memoryTypeBits = 3;
}

VkResult VKAPI_CALL allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info,
                                    const VkAllocationCallbacks* allocator, VkDeviceMemory* out) {
  VkMemoryAllocateInfo changed = *info;
  if (state().card) changed.memoryTypeIndex = 0;
  return Call<"vkAllocateMemory", PFN_vkAllocateMemory>::run(device, &changed, allocator, out);
}

PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name);

PFN_vkVoidFunction wrapped(std::string_view name) {
#define SPIRKILN_AS(vulkan_name, function) \
  if (name == #vulkan_name) return reinterpret_cast<PFN_vkVoidFunction>(function);
  SPIRKILN_AS(vkCreateShaderModule, create_module)
  SPIRKILN_AS(vkCreateComputePipelines, create_pipelines)
  SPIRKILN_AS(vkAllocateDescriptorSets, allocate_sets)
  SPIRKILN_AS(vkAllocateCommandBuffers, allocate_commands)
  SPIRKILN_AS(vkMapMemory, map_memory)
  SPIRKILN_AS(vkGetDeviceQueue, get_queue)
  SPIRKILN_AS(vkQueueSubmit, queue_submit)
  SPIRKILN_AS(vkGetFenceStatus, fence_status)
  SPIRKILN_AS(vkWaitForFences, wait_for_fences)
  SPIRKILN_AS(vkDeviceWaitIdle, wait_idle)
  SPIRKILN_AS(vkGetPhysicalDeviceProperties, properties)
  SPIRKILN_AS(vkGetPhysicalDeviceMemoryProperties, memory_properties)
  SPIRKILN_AS(vkGetPhysicalDeviceImageFormatProperties, image_format)
  SPIRKILN_AS(vkGetBufferMemoryRequirements, buffer_requirements)
  SPIRKILN_AS(vkGetImageMemoryRequirements, image_requirements)
  SPIRKILN_AS(vkAllocateMemory, allocate_memory)
  SPIRKILN_AS(vkGetDeviceProcAddr, device_function)
#undef SPIRKILN_AS
#define SPIRKILN_PLAIN(vulkan_name) \
  if (name == #vulkan_name)         \
    return reinterpret_cast<PFN_vkVoidFunction>(Call<#vulkan_name, PFN_##vulkan_name>::run);
  SPIRKILN_PLAIN(vkCreateInstance)
  SPIRKILN_PLAIN(vkDestroyInstance)
  SPIRKILN_PLAIN(vkEnumerateInstanceVersion)
  SPIRKILN_PLAIN(vkEnumerateInstanceExtensionProperties)
  SPIRKILN_PLAIN(vkEnumerateInstanceLayerProperties)
  SPIRKILN_PLAIN(vkEnumeratePhysicalDevices)
  SPIRKILN_PLAIN(vkEnumerateDeviceExtensionProperties)
  SPIRKILN_PLAIN(vkCreateDevice)
  SPIRKILN_PLAIN(vkDestroyDevice)
  SPIRKILN_PLAIN(vkCreateFence)
  SPIRKILN_PLAIN(vkDestroyFence)
  SPIRKILN_PLAIN(vkResetFences)
  SPIRKILN_PLAIN(vkCreateBuffer)
  SPIRKILN_PLAIN(vkDestroyBuffer)
  SPIRKILN_PLAIN(vkFreeMemory)
  SPIRKILN_PLAIN(vkBindBufferMemory)
  SPIRKILN_PLAIN(vkCreateImage)
  SPIRKILN_PLAIN(vkDestroyImage)
  SPIRKILN_PLAIN(vkBindImageMemory)
  SPIRKILN_PLAIN(vkCreateImageView)
  SPIRKILN_PLAIN(vkDestroyImageView)
  SPIRKILN_PLAIN(vkCreateSampler)
  SPIRKILN_PLAIN(vkDestroySampler)
  SPIRKILN_PLAIN(vkFlushMappedMemoryRanges)
  SPIRKILN_PLAIN(vkInvalidateMappedMemoryRanges)
  SPIRKILN_PLAIN(vkDestroyShaderModule)
  SPIRKILN_PLAIN(vkCreatePipelineCache)
  SPIRKILN_PLAIN(vkDestroyPipelineCache)
  SPIRKILN_PLAIN(vkGetPipelineCacheData)
  SPIRKILN_PLAIN(vkDestroyPipeline)
  SPIRKILN_PLAIN(vkCreatePipelineLayout)
  SPIRKILN_PLAIN(vkDestroyPipelineLayout)
  SPIRKILN_PLAIN(vkCreateDescriptorSetLayout)
  SPIRKILN_PLAIN(vkDestroyDescriptorSetLayout)
  SPIRKILN_PLAIN(vkCreateDescriptorPool)
  SPIRKILN_PLAIN(vkDestroyDescriptorPool)
  SPIRKILN_PLAIN(vkCreateCommandPool)
  SPIRKILN_PLAIN(vkDestroyCommandPool)
  SPIRKILN_PLAIN(vkBeginCommandBuffer)
  SPIRKILN_PLAIN(vkEndCommandBuffer)
  SPIRKILN_PLAIN(vkCreateQueryPool)
  SPIRKILN_PLAIN(vkDestroyQueryPool)
  SPIRKILN_PLAIN(vkGetQueryPoolResults)
#undef SPIRKILN_PLAIN
  return nullptr;
}

PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
  if (state().hidden == name) return nullptr;
  if (const auto function = wrapped(name); function != nullptr) return function;
  return reinterpret_cast<PFN_vkGetDeviceProcAddr>(real("vkGetDeviceProcAddr"))(device, name);
}

std::vector<VkResult> codes_of(const std::string& name) {
  std::vector<VkResult> codes = {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY};
  if (name == "vkEnumerateInstanceVersion") codes = {VK_ERROR_OUT_OF_HOST_MEMORY};
  if (name == "vkResetFences") codes = {VK_ERROR_OUT_OF_DEVICE_MEMORY};
  const auto also = [&](std::initializer_list<const char*> names, VkResult code) {
    for (const char* n : names) {
      if (name == n) codes.push_back(code);
    }
  };
  also({"vkCreateInstance", "vkEnumeratePhysicalDevices", "vkCreateDevice"},
       VK_ERROR_INITIALIZATION_FAILED);
  also({"vkCreateInstance", "vkEnumerateInstanceExtensionProperties",
        "vkEnumerateDeviceExtensionProperties"},
       VK_ERROR_LAYER_NOT_PRESENT);
  also({"vkCreateInstance", "vkCreateDevice"}, VK_ERROR_EXTENSION_NOT_PRESENT);
  also({"vkCreateInstance"}, VK_ERROR_INCOMPATIBLE_DRIVER);
  also({"vkCreateDevice"}, VK_ERROR_FEATURE_NOT_PRESENT);
  also({"vkCreateDevice"}, VK_ERROR_TOO_MANY_OBJECTS);
  also({"vkCreateDevice", "vkQueueSubmit", "vkDeviceWaitIdle", "vkGetFenceStatus",
        "vkWaitForFences", "vkGetQueryPoolResults"},
       VK_ERROR_DEVICE_LOST);
  also({"vkGetPhysicalDeviceImageFormatProperties"}, VK_ERROR_FORMAT_NOT_SUPPORTED);
  also({"vkMapMemory"}, VK_ERROR_MEMORY_MAP_FAILED);
  also({"vkCreateShaderModule", "vkCreateComputePipelines"}, VK_ERROR_INVALID_SHADER_NV);
  also({"vkCreateDescriptorPool"}, VK_ERROR_FRAGMENTATION_EXT);
  also({"vkAllocateDescriptorSets"}, VK_ERROR_FRAGMENTED_POOL);
  also({"vkAllocateDescriptorSets"}, VK_ERROR_OUT_OF_POOL_MEMORY);
  return codes;
}

class Faults final : public VulkanFaults {
 public:
  void reset() override {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    s.counts.clear();
    s.calls.clear();
    s.complaints.clear();
    s.fail_name.clear();
    s.hidden.clear();
    s.hang_nth = 0;
    for (const std::uint64_t device : s.hung) s.busy.erase(device);
    s.hung.clear();
    s.hung_fences.clear();
    s.failed = false;
  }
  void pose_as_card(bool card) override { state().card = card; }
  void fail(const std::string& name, std::uint32_t nth, VkResult code) override {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    s.fail_name = name;
    s.fail_nth = nth;
    s.fail_code = code;
  }
  void hang(std::uint32_t nth) override {
    const std::lock_guard lock(state().mutex);
    state().hang_nth = nth;
  }
  void doctor(Doctor doctor) override {
    const std::lock_guard lock(state().mutex);
    state().doctor = std::move(doctor);
  }
  void images(ImageAnswer answer) override {
    const std::lock_guard lock(state().mutex);
    state().images = std::move(answer);
  }
  void hide(const std::string& name) override { state().hidden = name; }
  bool failed() const override { return state().failed; }
  std::vector<FaultableCall> calls() const override {
    const std::lock_guard lock(state().mutex);
    return state().calls;
  }
  std::vector<std::string> live() const override {
    const std::lock_guard lock(state().mutex);
    std::vector<std::string> kinds;
    for (const auto& [kind, handle] : state().live) kinds.push_back(kind);
    return kinds;
  }
  std::vector<std::string> complaints() const override {
    const std::lock_guard lock(state().mutex);
    return state().complaints;
  }
  std::vector<VkResult> error_codes_of(const std::string& name) const override {
    return codes_of(name);
  }
};

}  // namespace
}  // namespace spirkiln::test

extern "C" __attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL
vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  using namespace spirkiln::test;
  if (state().hidden == name) return nullptr;
  if (const auto function = wrapped(name); function != nullptr) return function;
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(real("vkGetInstanceProcAddr"))(instance, name);
}

extern "C" __attribute__((visibility("default"))) spirkiln::test::VulkanFaults* vulkan_faults() {
  static spirkiln::test::Faults faults;
  return &faults;
}
