// SPDX-License-Identifier: Apache-2.0
// The stored form of a kernel table: written by the generator, read by the runtime.
//
// A table is one little-endian block, aligned to 16 bytes: a TableHeader, then zstd frames. Offsets
// in the header and in FrameEntry count bytes from the start of the table.
//
// The frame `index` holds an IndexHeader and sections of plain structs; offsets there count from
// the start of the decoded index. A string is an offset into the string section, where it ends with
// a NUL byte; offset 0 is the empty string. Equal blobs are stored once; several variants may name
// one blob.
//
// The frames of FrameEntry hold coded modules, and the frame `dictionary` what they have in common.
// Coded, modules that differ in a type or two are the same bytes nearly everywhere, whatever their
// ids; SPIR-V words are not. "number" is a little-endian base-128 integer of up to 32 bits,
// "signed" one whose sign is in its lowest bit (0, -1, 1, -2, ...).
//
//   dictionary: number of shapes, then for each: opcode (number), operand words (number), and a
//   byte
//               of OperandKind for each; then the number of globals, and for each: its shape
//               (number) and its operands but for the result; an id is the distance (number) back
//               to the global that it names.
//   module:     version and generator (numbers, the second and third word); the number of its
//               globals, and each of them as signed difference from the one before plus 1; then
//               to the end either 0 and a number n: the next n of its globals stand here, or a
//               shape's index plus 1 (number) and the operands but for the result.
//   ids:        the module's globals are 1, 2, ... in their order; every other result takes the
//   next
//               number. A module whose ids are not such is stored as words (kRawWords).
//   operands:   kId: number; lowest bit set: a global of the dictionary, by its index in the other
//               bits. Else the others are signed: the last id given before this instruction, less
//               the operand. kNumber: number. kRaw: four bytes.
//
// The words begin with the magic number; bound is the largest id plus 1; the schema is 0.
//
// Attachments are bytes that a table carries beside its kernels, each in a frame of its own, by
// name. A reader that does not know a name passes it over.
#pragma once

#include <cstdint>

namespace spirkiln::table {

inline constexpr char kMagic[8] = {'S', 'P', 'K', 'T', 'A', 'B', 'L', 'E'};
inline constexpr std::uint32_t kVersion = 3;
inline constexpr std::uint32_t kNone = 0xffffffffu;

// What a table may hold. Readers refuse more, since a small file could otherwise ask for any amount
// of memory or time; real tables stay far below. Sections do not overlap, nor do frames, nor the
// modules of a frame.
inline constexpr std::uint32_t kMaxTableBytes = 512u << 20;
inline constexpr std::uint32_t kMaxFrameBytes = 64u << 20;  // unpacked
inline constexpr std::uint32_t kMaxModuleBytes = 16u << 20;  // as words
inline constexpr std::uint32_t kMaxRawBytes = 512u << 20;  // of all frames, unpacked
inline constexpr std::uint32_t kMaxStringBytes = 1024;  // without its NUL byte
inline constexpr std::uint32_t kMaxVariants = 1u << 14;  // of a kernel
// Capabilities, extensions, bindings, constants of a blob, axis values of a variant: of each.
inline constexpr std::uint32_t kMaxListed = 1024;
inline constexpr std::uint32_t kMaxAttachments = 64;

// `count` structs (bytes for strings) beginning at `offset`.
struct Section {
  std::uint32_t offset;
  std::uint32_t count;
};

// A zstd frame that says its own decoded size as well.
struct FrameEntry {
  std::uint32_t offset;
  std::uint32_t packed_bytes;
  std::uint32_t raw_bytes;
};

struct TableHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;  // sizeof(TableHeader)
  std::uint64_t total_bytes;
  // XXH3 (64 bits) of the bytes behind the header; its seed is the same of the header itself, with
  // this field as 0.
  std::uint64_t checksum;
  FrameEntry index;
  FrameEntry dictionary;
};

struct IndexHeader {
  std::uint32_t tool_version;  // string: "spirkiln 0.1.0, glslang ..., spirv-tools ..."
  std::uint32_t name;  // string: --name of the bake
  Section strings;
  Section kernels;  // KernelEntry, sorted by name
  Section variants;  // VariantEntry, grouped by kernel, best first
  Section axis_values;  // AxisValue
  Section blobs;  // BlobEntry
  Section frames;  // FrameEntry
  Section capabilities;  // uint32_t, spv::Capability, ascending in each blob
  Section extensions;  // uint32_t, strings
  Section bindings;  // BindingEntry, ascending (set, binding) in each blob
  Section specs;  // SpecEntry, ascending id in each blob
  Section attachments;  // AttachmentEntry, sorted by name
};

enum class OperandKind : std::uint8_t { kResult = 0, kId = 1, kNumber = 2, kRaw = 3 };

enum class Storage : std::uint8_t {
  kFp32 = 0,
  kFp16Packed = 1,
  kFp16 = 2,
  kBf16Packed = 3,
  kBf16 = 4
};
enum class Arithmetic : std::uint8_t { kFp32 = 0, kFp16 = 1 };
enum class Resource : std::uint8_t { kBuffer = 0, kImage = 1 };
enum class Int8 : std::uint8_t { kNone = 0, kPacked = 1, kStorage = 2 };

struct KernelEntry {
  std::uint32_t name;  // string, e.g. "gemm_nc"
  std::uint32_t first_variant;
  std::uint32_t variant_count;
  std::uint32_t source_hash;  // low half of XXH3 of the source text, for messages only
};

