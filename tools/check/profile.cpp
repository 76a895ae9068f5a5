// SPDX-License-Identifier: Apache-2.0
#include "profile.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <limits>

#include "profile_parser.hpp"
#include "read_file.hpp"
#include "shown.hpp"
#include "toml_depth.hpp"

namespace spirkiln::check {
namespace {

constexpr std::uint64_t kMaxBytes = 1 << 20;
constexpr std::string_view kTopKeys[] = {
    "name",     "deviceType", "apiVersion",    "driver",      "driverID",          "vendorID",
    "deviceID", "source",     "driverVersion", "assumed",     "extensions",        "features",
    "limits",   "subgroup",   "floatControls", "memoryHeaps", "cooperativeMatrix", "memory"};

}  // namespace

Result<DeviceProfile> ProfileParser::parse() {
  if (const auto deep = tool::find_deep_key(text_)) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{}:{}:{}: error: a key of more than {} parts; those of a profile have "
                    "at most two",
                    tool::shown(profile_.path), deep->line, deep->column, tool::kMaxKeyParts)};
  }
  toml::table root;
  try {
    root = toml::parse(text_, profile_.path);
  } catch (const toml::parse_error& e) {
    fail(e.source(), std::string(e.description()));
    return result();
  }
  check_keys(root, kTopKeys, "a profile");
  // The version and the extensions first: they decide what else the loader would see.
  read_strings(root);
  read_list(root, "extensions", false, [&](const toml::node& item, std::string value) {
    if (!value.starts_with("VK_")) {
      fail(item.source(), fmt::format("'{}': extensions are named VK_...", value));
    } else if (!caps().extensions.insert(std::move(value)).second) {
      fail(item.source(), "this extension is listed twice");
    }
  });
  caps().spirv_version =
      newest_spirv(caps().api_version, caps().extensions.contains("VK_KHR_spirv_1_4"));
  read_driver(root);
  read_list(root, "source", true, [&](const toml::node&, std::string value) {
    profile_.source.push_back(std::move(value));
  });
  if (!root.contains("source")) {
    fail_at_end("a profile without 'source': say where its values come from");
  }
  if (const auto* t = table_of(root, "features")) read_features(*t);
  if (const auto* t = table_of(root, "limits")) read_limits(*t);
  if (const auto* t = table_of(root, "subgroup")) read_subgroup(*t);
  if (const auto* t = table_of(root, "floatControls")) read_float_controls(*t);
  if (const auto* t = table_of(root, "memory")) read_memory(*t);
  read_matrices(root);
  read_heaps(root);
  read_list(root, "assumed", false, [&](const toml::node& item, std::string value) {
    if (!given_.contains(value)) {
      fail(item.source(), fmt::format("'{}' is assumed, but the profile does not set it", value));
    }
    profile_.assumed.push_back(std::move(value));
  });
  return result();
}

Result<DeviceProfile> ProfileParser::result() {
  std::stable_sort(errors_.begin(), errors_.end(), [](const Mistake& a, const Mistake& b) {
    return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
  });
  std::string text;
  const auto add = [&](std::uint32_t line, std::uint32_t column, const std::string& what) {
    text += fmt::format("{}{}:{}:{}: error: {}", text.empty() ? "" : "\n",
                        tool::shown(profile_.path), line, column, what);
  };
  for (const Mistake& m : errors_) add(m.at.line, m.at.column, m.text);
  for (const std::string& what : errors_at_end_) add(1, 1, what);
  if (!text.empty()) return Error{ErrorCode::kInvalidArgument, text};
  return std::move(profile_);
}

std::string ProfileParser::string_of(const toml::node& node, std::string_view key) {
  if (const auto* s = node.as_string(); s != nullptr && !s->get().empty()) return s->get();
  fail(node.source(), fmt::format("'{}' must be a string that is not empty", key));
  return {};
}

std::optional<bool> ProfileParser::bool_of(const toml::node& node, std::string_view key) {
  if (const auto* value = node.as_boolean()) return value->get();
  fail(node.source(), fmt::format("'{}' must be true or false", key));
  return std::nullopt;
}

