// SPDX-License-Identifier: Apache-2.0
#include "module_editor.hpp"

#include <algorithm>

namespace spirkiln::access {
namespace {

bool is_type(std::uint32_t op) { return op >= spv::OpTypeVoid && op <= spv::OpTypeForwardPointer; }

}  // namespace

void ModuleEditor::put(std::vector<std::uint32_t>* to, std::uint32_t op, std::uint32_t type,
                       std::uint32_t result, std::span<const std::uint32_t> operands) {
  const auto count = static_cast<std::uint32_t>(1 + (type != 0) + (result != 0) + operands.size());
  to->push_back(count << 16 | op);
  if (type != 0) to->push_back(type);
  if (result != 0) to->push_back(result);
  to->insert(to->end(), operands.begin(), operands.end());
}

std::uint32_t ModuleEditor::emit(std::uint32_t op, std::uint32_t type,
                                 std::initializer_list<std::uint32_t> operands) {
  const std::uint32_t id = new_id();
  put(out_, op, type, id, operands);
  return id;
}

void ModuleEditor::emit_as(std::uint32_t result, std::uint32_t op, std::uint32_t type,
                           std::initializer_list<std::uint32_t> operands) {
  put(out_, op, type, result, operands);
}

void ModuleEditor::add(std::uint32_t op, std::initializer_list<std::uint32_t> operands) {
  put(out_, op, 0, 0, operands);
}

std::uint32_t ModuleEditor::declare(std::uint32_t op, std::uint32_t type,
                                    std::initializer_list<std::uint32_t> operands) {
  const std::uint32_t id = new_id();
  put(&globals_, op, type, id, operands);
  return id;
}

void ModuleEditor::annotate(std::uint32_t op, std::initializer_list<std::uint32_t> operands) {
  put(&annotations_, op, 0, 0, operands);
}

std::uint32_t ModuleEditor::unique_type(std::uint32_t op,
                                        std::initializer_list<std::uint32_t> operands) {
  std::vector<std::uint32_t> key = {op};
  key.insert(key.end(), operands.begin(), operands.end());
  if (const auto it = types_.find(key); it != types_.end()) return it->second;
  for (const ParsedInstruction& i : module_.instructions) {
    if (i.function) break;
    if (i.op != op) continue;
    const auto own = i.operands.subspan(1);
    if (!std::equal(own.begin(), own.end(), operands.begin(), operands.end())) continue;
    return types_[key] = i.operands[0];
  }
  return types_[key] = declare(op, 0, operands);
}

std::uint32_t ModuleEditor::constant(std::uint32_t value) {
  std::uint32_t& id = constants_[value];
  if (id == 0) id = declare(spv::OpConstant, uint_type(), {value});
  return id;
}

std::uint32_t ModuleEditor::builtin(std::uint32_t builtin, std::uint32_t type) {
  for (const ParsedInstruction& i : module_.instructions) {
    if (i.function) break;
    if (i.op == spv::OpVariable &&
        module_.decoration(i.result, spv::DecorationBuiltIn) == std::int64_t{builtin}) {
      return i.result;
    }
  }
  std::uint32_t& made = builtins_[builtin];
  if (made != 0) return made;
  const std::uint32_t pointer =
      unique_type(spv::OpTypePointer, {std::uint32_t{spv::StorageClassInput}, type});
  const std::uint32_t id =
      declare(spv::OpVariable, pointer, {std::uint32_t{spv::StorageClassInput}});
  annotate(spv::OpDecorate, {id, std::uint32_t{spv::DecorationBuiltIn}, builtin});
  add_to_interface(id, true);
  return made = id;
}

void ModuleEditor::add_to_interface(std::uint32_t variable, bool always) {
  if (always || module_.version() >= 0x00010400) interface_.push_back(variable);
}

std::vector<std::uint32_t> ModuleEditor::finish(std::uint32_t entry) const {
  const auto& all = module_.instructions;
  // Lines stand before what they are of.
  const auto with_lines = [&](std::size_t at) {
    while (at > 0 && (all[at - 1].op == spv::OpLine || all[at - 1].op == spv::OpNoLine)) --at;
    return at;
  };
  const auto find = [&](auto&& predicate) {
    return with_lines(
        static_cast<std::size_t>(std::find_if(all.begin(), all.end(), predicate) - all.begin()));
  };
  const std::size_t first_type = find([](const ParsedInstruction& i) { return is_type(i.op); });
  const std::size_t first_function =
      find([](const ParsedInstruction& i) { return i.op == spv::OpFunction; });
  std::vector<std::uint32_t> words(module_.words.begin(), module_.words.begin() + 5);
  words[3] = bound_;
  const auto append = [&](const std::vector<std::uint32_t>& more) {
    words.insert(words.end(), more.begin(), more.end());
  };
  for (const std::uint32_t capability : capabilities_) {
    if (!module_.has_capability(capability)) append({2u << 16 | spv::OpCapability, capability});
  }
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (n == first_type) append(annotations_);
    if (n == first_function) append(globals_);
    if (const auto it = before_.find(n); it != before_.end()) append(it->second);
    const ParsedInstruction& i = all[n];
    const std::size_t begin = words.size();
    words.push_back(static_cast<std::uint32_t>(1 + i.operands.size()) << 16 | i.op);
    words.insert(words.end(), i.operands.begin(), i.operands.end());
    if (i.op == spv::OpEntryPoint) {
      words[begin + 2] = entry;
      append(interface_);
      words[begin] = static_cast<std::uint32_t>(words.size() - begin) << 16 | i.op;
    }
    if (i.op == spv::OpExecutionMode || i.op == spv::OpExecutionModeId) words[begin + 1] = entry;
  }
  append(end_);
  return words;
}

}  // namespace spirkiln::access
