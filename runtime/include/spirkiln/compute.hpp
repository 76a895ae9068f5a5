// SPDX-License-Identifier: Apache-2.0
// Single kernels: from a table or from SPIR-V words, with buffers and images, one dispatch or a
// sequence of them. On a device of this library, or on the caller's (spirkiln/vulkan.hpp).
//
//   auto device = compute::open_device();
//   auto kernel = compute::Kernel::create(*device, words, {.local_size = {64, 1, 1}});
//   auto a = compute::Buffer::create(*device, bytes), b = compute::Buffer::create(*device, bytes);
//   a->write(std::as_bytes(std::span(values)));
//   compute::run(*kernel, {.bindings = {{0, *a}, {1, *b}}, .invocations = {count, 1, 1}});
//   b->read(std::as_writable_bytes(std::span(results)));
//
// Ownership: all objects are cheap handles to shared state; what is made of others keeps them
// alive. Threads: every function may be called from any thread. Runs of one Sequence are serialised
// inside; that nobody writes a buffer which another thread's run uses is the caller's matter.
// Errors leave all objects usable, and their texts name what there is to choose from. What was
// never made, or was moved from, gives kInvalidArgument, and says 0 or nothing of itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "spirkiln/export.h"
#include "spirkiln/kernel_table.hpp"
#include "spirkiln/result.hpp"
#include "spirkiln/spirkiln.hpp"

namespace spirkiln::compute {

// Along x, y and z. 0, 0, 0 is no size at all.
struct Extent {
  std::uint32_t x = 0, y = 0, z = 0;
  bool operator==(const Extent&) const = default;
};

// A Vulkan device with what the kernels of `tables` may ask for, beside the built-in ones; without
// tables, with all that a kernel may ask for. Device::open gives one for the built-in kernels only.
// Errors: as Device::open; kUnsupported where the CPU backend is asked for, which runs no kernels.
SPIRKILN_API Result<Device> open_device(const DeviceOptions& options = {},
                                        std::span<const KernelTable> tables = {});

// ---- Memory
// --------------------------------------------------------------------------------------

enum class Memory : std::uint32_t {
  kDevice = 0,  // the fastest for kernels; writes and reads of the host pass through a copy
  kUpload = 1,  // the host writes it directly; kernels read it through the bus
  kDownload = 2,  // the host reads it directly
};

class SPIRKILN_API Buffer {
 public:
  // Errors: kOutOfMemory or kVulkan naming the call and the size; kInvalidArgument for no bytes.
  static Result<Buffer> create(const Device& device, std::uint64_t bytes,
                               Memory memory = Memory::kDevice);
  // Both return when the bytes are there. Errors: kInvalidArgument beyond the buffer's end.
  Status write(std::span<const std::byte> bytes, std::uint64_t offset = 0);
  Status read(std::span<std::byte> bytes, std::uint64_t offset = 0) const;
  std::uint64_t bytes() const;

