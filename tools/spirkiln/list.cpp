// SPDX-License-Identifier: Apache-2.0
#include "list.hpp"

#include <fmt/format.h>

#include <set>
#include <spirv/unified1/spirv.hpp>
#include <tuple>

#include "capability_names.hpp"
#include "json_text.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::string_view kStorageNames[] = {"fp32", "fp16p", "fp16s", "bf16p", "bf16s"};
constexpr std::string_view kResourceNames[] = {"buffer", "image"};
constexpr std::string_view kInt8Names[] = {"none", "packed", "storage"};
constexpr std::string_view kKindNames[] = {"storage-buffer", "uniform-buffer", "storage-image",
                                           "sampled-image"};
constexpr std::string_view kSpecTypeNames[] = {"int", "uint", "float", "bool"};

template <std::size_t N>
std::string_view name_of(const std::string_view (&names)[N], std::size_t index) {
  return index < N ? names[index] : "unknown";
}

std::string version_text(std::uint32_t spirv) {
  return fmt::format("{}.{}", (spirv >> 16) & 0xff, (spirv >> 8) & 0xff);
}

constexpr std::size_t kMaxText = std::size_t{128} << 20;

Error too_long() {
  return Error{ErrorCode::kUnsupported,
               fmt::format("what the table holds takes more than {} bytes to print", kMaxText)};
}

std::string vulkan_text(std::uint32_t version) {
  return fmt::format("{}.{}", version >> 22, (version >> 12) & 0x3ff);
}

}  // namespace

std::string_view storage_name(table::Storage storage) {
  return name_of(kStorageNames, static_cast<std::size_t>(storage));
}

std::string_view int8_name(table::Int8 int8) {
  return name_of(kInt8Names, static_cast<std::size_t>(int8));
}

std::string_view binding_kind_name(table::BindingKind kind) {
  return name_of(kKindNames, static_cast<std::size_t>(kind));
}

std::string_view spec_type_name(table::SpecType type) {
  return name_of(kSpecTypeNames, static_cast<std::size_t>(type));
}

Result<std::vector<std::uint32_t>> module_of(const Table& table,
                                             const table::VariantEntry& variant) {
  const auto words = table.words(variant.blob);
  if (!words.ok()) return words.error();
  return std::vector<std::uint32_t>(words->begin(), words->end());
}

// Of all variants of a kernel: "n (0, uint), w (1, int)". Those without a name are left out.
std::string constants_text(const Table& table, const table::KernelEntry& kernel) {
  std::set<std::tuple<std::uint32_t, std::string_view, table::SpecType>> constants;
  for (const auto& v : table.variants_of(kernel)) {
    for (const auto& s : table.specs_of(table.blobs()[v.blob])) {
      if (s.name != 0) constants.emplace(s.id, table.string(s.name), s.type);
    }
  }
  std::string out;
  for (const auto& [id, name, type] : constants) {
    out += fmt::format("{}{} ({}, {})", out.empty() ? "" : ", ", name, id, spec_type_name(type));
  }
  return out;
}

Result<std::string> list_text(const Table& table) {
  std::uint64_t raw = 0;
  for (const auto& b : table.blobs()) raw += b.bytes;
  std::string out = fmt::format(
      "table {}: {} kernels, {} variants, {} blobs, {} bytes of SPIR-V in {} bytes\n"
      "made by {}\n",
      table.name(), table.kernels().size(), table.variants().size(), table.blobs().size(), raw,
      table.header().total_bytes, table.tool_version());
  for (const auto& a : table.attachments()) {
    out += fmt::format("carries {}: {} bytes in {}\n", table.string(a.name), a.frame.raw_bytes,
                       a.frame.packed_bytes);
  }
  for (const auto& kernel : table.kernels()) {
    out += fmt::format("{}\n", table.string(kernel.name));
    if (const std::string constants = constants_text(table, kernel); !constants.empty()) {
      out += fmt::format("  constants (id, type): {}\n", constants);
    }
    if (out.size() > kMaxText) return too_long();
    for (std::uint32_t i = 0; i < kernel.variant_count; ++i) {
      const auto& v = table.variants()[kernel.first_variant + i];
      const auto& b = table.blobs()[v.blob];
      std::string size;
      for (int d = 0; d < 3; ++d) {
        size += d == 0 ? "" : "x";
        size += b.local_size_id[d] != table::kNone ? fmt::format("id{}", b.local_size_id[d])
                                                   : fmt::format("{}", b.local_size[d]);
      }
      std::string needs;
      for (const std::uint32_t c : table.capabilities_of(b)) {
        if (c != spv::CapabilityShader) needs += " " + capability_name(c);
      }
      out += fmt::format(
          "  {:<36} blob {:>4} {:>7} B  vulkan{} {} bindings push {} shared {} local {}{}{}{}\n",
          table.string(v.name), v.blob, b.bytes, vulkan_text(b.vulkan_version), b.binding_count,
          b.push_bytes, b.shared_bytes, size, needs.empty() ? "" : "  needs", needs,
          (b.flags & table::kUnoptimised) != 0 ? "  unoptimised" : "");
      if (out.size() > kMaxText) return too_long();
    }
  }
  return out;
}

