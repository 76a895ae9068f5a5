// SPDX-License-Identifier: Apache-2.0
#include "table_view.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "files.hpp"
#include "table/checked_bytes.hpp"

namespace spirkiln::gen {
namespace {

Error corrupt(std::string text) {
  return Error{ErrorCode::kCorrupt, "damaged table: " + std::move(text)};
}

bool in_range(std::uint64_t first, std::uint64_t count, std::uint64_t size) {
  return first <= size && count <= size - first;
}

template <typename T>
Status read_section(std::string_view bytes, const table::Section& section, const char* name,
                    std::vector<T>& out) {
  if (!in_range(section.offset, std::uint64_t{section.count} * sizeof(T), bytes.size())) {
    return corrupt(fmt::format("section '{}' lies outside", name));
  }
  out.resize(section.count);
  if (section.count != 0) {
    std::memcpy(out.data(), bytes.data() + section.offset, section.count * sizeof(T));
  }
  return Ok{};
}

}  // namespace

namespace {

// Of a table of `size` bytes, before the rest of it is read.
Status check_head(std::string_view head, std::uintmax_t size) {
  table::TableHeader h;
  if (head.size() < sizeof h || std::memcmp(head.data(), table::kMagic, sizeof table::kMagic)) {
    return Error{ErrorCode::kCorrupt, "not a Spirkiln table"};
  }
  std::memcpy(&h, head.data(), sizeof h);
  if (h.version != table::kVersion) {
    return Error{ErrorCode::kUnsupported, fmt::format("table version {}, this program reads {}",
                                                      h.version, table::kVersion)};
  }
  if (h.header_bytes != sizeof h || h.total_bytes != size) {
    return corrupt(fmt::format("{} bytes, the header says {}", size, h.total_bytes));
  }
  if (size > table::kMaxTableBytes) {
    return corrupt(fmt::format("{} bytes, at most {} are allowed", size, table::kMaxTableBytes));
  }
  return Ok{};
}

}  // namespace

Result<TableView> TableView::open(const std::filesystem::path& path) {
  const auto named = [&](const Error& e) {
    return Error{e.code, fmt::format("'{}': {}", path.string(), e.message)};
  };
  const auto head = read_head(path, sizeof(table::TableHeader));
  if (!head.ok()) return head.error();
  if (const Status s = check_head(head->bytes, head->file_bytes); !s.ok()) return named(s.error());
  auto bytes = read_file(path, table::kMaxTableBytes);
  if (!bytes.ok()) return bytes.error();
  auto view = parse(*std::move(bytes));
  if (view.ok()) return view;
  return named(view.error());
}

Result<TableView> TableView::parse(std::string bytes) {
  if (const Status s = check_head(bytes, bytes.size()); !s.ok()) return s.error();
  TableView view;
  table::TableHeader& h = view.header_;
  std::memcpy(&h, bytes.data(), sizeof h);
  if (hash_bytes(std::string_view(bytes).substr(sizeof h)) != h.checksum) {
    return corrupt("wrong checksum");
  }
  view.bytes_ = std::move(bytes);
  std::vector<Stretch> places = {
      {0, sizeof h},
      {h.strings.offset, h.strings.offset + std::uint64_t{h.strings.count}},
      {h.frame_data.offset, h.frame_data.offset + std::uint64_t{h.frame_data.count}}};
  const auto read = [&]<typename T>(const table::Section& section, const char* name,
                                    std::vector<T>& out) {
    places.push_back({section.offset, section.offset + std::uint64_t{section.count} * sizeof(T)});
    return read_section(view.bytes_, section, name, out);
  };
  for (const Status& status :
       {read(h.kernels, "kernels", view.kernels_), read(h.variants, "variants", view.variants_),
        read(h.axis_values, "axis values", view.axis_values_), read(h.blobs, "blobs", view.blobs_),
        read(h.frames, "frames", view.frames_),
        read(h.capabilities, "capabilities", view.capabilities_),
        read(h.extensions, "extensions", view.extensions_),
        read(h.bindings, "bindings", view.bindings_),
        read(h.specs, "specialization constants", view.specs_)}) {
    if (!status.ok()) return status.error();
  }
  if (overlap(std::move(places))) return corrupt("two sections overlap");
  for (const auto check : {&TableView::check_strings, &TableView::check_kernels,
                           &TableView::check_frames, &TableView::check_blobs}) {
    if (const Status s = (view.*check)(); !s.ok()) return s.error();
  }
  return view;
}

bool TableView::is_string(std::uint32_t offset) const {
  const std::span<const char> all(bytes_.data() + header_.strings.offset, header_.strings.count);
  return string_in(all, offset, table::kMaxStringBytes);
}

Status TableView::check_strings() const {
  const table::TableHeader& h = header_;
  if (!in_range(h.strings.offset, h.strings.count, bytes_.size()) || h.strings.count == 0 ||
      bytes_[h.strings.offset + h.strings.count - 1] != '\0') {
    return corrupt("the strings do not end");
  }
  const auto bad = [&](std::uint32_t offset) { return !is_string(offset); };
  if (bad(h.tool_version) || bad(h.name)) return corrupt("a string lies outside or is too long");
  for (const auto& a : axis_values_) {
    if (bad(a.axis) || bad(a.value)) return corrupt("a string lies outside or is too long");
  }
  for (const std::uint32_t e : extensions_) {
    if (bad(e)) return corrupt("a string lies outside or is too long");
  }
  for (const auto& s : specs_) {
    if (bad(s.name)) return corrupt("a string lies outside or is too long");
  }
  return Ok{};
}

Status TableView::check_kernels() const {
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const auto& k = kernels_[i];
    if (!is_string(k.name) || k.variant_count > table::kMaxVariants ||
        !in_range(k.first_variant, k.variant_count, variants_.size())) {
      return corrupt("a kernel's variants lie outside");
    }
    for (std::uint32_t v = 0; v < k.variant_count; ++v) {
      if (variants_[k.first_variant + v].kernel != i) {
        return corrupt("a kernel has a variant of another");
      }
    }
  }
  for (const auto& v : variants_) {
    if (!is_string(v.name) || v.kernel >= kernels_.size() || v.blob >= blobs_.size() ||
        v.axis_value_count > table::kMaxListed ||
        !in_range(v.first_axis_value, v.axis_value_count, axis_values_.size())) {
      return corrupt("a variant names what is not there");
    }
  }
  return Ok{};
}

