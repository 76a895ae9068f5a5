// SPDX-License-Identifier: Apache-2.0
#include "pack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <unordered_map>

#include "files.hpp"
#include "frames.hpp"
#include "module_coder.hpp"
#include "table/checksum.hpp"
#include "table_index.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::size_t kAlign = 16;

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
    if (kernel.blobs[i]->words.size() > table::kMaxModuleBytes / 4) {
      return fmt::format("variant {} has {} words", v.name, kernel.blobs[i]->words.size());
    }
  }
  return {};
}

struct Stored {
  std::shared_ptr<const Blob> blob;
  std::string first_variant;
};

struct Deduplicated {
  std::vector<Stored> stored;                     // in the order of kernels and variants
  std::vector<std::size_t> per_kernel;            // how many of them each kernel brought
  std::vector<std::vector<std::size_t>> blob_of;  // by kernel and variant
};

// What was reflected from names counts as well: modules may differ in nothing but what a constant
// was called.
bool same(const Blob& a, const Blob& b) {
  return a.words == b.words && a.vulkan_version == b.vulkan_version &&
         a.unoptimised == b.unoptimised &&
         std::equal(a.reflection.specs.begin(), a.reflection.specs.end(),
                    b.reflection.specs.begin(), b.reflection.specs.end(),
                    [](const auto& x, const auto& y) { return x.name == y.name; });
}

Deduplicated deduplicate(const std::vector<PackKernel>& kernels, PackedTable& out) {
  Deduplicated result;
  std::unordered_multimap<std::uint64_t, std::size_t> by_hash;
  for (const PackKernel& kernel : kernels) {
    auto& indices = result.blob_of.emplace_back();
    auto& merged = out.merged_into.emplace_back();
    const std::size_t before = result.stored.size();
    for (std::size_t v = 0; v < kernel.blobs.size(); ++v) {
      const Blob& blob = *kernel.blobs[v];
      const std::size_t bytes = blob.words.size() * 4;
      out.stats.raw_bytes += bytes;
      const std::uint64_t hash =
          hash_bytes({reinterpret_cast<const char*>(blob.words.data()), bytes});
      std::size_t index = result.stored.size();
      const auto [begin, end] = by_hash.equal_range(hash);
      for (auto it = begin; it != end; ++it) {
        if (same(*result.stored[it->second].blob, blob)) index = it->second;
      }
      if (index == result.stored.size()) {
        by_hash.emplace(hash, index);
        result.stored.push_back({kernel.blobs[v], kernel.variants[v].name});
        out.stats.unique_bytes += bytes;
        merged.emplace_back();
      } else {
        merged.push_back(result.stored[index].first_variant);
      }
      indices.push_back(index);
    }
    result.per_kernel.push_back(result.stored.size() - before);
  }
  out.stats.unique_blobs = result.stored.size();
  return result;
}

// The file under construction: a header's room, then frames.
class Writer {
 public:
  Writer() : bytes_(sizeof(table::TableHeader), '\0') {}

  table::FrameEntry add(const std::string& packed, std::size_t raw_bytes) {
    bytes_ += packed;
    return {static_cast<std::uint32_t>(bytes_.size() - packed.size()),
            static_cast<std::uint32_t>(packed.size()), static_cast<std::uint32_t>(raw_bytes)};
  }
  std::size_t size() const { return bytes_.size(); }

