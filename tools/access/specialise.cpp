// SPDX-License-Identifier: Apache-2.0
#include "specialise.hpp"

#include <spirv-tools/optimizer.hpp>
#include <string>
#include <unordered_map>

#include "module_editor.hpp"
#include "subject.hpp"

namespace spirkiln::access {

Result<std::vector<std::uint32_t>> with_own_lines(const std::vector<std::uint32_t>& words,
                                                  Inlined inlined) {
  const auto module = ParsedModule::parse(words);
  if (!module) return module.error();
  ModuleEditor editor(*module);
  std::uint32_t entry = 0;
  bool behind_merge = false;
  // An array whose length is a constant's gives its uses the line of its declaration, before the
  // function: there the line in force before holds.
  ParsedInstruction begin, good;
  for (std::size_t n = 0; n < module->instructions.size(); ++n) {
    const ParsedInstruction& i = module->instructions[n];
    if (i.op == spv::OpEntryPoint) entry = i.operands[1];
    const bool plain = i.function && i.file_id != 0 && i.op != spv::OpLine &&
                       i.op != spv::OpNoLine && i.op != spv::OpPhi && i.op != spv::OpLabel &&
                       i.op != spv::OpVariable && i.op != spv::OpFunction &&
                       i.op != spv::OpFunctionParameter && i.op != spv::OpFunctionEnd;
    if (i.op == spv::OpFunction) begin = good = i;
    if (i.op == spv::OpLine) {
      const bool declaration =
          inlined == Inlined::kNo && i.file_id == begin.file_id && i.line < begin.line;
      if (!declaration) good = i;
    }
    if (plain && !behind_merge) {
      editor.at(n);
      editor.add(spv::OpLine, {good.file_id, good.line, 0});
    }
    behind_merge = i.op == spv::OpSelectionMerge || i.op == spv::OpLoopMerge;
  }
  return editor.finish(entry);
}

namespace {

// The constants' defaults, in place.
Result<std::vector<std::uint32_t>> with_defaults(
    const std::vector<std::uint32_t>& words,
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& specs) {
  auto module = ParsedModule::parse(words);
  if (!module) return std::move(module).error();
  std::vector<std::uint32_t> out = words;
  for (const ParsedInstruction& i : module->instructions) {
    const auto number = module->decoration(i.result, spv::DecorationSpecId);
    if (i.result == 0 || number < 0) continue;
    for (const auto& [id, bits] : specs) {
      if (id != number) continue;
      const auto at = static_cast<std::size_t>(i.operands.data() - module->words.data());
      if (i.op == spv::OpSpecConstant) {
        out[at + 2] = bits;
      } else {
        out[at - 1] = (out[at - 1] & 0xffff0000u) |
                      (bits != 0 ? spv::OpSpecConstantTrue : spv::OpSpecConstantFalse);
      }
    }
  }
  return out;
}

}  // namespace

Result<std::vector<std::uint32_t>> specialise(
    const std::vector<std::uint32_t>& words,
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& specs,
    const gen::SecondCompiler* tools) {
  const auto lined = with_own_lines(words, Inlined::kYes);
  if (!lined) return lined.error();
  if (tools != nullptr) {
    const auto set = with_defaults(*lined, specs);
    if (!set) return set.error();
    return tools->run_passes(*set,
                             {"--freeze-spec-const", "--fold-spec-const-op-composite", "--ccp",
                              "--simplify-instructions", "--eliminate-dead-branches"},
                             target_of(words[1]));
  }
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> values;
  for (const auto& [id, bits] : specs) values[id] = {bits};
  spvtools::Optimizer optimizer(SPV_ENV_UNIVERSAL_1_6);
  std::string said;
  optimizer.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t&,
                                   const char* text) { said = text; });
  optimizer.RegisterPass(spvtools::CreateSetSpecConstantDefaultValuePass(values))
      .RegisterPass(spvtools::CreateFreezeSpecConstantValuePass())
      .RegisterPass(spvtools::CreateFoldSpecConstantOpAndCompositePass())
      .RegisterPass(spvtools::CreateCCPPass())
      .RegisterPass(spvtools::CreateSimplificationPass())
      .RegisterPass(spvtools::CreateDeadBranchElimPass());  // merging blocks would move lines
  std::vector<std::uint32_t> out;
  spvtools::OptimizerOptions options;
  options.set_run_validator(false);
  options.set_preserve_bindings(true);
  if (!optimizer.Run(lined->data(), lined->size(), &out, options)) {
    return Error{ErrorCode::kUnsupported, "the constants cannot be set: " + said};
  }
  return out;
}

}  // namespace spirkiln::access
