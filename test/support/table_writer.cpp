// SPDX-License-Identifier: Apache-2.0
#include "table_writer.hpp"

#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "spirkiln/model_format.hpp"

namespace spirkiln::test {
namespace {

using namespace table;

// The zstd frame of `raw` behind `bytes`; its offset counts from their start.
FrameEntry append_frame(std::vector<std::byte>& bytes, std::span<const std::byte> raw) {
  std::vector<std::byte> packed(ZSTD_compressBound(raw.size()));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 3));
  const FrameEntry entry{static_cast<std::uint32_t>(bytes.size()),
                         static_cast<std::uint32_t>(packed.size()),
                         static_cast<std::uint32_t>(raw.size())};
  bytes.insert(bytes.end(), packed.begin(), packed.end());
  return entry;
}

class Writer {
 public:
  std::uint32_t string(const std::string& text) {
    if (text.empty()) return 0;
    const auto offset = static_cast<std::uint32_t>(strings_.size());
    strings_.insert(strings_.end(), text.c_str(), text.c_str() + text.size() + 1);
    return offset;
  }

  void kernel(const TestKernel& k) {
    std::vector<std::uint32_t> raw;
    const auto index = static_cast<std::uint32_t>(kernels_.size());
    kernels_.push_back({string(k.name), static_cast<std::uint32_t>(variants_.size()),
                        static_cast<std::uint32_t>(k.variants.size()), 0});
    const auto frame = static_cast<std::uint32_t>(frames_.size());
    for (const TestVariant& v : k.variants) {
      VariantEntry e{};
      e.name = string(v.name);
      e.kernel = index;
      e.blob = static_cast<std::uint32_t>(blobs_.size());
      e.first_axis_value = static_cast<std::uint32_t>(axes_.size());
      e.axis_value_count = static_cast<std::uint32_t>(v.axes.size());
      e.storage = v.storage;
      e.arithmetic = v.arithmetic;
      e.resource = v.resource;
      e.int8 = v.int8;
      for (const auto& [axis, value] : v.axes) {
        axes_.push_back({string(axis), string(value), v.axis_flags});
      }
      variants_.push_back(e);
      blob(v.blob, frame, &raw);
    }
    frames_.push_back(append_frame(data_, std::as_bytes(std::span(raw))));
  }

  void attachment(const std::string& name, std::span<const std::byte> bytes) {
    attachments_.push_back({string(name), append_frame(data_, bytes)});
  }

  std::vector<std::byte> finish() {
    TableHeader h{};
    std::memcpy(h.magic, kMagic, sizeof kMagic);
    h.version = kVersion;
    h.header_bytes = sizeof h;
    // Modules are stored as words, so that the dictionary has no shapes and no globals.
    const std::byte empty[] = {std::byte{0}, std::byte{0}};
    std::vector<std::byte> out(sizeof h);
    for (FrameEntry& f : frames_) f.offset += sizeof h;
    for (AttachmentEntry& a : attachments_) a.frame.offset += sizeof h;
    out.insert(out.end(), data_.begin(), data_.end());
    h.dictionary = append_frame(out, empty);
    std::memcpy(out.data(), &h, sizeof h);
    return with_index(std::move(out), index());
  }

 private:
  std::vector<std::byte> index() {
    IndexHeader h{};
    h.tool_version = string("written by a test");
    h.name = string("test");
    std::vector<std::byte> out(sizeof h);
    auto put = [&](const auto& items) {
      while (out.size() % 16 != 0) out.push_back(std::byte{0});
      const Section s{static_cast<std::uint32_t>(out.size()),
                      static_cast<std::uint32_t>(items.size())};
      const auto* p = reinterpret_cast<const std::byte*>(items.data());
      out.insert(out.end(), p, p + items.size() * sizeof(items[0]));
      return s;
    };
    h.strings = put(strings_);
    h.kernels = put(kernels_);
    h.variants = put(variants_);
    h.axis_values = put(axes_);
    h.blobs = put(blobs_);
    h.frames = put(frames_);
    h.capabilities = put(capabilities_);
    h.extensions = put(extensions_);
    h.bindings = put(bindings_);
    h.specs = put(specs_);
    h.attachments = put(attachments_);
    std::memcpy(out.data(), &h, sizeof h);
    return out;
  }

