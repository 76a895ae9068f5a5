// SPDX-License-Identifier: Apache-2.0
#include "spirkiln/compile.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string_view>

#include "bake_load.hpp"
#include "source_compiler.hpp"

namespace spirkiln {
namespace fs = std::filesystem;
namespace {

constexpr std::array kBuiltins = {SPIRKILN_BUILTINS};
static_assert(kBuiltins.size() == LayerShaderType::count);

void say(const Option& option, const std::string& text) {
  if (option.message) option.message(Severity::kError, text);
}

gen::SourceRequest request_for(const Option& option, std::string form) {
  gen::SourceRequest request;
  request.profile = option.profile;
  request.form = std::move(form);
  request.strict = option.strict;
  const auto define = [&](bool on, const char* macro) {
    if (on) request.defines.emplace_back(macro, "1");
  };
  define(option.use_int8_storage, "NCNN_int8_storage");
  define(option.use_int8_packed && !option.use_int8_storage, "NCNN_int8_packed");
  define(option.use_int8_arithmetic && (option.use_int8_storage || option.use_int8_packed),
         "NCNN_int8_arithmetic");
  define(option.use_int16_storage, "NCNN_int16_storage");
  define(option.use_int16_packed && !option.use_int16_storage, "NCNN_int16_packed");
  define(option.use_shader_local_memory, "NCNN_shader_local_memory");
  define(option.moltenvk, "NCNN_moltenvk");
  if (option.profile == "ncnn-2026" && !request.form.ends_with("au")) {
    define(option.use_fp16_uniform, "NCNN_fp16_uniform");
  }
  request.defines.insert(request.defines.end(), option.defines.begin(), option.defines.end());
  if (option.use_subgroup_ops || option.use_cooperative_matrix) {
    request.target = gen::VulkanTarget::k11;
  }
  return request;
}

int compile_in(gen::SourceStore& sources, std::shared_ptr<const gen::SourceFile> source,
               const Option& option, std::vector<std::uint32_t>& spirv) {
  std::string form = variant_name(option);
  if (form.empty()) {
    say(option, fmt::format("{}: error: no such variant: fp16-arithmetic-requires-16-bit-storage; "
                            "set use_fp16_packed or use_fp16_storage, or clear use_fp16_arithmetic",
                            option.name));
    return -1;
  }
  gen::SourceRequest request = request_for(option, std::move(form));
  request.source = std::move(source);
  const auto glsl = gen::find_glsl_folder(request.source->path);
  if (!glsl) {
    say(option, fmt::format("{}: error: the dialect's folder 'glsl' was not found", option.name));
    return -1;
  }
  request.glsl = *glsl;
  gen::SourceOutcome outcome = gen::compile_source(request, sources);
  for (const gen::Diagnostic& d : outcome.diagnostics) {
    if (option.message) option.message(d.severity, gen::to_string(d));
  }
  if (!outcome.ok) return -1;
  spirv = std::move(outcome.words);
  return 0;
}

// No exception leaves: whatever is thrown becomes a message.
template <typename Work>
int guarded(const Option& option, std::vector<std::uint32_t>& spirv, Work work) {
  spirv.clear();
  try {
    return work();
  } catch (const std::exception& e) {
    say(option, fmt::format("{}: error: {}", option.name, e.what()));
  }
  spirv.clear();
  return -1;
}

}  // namespace

std::string variant_name(const Option& option) {
  const bool is_2026 = option.profile == "ncnn-2026";
  if (is_2026 && option.use_bf16_storage) return "bf16s";
  if (is_2026 && option.use_bf16_packed) return "bf16p";
  const bool any = option.use_fp16_storage || option.use_fp16_packed;
  if (option.use_fp16_arithmetic && !any) return {};
  std::string name = option.use_fp16_storage ? "fp16s" : option.use_fp16_packed ? "fp16p" : "fp32";
  if (option.use_fp16_arithmetic) name += "a";
  if (is_2026 && name == "fp16sa" && option.use_fp16_uniform) name += "u";
  if (!is_2026 && option.use_image_storage) name = name == "fp32" ? "image" : "image_" + name;
  return name;
}

int compile_spirv_module(const char* comp_string, const Option& option,
                         std::vector<std::uint32_t>& spirv) {
  spirv.clear();
  if (comp_string == nullptr) {
    say(option, fmt::format("{}: error: no text", option.name));
    return -1;
  }
  const std::size_t size = std::strlen(comp_string);
  if (size > gen::kMaxSourceBytes) {
    say(option, fmt::format("{}: error: {} bytes, at most {} are expected", option.name, size,
                            gen::kMaxSourceBytes));
    return -1;
  }
  return compile_spirv_module(comp_string, static_cast<int>(size), option, spirv);
}

int compile_spirv_module(const char* comp_data, int size, const Option& option,
                         std::vector<std::uint32_t>& spirv) {
  return guarded(option, spirv, [&] {
    if (comp_data == nullptr || size < 0) {
      say(option, fmt::format("{}: error: no text, or a negative size", option.name));
      return -1;
    }
    std::string_view text(comp_data, static_cast<std::size_t>(size));
    if (text.ends_with('\0')) text.remove_suffix(1);
    gen::SourceStore sources;
    auto source = sources.put(option.name, text);
    if (!source.ok()) {
      say(option, source.error().message);
      return -1;
    }
    return compile_in(sources, *source, option, spirv);
  });
}

int compile_spirv_module(int shader_type_index, const Option& option,
                         std::vector<std::uint32_t>& spirv) {
  return guarded(option, spirv, [&] {
    if (shader_type_index < 0 || shader_type_index >= LayerShaderType::count) {
      say(option, fmt::format("no built-in kernel has the index {}; the last one is {}",
                              shader_type_index, LayerShaderType::count - 1));
      return -1;
    }
    const auto glsl = gen::find_glsl_folder(option.name);
    gen::SourceStore sources;
    const std::string file = fmt::format("{}.comp", kBuiltins[shader_type_index]);
    auto source = sources.load((glsl ? *glsl : fs::path("glsl")) / "builtin" / file);
    if (!source.ok()) {
      say(option, source.error().message);
      return -1;
    }
    return compile_in(sources, *source, option, spirv);
  });
}

}  // namespace spirkiln
