// SPDX-License-Identifier: Apache-2.0
#include "spirv_tools.hpp"

#include <fmt/format.h>
#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>

namespace spirkiln::gen {
namespace {

spv_target_env environment(const Target& target) {
  switch ((target.vulkan >> 12) & 0x3ffu) {
    case 0:
      return SPV_ENV_VULKAN_1_0;
    case 1:
      return SPV_ENV_VULKAN_1_1;
    case 2:
      return SPV_ENV_VULKAN_1_2;
    default:
      return SPV_ENV_VULKAN_1_3;
  }
}

// Keeps the first error of a tool.
auto keep_first(std::string& text) {
  return
      [&text](spv_message_level_t level, const char*, const spv_position_t&, const char* message) {
        if (level <= SPV_MSG_ERROR && text.empty()) text = message;
      };
}

Result<std::vector<std::uint32_t>> run(spvtools::Optimizer& optimizer, std::string& said,
                                       const std::vector<std::uint32_t>& words) {
  spvtools::OptimizerOptions options;
  options.set_run_validator(false);  // a stage of its own
  options.set_preserve_bindings(true);
  options.set_preserve_spec_constants(true);
  std::vector<std::uint32_t> out;
  if (!optimizer.Run(words.data(), words.size(), &out, options)) {
    return Error{ErrorCode::kInvalidArgument,
                 said.empty() ? "the optimiser failed without a message" : said};
  }
  return out;
}

}  // namespace

Result<std::vector<std::uint32_t>> optimise(const std::vector<std::uint32_t>& words,
                                            Optimise policy, const Target& target) {
  if (policy == Optimise::kNone) return words;
  spvtools::Optimizer optimizer(environment(target));
  std::string said;
  optimizer.SetMessageConsumer(keep_first(said));
  if (policy == Optimise::kSize) {
    optimizer.RegisterSizePasses();
  } else {
    optimizer.RegisterPerformancePasses();
  }
  return run(optimizer, said, words);
}

Result<std::vector<std::uint32_t>> strip(const std::vector<std::uint32_t>& words,
                                         const Target& target) {
  spvtools::Optimizer optimizer(environment(target));
  std::string said;
  optimizer.SetMessageConsumer(keep_first(said));
  optimizer.RegisterPass(spvtools::CreateStripDebugInfoPass());
  optimizer.RegisterPass(spvtools::CreateStripNonSemanticInfoPass());
  return run(optimizer, said, words);
}

Status validate(const std::vector<std::uint32_t>& words, const Target& target) {
  spvtools::SpirvTools tools(environment(target));
  std::string said;
  tools.SetMessageConsumer(keep_first(said));
  if (tools.Validate(words)) return Ok{};
  return Error{ErrorCode::kInvalidArgument, said.empty() ? "invalid SPIR-V" : said};
}

Result<std::string> disassemble(const std::vector<std::uint32_t>& words) {
  spvtools::SpirvTools tools(SPV_ENV_UNIVERSAL_1_6);
  std::string said;
  tools.SetMessageConsumer(keep_first(said));
  std::string text;
  if (tools.Disassemble(
          words, &text,
          SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES)) {
    return text;
  }
  return Error{ErrorCode::kCorrupt, said.empty() ? "cannot disassemble" : said};
}

std::string spirv_tools_version() {
  return fmt::format("SPIRV-Tools {}", spvSoftwareVersionString());
}

}  // namespace spirkiln::gen
