// SPDX-License-Identifier: Apache-2.0
#include "compile_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <spirv/unified1/spirv.hpp>

#include "source_compiler.hpp"
#include "spirv_module.hpp"

namespace spirkiln::test {

Compiled compile_text(std::string_view text, std::string_view profile, std::string_view form,
                      Defines defines, bool strict) {
  gen::SourceStore sources;
  auto source = sources.put("k.comp", text);
  if (!source.ok()) return {false, {}, source.error().message};
  gen::SourceRequest request;
  request.source = *source;
  request.profile = profile;
  request.form = form;
  request.defines = std::move(defines);
  request.strict = strict;
  request.glsl = std::filesystem::path(SPIRKILN_SOURCE_ROOT) / "glsl";
  auto outcome = gen::compile_source(request, sources);
  std::string said;
  for (const auto& d : outcome.diagnostics) said += gen::to_string(d) + "\n";
  return {outcome.ok, std::move(outcome.words), std::move(said)};
}

std::size_t count_ops(const std::vector<std::uint32_t>& words, std::uint32_t op) {
  const auto module = gen::SpirvModule::parse(words);
  REQUIRE(module.ok());
  std::size_t count = 0;
  for (const auto& inst : module->instructions()) count += inst.op == op;
  return count;
}

bool has_capability(const std::vector<std::uint32_t>& words, std::uint32_t capability) {
  const auto module = gen::SpirvModule::parse(words);
  REQUIRE(module.ok());
  for (const auto& inst : module->instructions()) {
    if (inst.op == spv::OpCapability && inst.operands[0] == capability) return true;
  }
  return false;
}

}  // namespace spirkiln::test
