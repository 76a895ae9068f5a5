// SPDX-License-Identifier: Apache-2.0
#include "graph/program.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "graph/arena.hpp"
#include "graph/schedule.hpp"
#include "graph/shared_memory.hpp"

namespace spirkiln {

DeviceTraits traits_of(const DeviceCaps& caps) {
  DeviceTraits t;
  if (caps.subgroup_size != 0) t.subgroup_size = caps.subgroup_size;
  t.max_invocations = caps.max_invocations;
  for (int i = 0; i < 3; ++i) {
    t.max_group_size[i] = caps.max_group_size[i];
    t.max_group_count[i] = caps.max_group_count[i];
  }
  t.shared_bytes = caps.max_shared_bytes;
  t.max_storage_range = caps.max_storage_range;
  t.max_storage_buffers = caps.max_storage_buffers;
  t.software = caps.type == "cpu";
  return t;
}

namespace {

// Values of the axis MATRIX (variants/kernels/matrix.toml), best first, and what they stand for.
struct MatrixAxis {
  std::string_view value;
  std::uint32_t m, n, k, subgroup;
};
constexpr MatrixAxis kMatrices[] = {
    {"16081632", 16, 8, 16, 32}, {"16161632", 16, 16, 16, 32}, {"16161664", 16, 16, 16, 64},
    {"8161616", 8, 16, 16, 16},  {"8161632", 8, 16, 16, 32},   {"8080808", 8, 8, 8, 8},
};

bool multiplies(const DeviceCaps& caps, const MatrixAxis& axis) {
  const MatrixShape wanted{axis.m,      axis.n,       axis.k,       kMatrixHalf,
                           kMatrixHalf, kMatrixFloat, kMatrixFloat, false};
  return caps.subgroup_size == axis.subgroup &&
         std::find(caps.matrix_shapes.begin(), caps.matrix_shapes.end(), wanted) !=
             caps.matrix_shapes.end();
}

DeviceTraits without_unselectable(const DeviceCaps& caps, const Table& table,
                                  const std::vector<Form>& forms, const SelectRules& rules) {
  DeviceTraits t = traits_of(caps);
  for (const std::string_view kernel : kReplaceableKernels) {
    if (!select_blob(table, {kernel, forms, {}}, caps, rules)) t.without.push_back(kernel);
  }
  return t;
}

}  // namespace

std::vector<DeviceTraits> matrix_traits(const DeviceCaps& caps, const Table& table,
                                        const std::vector<Form>& forms, const SelectRules& rules) {
  std::vector<DeviceTraits> all;
  for (const MatrixAxis& axis : kMatrices) {
    if (!multiplies(caps, axis)) continue;
    const AxisRequest request{"MATRIX", axis.value};
    const auto may_run = [&](std::string_view kernel) {
      return select_blob(table, {kernel, forms, {&request, 1}}, caps, rules).ok();
    };
    if (!std::all_of(std::begin(kMatrixKernels), std::end(kMatrixKernels), may_run)) continue;
    DeviceTraits& t = all.emplace_back(without_unselectable(caps, table, forms, rules));
    t.matrix_m = axis.m;
    t.matrix_n = axis.n;
    t.matrix_k = axis.k;
    t.matrix = axis.value;
    for (const std::string_view kernel : kReplaceableMatrixKernels) {
      if (!may_run(kernel)) t.without.push_back(kernel);
    }
  }
  return all;
}

DeviceTraits traits_of(const DeviceCaps& caps, const Table& table, const std::vector<Form>& forms,
                       const SelectRules& rules) {
  const auto all = matrix_traits(caps, table, forms, rules);
  return all.empty() ? without_unselectable(caps, table, forms, rules) : all.front();
}

ProgramBuilder::ProgramBuilder(const Table& table, const DeviceCaps& caps, std::vector<Form> forms,
                               ImageNeeds needs, SelectRules rules)
    : table_(table),
      caps_(caps),
      forms_(std::move(forms)),
      needs_(std::move(needs)),
      rules_(std::move(rules)) {}

std::uint32_t ProgramBuilder::add_buffer(Home home, std::uint64_t bytes, std::string name) {
  program_.buffers.push_back({home, 0, bytes, std::move(name)});
  return static_cast<std::uint32_t>(program_.buffers.size() - 1);
}

std::uint32_t ProgramBuilder::add_tensor(std::uint64_t vectors, std::string name) {
  const std::uint64_t bytes = vectors * vector_bytes(forms_.front());
  program_.buffers.push_back({Home::kArena, 0, bytes, std::move(name), vectors});
  return static_cast<std::uint32_t>(program_.buffers.size() - 1);
}

std::uint32_t ProgramBuilder::add_weights(std::uint64_t offset, std::uint64_t bytes,
                                          std::string name) {
  program_.buffers.push_back({Home::kWeights, offset, bytes, std::move(name)});
  return static_cast<std::uint32_t>(program_.buffers.size() - 1);
}

Result<Selection> ProgramBuilder::select(const Dispatch& dispatch) {
  if (const auto chosen = std::exchange(chosen_, std::nullopt)) return *chosen;
  std::string key(dispatch.kernel);
  std::vector<AxisRequest> axes;
  for (const AxisChoice& a : dispatch.axes) {
    axes.push_back({a.axis, a.value});
    key.append("|").append(a.axis).append("=").append(a.value);
  }
  if (const auto it = selected_.find(key); it != selected_.end()) return it->second;
  auto selection = select_blob(table_, {dispatch.kernel, forms_, axes, int8_}, caps_, rules_);
  if (selection) selected_.emplace(std::move(key), *selection);
  return selection;
}

Status ProgramBuilder::set_specs(const Dispatch& dispatch, const table::BlobEntry& blob,
                                 const std::string& at, Step* step) {
  const auto known = table_.specs_of(blob);
  auto& specs = step->pipeline.specs;
  for (const SpecChoice& choice : dispatch.specs) {
    const auto it = std::find_if(known.begin(), known.end(), [&](const table::SpecEntry& s) {
      return table_.string(s.name) == choice.name;
    });
    if (it == known.end()) {
      return Error{ErrorCode::kInvalidArgument,
                   at + ": the kernel has no specialization constant " + std::string(choice.name)};
    }
    specs.push_back({it->id, choice.bits});
  }
  std::uint64_t invocations = 1;
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t wanted = dispatch.local_size[i];
    std::uint32_t size = blob.local_size[i];
    if (wanted != 0 && wanted != size) {
      if (blob.local_size_id[i] == table::kNone) {
        return Error{ErrorCode::kInvalidArgument, at + ": the kernel's local size is fixed to " +
                                                      std::to_string(size) + " along axis " +
                                                      std::to_string(i) + ", asked for is " +
                                                      std::to_string(wanted)};
      }
      specs.push_back({blob.local_size_id[i], wanted});
      size = wanted;
    }
    if (size > caps_.max_group_size[i]) {
      return Error{ErrorCode::kUnsupported, at + ": local size " + std::to_string(size) +
                                                " along axis " + std::to_string(i) +
                                                ", the device allows " +
                                                std::to_string(caps_.max_group_size[i])};
    }
    invocations *= size;
  }
  if (invocations > caps_.max_invocations) {
    return Error{ErrorCode::kUnsupported, at + ": " + std::to_string(invocations) +
                                              " invocations in a workgroup, the device allows " +
                                              std::to_string(caps_.max_invocations)};
  }
  std::sort(specs.begin(), specs.end(),
            [](const SpecValue& a, const SpecValue& b) { return a.id < b.id; });
  const auto twice =
      std::adjacent_find(specs.begin(), specs.end(),
                         [](const SpecValue& a, const SpecValue& b) { return a.id == b.id; });
  if (twice != specs.end()) {
    return Error{ErrorCode::kInvalidArgument,
                 at + ": specialization constant " + std::to_string(twice->id) + " is set twice"};
  }
  return Ok{};
}

