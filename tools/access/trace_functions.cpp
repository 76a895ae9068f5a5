// SPDX-License-Identifier: Apache-2.0
#include "trace_functions.hpp"

#include <array>

#include "trace.hpp"

namespace spirkiln::access {
namespace {

// Members of the buffer's block, as TraceHeader has them.
enum Member : std::uint32_t {
  kCount,
  kCapacity,
  kFirst,
  kStep,
  kLostLow,
  kLostHigh,
  kFlopsLow,
  kFlopsHigh,
  kOnlyTraced,
  kData,
};

}  // namespace

void TraceFunctions::declare(std::uint32_t set) {
  uint_ = editor_.uint_type();
  bool_ = editor_.unique_type(spv::OpTypeBool, {});
  void_ = editor_.unique_type(spv::OpTypeVoid, {});
  vector_ = editor_.unique_type(spv::OpTypeVector, {uint_, 3});
  record_type_ = editor_.unique_type(spv::OpTypeVector, {uint_, 4});
  const bool old = module_.version() < 0x00010300;
  const std::uint32_t storage =
      old ? std::uint32_t{spv::StorageClassUniform} : std::uint32_t{spv::StorageClassStorageBuffer};
  const std::uint32_t array = editor_.declare(spv::OpTypeRuntimeArray, 0, {record_type_});
  editor_.annotate(spv::OpDecorate, {array, std::uint32_t{spv::DecorationArrayStride},
                                     std::uint32_t{sizeof(Record)}});
  const std::uint32_t u = uint_;
  const std::uint32_t block =
      editor_.declare(spv::OpTypeStruct, 0, {u, u, u, u, u, u, u, u, u, array});
  for (std::uint32_t m = 0; m <= kData; ++m) {
    const std::uint32_t offset = m == kData ? std::uint32_t{sizeof(TraceHeader)} : m * 4;
    editor_.annotate(spv::OpMemberDecorate,
                     {block, m, std::uint32_t{spv::DecorationOffset}, offset});
  }
  editor_.annotate(spv::OpDecorate, {block, old ? std::uint32_t{spv::DecorationBufferBlock}
                                                : std::uint32_t{spv::DecorationBlock}});
  const std::uint32_t pointer = editor_.declare(spv::OpTypePointer, 0, {storage, block});
  buffer_ = editor_.declare(spv::OpVariable, pointer, {storage});
  editor_.annotate(spv::OpDecorate, {buffer_, std::uint32_t{spv::DecorationDescriptorSet}, set});
  editor_.annotate(spv::OpDecorate, {buffer_, std::uint32_t{spv::DecorationBinding}, 0});
  editor_.add_to_interface(buffer_, false);
  word_pointer_ = editor_.declare(spv::OpTypePointer, 0, {storage, uint_});
  record_pointer_ = editor_.declare(spv::OpTypePointer, 0, {storage, record_type_});
  const std::uint32_t own =
      editor_.unique_type(spv::OpTypePointer, {std::uint32_t{spv::StorageClassPrivate}, uint_});
  for (std::uint32_t* variable : {&state_, &local_, &group_, &lost_, &flops_}) {
    *variable = editor_.declare(spv::OpVariable, own, {std::uint32_t{spv::StorageClassPrivate}});
    editor_.add_to_interface(*variable, false);
  }
  group_id_ = editor_.builtin(spv::BuiltInWorkgroupId, vector_);
  groups_ = editor_.builtin(spv::BuiltInNumWorkgroups, vector_);
  local_index_ = editor_.builtin(spv::BuiltInLocalInvocationIndex, uint_);
  // With Vulkan's memory model, the scope of a device is a feature of its own.
  const bool model = module_.has_capability(spv::CapabilityVulkanMemoryModel);
  scope_ = editor_.constant(model ? spv::ScopeQueueFamily : spv::ScopeDevice);
  relaxed_ = editor_.constant(0);
  record_ = editor_.new_id();
  entry_ = editor_.new_id();
  for (const ParsedInstruction& i : module_.instructions) {
    if (i.op == spv::OpEntryPoint) main_ = i.operands[1];
  }
}

void TraceFunctions::call_record(std::uint32_t site, std::uint32_t a, std::uint32_t b) {
  editor_.emit(spv::OpFunctionCall, void_, {record_, editor_.constant(site), a, b});
}

void TraceFunctions::call_flops(std::uint32_t count) {
  const std::uint32_t sum =
      editor_.emit(spv::OpIAdd, uint_, {own(flops_), editor_.constant(count)});
  set_own(flops_, sum);
}

void TraceFunctions::call_subgroup_flops(std::uint32_t count) {
  editor_.need_capability(spv::CapabilityGroupNonUniform);
  const std::uint32_t variable = editor_.builtin(spv::BuiltInSubgroupSize, uint_);
  const std::uint32_t size = editor_.emit(spv::OpLoad, uint_, {variable});
  const std::uint32_t share = editor_.emit(spv::OpUDiv, uint_, {editor_.constant(count), size});
  set_own(flops_, editor_.emit(spv::OpIAdd, uint_, {own(flops_), share}));
}

std::uint32_t TraceFunctions::word(std::uint32_t member) {
  return editor_.emit(spv::OpAccessChain, word_pointer_, {buffer_, editor_.constant(member)});
}

std::uint32_t TraceFunctions::load(std::uint32_t member) {
  return editor_.emit(spv::OpLoad, uint_, {word(member)});
}

void TraceFunctions::branch(std::uint32_t condition, std::uint32_t yes, std::uint32_t no,
                            std::uint32_t merge) {
  editor_.add(spv::OpSelectionMerge, {merge, 0});
  editor_.add(spv::OpBranchConditional, {condition, yes, no});
}

void TraceFunctions::define() {
  editor_.at_end();
  define_record();
  define_entry();
}

// void record(uint site, uint a, uint b). An invocation that finds the buffer full does not ask
// again, so the counter never wraps; what does not fit is counted.
void TraceFunctions::define_record() {
  const std::uint32_t type = editor_.unique_type(spv::OpTypeFunction, {void_, uint_, uint_, uint_});
  editor_.emit_as(record_, spv::OpFunction, void_, {0, type});
  std::array<std::uint32_t, 3> parameters{};
  for (std::uint32_t& p : parameters) p = editor_.emit(spv::OpFunctionParameter, uint_, {});
  block();
  const std::uint32_t take = editor_.new_id(), skip = editor_.new_id(), end = editor_.new_id();
  const std::uint32_t state = own(state_);
  branch(editor_.emit(spv::OpIEqual, bool_, {state, editor_.constant(1)}), take, skip, end);

  begin(take);
  const std::uint32_t index =
      editor_.emit(spv::OpAtomicIAdd, uint_, {word(kCount), scope_, relaxed_, editor_.constant(1)});
  const std::uint32_t store = editor_.new_id(), full = editor_.new_id(), done = editor_.new_id();
  branch(editor_.emit(spv::OpULessThan, bool_, {index, load(kCapacity)}), store, full, done);
  begin(store);
  const std::uint32_t who = editor_.emit(spv::OpBitwiseOr, uint_, {own(local_), parameters[0]});
  const std::uint32_t record = editor_.emit(spv::OpCompositeConstruct, record_type_,
                                            {who, own(group_), parameters[1], parameters[2]});
  const std::uint32_t place =
      editor_.emit(spv::OpAccessChain, record_pointer_, {buffer_, editor_.constant(kData), index});
  editor_.add(spv::OpStore, {place, record});
  editor_.add(spv::OpBranch, {done});
  begin(full);
  set_own(state_, editor_.constant(2));
  set_own(lost_, editor_.constant(1));
  editor_.add(spv::OpBranch, {done});
  begin(done);
  editor_.add(spv::OpBranch, {end});

  begin(skip);
  const std::uint32_t one =
      editor_.emit(spv::OpShiftRightLogical, uint_, {state, editor_.constant(1)});
  set_own(lost_, editor_.emit(spv::OpIAdd, uint_, {own(lost_), one}));
  editor_.add(spv::OpBranch, {end});
  begin(end);
  editor_.add(spv::OpReturn, {});
  editor_.add(spv::OpFunctionEnd, {});
}

std::uint32_t TraceFunctions::define_group() {
  const std::uint32_t id = editor_.emit(spv::OpLoad, vector_, {group_id_});
  const std::uint32_t size = editor_.emit(spv::OpLoad, vector_, {groups_});
  const auto part = [&](std::uint32_t v, std::uint32_t n) {
    return editor_.emit(spv::OpCompositeExtract, uint_, {v, n});
  };
  std::uint32_t sum = part(id, 2);
  for (const std::uint32_t axis : {1u, 0u}) {
    sum = editor_.emit(spv::OpIMul, uint_, {sum, part(size, axis)});
    sum = editor_.emit(spv::OpIAdd, uint_, {sum, part(id, axis)});
  }
  return sum;
}

// To a sum of 64 bits in two words of the header.
void TraceFunctions::add_long(std::uint32_t low, std::uint32_t high, std::uint32_t count) {
  const std::uint32_t before =
      editor_.emit(spv::OpAtomicIAdd, uint_, {word(low), scope_, relaxed_, count});
  const std::uint32_t after = editor_.emit(spv::OpIAdd, uint_, {before, count});
  const std::uint32_t more = editor_.new_id(), done = editor_.new_id();
  branch(editor_.emit(spv::OpULessThan, bool_, {after, before}), more, done, done);
  begin(more);
  editor_.emit(spv::OpAtomicIAdd, uint_, {word(high), scope_, relaxed_, editor_.constant(1)});
  editor_.add(spv::OpBranch, {done});
  begin(done);
}

// What the entry point starts: the kernel's own function, but not in groups that nobody looks at.
void TraceFunctions::define_entry() {
  const std::uint32_t type = editor_.unique_type(spv::OpTypeFunction, {void_});
  editor_.emit_as(entry_, spv::OpFunction, void_, {0, type});
  block();
  const std::uint32_t group = define_group();
  const std::uint32_t first = load(kFirst);
  const std::uint32_t behind = editor_.emit(spv::OpUGreaterThanEqual, bool_, {group, first});
  const std::uint32_t from_first = editor_.emit(spv::OpISub, uint_, {group, first});
  const std::uint32_t rest = editor_.emit(spv::OpUMod, uint_, {from_first, load(kStep)});
  const std::uint32_t even = editor_.emit(spv::OpIEqual, bool_, {rest, editor_.constant(0)});
  const std::uint32_t traced = editor_.emit(spv::OpLogicalAnd, bool_, {behind, even});
  set_own(state_,
          editor_.emit(spv::OpSelect, uint_, {traced, editor_.constant(1), editor_.constant(0)}));
  set_own(group_, group);
  const std::uint32_t local = editor_.emit(spv::OpLoad, uint_, {local_index_});
  set_own(local_, editor_.emit(spv::OpShiftLeftLogical, uint_, {local, editor_.constant(16)}));
  set_own(lost_, editor_.constant(0));
  set_own(flops_, editor_.constant(0));
  const std::uint32_t all =
      editor_.emit(spv::OpIEqual, bool_, {load(kOnlyTraced), editor_.constant(0)});
  const std::uint32_t runs = editor_.emit(spv::OpLogicalOr, bool_, {all, traced});
  const std::uint32_t work = editor_.new_id(), sums = editor_.new_id(), end = editor_.new_id(),
                      close = editor_.new_id();
  branch(runs, work, end, end);
  begin(work);
  editor_.emit(spv::OpFunctionCall, void_, {main_});
  branch(traced, sums, close, close);
  begin(sums);
  add_long(kFlopsLow, kFlopsHigh, own(flops_));
  add_long(kLostLow, kLostHigh, own(lost_));
  editor_.add(spv::OpBranch, {close});
  begin(close);
  editor_.add(spv::OpBranch, {end});
  begin(end);
  editor_.add(spv::OpReturn, {});
  editor_.add(spv::OpFunctionEnd, {});
}

}  // namespace spirkiln::access