std::optional<std::uint32_t> ProfileParser::word_of(const toml::node& node, std::string_view key,
                                                    std::uint32_t least) {
  const auto* value = node.as_integer();
  if (value != nullptr && value->get() >= least &&
      value->get() <= std::numeric_limits<std::uint32_t>::max()) {
    return static_cast<std::uint32_t>(value->get());
  }
  fail(node.source(),
       fmt::format("'{}' must be a whole number of at least {}, of at most 32 bits", key, least));
  return std::nullopt;
}

std::optional<std::uint32_t> ProfileParser::value_of(const toml::node& node, std::string_view key,
                                                     std::span<const ValueName> names) {
  if (node.is_integer()) return word_of(node, key, 0);
  const std::string text = string_of(node, key);
  if (text.empty()) return std::nullopt;
  for (const ValueName& n : names) {
    if (n.name == text) return n.value;
  }
  fail(node.source(), fmt::format("'{}' is '{}', which is unknown; the nearest is '{}'", key, text,
                                  nearest_name(text, names_of(names))));
  return std::nullopt;
}

void ProfileParser::needs(const toml::node& node, std::string_view what, std::uint32_t core,
                          std::string_view extension) {
  if (sees(core, extension)) return;
  fail(node.source(), fmt::format("{} can only be seen from Vulkan {} on or with {}", what,
                                  version_text(core), extension));
}

std::vector<const toml::table*> ProfileParser::tables_of(const toml::table& root,
                                                         std::string_view key) {
  std::vector<const toml::table*> tables;
  const toml::node* node = root.get(key);
  if (node == nullptr) return tables;
  const toml::array* list = node->as_array();
  if (list == nullptr || list->empty() || !list->is_array_of_tables()) {
    fail(node->source(), fmt::format("'{0}' must be written as [[{0}]]", key));
    return tables;
  }
  given_.insert(std::string(key));
  for (const toml::node& entry : *list) tables.push_back(entry.as_table());
  return tables;
}

const toml::table* ProfileParser::table_of(const toml::table& root, std::string_view key) {
  const toml::node* node = root.get(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) fail(node->source(), fmt::format("'{0}' must be a table: [{0}]", key));
  return node->as_table();
}

void ProfileParser::read_strings(const toml::table& root) {
  for (const std::string_view key : {"name", "deviceType", "apiVersion"}) {
    if (!root.contains(key)) fail_at_end(fmt::format("a profile without '{}'", key));
  }
  if (const auto* node = root.get("name")) caps().name = string_of(*node, "name");
  if (const auto* node = root.get("deviceType")) read_type(*node, string_of(*node, "deviceType"));
  if (const auto* node = root.get("apiVersion")) {
    read_version(*node, string_of(*node, "apiVersion"));
  }
}

void ProfileParser::read_driver(const toml::table& root) {
  if (const auto* node = root.get("driver")) caps().driver = string_of(*node, "driver");
  if (const auto* node = root.get("driverID")) {
    caps().driver_id = value_of(*node, "driverID", driver_ids()).value_or(0);
  }
  const std::pair<std::string_view, std::uint32_t DeviceCaps::*> words[] = {
      {"driverVersion", &DeviceCaps::driver_version},
      {"vendorID", &DeviceCaps::vendor_id},
      {"deviceID", &DeviceCaps::device_id},
  };
  for (const auto& [key, member] : words) {
    if (const auto* node = root.get(key)) caps().*member = word_of(*node, key, 0).value_or(0);
  }
}