Status ProgramBuilder::check_limits(const Step& step, const std::string& at) const {
  for (int i = 0; i < 3; ++i) {
    if (step.groups[i] == 0 || step.groups[i] > caps_.max_group_count[i]) {
      return Error{ErrorCode::kUnsupported, at + ": " + std::to_string(step.groups[i]) +
                                                " workgroups along axis " + std::to_string(i) +
                                                ", the device allows 1 to " +
                                                std::to_string(caps_.max_group_count[i])};
    }
  }
  for (const Use& use : step.uses) {
    const ProgramBuffer& b = program_.buffers[use.buffer];
    if (b.is_image()) {
      if (std::max(b.image.width, b.image.height) <= caps_.max_image_size) continue;
      return Error{ErrorCode::kUnsupported,
                   at + ": " + b.name + " is an image of " + std::to_string(b.image.width) + " x " +
                       std::to_string(b.image.height) + " texels, the device allows " +
                       std::to_string(caps_.max_image_size) +
                       " along an axis. Use a smaller picture or batch, or a form with buffers"};
    }
    if (b.bytes == 0) {
      return Error{ErrorCode::kInvalidArgument, at + ": buffer " + b.name + " has no bytes"};
    }
    if (b.bytes > caps_.max_storage_range) {
      return Error{ErrorCode::kUnsupported,
                   at + ": buffer " + b.name + " has " + std::to_string(b.bytes) +
                       " bytes, the device binds at most " +
                       std::to_string(caps_.max_storage_range) +
                       " (maxStorageBufferRange). Use a smaller picture or batch"};
    }
  }
  return Ok{};
}

