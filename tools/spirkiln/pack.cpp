// SPDX-License-Identifier: Apache-2.0
#include "pack.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "files.hpp"
#include "parallel.hpp"

namespace spirkiln::gen {
namespace {

constexpr int kZstdLevel = 19;
constexpr std::size_t kAlign = 16;

std::string_view bytes_of(const std::vector<std::uint32_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * 4};
}

class Strings {
 public:
  std::uint32_t add(const std::string& text) {
    auto [it, is_new] = offsets_.try_emplace(text, static_cast<std::uint32_t>(bytes_.size()));
    if (is_new) {
      bytes_ += text;
      bytes_ += '\0';
    }
    return it->second;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
  std::map<std::string, std::uint32_t> offsets_ = {{"", 0}};
};

Result<std::string> compress(const std::string& raw, const Cache& cache) {
  const std::string key =
      cache_key(fmt::format("frame {} {}\n", ZSTD_versionString(), kZstdLevel) + raw);
  if (auto hit = cache.load(key)) {
    if (ZSTD_getFrameContentSize(hit->data(), hit->size()) == raw.size()) return *hit;
  }
  std::string packed(ZSTD_compressBound(raw.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), kZstdLevel);
  if (ZSTD_isError(size)) {
    return Error{ErrorCode::kOutOfMemory,
                 fmt::format("zstd cannot compress a frame: {}", ZSTD_getErrorName(size))};
  }
  packed.resize(size);
  cache.store(key, packed);
  return packed;
}

// What readers of a table refuse.
std::string too_much(const PackKernel& kernel) {
  const auto longer = [](const std::string& s) { return s.size() > table::kMaxStringBytes; };
  if (longer(kernel.name)) return fmt::format("a kernel's name has {} bytes", kernel.name.size());
  if (kernel.variants.size() > table::kMaxVariants) {
    return fmt::format("kernel {} has {} variants", kernel.name, kernel.variants.size());
  }
  for (std::size_t i = 0; i < kernel.variants.size(); ++i) {
    const Variant& v = kernel.variants[i];
    const Reflection& r = kernel.blobs[i]->reflection;
    bool long_string = longer(v.name);
    for (const auto& [axis, value] : v.axis_values) {
      long_string = long_string || longer(axis) || longer(value);
    }
    for (const auto& e : r.extensions) long_string = long_string || longer(e);
    for (const auto& s : r.specs) long_string = long_string || longer(s.name);
    if (long_string) {
      return fmt::format("a name in variant {:.80} of kernel {} has more than {} bytes", v.name,
                         kernel.name, table::kMaxStringBytes);
    }
    if (std::max({v.axis_values.size(), r.capabilities.size(), r.extensions.size(),
                  r.bindings.size(), r.specs.size()}) > table::kMaxListed) {
      return fmt::format("variant {} has more than {} axes, bindings or constants", v.name,
                         table::kMaxListed);
    }
    if (kernel.blobs[i]->words.size() > table::kMaxFrameBytes / 4) {
      return fmt::format("variant {} has {} words", v.name, kernel.blobs[i]->words.size());
    }
  }
  return {};
}

class Writer {
 public:
  explicit Writer(std::size_t header_bytes) : bytes_(header_bytes, '\0') {}

