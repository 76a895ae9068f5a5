// SPDX-License-Identifier: Apache-2.0
#include "profile.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <optional>
#include <set>

#include "nearest_name.hpp"
#include "profile_keys.hpp"
#include "read_file.hpp"
#include "shown.hpp"
#include "toml_depth.hpp"

namespace spirkiln::check {
namespace {

constexpr std::uint64_t kMaxBytes = 1 << 20;
constexpr std::string_view kTopKeys[] = {"name",   "deviceType", "apiVersion", "driver",
                                         "source", "assumed",    "extensions", "features",
                                         "limits", "subgroup",   "memoryHeaps"};
constexpr std::string_view kSubgroupKeys[] = {"subgroupSize", "supportedOperations"};
constexpr std::string_view kHeapKeys[] = {"size", "flags"};
constexpr std::string_view kHeapFlags[] = {"DEVICE_LOCAL"};

template <typename Entries>
std::vector<std::string_view> names_of(const Entries& entries) {
  std::vector<std::string_view> names;
  for (const auto& e : entries) names.push_back(e.name);
  return names;
}

std::string version_text(std::uint32_t v) {
  return fmt::format("{}.{}", v >> 22, (v >> 12) & 0x3ff);
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& path) : text_(text) { profile_.path = path; }

  Result<DeviceProfile> parse() {
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
    read_strings(root, "name", "deviceType", "apiVersion");
    read_list(root, "extensions", false, [&](const toml::node& item, std::string value) {
      if (!value.starts_with("VK_")) {
        fail(item.source(), fmt::format("'{}': extensions are named VK_...", value));
      } else if (!caps().extensions.insert(std::move(value)).second) {
        fail(item.source(), "this extension is listed twice");
      }
    });
    caps().spirv_version =
        newest_spirv(caps().api_version, caps().extensions.contains("VK_KHR_spirv_1_4"));
    if (const auto* driver = root.get("driver")) caps().driver = string_of(*driver, "driver");
    read_list(root, "source", true, [&](const toml::node&, std::string value) {
      profile_.source.push_back(std::move(value));
    });
    if (!root.contains("source")) {
      fail_at_end("a profile without 'source': say where its values come from");
    }
    if (const auto* t = table_of(root, "features")) read_features(*t);
    if (const auto* t = table_of(root, "limits")) read_limits(*t);
    if (const auto* t = table_of(root, "subgroup")) read_subgroup(*t);
    read_heaps(root);
    read_list(root, "assumed", false, [&](const toml::node& item, std::string value) {
      if (!given_.contains(value)) {
        fail(item.source(), fmt::format("'{}' is assumed, but the profile does not set it", value));
      }
      profile_.assumed.push_back(std::move(value));
    });
    return result();
  }

 private:
  struct Mistake {
    toml::source_position at;
    std::string text;
  };

  DeviceCaps& caps() { return profile_.caps; }

  void fail(const toml::source_region& where, std::string text) {
    errors_.push_back({where.begin, std::move(text)});
  }
  // What is missing has no place of its own.
  void fail_at_end(std::string text) { errors_at_end_.push_back(std::move(text)); }