// Once for each module and set of constants: the module's words are read for it.
Status ProgramBuilder::check_shared(const PipelineRequest& pipeline, const std::string& at) {
  // At their defaults it fits, or the variant would not have been selected.
  if (pipeline.specs.empty() || table_.blobs()[pipeline.blob].shared_bytes == 0) return Ok{};
  std::vector<std::uint32_t> key{pipeline.blob};
  for (const SpecValue& s : pipeline.specs) {
    key.push_back(s.id);
    key.push_back(s.bits);
  }
  if (shared_fits_.contains(key)) return Ok{};
  const auto words = table_.words(pipeline.blob);
  if (!words) return words.error();
  if (auto s = check_shared_memory(*words, pipeline.specs, caps_, at); !s) return s;
  shared_fits_.insert(std::move(key));
  return Ok{};
}

// A tensor is what the first kernel that uses it declares; all others have to agree.
Status ProgramBuilder::use_as(table::BindingKind kind, std::uint32_t buffer,
                              const std::string& at) {
  ProgramBuffer& b = program_.buffers[buffer];
  if (kind == table::BindingKind::kStorageBuffer) {
    if (b.is_image()) {
      return Error{ErrorCode::kInvalidArgument,
                   at + ": the kernel has " + b.name + " as a buffer, another one as an image"};
    }
    bound_as_buffer_.insert(buffer);
    return Ok{};
  }
  if (b.is_image()) return Ok{};
  if (b.vectors == 0 || b.home != Home::kArena || bound_as_buffer_.contains(buffer)) {
    return Error{ErrorCode::kInvalidArgument,
                 at + ": the kernel wants " + b.name + " as an image, but it is a buffer"};
  }
  b.home = Home::kImages;
  b.image = tensor_image(b.vectors, vector_bytes(forms_.front()));
  return Ok{};
}