std::string reflection_json(const Table& table, const table::VariantEntry& v) {
  const auto& b = table.blobs()[v.blob];
  const auto axes = table.axis_values_of(v);
  std::string axis_text;
  for (const auto& a : axes) {
    axis_text += fmt::format("{}{}: {}", axis_text.empty() ? "" : ", ",
                             json_string(table.string(a.axis)), json_string(table.string(a.value)));
  }
  const auto id = [](std::uint32_t i) {
    return i == table::kNone ? std::string("null") : fmt::format("{}", i);
  };
  const auto number = [](std::uint32_t n) { return fmt::format("{}", n); };
  return fmt::format(
      "{{\"name\": {}, \"storage\": \"{}\", \"arithmetic\": \"{}\", "
      "\"resource\": \"{}\", \"int8\": \"{}\", \"axes\": {{{}}}, "
      "\"blob\": {}, \"hash\": \"{:016x}\", \"bytes\": {}, \"vulkan\": \"{}\", \"spirv\": \"{}\", "
      "\"capabilities\": {}, \"extensions\": {}, \"bindings\": {}, \"specialization\": {}, "
      "\"push_bytes\": {}, \"shared_bytes\": {}, \"local_size\": {}, \"local_size_id\": {}, "
      "\"unoptimised\": {}}}",
      json_string(table.string(v.name)), storage_name(v.storage),
      v.arithmetic == table::Arithmetic::kFp16 ? "fp16" : "fp32",
      name_of(kResourceNames, static_cast<std::size_t>(v.resource)), int8_name(v.int8), axis_text,
      v.blob, b.hash, b.bytes, vulkan_text(b.vulkan_version), version_text(b.spirv_version),
      json_list(table.capabilities_of(b),
                [](std::uint32_t c) { return json_string(capability_name(c)); }),
      json_list(table.extensions_of(b),
                [&](std::uint32_t e) { return json_string(table.string(e)); }),
      json_list(table.bindings_of(b),
                [](const table::BindingEntry& e) {
                  return fmt::format(
                      "{{\"set\": {}, \"binding\": {}, \"kind\": \"{}\", \"readonly\": {}, "
                      "\"writeonly\": {}}}",
                      e.set, e.binding, binding_kind_name(e.kind),
                      (e.flags & table::kReadOnly) != 0, (e.flags & table::kWriteOnly) != 0);
                }),
      json_list(table.specs_of(b),
                [&](const table::SpecEntry& s) {
                  return fmt::format(
                      "{{\"id\": {}, \"name\": {}, \"type\": \"{}\", \"default_bits\": {}}}", s.id,
                      json_string(table.string(s.name)), spec_type_name(s.type), s.default_bits);
                }),
      b.push_bytes, b.shared_bytes, json_list(b.local_size, number), json_list(b.local_size_id, id),
      (b.flags & table::kUnoptimised) != 0);
}

Result<std::string> list_json(const Table& table) {
  std::string out = fmt::format(
      "{{\"name\": {}, \"tool\": {}, \"bytes\": {}, \"attachments\": {}, \"kernels\": [",
      json_string(table.name()), json_string(table.tool_version()), table.header().total_bytes,
      json_list(table.attachments(), [&](const table::AttachmentEntry& a) {
        return fmt::format("{{\"name\": {}, \"bytes\": {}, \"packed\": {}}}",
                           json_string(table.string(a.name)), a.frame.raw_bytes,
                           a.frame.packed_bytes);
      }));
  for (std::size_t k = 0; k < table.kernels().size(); ++k) {
    const auto& kernel = table.kernels()[k];
    out += fmt::format("{}\n  {{\"name\": {}, \"variants\": [", k == 0 ? "" : ",",
                       json_string(table.string(kernel.name)));
    for (std::uint32_t i = 0; i < kernel.variant_count; ++i) {
      out += i == 0 ? "\n    " : ",\n    ";
      out += reflection_json(table, table.variants()[kernel.first_variant + i]);
      if (out.size() > kMaxText) return too_long();
    }
    out += "]}";
    if (out.size() > kMaxText) return too_long();
  }
  return out + "]}\n";
}

}  // namespace spirkiln::gen
