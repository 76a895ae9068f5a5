// SPDX-License-Identifier: Apache-2.0
#include "waivers.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>

#include <algorithm>

#include "read_file.hpp"

namespace spirkiln::access {
namespace {

constexpr std::uintmax_t kMaxBytes = 1 << 16;

Error at(const std::string& path, const toml::source_region& where, std::string_view text) {
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("{}:{}:{}: error: {}", path, where.begin.line, where.begin.column, text)};
}

// A string or a list of them, none of them empty; nothing for what is neither.
std::vector<std::string> strings_of(const toml::node& node) {
  std::vector<std::string> out;
  const auto add = [&](const toml::node& item) {
    if (item.is_string() && !item.as_string()->get().empty()) {
      out.push_back(item.as_string()->get());
    }
  };
  add(node);
  const toml::array* list = node.as_array();
  if (list == nullptr) return out;
  for (const toml::node& item : *list) add(item);
  return out.size() == list->size() ? out : std::vector<std::string>();
}

}  // namespace

Result<std::vector<Waiver>> load_waivers(const std::string& path) {
  auto text = tool::read_file(path, kMaxBytes);
  if (!text) return text.error();
  toml::table root;
  try {
    root = toml::parse(*text, path);
  } catch (const toml::parse_error& e) {
    return at(path, e.source(), e.description());
  }
  std::vector<Waiver> out;
  for (const auto& [key, node] : root) {
    const toml::array* list = node.as_array();
    if (key.str() != "waiver" || list == nullptr) {
      return at(path, key.source(),
                fmt::format("unknown key '{}'; expected [[waiver]]", key.str()));
    }
    for (const toml::node& item : *list) {
      const toml::table* t = item.as_table();
      if (t == nullptr) return at(path, item.source(), "expected [[waiver]]");
      Waiver w;
      for (const auto& [name, value] : *t) {
        if (name.str() == "rule") {
          w.rules = strings_of(value);
          if (!w.rules.empty()) continue;
        }
        std::string* to = name.str() == "kernel"   ? &w.kernel
                          : name.str() == "line"   ? &w.line
                          : name.str() == "reason" ? &w.reason
                                                   : nullptr;
        if (to == nullptr || !value.is_string()) {
          return at(
              path, name.source(),
              fmt::format("'{}': a waiver has kernel, rule, line and reason, all strings; several "
                          "rules are a list",
                          name.str()));
        }
        *to = value.as_string()->get();
      }
      if (w.kernel.empty() || w.rules.empty() || w.reason.empty()) {
        return at(path, item.source(), "a waiver without kernel, rule or reason");
      }
      if (out.size() == kMaxWaivers) {
        return at(path, item.source(),
                  fmt::format("more than {} waivers: mend a kernel instead", kMaxWaivers));
      }
      out.push_back(std::move(w));
    }
  }
  return out;
}

const Waiver* find_waiver(std::vector<Waiver>& waivers, const std::string& kernel,
                          std::string_view rule, std::string_view line) {
  for (Waiver& w : waivers) {
    if (w.kernel != "*" && w.kernel != kernel) continue;
    if (std::find(w.rules.begin(), w.rules.end(), rule) == w.rules.end()) continue;
    if (line.find(w.line) == std::string_view::npos) continue;
    w.used = true;
    return &w;
  }
  return nullptr;
}

}  // namespace spirkiln::access
