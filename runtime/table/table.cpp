// SPDX-License-Identifier: Apache-2.0
#include "table/table.hpp"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <mutex>

#include <xxhash.h>

#include "table/checked_bytes.hpp"
#include "table/read_file.hpp"

namespace spirkiln {

static_assert(std::endian::native == std::endian::little, "tables are little-endian");

namespace {

using namespace table;

constexpr std::uint32_t kSpirvMagic = 0x07230203;

}  // namespace

struct Table::State {
  std::vector<std::byte> owned;
  std::span<const std::byte> bytes;
  std::string origin;

  TableHeader header{};
  std::span<const char> strings;
  std::span<const KernelEntry> kernels;
  std::span<const VariantEntry> variants;
  std::span<const AxisValue> axis_values;
  std::span<const BlobEntry> blobs;
  std::span<const FrameEntry> frames;
  std::span<const std::uint32_t> capabilities;
  std::span<const std::uint32_t> extensions;
  std::span<const BindingEntry> bindings;
  std::span<const SpecEntry> specs;

  std::mutex mutex;
  std::vector<std::vector<std::uint32_t>> decoded;  // by frame; empty until used
  std::vector<char> verified;                       // by blob

  Error corrupt(const std::string& what) const {
    return Error{ErrorCode::kCorrupt, origin + ": the kernel table is damaged: " + what};
  }
  bool is_string(std::uint32_t offset) const { return string_in(strings, offset, kMaxStringBytes); }

