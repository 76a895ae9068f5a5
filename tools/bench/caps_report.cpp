// SPDX-License-Identifier: Apache-2.0
#include "caps_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "profile_write.hpp"
#include "quoted.hpp"
#include "shown.hpp"

namespace spirkiln::bench {
namespace {

constexpr std::size_t kLabel = 14;  // columns
constexpr std::size_t kWidth = 100;

std::string line(std::string_view label, std::string_view text) {
  return fmt::format("  {:{}}{}\n", label, kLabel, text);
}

// As many lines as the words need.
std::string wrapped(std::string_view label, const std::vector<std::string>& words) {
  if (words.empty()) return line(label, "none");
  std::string out, current;
  for (const std::string& word : words) {
    if (!current.empty() && 2 + kLabel + current.size() + 1 + word.size() > kWidth) {
      out += line(out.empty() ? label : "", current);
      current.clear();
    }
    current += (current.empty() ? "" : " ") + word;
  }
  return out + line(out.empty() ? label : "", current);
}

std::string version_text(std::uint32_t version, unsigned minor_shift, unsigned major_shift,
                         std::uint32_t mask) {
  return fmt::format("{}.{}", version >> major_shift, version >> minor_shift & mask);
}
std::string vulkan_text(std::uint32_t version) { return version_text(version, 12, 22, 0x3ff); }
std::string spirv_text(std::uint32_t version) { return version_text(version, 8, 16, 0xff); }

// What a module may ask for.
std::string floats_text(const FloatControls& controls) {
  std::vector<std::string_view> all;
  if (controls.denorm_preserve) all.push_back("denormals kept");
  if (controls.denorm_flush_to_zero) all.push_back("denormals to zero");
  if (controls.rounding_rte) all.push_back("rounding to nearest even");
  if (controls.rounding_rtz) all.push_back("rounding toward zero");
  if (controls.signed_zero_inf_nan_preserve) all.push_back("signed zero, infinity and NaN kept");
  return all.empty() ? "no choice" : fmt::format("{}", fmt::join(all, "; "));
}

std::string subgroup_text(const DeviceCaps& caps) {
  if (caps.subgroup_size == 0) return line("subgroups", "unknown: Vulkan 1.0");
  std::string text = fmt::format("{} lanes", caps.subgroup_size);
  if (caps.max_subgroup_size != 0) {
    text += fmt::format(", {} to {}, at most {} in a workgroup", caps.min_subgroup_size,
                        caps.max_subgroup_size, caps.max_group_subgroups);
  }
  const auto pinned = pinned_subgroup_sizes(caps);
  text += pinned.empty() ? "; no size can be pinned"
                         : fmt::format("; may be pinned to {}", fmt::join(pinned, ", "));
  std::vector<std::string> operations;
  for (const auto& operation : check::subgroup_operations()) {
    if ((caps.subgroup_operations & operation.bit) != 0) operations.emplace_back(operation.name);
  }
  return line("subgroups", text) + wrapped("", operations);
}

std::string matrix_text(const MatrixShape& s) {
  const auto type = [](std::uint32_t t) { return check::name_of(check::component_types(), t); };
  return fmt::format("{}x{}x{} {}*{}+{}={}{}", s.m, s.n, s.k, type(s.a), type(s.b), type(s.c),
                     type(s.result), s.saturating ? ",saturating" : "");
}

std::string limits_text(const DeviceCaps& caps) {
  std::string text = "  limits\n";
  for (const auto& table : check::profile_tables(caps)) {
    if (table.name != "limits") continue;
    for (const auto& [key, value] : table.entries) {
      // Of a stage's and a set's limit the smaller counts; it is said once.
      if (key.starts_with("maxDescriptorSet")) continue;
      text += fmt::format("    {:36} {}\n", key, value);
    }
  }
  return text;
}

}  // namespace

std::string caps_text(std::uint32_t index, const DeviceCaps& caps) {
  std::string text = fmt::format("{}: {}\n", index, tool::shown(caps.name));
  text += line("driver", tool::shown(caps.driver));
  text += line(
      "", fmt::format("{}, version {:#010x}", check::name_of(check::driver_ids(), caps.driver_id),
                      caps.driver_version));
  text += line("device", fmt::format("{}, vendor {:#06x}, device {:#06x}", caps.type,
                                     caps.vendor_id, caps.device_id));
  text +=
      line("versions", fmt::format("Vulkan {}, modules up to SPIR-V {}",
                                   vulkan_text(caps.api_version), spirv_text(caps.spirv_version)));
  std::vector<std::string> has, lacks;
  for (const auto& key : check::feature_keys()) {
    (caps.*key.member ? has : lacks).emplace_back(key.name);
  }
  text += wrapped("features", has) + wrapped("lacks", lacks) + subgroup_text(caps);
  for (std::size_t i = 0; i < std::size(check::kFloatWidths); ++i) {
    text += line(fmt::format("{}-bit floats", check::kFloatWidths[i]),
                 floats_text(caps.float_controls[i]));
  }
  const auto independence = [](FloatIndependence value) {
    return check::name_of(check::independences(), static_cast<std::uint32_t>(value));
  };
  text += line("", fmt::format("denormals differ between widths: {}; rounding: {}",
                               independence(caps.denorm_independence),
                               independence(caps.rounding_independence)));
  std::vector<std::string> shapes;
  for (const MatrixShape& shape : caps.matrix_shapes) shapes.push_back(matrix_text(shape));
  text += wrapped("matrices", shapes);
  std::vector<std::string> heaps;
  for (const MemoryHeap& heap : caps.heaps) {
    heaps.push_back(
        fmt::format("{} MiB {}", heap.bytes >> 20, heap.device_local ? "local" : "host"));
  }
  text += line("memory", fmt::format("{}", fmt::join(heaps, ", ")));
  text += line("extensions", fmt::format("{}", caps.extensions.size()));
  return text + limits_text(caps);
}

std::string caps_json(const std::vector<FoundDevice>& devices) {
  std::string text = "[";
  for (const FoundDevice& device : devices) {
    text += fmt::format(
        "{}\n{{\"index\": {}, \"spirvVersion\": \"{}\", \"pinnedSubgroupSizes\": [{}]",
        text.size() > 1 ? "," : "", device.info.index, spirv_text(device.caps.spirv_version),
        fmt::join(pinned_subgroup_sizes(device.caps), ", "));
    std::string open;  // the list of repeated tables that is not closed yet
    for (const auto& table : check::profile_tables(device.caps)) {
      if (!open.empty() && table.name != open) text += "]", open.clear();
      std::string object;
      for (const auto& [key, value] : table.entries) {
        object += fmt::format("{}\"{}\": {}", object.empty() ? "" : ", ", key, value);
      }
      if (table.name.empty()) {
        text += ", " + object;
      } else if (!table.repeated) {
        text += fmt::format(",\n \"{}\": {{{}}}", table.name, object);
      } else if (table.name == open) {
        text += fmt::format(", {{{}}}", object);
      } else {
        text += fmt::format(",\n \"{}\": [{{{}}}", table.name, object);
        open = table.name;
      }
    }
    text += open.empty() ? "}" : "]}";
  }
  return text + "\n]\n";
}

std::string caps_profile(const DeviceCaps& caps) {
  check::DeviceProfile profile;
  profile.source = {"spirkiln-bench caps " SPIRKILN_VERSION ": every value"};
  profile.caps = caps;
  return check::write_profile(profile);
}

}  // namespace spirkiln::bench
