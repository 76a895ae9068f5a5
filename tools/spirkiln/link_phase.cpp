// SPDX-License-Identifier: Apache-2.0
#include "link_phase.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "files.hpp"
#include "kernel_compiler.hpp"
#include "table/answers.hpp"

namespace spirkiln::gen {
namespace {

bool is_table_name(std::string_view s) {
  return !s.empty() && s.size() <= 64 && s[0] >= 'a' && s[0] <= 'z' &&
         std::all_of(s.begin(), s.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

// A kernel `a` with an axis B has a variant a_b, and so may a kernel `a_b` have.
Status check_variant_names(const std::vector<PackKernel>& kernels) {
  std::map<std::string_view, std::string_view> owners;
  for (const PackKernel& kernel : kernels) {
    for (const Variant& variant : kernel.variants) {
      const auto [it, is_new] = owners.try_emplace(variant.name, kernel.name);
      if (is_new) continue;
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("the kernels '{}' and '{}' both have a variant '{}'; rename a kernel "
                      "or an axis",
                      it->second, kernel.name, variant.name)};
    }
  }
  return Ok{};
}

// What the table says of its makers.
std::string made_by(const std::vector<PackKernel>& kernels) {
  std::map<std::string, std::size_t> others;
  for (const PackKernel& kernel : kernels) {
    for (const auto& blob : kernel.blobs) {
      if (!blob->compiler.empty()) ++others[blob->compiler];
    }
  }
  std::string text = tool_versions();
  for (const auto& [compiler, count] : others) {
    text += fmt::format("; {} variants by {}", count, compiler);
  }
  return text;
}

}  // namespace

Status check_table_name(const std::string& name) {
  if (is_table_name(name)) return Ok{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("the table name '{}' must be a lower-case letter, then up to 63 of a-z, "
                           "0-9 and _",
                           shown(name))};
}

Result<Table> table_of(const PackedTable& table) {
  const auto* bytes = reinterpret_cast<const std::byte*>(table.bytes.data());
  return Table::from_bytes({bytes, bytes + table.bytes.size()}, "the table");
}

Result<LinkedTable> link_kernels(const std::string& name, std::vector<PackKernel> kernels,
                                 unsigned threads, const Cache& cache,
                                 const Attachments& attachments) {
  LinkedTable linked;
  linked.kernels = std::move(kernels);
  std::erase_if(linked.kernels, [](const PackKernel& kernel) { return kernel.variants.empty(); });
  std::sort(linked.kernels.begin(), linked.kernels.end(),
            [](const PackKernel& a, const PackKernel& b) { return a.name < b.name; });
  if (linked.kernels.empty()) {
    return Error{ErrorCode::kUnsupported,
                 "every variant was left out for want of a compiler; nothing was written "
                 "(scripts/fetch-glslc.sh fetches a newer one, --glslc names another)"};
  }
  if (Status status = check_variant_names(linked.kernels); !status.ok()) return status.error();
  auto table =
      pack_table(name, made_by(linked.kernels), linked.kernels, threads, cache, attachments);
  if (!table.ok()) return table.error();
  linked.table = std::move(table).value();
  // What the runtime would refuse is not written: an object may say what no compiler does.
  const auto read = table_of(linked.table);
  if (!read.ok()) return read.error();
  const auto answers = read->attachment(kAnswersAttachment);
  if (!answers.ok()) return answers.error();
  if (const auto decoded = decode_answers(*answers); !decoded.ok()) return decoded.error();
  return linked;
}

void count(const PackedTable& table, BakeStats& stats) {
  stats.unique_blobs = table.stats.unique_blobs;
  stats.raw_bytes = table.stats.raw_bytes;
  stats.unique_bytes = table.stats.unique_bytes;
  stats.packed_bytes = table.stats.packed_bytes;
  stats.table_bytes = table.bytes.size();
}

}  // namespace spirkiln::gen
