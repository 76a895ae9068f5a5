// SPDX-License-Identifier: Apache-2.0
// An application with a kernel of its own and a Vulkan device of its own: it opens the loader,
// makes instance and device, and records the kernel into its own command buffer, on buffers of its
// own. Prints which variant ran.
#include <dlfcn.h>
#include <vulkan/vulkan.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <spirkiln/vulkan.hpp>

#include "filters_table.hpp"

namespace {

constexpr std::uint32_t kVectors = 1000;

[[noreturn]] void die(const char* what, const char* why = "") {
  std::fprintf(stderr, "filters: error: %s%s%s\n", what, *why ? ": " : "", why);
  std::exit(1);
}
void check(VkResult result, const char* what) {
  if (result != VK_SUCCESS) die(what);
}
template <typename T>
T value(spirkiln::Result<T> result, const char* what) {
  if (!result) die(what, result.error().message.c_str());
  return *std::move(result);
}

PFN_vkGetInstanceProcAddr entry;
VkInstance instance;

#define VK(name) (reinterpret_cast<PFN_##name>(entry(instance, #name)))

struct Mapped {
  VkBuffer buffer;
  VkDeviceMemory memory;
  std::byte* bytes;
};

Mapped make_buffer(VkPhysicalDevice physical, VkDevice device, VkDeviceSize bytes) {
  Mapped out{};
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  check(VK(vkCreateBuffer)(device, &info, nullptr, &out.buffer), "vkCreateBuffer");
  VkMemoryRequirements need{};
  VK(vkGetBufferMemoryRequirements)(device, out.buffer, &need);
  VkPhysicalDeviceMemoryProperties types{};
  VK(vkGetPhysicalDeviceMemoryProperties)(physical, &types);
  constexpr VkMemoryPropertyFlags kWanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkMemoryAllocateInfo alloc{};
  alloc.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  alloc.allocationSize = need.size;
  while ((need.memoryTypeBits >> alloc.memoryTypeIndex & 1) == 0 ||
         (types.memoryTypes[alloc.memoryTypeIndex].propertyFlags & kWanted) != kWanted) {
    if (++alloc.memoryTypeIndex == types.memoryTypeCount) die("no memory that the host sees");
  }
  check(VK(vkAllocateMemory)(device, &alloc, nullptr, &out.memory), "vkAllocateMemory");
  check(VK(vkBindBufferMemory)(device, out.buffer, out.memory, 0), "vkBindBufferMemory");
  void* address = nullptr;
  check(VK(vkMapMemory)(device, out.memory, 0, VK_WHOLE_SIZE, 0, &address), "vkMapMemory");
  out.bytes = static_cast<std::byte*>(address);
  return out;
}

}  // namespace

