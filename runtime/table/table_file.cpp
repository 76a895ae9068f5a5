// SPDX-License-Identifier: Apache-2.0
#include "table/table_file.hpp"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "table/checked_bytes.hpp"
#include "table/checksum.hpp"

namespace spirkiln {

static_assert(std::endian::native == std::endian::little, "tables are little-endian");

using namespace table;

namespace {

// The checks of one table, in the order in which they rely on each other.
class Reader {
 public:
  Reader(TableFile& file, const std::string& origin) : f_(file), origin_(origin) {}

  Status run() {
    for (const auto step :
         {&Reader::head, &Reader::index, &Reader::kernels, &Reader::variants, &Reader::attachments,
          &Reader::frames, &Reader::blobs, &Reader::details}) {
      if (auto s = (this->*step)(); !s) return s;
    }
    return Ok{};
  }

 private:
  Error corrupt(const std::string& what) const { return corrupt_table(origin_, what); }
  bool is_string(std::uint32_t offset) const {
    return string_in(f_.strings, offset, kMaxStringBytes);
  }

  Status head() {
    const auto first = f_.bytes.first(std::min(f_.bytes.size(), sizeof f_.header));
    if (auto s = check_table_head(first, f_.bytes.size(), origin_); !s) return s;
    std::memcpy(&f_.header, f_.bytes.data(), sizeof f_.header);
    if (file_checksum<TableHeader>(f_.bytes) != f_.header.checksum) {
      return corrupt("its checksum does not match; bake it again, or copy it again as binary");
    }
    return Ok{};
  }

  Status frame(const FrameEntry& entry, const std::string& name) {
    if (entry.offset < sizeof(TableHeader) ||
        !range_in(entry.offset, entry.packed_bytes, f_.bytes.size())) {
      return corrupt(name + ": out of bounds");
    }
    if (entry.raw_bytes > kMaxFrameBytes) return corrupt(name + ": size");
    if (ZSTD_getFrameContentSize(f_.bytes.data() + entry.offset, entry.packed_bytes) !=
        entry.raw_bytes) {
      return corrupt(name + ": the packed size and the index disagree");
    }
    packed_places_.push_back({entry.offset, std::uint64_t{entry.offset} + entry.packed_bytes});
    raw_bytes_ += entry.raw_bytes;
    return Ok{};
  }

  Status index() {
    if (auto s = frame(f_.header.dictionary, "the dictionary"); !s) return s;
    if (auto s = frame(f_.header.index, "the index"); !s) return s;
    auto unpacked = unpack_frame(f_.bytes, f_.header.index);
    if (!unpacked) return corrupt("the index: " + unpacked.error().message);
    f_.index = *std::move(unpacked);
    IndexHeader h{};
    if (f_.index.size() < sizeof h) return corrupt("the index is shorter than its header");
    std::memcpy(&h, f_.index.data(), sizeof h);
    f_.name = h.name;
    f_.tool_version = h.tool_version;
    std::vector<Stretch> places = {{0, sizeof h}};
    const auto take = [&]<typename T>(std::span<const T>& out, const Section& s,
                                      const char* name) -> Status {
      const auto span = section_of<T>(f_.index, s.offset, s.count);
      if (!span) return corrupt(std::string("section ") + name + " is out of bounds");
      out = *span;
      places.push_back({s.offset, s.offset + std::uint64_t{span->size_bytes()}});
      return Ok{};
    };
    for (const Status& s :
         {take(f_.strings, h.strings, "strings"), take(f_.kernels, h.kernels, "kernels"),
          take(f_.variants, h.variants, "variants"),
          take(f_.axis_values, h.axis_values, "axis values"), take(f_.blobs, h.blobs, "blobs"),
          take(f_.frames, h.frames, "frames"),
          take(f_.capabilities, h.capabilities, "capabilities"),
          take(f_.extensions, h.extensions, "extensions"),
          take(f_.bindings, h.bindings, "bindings"), take(f_.specs, h.specs, "specs"),
          take(f_.attachments, h.attachments, "attachments")}) {
      if (!s) return s.error();
    }
    if (overlap(std::move(places))) return corrupt("two sections overlap");
    if (f_.strings.empty() || f_.strings.front() != '\0' || f_.strings.back() != '\0') {
      return corrupt("the string section does not begin and end with a NUL byte");
    }
    if (!is_string(f_.name) || !is_string(f_.tool_version)) return corrupt("a header string");
    return Ok{};
  }

