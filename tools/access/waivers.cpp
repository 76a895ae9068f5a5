// SPDX-License-Identifier: Apache-2.0
#include "waivers.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>

#include "read_file.hpp"

namespace spirkiln::access {
namespace {

constexpr std::uintmax_t kMaxBytes = 1 << 16;

Error at(const std::string& path, const toml::source_region& where, std::string_view text) {
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("{}:{}:{}: error: {}", path, where.begin.line, where.begin.column, text)};
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
        std::string* to = name.str() == "kernel"   ? &w.kernel
                          : name.str() == "rule"   ? &w.rule
                          : name.str() == "line"   ? &w.line
                          : name.str() == "reason" ? &w.reason
                                                   : nullptr;
        if (to == nullptr || !value.is_string()) {
          return at(path, name.source(),
                    fmt::format("'{}': a waiver has kernel, rule, line and reason, all strings",
                                name.str()));
        }
        *to = value.as_string()->get();
      }
      if (w.kernel.empty() || w.rule.empty() || w.reason.empty()) {
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
    if ((w.kernel != "*" && w.kernel != kernel) || w.rule != rule) continue;
    if (line.find(w.line) == std::string_view::npos) continue;
    w.used = true;
    return &w;
  }
  return nullptr;
}

}  // namespace spirkiln::access
