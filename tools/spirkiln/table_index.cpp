// SPDX-License-Identifier: Apache-2.0
#include "table_index.hpp"

#include <algorithm>
#include <cstring>

#include "files.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::size_t kAlign = 8;  // of the strictest struct

}  // namespace

TableIndex::TableIndex(const std::string& name, const std::string& tool_version)
    : name_(string(name)), tool_version_(string(tool_version)) {}

std::uint32_t TableIndex::string(const std::string& text) {
  auto [it, is_new] = offsets_.try_emplace(text, static_cast<std::uint32_t>(strings_.size()));
  if (is_new) {
    strings_ += text;
    strings_ += '\0';
  }
  return it->second;
}

void TableIndex::add_blob(const Blob& blob, const Placement& placement, std::uint32_t coded_bytes,
                          bool raw) {
  const Reflection& r = blob.reflection;
  const std::string_view words(reinterpret_cast<const char*>(blob.words.data()),
                               blob.words.size() * 4);
  table::BlobEntry entry{};
  entry.hash = hash_bytes(words);
  entry.frame = placement.frame;
  entry.offset = placement.offset;
  entry.coded_bytes = coded_bytes;
  entry.bytes = static_cast<std::uint32_t>(words.size());
  entry.spirv_version = r.spirv_version;
  entry.vulkan_version = blob.vulkan_version;
  entry.flags = r.flags | (raw ? std::uint32_t{table::kRawWords} : 0u) |
                (blob.unoptimised ? std::uint32_t{table::kUnoptimised} : 0u);
  entry.first_capability = static_cast<std::uint32_t>(capabilities_.size());
  entry.capability_count = static_cast<std::uint32_t>(r.capabilities.size());
  entry.first_extension = static_cast<std::uint32_t>(extensions_.size());
  entry.extension_count = static_cast<std::uint32_t>(r.extensions.size());
  entry.first_binding = static_cast<std::uint32_t>(bindings_.size());
  entry.binding_count = static_cast<std::uint32_t>(r.bindings.size());
  entry.first_spec = static_cast<std::uint32_t>(specs_.size());
  entry.spec_count = static_cast<std::uint32_t>(r.specs.size());
  entry.push_bytes = r.push_bytes;
  entry.shared_bytes = r.shared_bytes;
  std::copy(r.local_size.begin(), r.local_size.end(), entry.local_size);
  std::copy(r.local_size_id.begin(), r.local_size_id.end(), entry.local_size_id);
  capabilities_.insert(capabilities_.end(), r.capabilities.begin(), r.capabilities.end());
  for (const std::string& e : r.extensions) extensions_.push_back(string(e));
  bindings_.insert(bindings_.end(), r.bindings.begin(), r.bindings.end());
  for (const SpecConstant& s : r.specs) {
    specs_.push_back({s.id, string(s.name), s.type, s.default_bits});
  }
  blobs_.push_back(entry);
}

void TableIndex::add_kernel(const std::string& name, std::uint32_t source_hash) {
  kernels_.push_back({string(name), static_cast<std::uint32_t>(variants_.size()), 0, source_hash});
}

void TableIndex::add_variant(const Variant& variant, std::uint32_t blob) {
  table::VariantEntry entry{};
  entry.name = string(variant.name);
  entry.kernel = static_cast<std::uint32_t>(kernels_.size() - 1);
  entry.blob = blob;
  entry.first_axis_value = static_cast<std::uint32_t>(axis_values_.size());
  entry.axis_value_count = static_cast<std::uint32_t>(variant.axis_values.size());
  entry.storage = variant.storage;
  entry.arithmetic = variant.arithmetic;
  entry.resource = variant.resource;
  entry.int8 = variant.int8;
  for (const auto& [axis, value] : variant.axis_values) {
    const bool any = std::find(variant.interchangeable.begin(), variant.interchangeable.end(),
                               axis) != variant.interchangeable.end();
    axis_values_.push_back(
        {string(axis), string(value), any ? std::uint32_t{table::kInterchangeable} : 0u});
  }
  variants_.push_back(entry);
  ++kernels_.back().variant_count;
}

std::string TableIndex::bytes() const {
  table::IndexHeader header{};
  header.tool_version = tool_version_;
  header.name = name_;
  std::string out(sizeof header, '\0');
  const auto add = [&](const auto& items) {
    out.resize((out.size() + kAlign - 1) / kAlign * kAlign, '\0');
    const table::Section section{static_cast<std::uint32_t>(out.size()),
                                 static_cast<std::uint32_t>(items.size())};
    out.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(items[0]));
    return section;
  };
  header.strings = add(strings_);
  header.kernels = add(kernels_);
  header.variants = add(variants_);
  header.axis_values = add(axis_values_);
  header.blobs = add(blobs_);
  header.frames = add(frames_);
  header.capabilities = add(capabilities_);
  header.extensions = add(extensions_);
  header.bindings = add(bindings_);
  header.specs = add(specs_);
  header.attachments = add(attachments_);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

}  // namespace spirkiln::gen