  Status kernels() {
    std::string_view previous;
    for (std::size_t i = 0; i < f_.kernels.size(); ++i) {
      const KernelEntry& k = f_.kernels[i];
      const std::string at = "kernel " + std::to_string(i) + ": ";
      if (!is_string(k.name)) return corrupt(at + "name");
      const std::string_view name(f_.strings.data() + k.name);
      if (name.empty() || (i > 0 && name <= previous)) return corrupt(at + "not sorted by name");
      previous = name;
      if (k.variant_count > kMaxVariants ||
          !range_in(k.first_variant, k.variant_count, f_.variants.size())) {
        return corrupt(at + "variants");
      }
      for (const VariantEntry& v :
           f_.variants.subspan(k.variant_count ? k.first_variant : 0, k.variant_count)) {
        if (v.kernel != i) return corrupt(at + "a variant of another kernel");
      }
    }
    return Ok{};
  }

  Status variants() {
    for (std::size_t i = 0; i < f_.variants.size(); ++i) {
      const VariantEntry& v = f_.variants[i];
      const std::string at = "variant " + std::to_string(i) + ": ";
      if (!is_string(v.name)) return corrupt(at + "name");
      if (v.kernel >= f_.kernels.size()) return corrupt(at + "kernel");
      if (v.blob >= f_.blobs.size()) return corrupt(at + "blob");
      if (v.axis_value_count > kMaxListed ||
          !range_in(v.first_axis_value, v.axis_value_count, f_.axis_values.size())) {
        return corrupt(at + "axis values");
      }
      if (v.storage > Storage::kBf16 || v.arithmetic > Arithmetic::kFp16 ||
          v.resource > Resource::kImage || v.int8 > Int8::kStorage) {
        return corrupt(at + "an unknown axis value");
      }
    }
    for (const AxisValue& a : f_.axis_values) {
      if (!is_string(a.axis) || !is_string(a.value)) return corrupt("an axis value's string");
      if ((a.flags & ~std::uint32_t{kInterchangeable}) != 0)
        return corrupt("an axis value's flags");
    }
    return Ok{};
  }

  Status attachments() {
    if (f_.attachments.size() > kMaxAttachments) {
      return corrupt("more than " + std::to_string(kMaxAttachments) + " attachments");
    }
    std::string_view previous;
    for (std::size_t i = 0; i < f_.attachments.size(); ++i) {
      const AttachmentEntry& a = f_.attachments[i];
      const std::string at = "attachment " + std::to_string(i);
      if (!is_string(a.name)) return corrupt(at + ": name");
      const std::string_view name(f_.strings.data() + a.name);
      if (name <= previous) return corrupt(at + ": not sorted by name");
      previous = name;
      if (a.frame.raw_bytes == 0) return corrupt(at + ": it has no bytes");
      if (auto s = frame(a.frame, at); !s) return s;
    }
    return Ok{};
  }

  // The last of what has frames: no two of all of them may overlap.
  Status frames() {
    for (std::size_t i = 0; i < f_.frames.size(); ++i) {
      if (auto s = frame(f_.frames[i], "frame " + std::to_string(i)); !s) return s;
    }
    if (raw_bytes_ > kMaxRawBytes) {
      return corrupt("its frames unpack to " + std::to_string(raw_bytes_) + " bytes, at most " +
                     std::to_string(kMaxRawBytes) + " are allowed");
    }
    if (overlap(std::move(packed_places_))) return corrupt("two frames overlap");
    return Ok{};
  }

