// SPDX-License-Identifier: Apache-2.0
#include "requirements_text.hpp"

#include <fmt/format.h>

#include "capability_names.hpp"
#include "list.hpp"

namespace spirkiln::gen {
namespace {

// Shared memory depends on how a compiler lays out and optimises, not on what a kernel asks for, so
// it is a figure like the size and not in here.
std::string local_size(const table::BlobEntry& b) {
  std::string out;
  for (int d = 0; d < 3; ++d) {
    if (d > 0) out += ',';
    out += b.local_size_id[d] != table::kNone ? fmt::format("id{}", b.local_size_id[d])
                                              : fmt::format("{}", b.local_size[d]);
  }
  return out;
}

std::string access(std::uint16_t flags) {
  if ((flags & table::kReadOnly) != 0) return (flags & table::kWriteOnly) != 0 ? ":none" : ":r";
  return (flags & table::kWriteOnly) != 0 ? ":w" : ":rw";
}

}  // namespace

std::string requirements_text(const Table& table, const table::BlobEntry& b) {
  std::string out = fmt::format("vulkan {}.{} spirv {}.{} local {} push {}", b.vulkan_version >> 22,
                                (b.vulkan_version >> 12) & 0x3ff, (b.spirv_version >> 16) & 0xff,
                                (b.spirv_version >> 8) & 0xff, local_size(b), b.push_bytes);
  const auto list = [&](std::string_view name, const auto& items, const auto& text) {
    if (items.empty()) return;
    out += fmt::format(" {}", name);
    char separator = ' ';
    for (const auto& item : items) {
      out += separator + text(item);
      separator = ',';
    }
  };
  list("bindings", table.bindings_of(b), [](const table::BindingEntry& e) {
    return fmt::format("{}.{}={}{}", e.set, e.binding, binding_kind_name(e.kind), access(e.flags));
  });
  list("constants", table.specs_of(b), [&](const table::SpecEntry& s) {
    return fmt::format("{}={}:{}", s.id, table.string(s.name), spec_type_name(s.type));
  });
  list("needs", table.capabilities_of(b), [](std::uint32_t c) { return capability_name(c); });
  list("extensions", table.extensions_of(b),
       [&](std::uint32_t e) { return std::string(table.string(e)); });
  return out;
}

}  // namespace spirkiln::gen