// One value of one of the kernel's own axes (DIRECT=1, ...).
struct AxisValue {
  std::uint32_t axis;  // string
  std::uint32_t value;  // string
  std::uint32_t flags;  // AxisFlags
};

enum AxisFlags : std::uint32_t {
  // Every value does the same work, called in the same way: where a caller names none and the
  // default's variant may not run, another value's may.
  kInterchangeable = 1u << 0,
};

struct VariantEntry {
  std::uint32_t name;  // string, e.g. "gemm_nc_fp16sa_direct"
  std::uint32_t kernel;
  std::uint32_t blob;
  std::uint32_t first_axis_value;
  std::uint32_t axis_value_count;
  Storage storage;
  Arithmetic arithmetic;
  Resource resource;
  Int8 int8;
};

enum BlobFlags : std::uint32_t {
  kUsesSubgroupOps = 1u << 0,
  kUsesCooperativeMatrix = 1u << 1,
  kUnoptimised = 1u << 2,  // the optimiser failed and the manifest allows that
  kRawWords = 1u << 3,  // stored as its words: what it needs is not known to the coder
};

struct BlobEntry {
  std::uint64_t hash;  // XXH3_64bits of the words as stored
  std::uint32_t frame;
  std::uint32_t offset;  // bytes into the decoded frame
  std::uint32_t coded_bytes;  // there
  std::uint32_t bytes;  // of its words, multiple of 4
  std::uint32_t spirv_version;  // as in the module's second word, e.g. 0x00010000
  std::uint32_t vulkan_version;  // VK_API_VERSION_1_x it was validated for
  std::uint32_t flags;  // BlobFlags
  std::uint32_t first_capability, capability_count;
  std::uint32_t first_extension, extension_count;
  std::uint32_t first_binding, binding_count;
  std::uint32_t first_spec, spec_count;
  std::uint32_t push_bytes;  // size of the push-constant block, 0 without one
  std::uint32_t shared_bytes;  // workgroup memory at the default specialization values
  std::uint32_t local_size[3];  // default values
  std::uint32_t local_size_id[3];  // SpecId of each, kNone where it is fixed
  std::uint32_t reserved;
};

enum class BindingKind : std::uint16_t {
  kStorageBuffer = 0,
  kUniformBuffer = 1,
  kStorageImage = 2,
  kSampledImage = 3,  // combined image and sampler
};
enum BindingFlags : std::uint16_t { kReadOnly = 1, kWriteOnly = 2 };

struct BindingEntry {
  std::uint16_t set;
  std::uint16_t binding;
  BindingKind kind;
  std::uint16_t flags;
};

enum class SpecType : std::uint32_t { kInt = 0, kUint = 1, kFloat = 2, kBool = 3 };

struct SpecEntry {
  std::uint32_t id;
  std::uint32_t name;  // string, taken before names are stripped
  SpecType type;
  std::uint32_t default_bits;
};

struct AttachmentEntry {
  std::uint32_t name;  // string, not empty, each once
  FrameEntry frame;  // of at least one byte, unpacked
};

static_assert(sizeof(TableHeader) == 56 && sizeof(IndexHeader) == 8 + 11 * sizeof(Section));
static_assert(sizeof(AttachmentEntry) == 16);

// The attachment kQuirksName: what must not run on which devices, and which backend is the better
// one. It begins with a QuirksHeader; offsets count from there. Strings are as those of the index.
inline constexpr char kQuirksName[] = "quirks";
inline constexpr std::uint32_t kQuirksVersion = 1;
inline constexpr std::uint32_t kMaxQuirks = 4096;

struct QuirksHeader {
  std::uint32_t version;
  std::uint32_t reserved;
  Section strings;
  Section quirks;  // QuirkEntry
  Section backends;  // BackendEntry; the first that holds decides
};

// A form's bit in QuirkEntry::forms.
inline constexpr std::uint32_t form_bit(Storage storage, Arithmetic arithmetic, Resource resource) {
  return 1u << (static_cast<std::uint32_t>(storage) * 4 +
                static_cast<std::uint32_t>(arithmetic) * 2 + static_cast<std::uint32_t>(resource));
}

// Empty strings and zeros stand for any.
struct QuirkEntry {
  std::uint32_t kernel, axis, value, reason, source;  // strings
  std::uint32_t forms;
  std::uint32_t vendor_id;
  std::uint32_t first_device, last_device;
  std::uint32_t driver_id;  // VkDriverId
  std::uint32_t first_driver, last_driver;  // VkPhysicalDeviceProperties::driverVersion
};

struct BackendEntry {
  std::uint32_t types;  // of the device, bits by VkPhysicalDeviceType; all bits: any
  std::uint32_t use;  // 0: Vulkan, 1: the CPU backend
  std::uint32_t reason;  // string
};

static_assert(sizeof(QuirksHeader) == 32 && sizeof(QuirkEntry) == 48 && sizeof(BackendEntry) == 12);
static_assert(sizeof(KernelEntry) == 16 && sizeof(VariantEntry) == 24 && sizeof(AxisValue) == 12);
static_assert(sizeof(BlobEntry) == 104 && sizeof(FrameEntry) == 12);
static_assert(sizeof(BindingEntry) == 8 && sizeof(SpecEntry) == 16);

}  // namespace spirkiln::table