  Status parse();
  Status check_kernels() const;
  Status check_frames() const;
  Status check_blobs() const;
  Status decode(std::uint32_t frame);
};

namespace {

// Of a file that begins with `head`, before the rest of it is read.
Status check_head(std::span<const std::byte> head, std::uint64_t size, const std::string& origin) {
  const auto corrupt = [&](const std::string& what) {
    return Error{ErrorCode::kCorrupt, origin + ": the kernel table is damaged: " + what};
  };
  if (head.size() < sizeof(TableHeader)) {
    return corrupt("it has " + std::to_string(size) + " bytes, the header alone needs " +
                   std::to_string(sizeof(TableHeader)));
  }
  TableHeader header;
  std::memcpy(&header, head.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    return Error{ErrorCode::kCorrupt, origin +
                                          " is no kernel table (it does not begin with "
                                          "SPKTABLE)"};
  }
  if (header.version != kVersion) {
    return Error{ErrorCode::kCorrupt, origin + ": table format " + std::to_string(header.version) +
                                          ", this library reads format " +
                                          std::to_string(kVersion) +
                                          ". Bake it again with the matching spirkiln"};
  }
  if (header.header_bytes != sizeof(TableHeader)) return corrupt("header size");
  if (header.total_bytes != size) {
    return corrupt("it says " + std::to_string(header.total_bytes) + " bytes and has " +
                   std::to_string(size));
  }
  if (size > kMaxTableBytes) {
    return corrupt("it has " + std::to_string(size) + " bytes, at most " +
                   std::to_string(kMaxTableBytes) + " are allowed");
  }
  return Ok{};
}

}  // namespace

Status Table::State::parse() {
  if (auto s = check_head(bytes.first(std::min(bytes.size(), sizeof header)), bytes.size(), origin);
      !s) {
    return s;
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto body = bytes.subspan(sizeof(TableHeader));
  if (XXH3_64bits(body.data(), body.size()) != header.checksum) return corrupt("checksum");

  std::vector<Stretch> sections;
  auto take = [&](auto* out, const Section& s, const char* name) -> Status {
    using T = typename std::remove_pointer_t<decltype(out)>::value_type;
    if (s.count != 0 && s.offset < sizeof(TableHeader)) {
      return corrupt(std::string("section ") + name + " overlaps the header");
    }
    auto span = section_of<T>(bytes, s.offset, s.count);
    if (!span) return corrupt(std::string("section ") + name + " is out of bounds");
    *out = *span;
    sections.push_back({s.offset, s.offset + span->size_bytes()});
    return Ok{};
  };
  std::span<const std::byte> data;
  for (const Status& s :
       {take(&strings, header.strings, "strings"), take(&kernels, header.kernels, "kernels"),
        take(&variants, header.variants, "variants"),
        take(&axis_values, header.axis_values, "axis values"), take(&blobs, header.blobs, "blobs"),
        take(&frames, header.frames, "frames"),
        take(&capabilities, header.capabilities, "capabilities"),
        take(&extensions, header.extensions, "extensions"),
        take(&bindings, header.bindings, "bindings"), take(&specs, header.specs, "specs"),
        take(&data, header.frame_data, "frame data")}) {
    if (!s) return s.error();
  }
  if (overlap(std::move(sections))) return corrupt("two sections overlap");
  if (strings.empty() || strings.front() != '\0' || strings.back() != '\0') {
    return corrupt("the string section does not begin and end with a NUL byte");
  }
  if (!is_string(header.name) || !is_string(header.tool_version)) return corrupt("a header string");
  if (auto s = check_kernels(); !s) return s;
  if (auto s = check_frames(); !s) return s;
  if (auto s = check_blobs(); !s) return s;
  decoded.resize(frames.size());
  verified.resize(blobs.size());
  return Ok{};
}

Status Table::State::check_kernels() const {
  std::string_view previous;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelEntry& k = kernels[i];
    const std::string at = "kernel " + std::to_string(i) + ": ";
    if (!is_string(k.name)) return corrupt(at + "name");
    const std::string_view name(strings.data() + k.name);
    if (name.empty() || (i > 0 && name <= previous)) return corrupt(at + "not sorted by name");
    previous = name;
    if (k.variant_count > kMaxVariants ||
        !range_in(k.first_variant, k.variant_count, variants.size())) {
      return corrupt(at + "variants");
    }
    for (const VariantEntry& v :
         variants.subspan(k.variant_count ? k.first_variant : 0, k.variant_count)) {
      if (v.kernel != i) return corrupt(at + "a variant of another kernel");
    }
  }
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const VariantEntry& v = variants[i];
    const std::string at = "variant " + std::to_string(i) + ": ";
    if (!is_string(v.name)) return corrupt(at + "name");
    if (v.kernel >= kernels.size()) return corrupt(at + "kernel");
    if (v.blob >= blobs.size()) return corrupt(at + "blob");
    if (v.axis_value_count > kMaxListed ||
        !range_in(v.first_axis_value, v.axis_value_count, axis_values.size())) {
      return corrupt(at + "axis values");
    }
    if (v.storage > Storage::kBf16 || v.arithmetic > Arithmetic::kFp16 ||
        v.resource > Resource::kImage || v.int8 > Int8::kStorage) {
      return corrupt(at + "an unknown axis value");
    }
  }
  for (const AxisValue& a : axis_values) {
    if (!is_string(a.axis) || !is_string(a.value)) return corrupt("an axis value's string");
  }
  return Ok{};
}

Status Table::State::check_frames() const {
  std::vector<Stretch> places;
  std::uint64_t raw = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const FrameEntry& f = frames[i];
    const std::string at = "frame " + std::to_string(i) + ": ";
    const std::uint64_t begin = header.frame_data.offset;
    const std::uint64_t end = begin + header.frame_data.count;
    if (f.offset < begin || f.offset > end || f.packed_bytes > end - f.offset) {
      return corrupt(at + "out of bounds");
    }
    if (f.raw_bytes > kMaxFrameBytes || f.raw_bytes % 4 != 0) return corrupt(at + "size");
    if (ZSTD_getFrameContentSize(bytes.data() + f.offset, f.packed_bytes) != f.raw_bytes) {
      return corrupt(at + "the packed size and the index disagree");
    }
    raw += f.raw_bytes;
    places.push_back({f.offset, std::uint64_t{f.offset} + f.packed_bytes});
  }
  if (raw > kMaxRawBytes) {
    return corrupt("its frames unpack to " + std::to_string(raw) + " bytes, at most " +
                   std::to_string(kMaxRawBytes) + " are allowed");
  }
  if (overlap(std::move(places))) return corrupt("two frames overlap");
  return Ok{};
}