Status ProgramBuilder::add_step(const Dispatch& dispatch, const std::vector<std::uint32_t>& buffers,
                                const std::string& node) {
  auto selection = select(dispatch);
  if (!selection) return std::move(selection).error();
  const table::BlobEntry& blob = table_.blobs()[selection->blob];
  const std::string at =
      node + ", kernel " + std::string(table_.string(table_.variants()[selection->variant].name));
  Step step;
  step.pipeline.blob = selection->blob;
  step.pipeline.kernel = table_.string(table_.variants()[selection->variant].name);
  step.push = dispatch.push;
  step.push_words = dispatch.push_words;
  step.groups = dispatch.groups;
  step.flops = dispatch.flops;
  step.node = node;
  if (dispatch.push_words * 4 != blob.push_bytes) {
    return Error{ErrorCode::kInvalidArgument, at + ": " + std::to_string(dispatch.push_words * 4) +
                                                  " bytes of push constants, the kernel declares " +
                                                  std::to_string(blob.push_bytes)};
  }
  // A binding that the optimiser removed is missing from the reflection, and need not be bound.
  for (const table::BindingEntry& b : table_.bindings_of(blob)) {
    if (b.set != 0 || b.kind == table::BindingKind::kUniformBuffer || b.binding >= buffers.size()) {
      return Error{ErrorCode::kInvalidArgument,
                   at + ": set " + std::to_string(b.set) + " binding " + std::to_string(b.binding) +
                       " is no storage buffer or image among the " +
                       std::to_string(buffers.size()) + " that are bound"};
    }
    if (auto s = use_as(b.kind, buffers[b.binding], at); !s) return s;
    Use use;
    use.binding = b.binding;
    use.buffer = buffers[b.binding];
    use.kind = b.kind;
    use.reads = (b.flags & table::kWriteOnly) == 0;
    use.writes = (b.flags & table::kReadOnly) == 0;
    step.uses.push_back(use);
  }
  if (auto s = set_specs(dispatch, blob, at, &step); !s) return s;
  if (auto s = check_limits(step, at); !s) return s;
  if (auto s = check_shared(step.pipeline, at); !s) return s;
  program_.steps.push_back(std::move(step));
  return Ok{};
}

Status ProgramBuilder::add(const Lowered& lowered, const Resolver& resolve,
                           const std::string& node) {
  std::vector<std::uint32_t> scratch;
  for (std::size_t i = 0; i < lowered.scratch_bytes.size(); ++i) {
    scratch.push_back(
        add_buffer(Home::kArena, lowered.scratch_bytes[i], node + " scratch " + std::to_string(i)));
    program_.buffers.back().vectors = lowered.scratch_bytes[i] / 16;  // may be of fp32
  }
  for (const Dispatch& dispatch : lowered.dispatches) {
    std::vector<std::uint32_t> buffers;
    for (const BufferRef& ref : dispatch.buffers) {
      if (ref.kind == BufferKind::kScratch) {
        if (ref.index >= scratch.size()) {
          return Error{ErrorCode::kInvalidArgument,
                       node + ": no scratch buffer " + std::to_string(ref.index)};
        }
        buffers.push_back(scratch[ref.index]);
        continue;
      }
      auto buffer = resolve(ref);
      if (!buffer) return std::move(buffer).error();
      buffers.push_back(*buffer);
    }
    if (auto s = add_step(dispatch, buffers, node); !s) return s;
  }
  return Ok{};
}

// Steps between which what a buffer holds is needed.
struct ProgramBuilder::Life {
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t first = kNever, last = 0;
};