  void blob(const TestBlob& b, std::uint32_t frame, std::vector<std::uint32_t>* raw) {
    std::vector<std::uint32_t> words = b.words;
    if (words.empty()) {
      words = {0x07230203, b.spirv_version, 0, static_cast<std::uint32_t>(blobs_.size()), 0};
    }
    BlobEntry e{};
    e.hash = XXH3_64bits(words.data(), words.size() * 4);
    e.frame = frame;
    e.offset = static_cast<std::uint32_t>(raw->size() * 4);
    e.bytes = static_cast<std::uint32_t>(words.size() * 4);
    e.coded_bytes = e.bytes;
    e.flags = kRawWords;
    e.spirv_version = b.spirv_version;
    e.vulkan_version = b.vulkan_version;
    e.first_capability = static_cast<std::uint32_t>(capabilities_.size());
    e.capability_count = static_cast<std::uint32_t>(b.capabilities.size());
    e.first_extension = static_cast<std::uint32_t>(extensions_.size());
    e.extension_count = static_cast<std::uint32_t>(b.extensions.size());
    e.first_binding = static_cast<std::uint32_t>(bindings_.size());
    e.binding_count = static_cast<std::uint32_t>(b.bindings.size());
    e.first_spec = static_cast<std::uint32_t>(specs_.size());
    e.spec_count = static_cast<std::uint32_t>(b.specs.size());
    e.push_bytes = b.push_bytes;
    e.shared_bytes = b.shared_bytes;
    for (int i = 0; i < 3; ++i) {
      e.local_size[i] = b.local_size[i];
      e.local_size_id[i] = b.local_size_id[i];
    }
    capabilities_.insert(capabilities_.end(), b.capabilities.begin(), b.capabilities.end());
    for (const std::string& x : b.extensions) extensions_.push_back(string(x));
    for (const TestBinding& x : b.bindings) {
      bindings_.push_back({x.set, x.binding, x.kind, x.flags});
    }
    for (const TestSpec& s : b.specs) {
      specs_.push_back({s.id, string(s.name), s.type, s.default_bits});
    }
    raw->insert(raw->end(), words.begin(), words.end());
    blobs_.push_back(e);
  }

  std::vector<char> strings_ = {'\0'};
  std::vector<KernelEntry> kernels_;
  std::vector<VariantEntry> variants_;
  std::vector<AxisValue> axes_;
  std::vector<BlobEntry> blobs_;
  std::vector<FrameEntry> frames_;
  std::vector<std::uint32_t> capabilities_, extensions_;
  std::vector<BindingEntry> bindings_;
  std::vector<SpecEntry> specs_;
  std::vector<AttachmentEntry> attachments_;
  std::vector<std::byte> data_;
};

template <typename Header>
void reseal(std::vector<std::byte>& bytes) {
  if (bytes.size() < sizeof(Header)) return;
  Header h;
  std::memcpy(&h, bytes.data(), sizeof h);
  h.total_bytes = bytes.size();
  h.checksum = 0;
  const std::uint64_t head = XXH3_64bits(&h, sizeof h);
  h.checksum = XXH3_64bits_withSeed(bytes.data() + sizeof h, bytes.size() - sizeof h, head);
  std::memcpy(bytes.data(), &h, sizeof h);
}

}  // namespace

std::vector<std::byte> write_table(std::vector<TestKernel> kernels,
                                   const TestAttachments& attachments) {
  std::sort(kernels.begin(), kernels.end(),
            [](const TestKernel& a, const TestKernel& b) { return a.name < b.name; });
  Writer writer;
  for (const TestKernel& k : kernels) writer.kernel(k);
  for (const auto& [name, bytes] : attachments) writer.attachment(name, bytes);
  return writer.finish();
}

std::vector<std::byte> index_of(const std::vector<std::byte>& bytes) {
  TableHeader h;
  std::memcpy(&h, bytes.data(), sizeof h);
  std::vector<std::byte> out(h.index.raw_bytes);
  ZSTD_decompress(out.data(), out.size(), bytes.data() + h.index.offset, h.index.packed_bytes);
  return out;
}

std::vector<std::byte> with_index(std::vector<std::byte> bytes,
                                  const std::vector<std::byte>& index) {
  TableHeader h;
  std::memcpy(&h, bytes.data(), sizeof h);
  h.index = append_frame(bytes, index);
  std::memcpy(bytes.data(), &h, sizeof h);
  reseal_table(bytes);
  return bytes;
}

void reseal_table(std::vector<std::byte>& bytes) { reseal<TableHeader>(bytes); }
void reseal_pack(std::vector<std::byte>& bytes) { reseal<model::ModelHeader>(bytes); }

}  // namespace spirkiln::test
