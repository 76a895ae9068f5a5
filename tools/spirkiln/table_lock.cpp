// SPDX-License-Identifier: Apache-2.0
#include "table_lock.hpp"

#include <fmt/format.h>

#include <map>

#include "requirements_text.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::string_view kFirstLine =
    "# spirkiln lock 1. Written by 'spirkiln lock'; each line: a variant, its module, what it "
    "needs.";
constexpr std::string_view kTool = "made by ";
constexpr std::string_view kSeparator = " | ";

struct Locked {
  std::string module;  // hash, bytes, shared memory
  std::string requirements;
};
using Variants = std::map<std::string, Locked>;

Variants variants_of(const Table& table) {
  Variants out;
  for (const auto& v : table.variants()) {
    const auto& b = table.blobs()[v.blob];
    out[std::string(table.string(v.name))] = {
        fmt::format("{:016x} {} bytes shared {}", b.hash, b.bytes, b.shared_bytes),
        requirements_text(table, b)};
  }
  return out;
}

Error not_a_lock(std::size_t line, std::string_view expected) {
  return Error{ErrorCode::kCorrupt, fmt::format("line {}: expected {}", line, expected)};
}

struct Lock {
  std::string tool;
  Variants variants;
};

Result<Lock> parse(std::string_view text) {
  Lock lock;
  std::size_t line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
    if (row.find('\0') != row.npos) return not_a_lock(line, "text, not a NUL byte");
    if (line == 1) {
      if (row != kFirstLine) return not_a_lock(1, fmt::format("'{}'", kFirstLine));
    } else if (line == 2) {
      if (!row.starts_with(kTool)) return not_a_lock(2, "'made by' and the versions");
      lock.tool = row.substr(kTool.size());
    } else {
      const std::size_t first = row.find(kSeparator);
      const std::size_t second =
          first == row.npos ? row.npos : row.find(kSeparator, first + kSeparator.size());
      if (second == row.npos) return not_a_lock(line, "'VARIANT | MODULE | REQUIREMENTS'");
      const std::size_t module = first + kSeparator.size();
      const bool is_new = lock.variants
                              .emplace(row.substr(0, first),
                                       Locked{std::string(row.substr(module, second - module)),
                                              std::string(row.substr(second + kSeparator.size()))})
                              .second;
      if (!is_new) return not_a_lock(line, fmt::format("{} once", row.substr(0, first)));
    }
  }
  if (line < 2) return not_a_lock(line + 1, "a lock of spirkiln");
  return lock;
}

using Fields = std::vector<std::pair<std::string, std::string>>;

// requirements_text() is words and their values in turn.
Fields fields_of(std::string_view text) {
  Fields fields;
  const auto next = [&] {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string word(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
  };
  while (!text.empty()) {
    std::string name = next();
    fields.emplace_back(std::move(name), next());
  }
  return fields;
}

const std::string* value_of(const Fields& fields, std::string_view name) {
  for (const auto& [field, value] : fields) {
    if (field == name) return &value;
  }
  return nullptr;
}

// "push 8, locked 4; needs Shader,Float16, locked Shader".
std::string changed_fields(std::string_view locked, std::string_view now) {
  const Fields before = fields_of(locked);
  const Fields after = fields_of(now);
  std::string out;
  const auto add = [&](std::string_view name, const std::string* is, const std::string* was) {
    if (is != nullptr && was != nullptr && *is == *was) return;
    out += fmt::format("{}{} {}, locked {}", out.empty() ? "" : "; ", name,
                       is != nullptr ? *is : "none", was != nullptr ? *was : "none");
  };
  for (const auto& [name, value] : after) add(name, &value, value_of(before, name));
  for (const auto& [name, value] : before) {
    if (value_of(after, name) == nullptr) add(name, nullptr, &value);
  }
  // The same fields, otherwise written.
  return out.empty() ? fmt::format("needs '{}', locked '{}'", now, locked) : out;
}

}  // namespace

std::string lock_text(const Table& table) {
  std::string out = fmt::format("{}\n{}{}\n", kFirstLine, kTool, table.tool_version());
  for (const auto& [name, locked] : variants_of(table)) {
    out += name;
    out += kSeparator;
    out += locked.module;
    out += kSeparator;
    out += locked.requirements + '\n';
  }
  return out;
}

namespace {

// The versions are those of what is linked in, and "; N variants by" a second compiler.
std::string_view own_tools(std::string_view tool) { return tool.substr(0, tool.find("; ")); }

// Only a second compiler makes such variants (newer_operands.hpp).
bool needs_second(const Locked& locked) {
  return locked.requirements.find("CooperativeMatrixKHR") != std::string::npos;
}

}  // namespace

Result<LockCheck> check_lock(const Table& table, std::string_view text) {
  const auto lock = parse(text);
  if (!lock.ok()) return lock.error();
  LockCheck out;
  const bool same_tools = own_tools(lock->tool) == own_tools(table.tool_version());
  const bool lacks_second = own_tools(table.tool_version()) == table.tool_version();
  std::size_t left_out = 0;
  if (lock->tool != table.tool_version()) {
    out.notes.push_back(
        fmt::format("the lock was made by {}, this table by {}", lock->tool, table.tool_version()));
  }
  const Variants now = variants_of(table);
  for (const auto& [name, locked] : lock->variants) {
    const auto it = now.find(name);
    if (it == now.end()) {
      if (lacks_second && needs_second(locked)) {
        ++left_out;
      } else {
        out.stale.push_back(fmt::format("{}: in the lock, not in the table", name));
      }
      continue;
    }
    if (it->second.requirements != locked.requirements) {
      out.stale.push_back(fmt::format(
          "{}: {}", name, changed_fields(locked.requirements, it->second.requirements)));
    }
    if (it->second.module != locked.module) {
      const bool same = needs_second(locked) ? lock->tool == table.tool_version() : same_tools;
      (same ? out.stale : out.notes)
          .push_back(
              fmt::format("{}: module {}, locked {}", name, it->second.module, locked.module));
    }
  }
  for (const auto& [name, locked] : now) {
    if (!lock->variants.contains(name)) {
      out.stale.push_back(fmt::format("{}: in the table, not in the lock", name));
    }
  }
  if (left_out != 0) {
    out.notes.push_back(fmt::format(
        "{} variants of the lock need a second compiler and are not in the table", left_out));
  }
  return out;
}

}  // namespace spirkiln::gen
