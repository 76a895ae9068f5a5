// SPDX-License-Identifier: Apache-2.0
// Lowered nodes as one list of steps over placed buffers: everything of a plan that needs no
// Vulkan.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/dispatch.hpp"
#include "graph/pipelines.hpp"
#include "graph/tensor_image.hpp"
#include "table/select.hpp"

namespace spirkiln {

// The block of memory that a buffer lies in.
enum class Home : std::uint8_t {
  kArena,     // device memory, shared by buffers that do not live at the same time
  kWeights,   // device memory, the same for all plans
  kUpload,    // host memory that the device reads
  kDownload,  // host memory that the device writes
  kImages,    // device memory for images alone, shared as the arena is
};
inline constexpr std::size_t kHomes = 5;

struct ProgramBuffer {
  Home home = Home::kArena;
  std::uint64_t offset = 0, bytes = 0;
  std::string name;  // for messages
  // Vectors of a tensor, which is an image where its kernels want one; 0: always a buffer.
  std::uint64_t vectors = 0;
  TensorImage image{};
  bool is_image() const { return image.width != 0; }
};

struct Use {
  std::uint32_t binding = 0;
  std::uint32_t buffer = 0;  // index into Program::buffers
  bool reads = true, writes = true;
  table::BindingKind kind = table::BindingKind::kStorageBuffer;
};

struct Step {
  PipelineRequest pipeline;
  std::array<std::uint32_t, kMaxPushWords> push{};
  std::uint32_t push_words = 0;
  std::array<std::uint32_t, 3> groups{1, 1, 1};
  double flops = 0;  // for profiles only
  std::string node;  // what it is a part of, for messages and profiles
  std::vector<Use> uses;
  bool barrier_before = false;
  // Images whose contents begin here, before the step: they leave the layout UNDEFINED.
  std::vector<std::uint32_t> begins;
};

// Of all bytes of a buffer. Where one of the two is an image, of the buffer's bytes as texels.
struct Copy {
  std::uint32_t from = 0, to = 0;
};

struct Program {
  std::vector<ProgramBuffer> buffers;
  std::vector<Step> steps;
  std::vector<Copy> loads;   // before the first step, into images
  std::vector<Copy> copies;  // after the last step
  std::array<std::uint64_t, kHomes> home_bytes{};  // kWeights stays 0: its owner knows
};

// Sets barrier_before where a step touches bytes that a step since the last barrier wrote, or
// writes bytes that one read. Gives the number of barriers.
std::uint32_t place_barriers(Program* program);

// Behind place_barriers: sets Step::begins. An image's contents begin where the last barrier before
// its first use stands, so that its change of layout needs no barrier of its own: nothing between
// the two touches its memory. Images that are loaded begin with the program.
void place_images(Program* program);

class ProgramBuilder {
 public:
  // `forms`: which variants may be used, best first; all for the same storage. `needs` is asked
  // where they are image forms.
  ProgramBuilder(const Table& table, const DeviceCaps& caps, std::vector<Form> forms,
                 ImageNeeds needs = {}, SelectRules rules = {});

  // A buffer of the arena, of upload or of download memory; placed by finish().
  std::uint32_t add_buffer(Home home, std::uint64_t bytes, std::string name);
  // A tensor in device memory: of the arena, or an image where the kernels that use it want one.
  std::uint32_t add_tensor(std::uint64_t vectors, std::string name);
  // A buffer whose place in kWeights is known.
  std::uint32_t add_weights(std::uint64_t offset, std::uint64_t bytes, std::string name);

  // Appends the dispatches. `resolve` maps every reference but scratch to a buffer of this program.
  // Errors: kNoVariant; kUnsupported when a binding or dispatch is beyond the device's limits;
  // kInvalidArgument when lowering and kernel disagree (bindings, push constants, names).
  using Resolver = std::function<Result<std::uint32_t>(const BufferRef&)>;
  Status add(const Lowered& lowered, const Resolver& resolve, const std::string& node);

  // Copies a buffer or image that lives to the end into another buffer, behind all steps.
  void add_copy(std::uint32_t from, std::uint32_t to) { program_.copies.push_back({from, to}); }
  // Copies a buffer into a tensor that is an image, before all steps.
  void add_load(std::uint32_t from, std::uint32_t to) { program_.loads.push_back({from, to}); }
  // How bytes are read; else the table's first that the device may run. For tests.
  void set_int8(table::Int8 int8) { int8_ = int8; }

  // This variant and no other for what is added next, once; for known answers.
  void choose(Selection selection) { chosen_ = selection; }

  // Lifetimes, places, barriers. The builder is spent afterwards.
  Result<Program> finish();

 private:
  Result<Selection> select(const Dispatch& dispatch);
  Status add_step(const Dispatch& dispatch, const std::vector<std::uint32_t>& buffers,
                  const std::string& node);
  Status set_specs(const Dispatch& dispatch, const table::BlobEntry& blob, const std::string& at,
                   Step* step);
  Status check_limits(const Step& step, const std::string& at) const;
  Status check_shared(const PipelineRequest& pipeline, const std::string& at);
  Status use_as(table::BindingKind kind, std::uint32_t buffer, const std::string& at);
  struct Life;
  Result<std::vector<Life>> lives(const std::vector<std::uint32_t>& time) const;
  Status size_images(std::uint64_t* alignment);
  Status place(Home home, const std::vector<Life>& lives, std::uint64_t alignment);

  const Table& table_;
  const DeviceCaps& caps_;
  std::vector<Form> forms_;
  ImageNeeds needs_;
  SelectRules rules_;
  std::optional<table::Int8> int8_;
  std::optional<Selection> chosen_;
  std::set<std::uint32_t> bound_as_buffer_;
  std::set<std::vector<std::uint32_t>> shared_fits_;  // blob, then ids and values of constants
  std::map<std::string, Selection, std::less<>> selected_;
  Program program_;
};

DeviceTraits traits_of(const DeviceCaps& caps);
// The same with each of the matrices that the device multiplies and all of kMatrixKernels may be
// selected for in one of these forms, best first; none where there are none.
std::vector<DeviceTraits> matrix_traits(const DeviceCaps& caps, const Table& table,
                                        const std::vector<Form>& forms,
                                        const SelectRules& rules = {});
// With the best of them, and without the kernels of kReplaceableKernels that none of these forms
// can be selected of: lowering then takes what does their work.
DeviceTraits traits_of(const DeviceCaps& caps, const Table& table, const std::vector<Form>& forms,
                       const SelectRules& rules = {});

}  // namespace spirkiln
