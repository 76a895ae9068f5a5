// SPDX-License-Identifier: Apache-2.0
#include "table_view.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <cstring>

#include "files.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::uintmax_t kMaxTableBytes = std::uintmax_t{1} << 31;
// zstd cannot make more than this out of a byte; a frame that claims it is damaged.
constexpr std::uint64_t kMaxRatio = 1u << 17;

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

Result<TableView> TableView::open(const std::filesystem::path& path) {
  auto bytes = read_file(path, kMaxTableBytes);
  if (!bytes.ok()) return bytes.error();
  auto view = parse(*bytes);
  if (view.ok()) return view;
  return Error{view.error().code, fmt::format("'{}': {}", path.string(), view.error().message)};
}

Result<TableView> TableView::parse(std::string_view bytes) {
  TableView view;
  table::TableHeader& h = view.header_;
  if (bytes.size() < sizeof h || std::memcmp(bytes.data(), table::kMagic, sizeof table::kMagic)) {
    return Error{ErrorCode::kCorrupt, "not a Spirkiln table"};
  }
  std::memcpy(&h, bytes.data(), sizeof h);
  if (h.version != table::kVersion) {
    return Error{ErrorCode::kUnsupported, fmt::format("table version {}, this program reads {}",
                                                      h.version, table::kVersion)};
  }
  if (h.header_bytes != sizeof h || h.total_bytes != bytes.size()) {
    return corrupt(fmt::format("{} bytes, the header says {}", bytes.size(), h.total_bytes));
  }
  if (hash_bytes(bytes.substr(sizeof h)) != h.checksum) return corrupt("wrong checksum");
  view.bytes_ = std::string(bytes);
  for (const Status& status :
       {read_section(bytes, h.kernels, "kernels", view.kernels_),
        read_section(bytes, h.variants, "variants", view.variants_),
        read_section(bytes, h.axis_values, "axis values", view.axis_values_),
        read_section(bytes, h.blobs, "blobs", view.blobs_),
        read_section(bytes, h.frames, "frames", view.frames_),
        read_section(bytes, h.capabilities, "capabilities", view.capabilities_),
        read_section(bytes, h.extensions, "extensions", view.extensions_),
        read_section(bytes, h.bindings, "bindings", view.bindings_),
        read_section(bytes, h.specs, "specialization constants", view.specs_)}) {
    if (!status.ok()) return status.error();
  }
  const Status checked = view.check();
  if (!checked.ok()) return checked.error();
  return view;
}

Status TableView::check() const {
  const table::TableHeader& h = header_;
  if (!in_range(h.strings.offset, h.strings.count, bytes_.size()) || h.strings.count == 0 ||
      bytes_[h.strings.offset + h.strings.count - 1] != '\0') {
    return corrupt("the strings do not end");
  }
  const auto bad_string = [&](std::uint32_t offset) { return offset >= h.strings.count; };
  if (bad_string(h.tool_version) || bad_string(h.name)) return corrupt("a string lies outside");
  for (const auto& k : kernels_) {
    if (bad_string(k.name) || !in_range(k.first_variant, k.variant_count, variants_.size())) {
      return corrupt("a kernel's variants lie outside");
    }
  }
  for (const auto& v : variants_) {
    if (bad_string(v.name) || v.kernel >= kernels_.size() || v.blob >= blobs_.size() ||
        !in_range(v.first_axis_value, v.axis_value_count, axis_values_.size())) {
      return corrupt("a variant names what is not there");
    }
  }
  for (const auto& a : axis_values_) {
    if (bad_string(a.axis) || bad_string(a.value)) return corrupt("a string lies outside");
  }
  for (const auto& f : frames_) {
    if (!in_range(f.offset, f.packed_bytes, bytes_.size()) ||
        f.raw_bytes > f.packed_bytes * kMaxRatio) {
      return corrupt("a frame lies outside");
    }
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
  }
  for (std::uint32_t e : extensions_) {
    if (bad_string(e)) return corrupt("a string lies outside");
  }
  for (const auto& s : specs_) {
    if (bad_string(s.name)) return corrupt("a string lies outside");
  }
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