  struct SPIRKILN_HIDDEN State;
  const std::shared_ptr<State>& state() const { return state_; }
  explicit Buffer(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// Texels that the dialect's images have, and bytes for sampled pictures.
enum class ImageFormat : std::uint32_t {
  kR16f = 0,
  kR32f = 1,
  kRgba16f = 2,
  kRgba32f = 3,
  kRgba8 = 4,  // 0 to 255 is read as 0 to 1
};

struct ImageShape {
  std::uint32_t dimensions = 2;  // 1, 2 or 3: as the kernel declares it
  Extent size{1, 1, 1};
  ImageFormat format = ImageFormat::kRgba32f;
  bool operator==(const ImageShape&) const = default;
};

// Serves as a storage image and behind a sampler. The sampler takes the nearest texel and clamps to
// the edge; the dialect's functions fetch texels and ask for nothing else.
class SPIRKILN_API Image {
 public:
  // Errors: as Buffer::create; kUnsupported for a format or a size that the device does not give.
  static Result<Image> create(const Device& device, const ImageShape& shape);
  // All texels, tight, rows of x behind each other. Errors: kInvalidArgument for other than
  // bytes().
  Status write(std::span<const std::byte> texels);
  Status read(std::span<std::byte> texels) const;
  const ImageShape& shape() const;
  std::uint64_t bytes() const;

  struct SPIRKILN_HIDDEN State;
  const std::shared_ptr<State>& state() const { return state_; }
  explicit Image(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// Floats as sfpvec2, sfpvec4 and sfpvec8 of a form of kernels store them (32 bits a lane, or 16
// rounded to nearest), and back. Errors: kInvalidArgument for a form that is none, and for bytes
// that are no whole lanes.
SPIRKILN_API Result<std::vector<std::byte>> to_storage(std::span<const float> values,
                                                       const std::string& form);
SPIRKILN_API Result<std::vector<float>> from_storage(std::span<const std::byte> bytes,
                                                     const std::string& form);

// ---- Kernels
// -------------------------------------------------------------------------------------

// A specialization constant, by its name or, where that is empty, its id. An int may be given for a
// uint and the other way round where both have the value.
struct Constant {
  Constant(std::string n, std::variant<std::int32_t, std::uint32_t, float, bool> v)
      : name(std::move(n)), value(v) {}
  Constant(std::uint32_t i, std::variant<std::int32_t, std::uint32_t, float, bool> v)
      : id(i), value(v) {}
  std::string name;
  std::uint32_t id = 0;
  std::variant<std::int32_t, std::uint32_t, float, bool> value;
};

struct KernelOptions {
  // Invocations of a workgroup: at most one of the two. Neither: the module's own.
  Extent local_size{};
  // Good for so many invocations in all (optimal_local_size()).
  Extent optimal_for{};
  std::vector<Constant> constants{};
  std::string name = "kernel";  // what messages call words; kernels of a table have their own
};

// What of a table is asked for.
struct KernelRequest {
  std::string kernel{};
  // Acceptable forms ("fp16s", ...: variant_names()), best first. None: all on buffers, in the
  // table's own order. Forms on images run when they are named.
  std::vector<std::string> forms{};
  // Axes of the kernel's own that must have this value; the others have their defaults.
  std::vector<std::pair<std::string, std::string>> axes{};
  // As GraphOptions::avoid: "blur_fp16s,...", kernels and variants never to run; empty:
  // $SPIRKILN_AVOID. For bisecting, as are, from the environment alone, $SPIRKILN_AXES,
  // $SPIRKILN_KERNELS and $SPIRKILN_VARIANT: the last is the only form that is taken, unless
  // `forms` is there without it. Names are those of the table, of the built-in kernels and of the
  // tables that the device was opened with; others are an error that names the nearest.
  std::string avoid{};
};

enum class ResourceKind {
  kStorageBuffer = 0,
  kUniformBuffer = 1,
  kStorageImage = 2,
  kSampledImage = 3
};

struct BindingInfo {
  std::uint32_t set = 0, binding = 0;
  ResourceKind kind = ResourceKind::kStorageBuffer;
  bool reads = true, writes = true;
  std::uint64_t min_bytes = 0;  // of a buffer
  std::uint32_t dimensions = 0;  // of an image
  std::optional<ImageFormat> format;  // of a storage image that declares one
  std::string name;  // empty where the module carries no names
};

struct ConstantInfo {
  std::uint32_t id = 0;
  std::string name;  // empty where the module carries no names
  std::string type;  // "int", "uint", "float" or "bool"
};

class SPIRKILN_API Kernel {
 public:
  // Of the table, the best variant that the request means and the device may run, as graphs choose
  // theirs. Errors: kNoVariant, with each variant and what excluded it; else as below.
  static Result<Kernel> create(const Device& device, const KernelTable& table,
                               const KernelRequest& request, const KernelOptions& options = {});
  // Of a valid module with one compute entry point: what compile_spirv_module gives. A module whose
  // local size is fixed to 1 x 1 x 1, as one that says nothing has, takes any; one that is fixed to
  // something else takes only that. Errors: kCorrupt where the words are no module; kUnsupported
  // for what the device lacks; kInvalidArgument for a constant or a local size that it does not
  // have. Both return when the driver has compiled the kernel.
  static Result<Kernel> create(const Device& device, std::span<const std::uint32_t> words,
                               const KernelOptions& options = {});

  const std::string& name() const;  // of the variant: "scale_fp16s"
  const std::string& form() const;  // "fp16s"; empty for words
  Extent local_size() const;
  // Workgroups that have at least so many invocations.
  Extent groups_for(const Extent& invocations) const;
  const std::vector<BindingInfo>& bindings() const;
  const std::vector<ConstantInfo>& constants() const;
  std::uint32_t push_bytes() const;

  struct SPIRKILN_HIDDEN State;
  const std::shared_ptr<const State>& state() const { return state_; }

 private:
  std::shared_ptr<const State> state_;
};

// The rule behind KernelOptions::optimal_for: powers of two, along no axis more than there is to do
// (rounded up) or the device allows; together at most 64, or 256 where there are 2^18 invocations
// or more. x, which memory is tight along, is filled first, then y, then z.
SPIRKILN_API Extent optimal_local_size(const Device& device, const Extent& invocations);

// ---- Dispatches
// ----------------------------------------------------------------------------------

// Bytes of a buffer from `offset`; 0 bytes: all that follow.
struct BufferRange {
  BufferRange(Buffer b, std::uint64_t o = 0, std::uint64_t n = 0)
      : buffer(std::move(b)), offset(o), bytes(n) {}
  Buffer buffer;
  std::uint64_t offset, bytes;
};

struct Binding {
  Binding(std::uint32_t b, std::variant<BufferRange, Image> r, std::uint32_t s = 0)
      : binding(b), set(s), resource(std::move(r)) {}
  Binding(std::uint32_t b, Buffer r) : binding(b), resource(BufferRange(std::move(r))) {}
  std::uint32_t binding, set = 0;
  std::variant<BufferRange, Image> resource;
};

struct Dispatch {
  // One for each of the kernel's bindings. Further ones are taken and left unused: an optimiser may
  // have removed a binding that the source has.
  std::vector<Binding> bindings{};
  std::span<const std::byte> push{};  // copied; exactly Kernel::push_bytes()
  // One of the two: workgroups, or invocations, which are rounded up to whole workgroups.
  Extent groups{};
  Extent invocations{};
};

// Dispatches in order. Each sees what those before it wrote: barriers stand where one touches bytes
// that another has written, or writes bytes that another has read, by what the kernels declare as
// readonly and writeonly. Two VkBuffers of the caller's that share memory are not seen as one.
class SPIRKILN_API Sequence {
 public:
  static Result<Sequence> create(const Device& device);
  // Everything is checked here. Errors: kInvalidArgument for bindings, push constants or workgroups
  // that do not fit the kernel, or once the sequence has been run or recorded; kUnsupported beyond
  // the device's limits. The sequence is as before then.
  Status add(const Kernel& kernel, const Dispatch& dispatch);
  // Submits and waits. May be repeated. Errors: kInvalidArgument without a dispatch; kVulkan, and
  // where it was the wait that failed, the work may have been done.
  Status run();
  std::uint32_t dispatches() const;
  // Known once it has been run or recorded.
  std::uint32_t barriers() const;

  struct SPIRKILN_HIDDEN State;
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

// A sequence of one dispatch, run.
SPIRKILN_API Status run(const Kernel& kernel, const Dispatch& dispatch);

}  // namespace spirkiln::compute