Status TableView::check_frames() const {
  std::vector<Stretch> places;
  std::uint64_t raw = 0;
  for (const auto& f : frames_) {
    if (!in_range(f.offset, f.packed_bytes, bytes_.size())) return corrupt("a frame lies outside");
    // The frame's own header is asked before anybody makes room for what it unpacks to.
    if (f.raw_bytes > table::kMaxFrameBytes ||
        ZSTD_getFrameContentSize(bytes_.data() + f.offset, f.packed_bytes) != f.raw_bytes) {
      return corrupt("a frame has another size than the index says, or is too large");
    }
    raw += f.raw_bytes;
    places.push_back({f.offset, std::uint64_t{f.offset} + f.packed_bytes});
  }
  if (raw > table::kMaxRawBytes) return corrupt("its frames unpack to too much");
  if (overlap(std::move(places))) return corrupt("two frames overlap");
  return Ok{};
}

Status TableView::check_blobs() const {
  std::vector<Stretch> places;
  std::vector<std::uint64_t> first_byte(frames_.size() + 1, 0);  // as if frames lay end to end
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    first_byte[i + 1] = first_byte[i] + frames_[i].raw_bytes;
  }
  for (const auto& b : blobs_) {
    if (b.frame >= frames_.size() || b.offset % 4 != 0 || b.bytes % 4 != 0 ||
        !in_range(b.offset, b.bytes, frames_[b.frame].raw_bytes) ||
        !in_range(b.first_capability, b.capability_count, capabilities_.size()) ||
        !in_range(b.first_extension, b.extension_count, extensions_.size()) ||
        !in_range(b.first_binding, b.binding_count, bindings_.size()) ||
        !in_range(b.first_spec, b.spec_count, specs_.size())) {
      return corrupt("a blob lies outside");
    }
    if (std::max({b.capability_count, b.extension_count, b.binding_count, b.spec_count}) >
        table::kMaxListed) {
      return corrupt("a blob has too many entries of one kind");
    }
    const std::uint64_t begin = first_byte[b.frame] + b.offset;
    places.push_back({begin, begin + b.bytes});
  }
  if (overlap(std::move(places))) return corrupt("two blobs overlap");
  return Ok{};
}

std::string_view TableView::string(std::uint32_t offset) const {
  return bytes_.c_str() + header_.strings.offset + offset;
}

std::span<const std::uint32_t> TableView::capabilities(const table::BlobEntry& b) const {
  return std::span(capabilities_).subspan(b.first_capability, b.capability_count);
}
std::span<const std::uint32_t> TableView::extensions(const table::BlobEntry& b) const {
  return std::span(extensions_).subspan(b.first_extension, b.extension_count);
}
std::span<const table::BindingEntry> TableView::bindings(const table::BlobEntry& b) const {
  return std::span(bindings_).subspan(b.first_binding, b.binding_count);
}
std::span<const table::SpecEntry> TableView::specs(const table::BlobEntry& b) const {
  return std::span(specs_).subspan(b.first_spec, b.spec_count);
}

const table::VariantEntry* TableView::find_variant(std::string_view name) const {
  for (const auto& v : variants_) {
    if (string(v.name) == name) return &v;
  }
  return nullptr;
}

Result<std::vector<std::uint32_t>> TableView::words(const table::BlobEntry& blob) const {
  const table::FrameEntry& frame = frames_[blob.frame];
  std::string raw(frame.raw_bytes, '\0');
  const std::size_t size =
      ZSTD_decompress(raw.data(), raw.size(), bytes_.data() + frame.offset, frame.packed_bytes);
  if (ZSTD_isError(size) || size != raw.size()) return corrupt("a frame does not decode");
  const std::string_view bytes = std::string_view(raw).substr(blob.offset, blob.bytes);
  if (hash_bytes(bytes) != blob.hash) return corrupt("a blob has the wrong hash");
  std::vector<std::uint32_t> words(blob.bytes / 4);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

}  // namespace spirkiln::gen
