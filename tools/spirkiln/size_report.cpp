// SPDX-License-Identifier: Apache-2.0
#include "size_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <spirv/unified1/spirv.hpp>

#include "list.hpp"

namespace spirkiln::gen {
namespace {

// Axis -> value, the dialect's own axes among them.
using Point = std::map<std::string, std::string>;

Point point_of(const Table& table, const table::VariantEntry& v) {
  Point point;
  point["storage"] = storage_name(v.storage);
  point["arithmetic"] = v.arithmetic == table::Arithmetic::kFp16 ? "fp16" : "fp32";
  point["resource"] = v.resource == table::Resource::kImage ? "image" : "buffer";
  point["int8"] = int8_name(v.int8);
  for (const auto& a : table.axis_values_of(v)) {
    point[std::string(table.string(a.axis))] = table.string(a.value);
  }
  return point;
}

double packed_part(const Table& table, const table::BlobEntry& b) {
  const table::FrameEntry& frame = table.frames()[b.frame];
  return frame.raw_bytes == 0 ? 0.0 : double(frame.packed_bytes) * b.coded_bytes / frame.raw_bytes;
}

Bytes bytes_of_blob(const Table& table, std::uint32_t blob) {
  const auto& b = table.blobs()[blob];
  return {0, 1, 0, b.bytes, packed_part(table, b)};
}

// Values of one axis in the order in which variants bring them, and the blobs of each.
struct AxisUse {
  std::vector<std::string> order;
  std::map<std::string, std::set<std::uint32_t>> blobs;
  std::map<std::string, Bytes> bytes;
};

void add_duplicates(const Table& table, SizeReport& out) {
  std::map<std::uint32_t, std::vector<std::string>> by_blob;
  for (const auto& v : table.variants()) {
    by_blob[v.blob].emplace_back(table.string(v.name));
  }
  for (auto& [blob, variants] : by_blob) {
    if ((table.blobs()[blob].flags & table::kRawWords) != 0)
      out.ids_kept.push_back(variants.front());
    if (variants.size() > 1) {
      out.duplicates.push_back({std::move(variants), table.blobs()[blob].bytes});
    }
  }
}

// Equal but for the values of OpConstant. Ids are canonical, so equal code has equal words.
bool differ_in_constants(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  if (a.size() != b.size() || a == b) return false;
  for (std::size_t at = 5; at < a.size();) {
    const std::size_t count = a[at] >> 16;
    if (count == 0 || count > a.size() - at) return false;
    const bool constant = (a[at] & 0xffff) == spv::OpConstant;
    for (std::size_t w = 0; w < count; ++w) {
      const bool value = constant && w >= 3;
      if (!value && a[at + w] != b[at + w]) return false;
    }
    at += count;
  }
  return true;
}

Status add_constants(const Table& table, SizeReport& out) {
  for (const auto& kernel : table.kernels()) {
    const auto variants = table.variants_of(kernel);
    std::vector<Point> points;
    std::vector<std::vector<std::uint32_t>> modules;
    for (const auto& v : variants) {
      auto words = module_of(table, v);
      if (!words.ok()) return words.error();
      points.push_back(point_of(table, v));
      modules.push_back(*std::move(words));
    }
    std::map<std::string, ConstantAxis> found;
    std::map<std::string, std::set<std::uint32_t>> superfluous;
    for (const auto& value : points.empty() ? Point{} : points.front()) {
      const std::string& axis = value.first;
      // Variants that are equal in all other axes, by those.
      std::map<Point, std::vector<std::size_t>> groups;
      for (std::size_t i = 0; i < points.size(); ++i) {
        Point rest = points[i];
        rest.erase(axis);
        groups[rest].push_back(i);
      }
      for (const auto& [rest, group] : groups) {
        for (std::size_t j = 1; j < group.size(); ++j) {
          if (!differ_in_constants(modules[group[0]], modules[group[j]])) continue;
          ConstantAxis& entry = found[axis];
          entry.kernel = table.string(kernel.name);
          entry.axis = axis;
          ++entry.pairs;
          for (const std::size_t i : {group[0], group[j]}) {
            const std::string& v = points[i].at(axis);
            if (std::find(entry.values.begin(), entry.values.end(), v) == entry.values.end()) {
              entry.values.push_back(v);
            }
          }
          const std::uint32_t blob = variants[group[j]].blob;
          if (superfluous[axis].insert(blob).second)
            entry.saved_unique += table.blobs()[blob].bytes;
        }
      }
    }
    for (auto& [axis, entry] : found) out.constants.push_back(std::move(entry));
  }
  return Ok{};
}

}  // namespace

Bytes& Bytes::operator+=(const Bytes& other) {
  variants += other.variants;
  blobs += other.blobs;
  raw += other.raw;
  unique += other.unique;
  packed += other.packed;
  return *this;
}

std::vector<KernelBytes> kernel_bytes(const Table& table) {
  std::vector<KernelBytes> out;
  std::set<std::uint32_t> seen;
  for (const auto& kernel : table.kernels()) {
    Bytes bytes;
    for (const auto& v : table.variants_of(kernel)) {
      ++bytes.variants;
      bytes.raw += table.blobs()[v.blob].bytes;
      if (seen.insert(v.blob).second) bytes += bytes_of_blob(table, v.blob);
    }
    out.push_back({std::string(table.string(kernel.name)), bytes});
  }
  return out;
}

std::vector<AxisBytes> axis_bytes(const Table& table,
                                  std::span<const table::VariantEntry> variants) {
  std::vector<AxisBytes> out;
  std::vector<std::string> axes = {"storage", "arithmetic", "resource", "int8"};
  std::map<std::string, AxisUse> uses;
  for (const auto& v : variants) {
    for (const auto& [axis, value] : point_of(table, v)) {
      if (!uses.contains(axis) && std::find(axes.begin(), axes.end(), axis) == axes.end()) {
        axes.push_back(axis);
      }
      AxisUse& use = uses[axis];
      if (!use.blobs.contains(value)) use.order.push_back(value);
      Bytes& bytes = use.bytes[value];
      ++bytes.variants;
      bytes.raw += table.blobs()[v.blob].bytes;
      if (use.blobs[value].insert(v.blob).second) bytes += bytes_of_blob(table, v.blob);
    }
  }
  for (const std::string& axis : axes) {
    const AxisUse& use = uses[axis];
    if (use.order.size() < 2) continue;  // it costs nothing
    for (const std::string& value : use.order) {
      AxisBytes entry{axis, value, use.bytes.at(value), {}};
      for (const std::uint32_t blob : use.blobs.at(value)) {
        const bool shared = std::any_of(use.blobs.begin(), use.blobs.end(), [&](const auto& other) {
          return other.first != value && other.second.contains(blob);
        });
        if (!shared) entry.exclusive += bytes_of_blob(table, blob);
      }
      out.push_back(std::move(entry));
    }
  }
  return out;
}

Result<SizeReport> size_report(const Table& table) {
  SizeReport out;
  out.table = table.name();
  out.tool = table.tool_version();
  out.file_bytes = table.header().total_bytes;
  out.index_bytes = table.header().index.packed_bytes;
  out.dictionary_bytes = table.header().dictionary.packed_bytes;
  for (const auto& frame : table.frames()) out.frame_bytes += frame.packed_bytes;
  for (const auto& a : table.attachments()) {
    out.attachments.emplace_back(table.string(a.name), a.frame.packed_bytes);
  }
  out.kernels = kernel_bytes(table);
  for (const KernelBytes& kernel : out.kernels) out.all += kernel.bytes;
  std::stable_sort(out.kernels.begin(), out.kernels.end(),
                   [](const auto& a, const auto& b) { return a.bytes.packed > b.bytes.packed; });
  out.axes = axis_bytes(table, table.variants());
  add_duplicates(table, out);
  if (const Status s = add_constants(table, out); !s.ok()) return s.error();
  return out;
}

}  // namespace spirkiln::gen