  Result<DeviceProfile> result() {
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

  template <typename Names>
  void check_keys(const toml::table& table, const Names& known, std::string_view where) {
    for (const auto& [key, node] : table) {
      const std::string_view name = key.str();
      if (std::find(std::begin(known), std::end(known), name) != std::end(known)) continue;
      fail(key.source(), fmt::format("unknown key '{}' in {}; the nearest is '{}'", name, where,
                                     nearest_name(name, known)));
    }
  }

  std::string string_of(const toml::node& node, std::string_view key) {
    if (const auto* s = node.as_string(); s != nullptr && !s->get().empty()) return s->get();
    fail(node.source(), fmt::format("'{}' must be a string that is not empty", key));
    return {};
  }

  const toml::table* table_of(const toml::table& root, std::string_view key) {
    const toml::node* node = root.get(key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) fail(node->source(), fmt::format("'{0}' must be a table: [{0}]", key));
    return node->as_table();
  }

  // Calls `item` for each string of a list; where `one_is_fine`, a string is a list of one.
  template <typename Item>
  void read_list(const toml::table& root, std::string_view key, bool one_is_fine,
                 const Item& item) {
    const toml::node* node = root.get(key);
    if (node == nullptr) return;
    if (one_is_fine && node->is_string()) {
      if (std::string s = string_of(*node, key); !s.empty()) item(*node, std::move(s));
      return;
    }
    const toml::array* list = node->as_array();
    if (list == nullptr || (one_is_fine && list->empty())) {
      fail(node->source(),
           fmt::format("'{}' must be a {}list of strings", key, one_is_fine ? "string or a " : ""));
      return;
    }
    for (const toml::node& entry : *list) {
      if (std::string s = string_of(entry, key); !s.empty()) item(entry, std::move(s));
    }
  }

  void read_strings(const toml::table& root, std::string_view name, std::string_view type,
                    std::string_view version) {
    for (const std::string_view key : {name, type, version}) {
      if (!root.contains(key)) fail_at_end(fmt::format("a profile without '{}'", key));
    }
    if (const toml::node* node = root.get(name)) caps().name = string_of(*node, name);
    if (const toml::node* node = root.get(type)) read_type(*node, string_of(*node, type));
    if (const toml::node* node = root.get(version)) read_version(*node, string_of(*node, version));
  }

  void read_type(const toml::node& node, const std::string& value) {
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

  // "1.3" or "1.3.128".
  void read_version(const toml::node& node, const std::string& value) {
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

  bool sees(std::uint32_t core, std::string_view extension) const {
    if (core != 0 && profile_.caps.api_version >= core) return true;
    return !extension.empty() && profile_.caps.extensions.contains(extension);
  }

  void read_features(const toml::table& table) {
    check_keys(table, names_of(feature_keys()), "[features]");
    for (const FeatureKey& key : feature_keys()) {
      const toml::node* node = table.get(key.name);
      if (node == nullptr) continue;
      given_.insert(std::string(key.name));
      const auto* value = node->as_boolean();
      if (value == nullptr) {
        fail(node->source(), fmt::format("'{}' must be true or false", key.name));
        continue;
      }
      if (value->get() && !sees(key.core, key.extension)) {
        fail(node->source(),
             fmt::format("'{}' can only be seen {}with {}", key.name,
                         key.core == 0 ? "" : "from Vulkan " + version_text(key.core) + " on or ",
                         key.extension));
      }
      caps().*key.member = value->get();
    }
  }

  // The value in the range that the key has, or nothing after an error.
  std::optional<std::uint64_t> number(const toml::node& node, const LimitKey& key,
                                      std::uint64_t guaranteed) {
    const auto* value = node.as_integer();
    if (value == nullptr || value->get() < 1) {
      fail(node.source(), fmt::format("'{}' must be a whole number above 0", key.name));
      return std::nullopt;
    }
    const auto n = static_cast<std::uint64_t>(value->get());
    if (key.alignment) {
      if (std::has_single_bit(n) && n <= guaranteed) return n;
      fail(node.source(), fmt::format("'{}' is {}; expected a power of two of at most {}", key.name,
                                      n, guaranteed));
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

  void read_limits(const toml::table& table) {
    check_keys(table, names_of(limit_keys()), "[limits]");
    std::set<const void*> seen;  // of two limits on one number the smaller counts
    for (const LimitKey& key : limit_keys()) {
      const toml::node* node = table.get(key.name);
      if (node == nullptr) continue;
      given_.insert(std::string(key.name));
      if (!key.partner.empty() && !table.contains(key.partner)) {
        fail(node->source(), fmt::format("'{}' without '{}'; the smaller of the two counts",
                                         key.name, key.partner));
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

  void read_triple(const toml::node& node, const LimitKey& key) {
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

  void read_subgroup(const toml::table& table) {
    check_keys(table, kSubgroupKeys, "[subgroup]");
    if (caps().api_version < make_version(1, 1)) {
      fail(table.source(), "[subgroup] can only be seen from Vulkan 1.1 on");
    }
    if (const toml::node* node = table.get("subgroupSize")) {
      given_.insert("subgroupSize");
      const auto* value = node->as_integer();
      if (value == nullptr || value->get() < 1 || value->get() > 128 ||
          !std::has_single_bit(static_cast<std::uint64_t>(value->get()))) {
        fail(node->source(), "'subgroupSize' must be a power of two from 1 to 128");
      } else {
        caps().subgroup_size = static_cast<std::uint32_t>(value->get());
      }
    } else {
      fail(table.source(), "[subgroup] without 'subgroupSize'");
    }
    if (table.contains("supportedOperations")) given_.insert("supportedOperations");
    read_list(table, "supportedOperations", false, [&](const toml::node& item, std::string value) {
      for (const SubgroupOperation& operation : subgroup_operations()) {
        if (operation.name != value) continue;
        caps().subgroup_operations |= operation.bit;
        return;
      }
      fail(item.source(), fmt::format("unknown operation '{}'; the nearest is '{}'", value,
                                      nearest_name(value, names_of(subgroup_operations()))));
    });
  }

  void read_heaps(const toml::table& root) {
    const toml::node* node = root.get("memoryHeaps");
    if (node == nullptr) return;
    const toml::array* heaps = node->as_array();
    if (heaps == nullptr || heaps->empty() || !heaps->is_array_of_tables()) {
      fail(node->source(), "'memoryHeaps' must be written as [[memoryHeaps]]");
      return;
    }
    given_.insert("memoryHeaps");
    caps().unified_memory = true;
    for (const toml::node& heap : *heaps) read_heap(*heap.as_table());
  }

  void read_heap(const toml::table& table) {
    check_keys(table, kHeapKeys, "[[memoryHeaps]]");
    const toml::node* size = table.get("size");
    const auto* value = size != nullptr ? size->as_integer() : nullptr;
    if (value == nullptr || value->get() < 1) {
      fail(size != nullptr ? size->source() : table.source(),
           "[[memoryHeaps]] needs 'size', its bytes");
      return;
    }
    bool local = false;
    read_list(table, "flags", false, [&](const toml::node& item, const std::string& flag) {
      if (flag == kHeapFlags[0]) {
        local = true;
      } else {
        fail(item.source(),
             fmt::format("unknown flag '{}'; the only one is '{}'", flag, kHeapFlags[0]));
      }
    });
    if (local) caps().device_local_bytes += static_cast<std::uint64_t>(value->get());
    caps().unified_memory = caps().unified_memory && local;
  }

  std::string_view text_;
  DeviceProfile profile_;
  std::set<std::string, std::less<>> given_;
  std::vector<Mistake> errors_;
  std::vector<std::string> errors_at_end_;
};

}  // namespace

Result<DeviceProfile> parse_profile(std::string_view text, const std::string& path) {
  return Parser(text, path).parse();
}

Result<DeviceProfile> load_profile(const std::string& path) {
  auto bytes = tool::read_file(path, kMaxBytes);
  if (!bytes) return std::move(bytes).error();
  return parse_profile(*bytes, path);
}

}  // namespace spirkiln::check