Status Table::State::check_blobs() const {
  std::vector<Stretch> places;
  std::vector<std::uint64_t> first_byte(frames.size() + 1, 0);  // as if frames lay end to end
  for (std::size_t i = 0; i < frames.size(); ++i) {
    first_byte[i + 1] = first_byte[i] + frames[i].raw_bytes;
  }
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    const BlobEntry& b = blobs[i];
    const std::string at = "blob " + std::to_string(i) + ": ";
    if (b.frame >= frames.size()) return corrupt(at + "frame");
    if (b.offset % 4 != 0 || b.bytes % 4 != 0 || b.bytes < 20 ||
        !range_in(b.offset, b.bytes, frames[b.frame].raw_bytes)) {
      return corrupt(at + "position in its frame");
    }
    const std::uint64_t begin = first_byte[b.frame] + b.offset;
    places.push_back({begin, begin + b.bytes});
    if (std::max({b.capability_count, b.extension_count, b.binding_count, b.spec_count}) >
        kMaxListed) {
      return corrupt(at + "more than " + std::to_string(kMaxListed) + " entries of one kind");
    }
    if (!range_in(b.first_capability, b.capability_count, capabilities.size())) {
      return corrupt(at + "capabilities");
    }
    if (!range_in(b.first_extension, b.extension_count, extensions.size())) {
      return corrupt(at + "extensions");
    }
    if (!range_in(b.first_binding, b.binding_count, bindings.size())) {
      return corrupt(at + "bindings");
    }
    if (!range_in(b.first_spec, b.spec_count, specs.size())) {
      return corrupt(at + "specialization constants");
    }
    for (const std::uint32_t size : b.local_size) {
      if (size == 0 || size > 65536) return corrupt(at + "local size");
    }
    if (b.push_bytes % 4 != 0) return corrupt(at + "push-constant bytes");
  }
  if (overlap(std::move(places))) return corrupt("two blobs overlap");
  for (const std::uint32_t e : extensions) {
    if (!is_string(e)) return corrupt("an extension's string");
  }
  for (const SpecEntry& s : specs) {
    if (!is_string(s.name)) return corrupt("a specialization constant's name");
    if (s.type > SpecType::kBool) return corrupt("a specialization constant's type");
  }
  for (const BindingEntry& b : bindings) {
    if (b.kind > BindingKind::kSampledImage) return corrupt("a binding's kind");
  }
  return Ok{};
}

Status Table::State::decode(std::uint32_t index) {
  std::vector<std::uint32_t>& out = decoded[index];
  if (!out.empty()) return Ok{};
  const FrameEntry& frame = frames[index];
  const std::byte* packed = bytes.data() + frame.offset;
  const std::string at = "frame " + std::to_string(index) + ": ";
  std::vector<std::uint32_t> words(frame.raw_bytes / 4);
  const std::size_t got =
      ZSTD_decompress(words.data(), frame.raw_bytes, packed, frame.packed_bytes);
  if (ZSTD_isError(got)) return corrupt(at + ZSTD_getErrorName(got));
  if (got != frame.raw_bytes) return corrupt(at + "it is too short");
  out = std::move(words);
  return Ok{};
}