  template <typename T>
  table::Section add(const std::vector<T>& items) {
    return add_bytes(items.data(), items.size() * sizeof(T), items.size());
  }
  table::Section add_bytes(const void* data, std::size_t size, std::size_t count) {
    pad();
    const auto offset = static_cast<std::uint32_t>(bytes_.size());
    bytes_.append(static_cast<const char*>(data), size);
    return {offset, static_cast<std::uint32_t>(count)};
  }
  void pad() { bytes_.resize((bytes_.size() + kAlign - 1) / kAlign * kAlign, '\0'); }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

struct Stored {
  std::shared_ptr<const Blob> blob;
  std::string first_variant;
  std::size_t family;
};

}  // namespace

Result<PackedTable> pack_table(const std::string& name, const std::string& tool_version,
                               const std::vector<PackKernel>& kernels, unsigned threads,
                               const Cache& cache) {
  PackedTable out;
  Strings strings;
  table::TableHeader header{};
  header.tool_version = strings.add(tool_version);
  header.name = strings.add(name);

  for (const PackKernel& kernel : kernels) {
    if (const std::string what = too_much(kernel); !what.empty()) {
      return Error{ErrorCode::kUnsupported, what + ", more than a table may hold"};
    }
  }
  // Blobs in the order of kernels and variants; equal words once. What was reflected from names
  // counts as well: modules may differ in nothing but what a constant was called.
  std::vector<Stored> stored;
  std::unordered_multimap<std::uint64_t, std::size_t> by_hash;
  std::vector<std::vector<std::size_t>> blob_of;
  for (const PackKernel& kernel : kernels) {
    auto& indices = blob_of.emplace_back();
    auto& merged = out.merged_into.emplace_back();
    for (std::size_t v = 0; v < kernel.blobs.size(); ++v) {
      const Blob& blob = *kernel.blobs[v];
      out.stats.raw_bytes += blob.words.size() * 4;
      const std::uint64_t hash = hash_bytes(bytes_of(blob.words));
      const auto same = [&](std::size_t i) {
        const Blob& other = *stored[i].blob;
        return other.words == blob.words && other.vulkan_version == blob.vulkan_version &&
               std::equal(other.reflection.specs.begin(), other.reflection.specs.end(),
                          blob.reflection.specs.begin(), blob.reflection.specs.end(),
                          [](const auto& a, const auto& b) { return a.name == b.name; });
      };
      std::size_t index = stored.size();
      const auto [begin, end] = by_hash.equal_range(hash);
      for (auto it = begin; it != end; ++it) {
        if (same(it->second)) index = it->second;
      }
      if (index == stored.size()) {
        by_hash.emplace(hash, index);
        stored.push_back({kernel.blobs[v], kernel.variants[v].name, kernel.family});
        out.stats.unique_bytes += blob.words.size() * 4;
        merged.emplace_back();
      } else {
        merged.push_back(stored[index].first_variant);
      }
      indices.push_back(index);
    }
  }
  out.stats.unique_blobs = stored.size();

  // Frames: one a family, blobs in the order above; a full one is followed by another.
  std::map<std::size_t, std::uint32_t> frame_of_family;
  std::vector<std::string> raw_frames;
  std::vector<table::BlobEntry> blobs;
  std::vector<std::uint32_t> capabilities;
  std::vector<std::uint32_t> extensions;
  std::vector<table::BindingEntry> bindings;
  std::vector<table::SpecEntry> specs;
  for (const Stored& item : stored) {
    const Reflection& r = item.blob->reflection;
    const std::string_view words = bytes_of(item.blob->words);
    const auto [it, is_new] = frame_of_family.try_emplace(item.family, 0);
    if (is_new || raw_frames[it->second].size() + words.size() > table::kMaxFrameBytes) {
      it->second = static_cast<std::uint32_t>(raw_frames.size());
      raw_frames.emplace_back();
    }
    std::string& frame = raw_frames[it->second];
    table::BlobEntry entry{};
    entry.hash = hash_bytes(words);
    entry.frame = it->second;
    entry.offset = static_cast<std::uint32_t>(frame.size());
    entry.bytes = static_cast<std::uint32_t>(words.size());
    entry.spirv_version = r.spirv_version;
    entry.vulkan_version = item.blob->vulkan_version;
    entry.flags = r.flags;
    entry.first_capability = static_cast<std::uint32_t>(capabilities.size());
    entry.capability_count = static_cast<std::uint32_t>(r.capabilities.size());
    entry.first_extension = static_cast<std::uint32_t>(extensions.size());
    entry.extension_count = static_cast<std::uint32_t>(r.extensions.size());
    entry.first_binding = static_cast<std::uint32_t>(bindings.size());
    entry.binding_count = static_cast<std::uint32_t>(r.bindings.size());
    entry.first_spec = static_cast<std::uint32_t>(specs.size());
    entry.spec_count = static_cast<std::uint32_t>(r.specs.size());
    entry.push_bytes = r.push_bytes;
    entry.shared_bytes = r.shared_bytes;
    std::copy(r.local_size.begin(), r.local_size.end(), entry.local_size);
    std::copy(r.local_size_id.begin(), r.local_size_id.end(), entry.local_size_id);
    capabilities.insert(capabilities.end(), r.capabilities.begin(), r.capabilities.end());
    for (const std::string& e : r.extensions) extensions.push_back(strings.add(e));
    bindings.insert(bindings.end(), r.bindings.begin(), r.bindings.end());
    for (const SpecConstant& s : r.specs) {
      specs.push_back({s.id, strings.add(s.name), s.type, s.default_bits});
    }
    frame += words;
    blobs.push_back(entry);
  }
  if (out.stats.unique_bytes > table::kMaxRawBytes) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("the table would hold {} bytes of SPIR-V, at most {} are allowed",
                             out.stats.unique_bytes, table::kMaxRawBytes)};
  }
  std::vector<std::string> packed_frames(raw_frames.size());
  std::vector<std::string> failures(raw_frames.size());
  parallel_for(raw_frames.size(), threads, [&](std::size_t i) {
    auto packed = compress(raw_frames[i], cache);
    if (packed.ok()) {
      packed_frames[i] = std::move(packed).value();
    } else {
      failures[i] = packed.error().message;
    }
  });
  for (const std::string& failure : failures) {
    if (!failure.empty()) return Error{ErrorCode::kOutOfMemory, failure};
  }

