// SPDX-License-Identifier: Apache-2.0
#include "loader/device.hpp"

#include <algorithm>
#include <functional>

#include "graph/pipelines.hpp"
#include "loader/backends.hpp"
#include "loader/choose.hpp"
#include "loader/environment.hpp"
#include "loader/features.hpp"
#include "loader/guard.hpp"
#include "proof/proofs.hpp"
#include "table/device_rules.hpp"
#include "table/requirements.hpp"
#include "table/select.hpp"

namespace spirkiln {
namespace {

Result<std::vector<DeviceInfo>> all_infos(const MessageCallback& message) {
  auto instance = Instance::create(false, message);
  if (!instance) return std::move(instance).error();
  auto all = find_devices(**instance);
  if (!all) return std::move(all).error();
  std::vector<DeviceInfo> infos;
  for (FoundDevice& c : *all) infos.push_back(std::move(c.info));
  return infos;
}

// Of this process. What they hold outlives everything, as what still runs on them may.
struct Abandoned {
  std::mutex mutex;
  std::set<std::string> devices;
  std::vector<std::shared_ptr<Instance>> instances;
};
Abandoned& abandoned_devices() {
  static auto* all = new Abandoned();
  return *all;
}

std::string hardware(const DeviceCaps& caps, const DeviceInfo& info) {
  std::string text =
      info.name + "/" + std::to_string(caps.vendor_id) + "/" + std::to_string(caps.device_id) + "/";
  for (const std::uint8_t byte : caps.device_uuid) text += std::to_string(byte) + ".";
  return text;
}

// None where there is no table.
std::span<const Table> tables_of(const Result<Table>& table) {
  return table ? std::span(&*table, 1) : std::span<const Table>();
}

// `wants` sees what is known of the device before it is made; where it gives false, the result is
// null.
Result<std::shared_ptr<Device::State>> open_state(
    const DeviceOptions& options, std::span<const Table> tables,
    const std::function<bool(const DeviceInfo&)>& wants = {}) {
  const auto no_cache = environment_switch("SPIRKILN_NO_CACHE");
  if (!no_cache) return no_cache.error();
  auto instance =
      Instance::create(options.validation || validation_in_environment(), options.message);
  if (!instance) return std::move(instance).error();
  const InstanceFunctions& fi = (*instance)->functions();
  auto all = find_devices(**instance);
  if (!all) return std::move(all).error();
  const auto chosen = choose_device(*all, options);
  if (!chosen) return chosen.error();
  FoundDevice& found = (*all)[*chosen];
  if (wants && !wants(found.info)) return std::shared_ptr<Device::State>();

  auto state = std::make_shared<Device::State>();
  state->instance = *instance;
  state->physical = found.handle;
  // From here on the device is what it was created as: selection sees only enabled features.
  state->caps = tables.empty() ? found.caps : only_used_features(found.caps, tables);
  state->info = found.info;
  state->tables.assign(tables.begin(), tables.end());
  state->message = kept_messages(options.message);
  if (!options.no_cache && !*no_cache) state->cache_folder = cache_folder();
  const std::string& name = state->info.name;

  std::uint32_t count = 0;
  fi.vkGetPhysicalDeviceQueueFamilyProperties(state->physical, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  fi.vkGetPhysicalDeviceQueueFamilyProperties(state->physical, &count, families.data());
  const auto family = std::find_if(families.begin(), families.end(), [](const auto& q) {
    return (q.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0 && q.queueCount > 0;
  });
  if (family == families.end()) {
    return Error{ErrorCode::kUnsupported, name + " has no queue for compute work"};
  }
  state->queue_family = static_cast<std::uint32_t>(family - families.begin());
  state->timestamp_bits = family->timestampValidBits;
  VkPhysicalDeviceProperties props{};
  fi.vkGetPhysicalDeviceProperties(state->physical, &props);
  state->timestamp_ns = props.limits.timestampPeriod;
  if (state->info.type != "cpu") state->submission_ms = 500;  // nobody watches a software device
  fi.vkGetPhysicalDeviceMemoryProperties(state->physical, &state->memory);

  FeatureChain chain(state->caps.api_version, state->caps.extensions, &state->caps);
  std::vector<const char*> extensions = chain.extensions();
  // Vulkan demands this one wherever it is offered (MoltenVK).
  if (state->caps.extensions.contains("VK_KHR_portability_subset")) {
    extensions.push_back("VK_KHR_portability_subset");
  }
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue_info{};
  queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue_info.queueFamilyIndex = state->queue_family;
  queue_info.queueCount = 1;
  queue_info.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue_info;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  if (fi.vkGetPhysicalDeviceFeatures2 != nullptr) {
    info.pNext = &chain.base;
  } else {
    info.pEnabledFeatures = &chain.base.features;
  }
  const VkResult created =
      made(fi.vkCreateDevice(state->physical, &info, nullptr, &state->device), &state->device);
  if (created != VK_SUCCESS) return vk_error("vkCreateDevice on " + name, created);

  if (auto s = state->load(0); !s) return std::move(s).error();
  return state;
}

}  // namespace

Result<std::vector<DeviceInfo>> list_devices(const MessageCallback& message) {
  return guarded([&] { return all_infos(message); });
}

Result<Device> Device::State::open(const DeviceOptions& options) {
  auto wanted = wanted_backend(options);
  if (!wanted) return std::move(wanted).error();
  if (*wanted == "vulkan" || (*wanted == "auto" && asks_for_kernels(options))) {
    return open_device(options, open_table());
  }
  auto cpu = Result<const CpuBackend*>(nullptr);
  if (*wanted == "cpu") {
    if (options.index || !options.name.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   "the CPU backend is asked for together with a Vulkan device; leave one out"};
    }
    cpu = open_cpu_backend();
    if (!cpu) return std::move(cpu).error();
    return on_cpu(**cpu);
  }
  const bool named = names_device(options);
  const auto table = open_table();
  auto rules = Result<DeviceRules>(DeviceRules{});
  if (table) rules = device_rules(*table);
  if (!rules) return std::move(rules).error();
  auto state = open_state(options, tables_of(table), [&](const DeviceInfo& info) {
    if (named || backend_for(rules->backends, info.type).use == BackendKind::kVulkan) return true;
    cpu = open_cpu_backend();
    return !cpu;  // a slow device is better than none
  });
  if (!state) {
    // A wrong wish is told, not passed over.
    if (named || state.error().code == ErrorCode::kInvalidArgument) {
      return std::move(state).error();
    }
    cpu = open_cpu_backend();
    if (cpu) {
      // A machine without Vulkan is as it should be; one whose driver fails is not.
      if (options.message && state.error().code != ErrorCode::kNoVulkan) {
        options.message(Severity::kWarning,
                        "the CPU runs in place of the device: " + state.error().message);
      }
      return on_cpu(**cpu);
    }
    return Error{state.error().code, state.error().message + "\n" + cpu.error().message};
  }
  if (*state == nullptr) return on_cpu(**cpu);
  Device device = wrap(*std::move(state));
  auto backends = std::make_shared<Backends>();
  backends->fall_back = true;
  device.backends_ = std::move(backends);
  return device;
}

Device Device::State::on_cpu(const CpuBackend& backend) {
  auto backends = std::make_shared<Backends>();
  backends->info = backend.info();
  Device device;
  device.backends_ = std::move(backends);
  return device;
}

Result<Device> Device::open(const DeviceOptions& options) {
  return guarded([&] { return State::open(options); });
}

void forget_abandoned_devices() {
  const std::lock_guard lock(abandoned_devices().mutex);
  abandoned_devices().devices.clear();
}

Result<Device> open_device(const DeviceOptions& options, const Result<Table>& table) {
  return open_device(options, tables_of(table));
}

Result<Device> open_device(const DeviceOptions& options, std::span<const Table> tables) {
  auto state = guarded([&] { return open_state(options, tables); });
  if (!state) return std::move(state).error();
  return Device::State::wrap(*std::move(state));
}

const DeviceInfo& Device::info() const {
  static const DeviceInfo nothing;
  if (state_ != nullptr) return state_->info;
  return backends_ != nullptr ? backends_->info : nothing;
}

std::uint64_t Device::validation_message_count() const {
  if (!state_) return 0;
  return state_->instance->sink().count.load(std::memory_order_relaxed);
}

Device Device::State::wrap(std::shared_ptr<State> state) {
  Device device;
  device.state_ = std::move(state);
  device.backends_ = std::make_shared<const Backends>();
  return device;
}

Status Device::State::load(std::uint32_t queue_index) {
  {
    // What is new would wait behind what is old, and be blamed for it.
    const std::lock_guard lock(abandoned_devices().mutex);
    if (abandoned_devices().devices.contains(hardware(caps, info))) {
      return Error{ErrorCode::kVulkan, info.name +
                                           " is still at work that did not end in time, of a "
                                           "device that this process had before. Start the "
                                           "program again to go on with it"};
    }
  }
  const InstanceFunctions& fi = instance->functions();
  std::string missing;
#define SPIRKILN_LOAD(fn)                                                 \
  f.fn = reinterpret_cast<PFN_##fn>(fi.vkGetDeviceProcAddr(device, #fn)); \
  if (f.fn == nullptr) missing += " " #fn;
  SPIRKILN_VK_DEVICE(SPIRKILN_LOAD)
#undef SPIRKILN_LOAD
  if (!missing.empty()) return Error{ErrorCode::kUnsupported, info.name + " lacks" + missing};
  f.vkGetDeviceQueue(device, queue_family, queue_index, &queue);
  pipelines = PipelineStore::create(*this);
  proofs = std::make_unique<Proofs>();
  return Ok{};
}

Device::State::State() = default;

Device::State::~State() {
  if (device == VK_NULL_HANDLE) return;
  if (!may_destroy()) {
    pipelines.reset();
    const std::lock_guard lock(abandoned_devices().mutex);
    abandoned_devices().instances.push_back(std::move(instance));
    return;
  }
  // Whoever used a caller's device has waited for what it submitted.
  if (f.vkDeviceWaitIdle != nullptr && !is_foreign) f.vkDeviceWaitIdle(device);
  pipelines.reset();
  if (!is_foreign && f.vkDestroyDevice != nullptr) f.vkDestroyDevice(device, nullptr);
}

Error Device::State::error(const std::string& what, VkResult code) {
  if (code == VK_ERROR_DEVICE_LOST) {
    lost.store(true, std::memory_order_relaxed);
    return Error{ErrorCode::kVulkan, what + " failed: VK_ERROR_DEVICE_LOST on " + info.name +
                                         ". Open the device again to go on"};
  }
  return vk_error(what, code);
}

void Device::State::abandon() {
  {
    const std::lock_guard lock(abandoned_devices().mutex);
    abandoned_devices().devices.insert(hardware(caps, info));
  }
  abandoned.store(true);
  lost.store(true);
}

Error Device::State::lost_error() const {
  if (!may_destroy()) {
    return Error{ErrorCode::kVulkan, info.name +
                                         " did not end the work of an earlier call, and may still "
                                         "be at it. Start the program again to go on with it"};
  }
  return Error{ErrorCode::kVulkan, info.name +
                                       " was lost in an earlier call (VK_ERROR_DEVICE_LOST). Open "
                                       "the device again to go on"};
}

}  // namespace spirkiln