  std::string finish(table::TableHeader header) && {
    bytes_.resize((bytes_.size() + kAlign - 1) / kAlign * kAlign, '\0');
    std::memcpy(header.magic, table::kMagic, sizeof header.magic);
    header.version = table::kVersion;
    header.header_bytes = sizeof header;
    header.total_bytes = bytes_.size();
    std::memcpy(bytes_.data(), &header, sizeof header);
    header.checksum = file_checksum<table::TableHeader>(std::as_bytes(std::span(bytes_)));
    std::memcpy(bytes_.data(), &header, sizeof header);
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

// Those of the table and those that its kernels' parts make; without the empty ones.
Result<Attachments> all_attachments(const std::vector<PackKernel>& kernels,
                                    const Attachments& of_table) {
  Attachments all;
  for (const PackKernel& kernel : kernels) {
    for (const auto& [name, bytes] : kernel.parts) all[name] += bytes;
  }
  for (const auto& [name, bytes] : of_table) {
    if (!all.try_emplace(name, bytes).second) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("the attachment '{}' is given for the table, and kernels have parts "
                               "of it as well",
                               name)};
    }
  }
  std::erase_if(all, [](const auto& entry) { return entry.second.empty(); });
  if (all.size() > table::kMaxAttachments) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} attachments are more than a table may hold", all.size())};
  }
  for (const auto& [name, bytes] : all) {
    if (name.empty() || name.size() > table::kMaxStringBytes ||
        bytes.size() > table::kMaxFrameBytes) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("the attachment '{:.80}' of {} bytes is more than a table may hold",
                               name, bytes.size())};
    }
  }
  return all;
}

}  // namespace

Result<PackedTable> pack_table(const std::string& name, const std::string& tool_version,
                               const std::vector<PackKernel>& kernels, unsigned threads,
                               const Cache& cache, const Attachments& attachments) {
  for (const PackKernel& kernel : kernels) {
    if (const std::string what = too_much(kernel); !what.empty()) {
      return Error{ErrorCode::kUnsupported, what + ", more than a table may hold"};
    }
  }
  const auto attached = all_attachments(kernels, attachments);
  if (!attached.ok()) return attached.error();
  PackedTable out;
  const Deduplicated unique = deduplicate(kernels, out);
  std::vector<std::span<const std::uint32_t>> modules;
  for (const Stored& item : unique.stored) modules.emplace_back(item.blob->words);
  const CodedModules coded = code_modules(modules, threads);
  const auto frames = make_frames(coded.modules, unique.per_kernel, threads, cache);
  if (!frames.ok()) return frames.error();
  const auto dictionary = compress(coded.dictionary, cache);
  if (!dictionary.ok()) return dictionary.error();

  Writer writer;
  table::TableHeader header{};
  header.dictionary = writer.add(*dictionary, coded.dictionary.size());
  TableIndex index(name, tool_version);
  for (std::size_t i = 0; i < frames->packed.size(); ++i) {
    index.add_frame(writer.add(frames->packed[i], frames->raw_bytes[i]));
  }
  for (std::size_t i = 0; i < unique.stored.size(); ++i) {
    index.add_blob(*unique.stored[i].blob, frames->placements[i],
                   static_cast<std::uint32_t>(coded.modules[i].size()), coded.raw[i]);
  }
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    index.add_kernel(kernels[k].name, kernels[k].source_hash);
    for (std::size_t v = 0; v < kernels[k].variants.size(); ++v) {
      index.add_variant(kernels[k].variants[v], static_cast<std::uint32_t>(unique.blob_of[k][v]));
    }
  }
  std::uint64_t attached_bytes = 0;
  for (const auto& [attachment, bytes] : *attached) {
    const auto packed = compress(bytes, cache);
    if (!packed.ok()) return packed.error();
    index.add_attachment(attachment, writer.add(*packed, bytes.size()));
    attached_bytes += bytes.size();
  }
  const std::string index_bytes = index.bytes();
  const auto packed_index = compress(index_bytes, cache);
  if (!packed_index.ok()) return packed_index.error();
  const std::uint64_t raw_bytes =
      std::accumulate(frames->raw_bytes.begin(), frames->raw_bytes.end(),
                      attached_bytes + index_bytes.size() + coded.dictionary.size());
  if (index_bytes.size() > table::kMaxFrameBytes ||
      coded.dictionary.size() > table::kMaxFrameBytes || raw_bytes > table::kMaxRawBytes ||
      writer.size() + packed_index->size() > table::kMaxTableBytes) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} bytes of SPIR-V in {} modules are more than a table may hold",
                             out.stats.unique_bytes, out.stats.unique_blobs)};
  }
  header.index = writer.add(*packed_index, index_bytes.size());
  out.stats.packed_bytes = writer.size();
  out.bytes = std::move(writer).finish(header);
  return out;
}

}  // namespace spirkiln::gen