  std::vector<table::KernelEntry> kernel_entries;
  std::vector<table::VariantEntry> variants;
  std::vector<table::AxisValue> axis_values;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const PackKernel& kernel = kernels[k];
    kernel_entries.push_back({strings.add(kernel.name), static_cast<std::uint32_t>(variants.size()),
                              static_cast<std::uint32_t>(kernel.variants.size()),
                              kernel.source_hash});
    for (std::size_t v = 0; v < kernel.variants.size(); ++v) {
      const Variant& variant = kernel.variants[v];
      table::VariantEntry entry{};
      entry.name = strings.add(variant.name);
      entry.kernel = static_cast<std::uint32_t>(k);
      entry.blob = static_cast<std::uint32_t>(blob_of[k][v]);
      entry.first_axis_value = static_cast<std::uint32_t>(axis_values.size());
      entry.axis_value_count = static_cast<std::uint32_t>(variant.axis_values.size());
      entry.storage = variant.storage;
      entry.arithmetic = variant.arithmetic;
      entry.resource = variant.resource;
      entry.int8 = variant.int8;
      for (const auto& [axis, value] : variant.axis_values) {
        axis_values.push_back({strings.add(axis), strings.add(value)});
      }
      variants.push_back(entry);
    }
  }

  Writer writer(sizeof(table::TableHeader));
  std::memcpy(header.magic, table::kMagic, sizeof header.magic);
  header.version = table::kVersion;
  header.header_bytes = sizeof(table::TableHeader);
  header.strings =
      writer.add_bytes(strings.bytes().data(), strings.bytes().size(), strings.bytes().size());
  header.kernels = writer.add(kernel_entries);
  header.variants = writer.add(variants);
  header.axis_values = writer.add(axis_values);
  header.blobs = writer.add(blobs);
  header.capabilities = writer.add(capabilities);
  header.extensions = writer.add(extensions);
  header.bindings = writer.add(bindings);
  header.specs = writer.add(specs);
  std::vector<table::FrameEntry> frames(raw_frames.size());
  header.frames = writer.add(frames);
  writer.pad();
  const auto data_begin = static_cast<std::uint32_t>(writer.bytes().size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (writer.bytes().size() + packed_frames[i].size() > table::kMaxTableBytes) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("the table exceeds {} bytes", table::kMaxTableBytes)};
    }
    frames[i].offset = static_cast<std::uint32_t>(writer.bytes().size());
    frames[i].packed_bytes = static_cast<std::uint32_t>(packed_frames[i].size());
    frames[i].raw_bytes = static_cast<std::uint32_t>(raw_frames[i].size());
    out.stats.packed_bytes += packed_frames[i].size();
    writer.bytes() += packed_frames[i];
  }
  header.frame_data = {data_begin, static_cast<std::uint32_t>(writer.bytes().size()) - data_begin};
  if (!frames.empty()) {
    std::memcpy(writer.bytes().data() + header.frames.offset, frames.data(),
                frames.size() * sizeof(table::FrameEntry));
  }
  writer.pad();
  out.bytes = std::move(writer.bytes());
  header.total_bytes = out.bytes.size();
  header.checksum = hash_bytes(std::string_view(out.bytes).substr(sizeof(table::TableHeader)));
  std::memcpy(out.bytes.data(), &header, sizeof header);
  return out;
}

}  // namespace spirkiln::gen