Result<std::vector<ProgramBuilder::Life>> ProgramBuilder::lives(
    const std::vector<std::uint32_t>& time) const {
  std::vector<Life> lives(program_.buffers.size());
  for (const Copy& load : program_.loads) lives[load.to].first = 0;
  for (std::uint32_t i = 0; i < program_.steps.size(); ++i) {
    for (const Use& use : program_.steps[i].uses) {
      Life& life = lives[use.buffer];
      const ProgramBuffer& b = program_.buffers[use.buffer];
      const bool is_written = b.home == Home::kArena || b.home == Home::kImages;
      if (life.first == Life::kNever && is_written && !use.writes) {
        return Error{ErrorCode::kInvalidArgument,
                     "kernel " + std::string(program_.steps[i].pipeline.kernel) + " reads " +
                         b.name + ", which nothing has written"};
      }
      life.first = std::min(life.first, time[i]);
      life.last = std::max(life.last, time[i]);
    }
  }
  for (const Copy& copy : program_.copies) {
    Life& life = lives[copy.from];
    if (life.first == Life::kNever) {
      return Error{ErrorCode::kInvalidArgument,
                   program_.buffers[copy.from].name + " is copied, but nothing has written it"};
    }
    life.last = time.empty() ? 0 : time.back();
  }
  return lives;
}

// Bytes of all images; `alignment` becomes what suits them all.
Status ProgramBuilder::size_images(std::uint64_t* alignment) {
  for (const Copy& load : program_.loads) {
    ProgramBuffer& b = program_.buffers[load.to];
    if (!b.is_image()) {
      return Error{ErrorCode::kInvalidArgument,
                   b.name + " is loaded, but no kernel has it as an image"};
    }
    b.image.copied = true;
  }
  for (const Copy& copy : program_.copies) program_.buffers[copy.from].image.copied = true;
  for (ProgramBuffer& b : program_.buffers) {
    if (!b.is_image()) continue;
    if (!needs_) return Error{ErrorCode::kInvalidArgument, b.name + ": nothing sizes images here"};
    auto need = needs_(b.image);
    if (!need) return std::move(need).error();
    b.bytes = need->bytes;
    *alignment = std::max(*alignment, need->alignment);
  }
  return Ok{};
}

// The buffers of a home that is shared by lifetime.
Status ProgramBuilder::place(Home home, const std::vector<Life>& lives, std::uint64_t alignment) {
  std::vector<ArenaItem> items;
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    if (program_.buffers[i].home != home || lives[i].first == Life::kNever) continue;
    items.push_back({program_.buffers[i].bytes, lives[i].first, lives[i].last, 0});
    owners.push_back(i);
  }
  auto total = pack_arena(items, alignment);
  if (!total) return std::move(total).error();
  for (std::size_t i = 0; i < items.size(); ++i) {
    program_.buffers[owners[i]].offset = items[i].offset;
  }
  program_.home_bytes[static_cast<std::size_t>(home)] = *total;
  return Ok{};
}

Result<Program> ProgramBuilder::finish() {
  // On a GPU a barrier costs more than most kernels: what is independent runs between the same two,
  // and memory is reused only from one wave to the next, since reuse inside a wave would be a
  // dependency of its own. On a CPU driver barriers are cheap and a small arena stays in its cache.
  std::vector<std::uint32_t> time(program_.steps.size());
  if (caps_.type == "cpu") {
    std::iota(time.begin(), time.end(), 0u);
  } else {
    time = order_by_wave(&program_);
  }
  const auto lives = this->lives(time);
  if (!lives) return lives.error();
  for (ProgramBuffer& b : program_.buffers) {
    if (b.home != Home::kUpload && b.home != Home::kDownload) continue;
    std::uint64_t& end = program_.home_bytes[static_cast<std::size_t>(b.home)];
    b.offset = end;
    end +=
        (b.bytes + caps_.storage_alignment - 1) / caps_.storage_alignment * caps_.storage_alignment;
  }
  std::uint64_t image_alignment = 1;
  if (auto s = size_images(&image_alignment); !s) return std::move(s).error();
  if (auto s = place(Home::kArena, *lives, caps_.storage_alignment); !s) {
    return std::move(s).error();
  }
  if (auto s = place(Home::kImages, *lives, image_alignment); !s) return std::move(s).error();
  place_barriers(&program_);
  place_images(&program_);
  return std::move(program_);
}

}  // namespace spirkiln
