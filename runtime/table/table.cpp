// SPDX-License-Identifier: Apache-2.0
#include "table/table.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include <xxhash.h>

#include "table/module_coding.hpp"
#include "table/read_file.hpp"
#include "table/table_file.hpp"

namespace spirkiln {

using namespace table;

namespace {

constexpr std::uint32_t kSpirvMagic = 0x07230203;

}  // namespace

struct Table::State {
  std::vector<std::byte> owned;
  std::string origin;
  TableFile file;

  std::mutex mutex;  // of what is below
  std::optional<CodingDictionary> dictionary;
  std::vector<std::vector<std::byte>> frames;        // unpacked; empty until used
  std::vector<std::vector<std::uint32_t>> modules;  // by blob; empty until used
  std::vector<std::vector<std::byte>> attachments;  // unpacked; empty until used

  Status open(std::span<const std::byte> bytes) {
    auto read = read_table(bytes, origin);
    if (!read) return std::move(read).error();
    file = *std::move(read);
    frames.resize(file.frames.size());
    modules.resize(file.blobs.size());
    attachments.resize(file.attachments.size());
    return Ok{};
  }
  Status decode(std::uint32_t blob);
};

Status Table::State::decode(std::uint32_t index) {
  const BlobEntry& blob = file.blobs[index];
  std::vector<std::byte>& frame = frames[blob.frame];
  if (frame.empty()) {
    auto unpacked = unpack_frame(file.bytes, file.frames[blob.frame]);
    if (!unpacked) {
      return corrupt_table(origin,
                           "frame " + std::to_string(blob.frame) + ": " + unpacked.error().message);
    }
    frame = *std::move(unpacked);
  }
  const auto coded = std::span(frame).subspan(blob.offset, blob.coded_bytes);
  const std::string at = "blob " + std::to_string(index) + ": ";
  std::vector<std::uint32_t> words(blob.bytes / 4);
  if ((blob.flags & kRawWords) != 0) {
    std::memcpy(words.data(), coded.data(), blob.bytes);
  } else {
    if (!dictionary) {
      const auto unpacked = unpack_frame(file.bytes, file.header.dictionary);
      auto parsed = unpacked.ok() ? CodingDictionary::parse(*unpacked)
                                  : Result<CodingDictionary>(unpacked.error());
      if (!parsed) return corrupt_table(origin, "the dictionary: " + parsed.error().message);
      dictionary = *std::move(parsed);
    }
    if (auto s = dictionary->decode(coded, words); !s) {
      return corrupt_table(origin, at + s.error().message);
    }
  }
  if (XXH3_64bits(words.data(), blob.bytes) != blob.hash) {
    return corrupt_table(origin, at + "checksum");
  }
  if (words[0] != kSpirvMagic || words[1] != blob.spirv_version) {
    return corrupt_table(origin, at + "it is no SPIR-V module of the version that the index says");
  }
  modules[index] = std::move(words);
  return Ok{};
}

Result<std::span<const std::uint32_t>> Table::words(std::uint32_t index) const {
  State& s = *state_;
  if (index >= s.file.blobs.size()) {
    return Error{ErrorCode::kInvalidArgument, "no blob " + std::to_string(index)};
  }
  const std::lock_guard lock(s.mutex);
  if (s.modules[index].empty()) {
    if (auto status = s.decode(index); !status) return std::move(status).error();
  }
  return std::span<const std::uint32_t>(s.modules[index]);
}

Result<std::span<const std::byte>> Table::attachment(std::string_view name) const {
  State& s = *state_;
  const auto all = s.file.attachments;
  const auto entry = std::find_if(all.begin(), all.end(),
                                  [&](const AttachmentEntry& a) { return string(a.name) == name; });
  if (entry == all.end()) return std::span<const std::byte>();
  const std::lock_guard lock(s.mutex);
  std::vector<std::byte>& bytes = s.attachments[static_cast<std::size_t>(entry - all.begin())];
  if (bytes.empty()) {
    auto unpacked = unpack_frame(s.file.bytes, entry->frame);
    if (!unpacked) {
      return corrupt_table(s.origin,
                           "attachment " + std::string(name) + ": " + unpacked.error().message);
    }
    bytes = *std::move(unpacked);
  }
  return std::span<const std::byte>(bytes);
}

Result<Table> Table::from_static(std::span<const std::byte> bytes, std::string origin) {
  Table t;
  t.state_ = std::make_shared<State>();
  t.state_->origin = std::move(origin);
  if (auto s = t.state_->open(bytes); !s) return std::move(s).error();
  return t;
}

Result<Table> Table::from_bytes(std::vector<std::byte> bytes, std::string origin) {
  Table t;
  t.state_ = std::make_shared<State>();
  t.state_->owned = std::move(bytes);
  t.state_->origin = std::move(origin);
  if (auto s = t.state_->open(t.state_->owned); !s) return std::move(s).error();
  return t;
}

Result<Table> Table::from_file(const std::string& path) {
  auto bytes =
      read_file(path, kMaxTableBytes, {sizeof(TableHeader), [&](auto head, std::uint64_t size) {
                                         return check_table_head(head, size, path);
                                       }});
  if (!bytes) return std::move(bytes).error();
  return from_bytes(*std::move(bytes), path);
}

std::string_view Table::string(std::uint32_t offset) const {
  const auto all = state_->file.strings;
  return offset < all.size() ? std::string_view(all.data() + offset) : std::string_view();
}
std::string_view Table::name() const { return string(state_->file.name); }
std::string_view Table::tool_version() const { return string(state_->file.tool_version); }
const std::string& Table::origin() const { return state_->origin; }
std::span<const KernelEntry> Table::kernels() const { return state_->file.kernels; }
std::span<const VariantEntry> Table::variants() const { return state_->file.variants; }
std::span<const BlobEntry> Table::blobs() const { return state_->file.blobs; }

std::span<const FrameEntry> Table::frames() const { return state_->file.frames; }
const TableHeader& Table::header() const { return state_->file.header; }
std::span<const AttachmentEntry> Table::attachments() const { return state_->file.attachments; }

const KernelEntry* Table::find(std::string_view kernel) const {
  const auto all = state_->file.kernels;
  const auto it = std::lower_bound(
      all.begin(), all.end(), kernel,
      [&](const KernelEntry& k, std::string_view name) { return string(k.name) < name; });
  return it != all.end() && string(it->name) == kernel ? &*it : nullptr;
}

const VariantEntry* Table::find_variant(std::string_view name) const {
  for (const VariantEntry& v : variants()) {
    if (string(v.name) == name) return &v;
  }
  return nullptr;
}

namespace {
template <typename T>
std::span<const T> part(std::span<const T> all, std::uint32_t first, std::uint32_t count) {
  return count == 0 ? std::span<const T>{} : all.subspan(first, count);
}
}  // namespace

std::span<const VariantEntry> Table::variants_of(const KernelEntry& k) const {
  return part(state_->file.variants, k.first_variant, k.variant_count);
}
std::span<const AxisValue> Table::axis_values_of(const VariantEntry& v) const {
  return part(state_->file.axis_values, v.first_axis_value, v.axis_value_count);
}
std::span<const std::uint32_t> Table::capabilities_of(const BlobEntry& b) const {
  return part(state_->file.capabilities, b.first_capability, b.capability_count);
}
std::span<const std::uint32_t> Table::extensions_of(const BlobEntry& b) const {
  return part(state_->file.extensions, b.first_extension, b.extension_count);
}
std::span<const BindingEntry> Table::bindings_of(const BlobEntry& b) const {
  return part(state_->file.bindings, b.first_binding, b.binding_count);
}
std::span<const SpecEntry> Table::specs_of(const BlobEntry& b) const {
  return part(state_->file.specs, b.first_spec, b.spec_count);
}

}  // namespace spirkiln