int main() {
  void* loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (loader == nullptr) die("no Vulkan loader");
  entry = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(loader, "vkGetInstanceProcAddr"));
  VkApplicationInfo app{};
  app.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  app.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo instance_info{};
  instance_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  instance_info.pApplicationInfo = &app;
  check(VK(vkCreateInstance)(&instance_info, nullptr, &instance), "vkCreateInstance");
  std::uint32_t count = 1;
  VkPhysicalDevice physical{};
  VK(vkEnumeratePhysicalDevices)(instance, &count, &physical);
  if (count == 0) die("no Vulkan device");

  // The first family, as an application that draws would have it; without any feature.
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue_info{};
  queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue_info.queueCount = 1;
  queue_info.pQueuePriorities = &priority;
  VkDeviceCreateInfo device_info{};
  device_info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  device_info.queueCreateInfoCount = 1;
  device_info.pQueueCreateInfos = &queue_info;
  VkDevice vk_device{};
  check(VK(vkCreateDevice)(physical, &device_info, nullptr, &vk_device), "vkCreateDevice");
  VkQueue queue{};
  VK(vkGetDeviceQueue)(vk_device, 0, 0, &queue);
  VkCommandPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  VkCommandPool pool{};
  check(VK(vkCreateCommandPool)(vk_device, &pool_info, nullptr, &pool), "vkCreateCommandPool");

  int wrong = 0;
  std::vector<float> values(kVectors * 4);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / 4 % 64 * 4);
  const Mapped a = make_buffer(physical, vk_device, values.size() * 4);
  const Mapped b = make_buffer(physical, vk_device, values.size() * 4);
  {
    spirkiln::ExternalDevice external;
    external.get_instance_proc_addr = entry;
    external.instance = instance;
    external.api_version = app.apiVersion;
    external.physical = physical;
    external.device = vk_device;
    external.made_with = &device_info;
    const auto device = value(spirkiln::open_external_device(external), "the device");
    const auto table = value(
        spirkiln::KernelTable::from_memory(spirkiln::tables::filters::table(), "filters"), "table");
    spirkiln::compute::KernelRequest request;
    request.kernel = "blur";
    spirkiln::compute::KernelOptions options;
    options.optimal_for = {kVectors, 1, 1};
    const auto kernel =
        value(spirkiln::compute::Kernel::create(device, table, request, options), "the kernel");
    std::printf("%s\n", kernel.name().c_str());

    const auto stored = value(spirkiln::compute::to_storage(values, kernel.form()), "to_storage");
    std::copy(stored.begin(), stored.end(), a.bytes);
    const auto from = value(spirkiln::compute::wrap(device, a.buffer, stored.size()), "a");
    const auto to = value(spirkiln::compute::wrap(device, b.buffer, stored.size()), "b");
    const std::int32_t push = kVectors;
    spirkiln::compute::Dispatch dispatch;
    dispatch.bindings = {{0, from}, {1, to}};
    dispatch.push = std::as_bytes(std::span(&push, 1));
    dispatch.invocations = {kVectors, 1, 1};
    auto sequence = value(spirkiln::compute::Sequence::create(device), "the sequence");
    value(sequence.add(kernel, dispatch), "the dispatch");

    VkCommandBufferAllocateInfo alloc{};
    alloc.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    alloc.commandPool = pool;
    alloc.commandBufferCount = 1;
    VkCommandBuffer commands{};
    check(VK(vkAllocateCommandBuffers)(vk_device, &alloc, &commands), "vkAllocateCommandBuffers");
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    check(VK(vkBeginCommandBuffer)(commands, &begin), "vkBeginCommandBuffer");
    value(spirkiln::compute::record(sequence, commands), "record");
    VkMemoryBarrier to_host{};
    to_host.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    to_host.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    to_host.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    VK(vkCmdPipelineBarrier)(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                             VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, nullptr, 0, nullptr);
    check(VK(vkEndCommandBuffer)(commands), "vkEndCommandBuffer");
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    check(VK(vkQueueSubmit)(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
    check(VK(vkQueueWaitIdle)(queue), "vkQueueWaitIdle");

    const auto results = value(
        spirkiln::compute::from_storage({b.bytes, stored.size()}, kernel.form()), "from_storage");
    const auto at = [&](std::int64_t vector) {
      const std::int64_t last = kVectors - 1;
      return values[static_cast<std::size_t>((vector < 0 ? 0 : vector > last ? last : vector) * 4)];
    };
    for (std::int64_t i = 0; i < kVectors; ++i) {
      // Exact: whole numbers, and quarters of multiples of four.
      const float expected = at(i - 1) * 0.25f + at(i) * 0.5f + at(i + 1) * 0.25f;
      for (std::int64_t lane = 0; lane < 4; ++lane) {
        wrong += results[static_cast<std::size_t>(i * 4 + lane)] != expected;
      }
    }
  }

  VK(vkDestroyCommandPool)(vk_device, pool, nullptr);
  for (const Mapped& m : {a, b}) {
    VK(vkDestroyBuffer)(vk_device, m.buffer, nullptr);
    VK(vkFreeMemory)(vk_device, m.memory, nullptr);
  }
  VK(vkDestroyDevice)(vk_device, nullptr);
  VK(vkDestroyInstance)(instance, nullptr);
  if (wrong != 0) die("the results are wrong");
  return 0;
}
