// SPDX-License-Identifier: Apache-2.0
#include "table/device_rules.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "loader/driver_names.hpp"
#include "table/checked_bytes.hpp"
#include "table/table_file.hpp"

namespace spirkiln {
namespace {

using namespace table;

std::vector<Form> forms_of(std::uint32_t bits) {
  std::vector<Form> forms;
  for (std::uint32_t storage = 0; storage <= static_cast<std::uint32_t>(Storage::kBf16);
       ++storage) {
    for (std::uint32_t rest = 0; rest < 4; ++rest) {
      const Form f{static_cast<Storage>(storage), static_cast<Arithmetic>(rest / 2),
                   static_cast<Resource>(rest % 2)};
      if ((bits & form_bit(f.storage, f.arithmetic, f.resource)) != 0) forms.push_back(f);
    }
  }
  return forms;
}

// The attachment's sections, with every offset checked.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // Empty where all is well, else what is wrong.
  std::string read(DeviceRules* out) {
    QuirksHeader h{};
    if (bytes_.size() < sizeof h) return "shorter than its header";
    std::memcpy(&h, bytes_.data(), sizeof h);
    if (h.version != kQuirksVersion) return "of another version";
    const auto strings = section_of<char>(bytes_, h.strings.offset, h.strings.count);
    const auto quirks = section_of<QuirkEntry>(bytes_, h.quirks.offset, h.quirks.count);
    const auto backends = section_of<BackendEntry>(bytes_, h.backends.offset, h.backends.count);
    if (!strings || !quirks || !backends) return "a section is out of bounds";
    if (std::max(quirks->size(), backends->size()) > kMaxQuirks) return "too many entries";
    strings_ = *strings;
    for (const QuirkEntry& q : *quirks) {
      for (const std::uint32_t s : {q.kernel, q.axis, q.value, q.reason, q.source}) {
        if (!string_in(strings_, s, kMaxStringBytes)) return "a quirk's string";
      }
      DeviceQuirk& next = out->quirks.emplace_back();
      next.devices = {q.vendor_id, q.first_device, q.last_device,
                      q.driver_id, q.first_driver, q.last_driver};
      next.quirk = {text(q.kernel),    text(q.axis),   text(q.value),
                    forms_of(q.forms), text(q.reason), text(q.source)};
    }
    for (const BackendEntry& b : *backends) {
      if (!string_in(strings_, b.reason, kMaxStringBytes)) return "a backend's string";
      if (b.use > 1) return "a backend that is none";
      out->backends.push_back(
          {b.types, b.use == 0 ? BackendKind::kVulkan : BackendKind::kCpu, text(b.reason)});
    }
    return {};
  }

 private:
  std::string text(std::uint32_t offset) const { return strings_.data() + offset; }

  std::span<const std::byte> bytes_;
  std::span<const char> strings_;
};

}  // namespace

bool QuirkDevices::have(const DeviceCaps& caps) const {
  return (vendor_id == 0 || vendor_id == caps.vendor_id) &&
         (driver_id == 0 || driver_id == caps.driver_id) && caps.device_id >= first_device &&
         caps.device_id <= last_device && caps.driver_version >= first_driver &&
         caps.driver_version <= last_driver;
}

Result<DeviceRules> device_rules(const Table& table) {
  DeviceRules rules;
  const auto bytes = table.attachment(kQuirksName);
  if (!bytes) return bytes.error();
  if (bytes->empty()) return rules;
  if (const std::string wrong = Reader(*bytes).read(&rules); !wrong.empty()) {
    return corrupt_table(table.origin(), "its quirks: " + wrong);
  }
  return rules;
}

Result<SelectRules> select_rules(const Table& table, const DeviceCaps& caps, Wishes wishes) {
  auto all = device_rules(table);
  if (!all) return std::move(all).error();
  SelectRules rules;
  for (DeviceQuirk& q : all->quirks) {
    if (q.devices.have(caps)) rules.quirks.push_back(std::move(q.quirk));
  }
  rules.wishes = std::move(wishes);
  return rules;
}

BackendRule backend_for(const std::vector<BackendRule>& rules, std::string_view type) {
  const auto* word = std::find_if(std::begin(kDeviceTypeWords), std::end(kDeviceTypeWords),
                                  [&](const DeviceTypeWord& w) { return w.type == type; });
  const auto bit =
      word != std::end(kDeviceTypeWords) ? 1u << (word - std::begin(kDeviceTypeWords)) : 0u;
  for (const BackendRule& rule : rules) {
    if (rule.types == ~0u || (rule.types & bit) != 0) return rule;
  }
  return {};
}

}  // namespace spirkiln