void ProfileParser::read_type(const toml::node& node, const std::string& value) {
  if (value.empty()) return;
  std::string known;
  for (const DeviceTypeName& type : device_types()) {
    if (type.vulkan == value) {
      caps().type = type.caps;
      return;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", type.vulkan);
  }
  fail(node.source(), fmt::format("'deviceType' is '{}'; expected one of {}", value, known));
}

void ProfileParser::read_version(const toml::node& node, const std::string& value) {
  if (value.empty()) return;
  std::array<std::uint32_t, 3> part{};
  std::size_t count = 0;
  const char* at = value.data();
  const char* end = at + value.size();
  while (count < part.size()) {
    const auto [stop, code] = std::from_chars(at, end, part[count]);
    if (code != std::errc{}) break;
    ++count;
    at = stop;
    if (at == end || *at != '.') break;
    ++at;
  }
  if (at != end || count < 2 || value.back() == '.' || part[0] != 1 || part[1] > 99) {
    fail(node.source(),
         fmt::format("'apiVersion' is '{}'; expected \"1.3\" or \"1.3.128\"", value));
    return;
  }
  caps().api_version = std::min(make_version(part[0], part[1]), kNewestApi);
}

void ProfileParser::read_features(const toml::table& table) {
  check_keys(table, names_of(feature_keys()), "[features]");
  for (const FeatureKey& key : feature_keys()) {
    const toml::node* node = table.get(key.name);
    if (node == nullptr) continue;
    given_.insert(std::string(key.name));
    const auto value = bool_of(*node, key.name);
    if (!value) continue;
    if (*value && !sees(key.core, key.extension)) {
      fail(node->source(),
           fmt::format("'{}' can only be seen {}with {}", key.name,
                       key.core == 0 ? "" : "from Vulkan " + version_text(key.core) + " on or ",
                       key.extension));
    }
    caps().*key.member = *value;
  }
}

std::optional<std::uint64_t> ProfileParser::number(const toml::node& node, const LimitKey& key,
                                                   std::uint64_t guaranteed) {
  const auto* value = node.as_integer();
  if (value == nullptr || value->get() < 1) {
    fail(node.source(), fmt::format("'{}' must be a whole number above 0", key.name));
    return std::nullopt;
  }
  const auto n = static_cast<std::uint64_t>(value->get());
  if (key.alignment) {
    if (std::has_single_bit(n) && n <= guaranteed) return n;
    fail(node.source(),
         fmt::format("'{}' is {}; expected a power of two of at most {}", key.name, n, guaranteed));
    return std::nullopt;
  }
  if (n < guaranteed) {
    fail(node.source(), fmt::format("'{}' is {}; Vulkan guarantees {}", key.name, n, guaranteed));
    return std::nullopt;
  }
  if (key.u64 == nullptr && n > std::numeric_limits<std::uint32_t>::max()) {
    fail(node.source(), fmt::format("'{}' is {}, which is more than 32 bits", key.name, n));
    return std::nullopt;
  }
  return n;
}

void ProfileParser::read_limits(const toml::table& table) {
  check_keys(table, names_of(limit_keys()), "[limits]");
  std::set<const void*> seen;  // of two limits on one number the smaller counts
  for (const LimitKey& key : limit_keys()) {
    const toml::node* node = table.get(key.name);
    if (node == nullptr) continue;
    given_.insert(std::string(key.name));
    if (!key.partner.empty() && !table.contains(key.partner)) {
      fail(node->source(),
           fmt::format("'{}' without '{}'; the smaller of the two counts", key.name, key.partner));
    }
    if (caps().api_version < key.core) {
      fail(node->source(), fmt::format("'{}' can only be seen from Vulkan {} on", key.name,
                                       version_text(key.core)));
    }
    if (key.triple != nullptr) {
      read_triple(*node, key);
      continue;
    }
    const auto n = number(*node, key, key.guaranteed);
    if (!n) continue;
    if (key.u64 != nullptr) {
      caps().*key.u64 = key.alignment ? std::max<std::uint64_t>(*n, 16) : *n;
      continue;
    }
    std::uint32_t& value = caps().*key.u32;
    const auto narrow = static_cast<std::uint32_t>(*n);
    value = seen.insert(&value).second ? narrow : std::min(value, narrow);
  }
}

void ProfileParser::read_triple(const toml::node& node, const LimitKey& key) {
  const toml::array* list = node.as_array();
  if (list == nullptr || list->size() != 3) {
    fail(node.source(), fmt::format("'{}' must be a list of three numbers: [x, y, z]", key.name));
    return;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const auto n = number((*list)[i], key, i < 2 ? key.guaranteed : key.guaranteed_z);
    if (n) (caps().*key.triple)[i] = static_cast<std::uint32_t>(*n);
  }
}

Result<DeviceProfile> parse_profile(std::string_view text, const std::string& path) {
  return ProfileParser(text, path).parse();
}

Result<DeviceProfile> load_profile(const std::string& path) {
  auto bytes = tool::read_file(path, kMaxBytes);
  if (!bytes) return std::move(bytes).error();
  return parse_profile(*bytes, path);
}

}  // namespace spirkiln::check