Result<std::span<const std::uint32_t>> Table::words(std::uint32_t index) const {
  State& s = *state_;
  if (index >= s.blobs.size()) {
    return Error{ErrorCode::kInvalidArgument, "no blob " + std::to_string(index)};
  }
  const BlobEntry& blob = s.blobs[index];
  const std::lock_guard lock(s.mutex);
  if (auto status = s.decode(blob.frame); !status) return std::move(status).error();
  const std::span<const std::uint32_t> words(s.decoded[blob.frame].data() + blob.offset / 4,
                                             blob.bytes / 4);
  if (!s.verified[index]) {
    const std::string at = "blob " + std::to_string(index) + ": ";
    if (XXH3_64bits(words.data(), blob.bytes) != blob.hash) return s.corrupt(at + "checksum");
    if (words[0] != kSpirvMagic || words[1] != blob.spirv_version) {
      return s.corrupt(at + "it is no SPIR-V module of the version that the index says");
    }
    s.verified[index] = 1;
  }
  return words;
}

Result<Table> Table::from_static(std::span<const std::byte> bytes, std::string origin) {
  Table t;
  t.state_ = std::make_shared<State>();
  t.state_->bytes = bytes;
  t.state_->origin = std::move(origin);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::uint64_t) != 0) {
    return Error{ErrorCode::kInvalidArgument, t.state_->origin + " is not aligned to 8 bytes"};
  }
  if (auto s = t.state_->parse(); !s) return std::move(s).error();
  return t;
}

Result<Table> Table::from_bytes(std::vector<std::byte> bytes, std::string origin) {
  Table t;
  t.state_ = std::make_shared<State>();
  t.state_->owned = std::move(bytes);
  t.state_->bytes = t.state_->owned;
  t.state_->origin = std::move(origin);
  if (auto s = t.state_->parse(); !s) return std::move(s).error();
  return t;
}

Result<Table> Table::from_file(const std::string& path) {
  auto bytes =
      read_file(path, kMaxTableBytes, {sizeof(TableHeader), [&](auto head, std::uint64_t size) {
                                         return check_head(head, size, path);
                                       }});
  if (!bytes) return std::move(bytes).error();
  return from_bytes(*std::move(bytes), path);
}

std::string_view Table::string(std::uint32_t offset) const {
  return offset < state_->strings.size() ? std::string_view(state_->strings.data() + offset)
                                         : std::string_view();
}
std::string_view Table::name() const { return string(state_->header.name); }
std::string_view Table::tool_version() const { return string(state_->header.tool_version); }
const std::string& Table::origin() const { return state_->origin; }
std::span<const KernelEntry> Table::kernels() const { return state_->kernels; }
std::span<const VariantEntry> Table::variants() const { return state_->variants; }
std::span<const BlobEntry> Table::blobs() const { return state_->blobs; }

const KernelEntry* Table::find(std::string_view kernel) const {
  const auto all = state_->kernels;
  const auto it = std::lower_bound(
      all.begin(), all.end(), kernel,
      [&](const KernelEntry& k, std::string_view name) { return string(k.name) < name; });
  return it != all.end() && string(it->name) == kernel ? &*it : nullptr;
}

namespace {
template <typename T>
std::span<const T> part(std::span<const T> all, std::uint32_t first, std::uint32_t count) {
  return count == 0 ? std::span<const T>{} : all.subspan(first, count);
}
}  // namespace

std::span<const VariantEntry> Table::variants_of(const KernelEntry& k) const {
  return part(state_->variants, k.first_variant, k.variant_count);
}
std::span<const AxisValue> Table::axis_values_of(const VariantEntry& v) const {
  return part(state_->axis_values, v.first_axis_value, v.axis_value_count);
}
std::span<const std::uint32_t> Table::capabilities_of(const BlobEntry& b) const {
  return part(state_->capabilities, b.first_capability, b.capability_count);
}
std::span<const std::uint32_t> Table::extensions_of(const BlobEntry& b) const {
  return part(state_->extensions, b.first_extension, b.extension_count);
}
std::span<const BindingEntry> Table::bindings_of(const BlobEntry& b) const {
  return part(state_->bindings, b.first_binding, b.binding_count);
}
std::span<const SpecEntry> Table::specs_of(const BlobEntry& b) const {
  return part(state_->specs, b.first_spec, b.spec_count);
}

}  // namespace spirkiln