  Status blobs() {
    std::vector<Stretch> places;
    std::vector<std::uint64_t> first_byte(f_.frames.size() + 1, 0);  // as if frames lay end to end
    for (std::size_t i = 0; i < f_.frames.size(); ++i) {
      first_byte[i + 1] = first_byte[i] + f_.frames[i].raw_bytes;
    }
    for (std::size_t i = 0; i < f_.blobs.size(); ++i) {
      const BlobEntry& b = f_.blobs[i];
      const std::string at = "blob " + std::to_string(i) + ": ";
      if (b.frame >= f_.frames.size()) return corrupt(at + "frame");
      if (b.coded_bytes == 0 || !range_in(b.offset, b.coded_bytes, f_.frames[b.frame].raw_bytes)) {
        return corrupt(at + "position in its frame");
      }
      const bool raw = (b.flags & kRawWords) != 0;
      if (b.bytes % 4 != 0 || b.bytes < 20 || b.bytes > kMaxModuleBytes ||
          (raw && b.bytes != b.coded_bytes)) {
        return corrupt(at + "size");
      }
      const std::uint64_t begin = first_byte[b.frame] + b.offset;
      places.push_back({begin, begin + b.coded_bytes});
      if (std::max({b.capability_count, b.extension_count, b.binding_count, b.spec_count}) >
          kMaxListed) {
        return corrupt(at + "more than " + std::to_string(kMaxListed) + " entries of one kind");
      }
      if (!range_in(b.first_capability, b.capability_count, f_.capabilities.size())) {
        return corrupt(at + "capabilities");
      }
      if (!range_in(b.first_extension, b.extension_count, f_.extensions.size())) {
        return corrupt(at + "extensions");
      }
      if (!range_in(b.first_binding, b.binding_count, f_.bindings.size())) {
        return corrupt(at + "bindings");
      }
      if (!range_in(b.first_spec, b.spec_count, f_.specs.size())) {
        return corrupt(at + "specialization constants");
      }
      for (const std::uint32_t size : b.local_size) {
        if (size == 0 || size > 65536) return corrupt(at + "local size");
      }
      if (b.push_bytes % 4 != 0) return corrupt(at + "push-constant bytes");
    }
    if (overlap(std::move(places))) return corrupt("two blobs overlap");
    return Ok{};
  }

  Status details() {
    for (const std::uint32_t e : f_.extensions) {
      if (!is_string(e)) return corrupt("an extension's string");
    }
    for (const SpecEntry& s : f_.specs) {
      if (!is_string(s.name)) return corrupt("a specialization constant's name");
      if (s.type > SpecType::kBool) return corrupt("a specialization constant's type");
    }
    for (const BindingEntry& b : f_.bindings) {
      if (b.kind > BindingKind::kSampledImage) return corrupt("a binding's kind");
    }
    return Ok{};
  }

  TableFile& f_;
  const std::string& origin_;
  std::vector<Stretch> packed_places_;
  std::uint64_t raw_bytes_ = 0;
};

}  // namespace

Error corrupt_table(const std::string& origin, const std::string& what) {
  return Error{ErrorCode::kCorrupt, origin + ": the kernel table is damaged: " + what};
}

Status check_table_head(std::span<const std::byte> head, std::uint64_t size,
                        const std::string& origin) {
  if (head.size() < sizeof(TableHeader)) {
    return corrupt_table(origin, "it has " + std::to_string(size) +
                                     " bytes, the header alone needs " +
                                     std::to_string(sizeof(TableHeader)));
  }
  TableHeader header;
  std::memcpy(&header, head.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    return Error{ErrorCode::kCorrupt,
                 origin + " is no kernel table (it does not begin with SPKTABLE)"};
  }
  if (header.version != kVersion) {
    return Error{ErrorCode::kCorrupt, origin + ": table format " + std::to_string(header.version) +
                                          ", this library reads format " +
                                          std::to_string(kVersion) +
                                          ". Bake it again with the matching spirkiln"};
  }
  if (header.header_bytes != sizeof(TableHeader)) return corrupt_table(origin, "header size");
  if (header.total_bytes != size) {
    return corrupt_table(origin, "it says " + std::to_string(header.total_bytes) +
                                     " bytes and has " + std::to_string(size));
  }
  if (size > kMaxTableBytes) {
    return corrupt_table(origin, "it has " + std::to_string(size) + " bytes, at most " +
                                     std::to_string(kMaxTableBytes) + " are allowed");
  }
  return Ok{};
}

Result<std::vector<std::byte>> unpack_frame(std::span<const std::byte> table,
                                            const FrameEntry& frame) {
  std::vector<std::byte> out(frame.raw_bytes);
  const std::size_t got =
      ZSTD_decompress(out.data(), out.size(), table.data() + frame.offset, frame.packed_bytes);
  if (ZSTD_isError(got)) return Error{ErrorCode::kCorrupt, ZSTD_getErrorName(got)};
  if (got != out.size()) return Error{ErrorCode::kCorrupt, "it is too short"};
  return out;
}

Result<TableFile> read_table(std::span<const std::byte> bytes, const std::string& origin) {
  TableFile file;
  file.bytes = bytes;
  if (auto s = Reader(file, origin).run(); !s) return std::move(s).error();
  return file;
}

}  // namespace spirkiln
