// SPDX-License-Identifier: Apache-2.0
#include "table_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "json_text.hpp"
#include "line_diff.hpp"
#include "list.hpp"
#include "requirements_text.hpp"
#include "spirv_tools.hpp"

namespace spirkiln::gen {
namespace {

std::map<std::string, const table::VariantEntry*> by_name(const Table& table) {
  std::map<std::string, const table::VariantEntry*> out;
  for (const auto& v : table.variants()) out.emplace(table.string(v.name), &v);
  return out;
}

Result<std::string> disassembly_of(const Table& table, const table::VariantEntry& v) {
  const auto words = module_of(table, v);
  if (!words.ok()) return words.error();
  auto text = disassemble(*words);
  if (text.ok()) {
    // The heading tells the bound of ids, which is no change of its own.
    std::string_view rest = *text;
    while (rest.starts_with(';'))
      rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
    return std::string(rest);
  }
  return Error{text.error().code,
               fmt::format("variant '{}': {}", table.string(v.name), text.error().message)};
}

std::string_view sign(std::uint64_t before, std::uint64_t after) {
  return after > before ? "+" : after < before ? "-" : "";
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

std::string sizes(std::uint64_t before, std::uint64_t after) {
  if (before == after) return fmt::format("{} bytes", after);
  return fmt::format("{} -> {} bytes ({}{})", before, after, sign(before, after),
                     distance(before, after));
}

}  // namespace

Result<TableDiff> diff_tables(const Table& before, const Table& after, bool disassemblies) {
  TableDiff out;
  out.tool_before = before.tool_version();
  out.tool_after = after.tool_version();
  out.file_before = before.header().total_bytes;
  out.file_after = after.header().total_bytes;
  const auto old_ones = by_name(before), new_ones = by_name(after);
  for (const auto& [name, v] : old_ones) {
    const auto& b = before.blobs()[v->blob];
    VariantChange change{name, b.bytes, 0, requirements_text(before, b), {}, true, {}};
    const auto it = new_ones.find(name);
    if (it == new_ones.end()) {
      out.removed.push_back(std::move(change));
      continue;
    }
    const auto& n = after.blobs()[it->second->blob];
    change.bytes_after = n.bytes;
    change.needs_after = requirements_text(after, n);
    change.module_changed = b.hash != n.hash || b.bytes != n.bytes;
    if (!change.module_changed && change.needs_before == change.needs_after) {
      ++out.unchanged;
      continue;
    }
    if (disassemblies && change.module_changed) {
      const auto old_text = disassembly_of(before, *v);
      if (!old_text.ok()) return old_text.error();
      const auto new_text = disassembly_of(after, *it->second);
      if (!new_text.ok()) return new_text.error();
      change.disassembly = disassembly_diff(*old_text, *new_text);
    }
    out.changed.push_back(std::move(change));
  }
  for (const auto& [name, v] : new_ones) {
    if (old_ones.contains(name)) continue;
    const auto& n = after.blobs()[v->blob];
    out.added.push_back({name, 0, n.bytes, {}, requirements_text(after, n), true, {}});
  }
  return out;
}

std::string diff_text(const TableDiff& d) {
  std::string out;
  if (d.tool_before != d.tool_after) {
    out += fmt::format("made by {}\n     -> {}\n", d.tool_before, d.tool_after);
  }
  for (const VariantChange& c : d.removed) {
    out += fmt::format("- {}  {} bytes\n", c.variant, c.bytes_before);
  }
  for (const VariantChange& c : d.added) {
    out += fmt::format("+ {}  {} bytes  {}\n", c.variant, c.bytes_after, c.needs_after);
  }
  for (const VariantChange& c : d.changed) {
    out += fmt::format("~ {}  {}\n", c.variant, sizes(c.bytes_before, c.bytes_after));
    if (c.needs_before != c.needs_after) {
      out += fmt::format("    before {}\n    after  {}\n", c.needs_before, c.needs_after);
    }
    out += c.disassembly;
  }
  out += fmt::format("{} added, {} removed, {} changed, {} the same; table {}\n", d.added.size(),
                     d.removed.size(), d.changed.size(), d.unchanged,
                     sizes(d.file_before, d.file_after));
  return out;
}

std::string diff_json(const TableDiff& d) {
  const auto list = [](const std::vector<VariantChange>& changes) {
    return json_list(changes, [](const VariantChange& c) {
      return fmt::format(
          "\n  {{\"variant\": {}, \"bytes_before\": {}, \"bytes_after\": {}, \"needs_before\": {}, "
          "\"needs_after\": {}, \"module_changed\": {}, \"disassembly\": {}}}",
          json_string(c.variant), c.bytes_before, c.bytes_after, json_string(c.needs_before),
          json_string(c.needs_after), c.module_changed, json_string(c.disassembly));
    });
  };
  return fmt::format(
      "{{\"tool_before\": {}, \"tool_after\": {}, \"file_before\": {}, \"file_after\": {}, "
      "\"unchanged\": {},\n\"added\": {},\n\"removed\": {},\n\"changed\": {}}}\n",
      json_string(d.tool_before), json_string(d.tool_after), d.file_before, d.file_after,
      d.unchanged, list(d.added), list(d.removed), list(d.changed));
}

}  // namespace spirkiln::gen
