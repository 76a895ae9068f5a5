// SPDX-License-Identifier: Apache-2.0
#include "loader/choose.hpp"

#include <cctype>
#include <cstdlib>

#include "table/printable.hpp"

namespace spirkiln {
namespace {

int rank(const std::string& type) {
  if (type == "discrete") return 0;
  if (type == "integrated") return 1;
  if (type == "virtual") return 2;
  if (type == "cpu") return 3;
  return 4;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string describe(const std::vector<FoundDevice>& all) {
  std::string text;
  for (const FoundDevice& c : all) {
    text += "\n  " + std::to_string(c.info.index) + ": " + c.info.name + " (" + c.info.type + ")";
  }
  return text;
}

}  // namespace

DeviceInfo make_info(const DeviceCaps& caps, std::uint32_t api_version, std::uint32_t index) {
  DeviceInfo info;
  info.backend = "vulkan";
  info.index = index;
  info.name = caps.name;
  info.driver = caps.driver;
  info.type = caps.type;
  info.api_version = api_version;
  info.vendor_id = caps.vendor_id;
  info.device_id = caps.device_id;
  info.device_local_bytes = caps.device_local_bytes;
  info.storage16 = caps.storage16;
  info.float16 = caps.float16;
  info.uniform_storage16 = caps.uniform_storage16;
  info.int16 = caps.int16;
  info.int64 = caps.int64;
  info.subgroup_size = caps.subgroup_size;
  return info;
}

Result<std::vector<FoundDevice>> find_devices(const Instance& instance) {
  auto handles = instance.devices();
  if (!handles) return std::move(handles).error();
  std::vector<FoundDevice> all;
  for (std::size_t i = 0; i < handles->size(); ++i) {
    FoundDevice c;
    c.handle = (*handles)[i];
    auto caps = instance.query(c.handle);
    if (!caps) return std::move(caps).error();
    c.caps = *std::move(caps);
    VkPhysicalDeviceProperties props{};
    instance.functions().vkGetPhysicalDeviceProperties(c.handle, &props);
    c.info = make_info(c.caps, props.apiVersion, static_cast<std::uint32_t>(i));
    all.push_back(std::move(c));
  }
  return all;
}

Result<std::size_t> choose_device(const std::vector<FoundDevice>& all,
                                  const DeviceOptions& options) {
  std::optional<std::uint32_t> index = options.index;
  std::string name = options.name;
  std::string origin = "the device that was asked for";
  if (!index && name.empty()) {
    if (const char* text = std::getenv("SPIRKILN_DEVICE"); text != nullptr && *text != '\0') {
      origin = "$SPIRKILN_DEVICE";
      char* end = nullptr;
      const unsigned long n = std::strtoul(text, &end, 10);
      const bool number = std::isdigit(static_cast<unsigned char>(*text)) && *end == '\0';
      if (number && n <= 0xffff) {
        index = static_cast<std::uint32_t>(n);
      } else {
        name = text;
      }
    }
  }
  if (index) {
    if (*index < all.size()) return std::size_t{*index};
    return Error{ErrorCode::kInvalidArgument, origin + " has index " + std::to_string(*index) +
                                                  ", but the devices are:" + describe(all)};
  }
  const FoundDevice* best = nullptr;
  for (const FoundDevice& c : all) {
    if (!name.empty() && lower(c.info.name).find(lower(name)) == std::string::npos) continue;
    if (best == nullptr || rank(c.info.type) < rank(best->info.type)) best = &c;
  }
  if (best != nullptr) return static_cast<std::size_t>(best - all.data());
  return Error{ErrorCode::kInvalidArgument,
               origin + " is \"" + printable(name) + "\", but the devices are:" + describe(all)};
}

}  // namespace spirkiln
