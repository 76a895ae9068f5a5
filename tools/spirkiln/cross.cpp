// SPDX-License-Identifier: Apache-2.0
#include "cross.hpp"

#include <algorithm>
#include <exception>
#include <spirv_cross/spirv_glsl.hpp>
#include <spirv_cross/spirv_hlsl.hpp>
#include <spirv_cross/spirv_msl.hpp>

#include "spirv_tools.hpp"

namespace spirkiln::gen {
namespace {

// HLSL has no word for the number of workgroups: it becomes a constant buffer behind the kernel's
// bindings.
void place_workgroup_count(spirv_cross::CompilerHLSL* compiler) {
  const auto id = compiler->remap_num_workgroups_builtin();
  if (id == 0) return;
  std::uint32_t next = 0;
  const auto resources = compiler->get_shader_resources();
  for (const auto* list : {&resources.storage_buffers, &resources.uniform_buffers,
                           &resources.storage_images, &resources.sampled_images}) {
    for (const auto& r : *list) {
      next = std::max(next, compiler->get_decoration(r.id, spv::DecorationBinding) + 1);
    }
  }
  compiler->set_decoration(id, spv::DecorationDescriptorSet, 0);
  compiler->set_decoration(id, spv::DecorationBinding, next);
}

}  // namespace

Result<std::string> cross_compile(const std::vector<std::uint32_t>& words, const Target& target,
                                  Language language) {
  if (const Status valid = validate(words, target); !valid.ok()) {
    return Error{ErrorCode::kCorrupt,
                 "its SPIR-V is not valid, so it cannot be translated. SPIRV-Tools says: " +
                     valid.error().message};
  }
  try {
    if (language == Language::kMsl) {
      spirv_cross::CompilerMSL compiler(words);
      auto options = compiler.get_msl_options();
      options.set_msl_version(2, 2);
      compiler.set_msl_options(options);
      return compiler.compile();
    }
    if (language == Language::kHlsl) {
      spirv_cross::CompilerHLSL compiler(words);
      auto options = compiler.get_hlsl_options();
      options.shader_model = 62;
      options.enable_16bit_types = true;
      compiler.set_hlsl_options(options);
      place_workgroup_count(&compiler);
      return compiler.compile();
    }
    spirv_cross::CompilerGLSL compiler(words);
    auto options = compiler.get_common_options();
    const bool es = language == Language::kEssl;
    options.version = es ? 310 : 450;
    options.es = es;
    options.vulkan_semantics = !es;
    compiler.set_common_options(options);
    return compiler.compile();
  } catch (const std::exception& e) {
    return Error{ErrorCode::kUnsupported, std::string("SPIRV-Cross: ") + e.what()};
  }
}

}  // namespace spirkiln::gen
