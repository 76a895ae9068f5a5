// SPDX-License-Identifier: Apache-2.0
#include "glslang_front.hpp"

#include <fmt/format.h>
#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "expanded_text.hpp"
#include "include_resolver.hpp"
#include "link_errors.hpp"
#include "work_scope.hpp"

namespace spirkiln::gen {
namespace {

constexpr int kDefaultVersion = 450;
// What a kernel expands to at most; the front end's stack use grows with it.
constexpr std::size_t kMaxExpandedBytes = 4u << 20;

// Once for the process, on first use; tearing it down is left to the system.
void initialise() {
  static const bool done = glslang::InitializeProcess();
  (void)done;
}

void set_environment(glslang::TShader& shader, const Target& target) {
  const auto minor = (target.vulkan >> 12) & 0x3ffu;
  const glslang::EShTargetClientVersion clients[] = {
      glslang::EShTargetVulkan_1_0, glslang::EShTargetVulkan_1_1, glslang::EShTargetVulkan_1_2,
      glslang::EShTargetVulkan_1_3};
  shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 100);
  shader.setEnvClient(glslang::EShClientVulkan, clients[std::min(minor, 3u)]);
  shader.setEnvTarget(glslang::EShTargetSpv,
                      static_cast<glslang::EShTargetLanguageVersion>(target.spirv));
}

void close_log(FrontResult& result, const std::string& name) {
  for (Diagnostic& d : result.diagnostics) {
    if (d.file.empty()) d.file = name;
  }
  if (result.ok) return;
  const bool has_error =
      std::any_of(result.diagnostics.begin(), result.diagnostics.end(),
                  [](const Diagnostic& d) { return d.severity == Severity::kError; });
  if (!has_error) {
    result.diagnostics.push_back({Severity::kError, name, 0, 0, "the compiler failed silently"});
  }
}

void take_log(FrontResult& result, const char* log, const std::string& name, SourceStore& sources) {
  result.diagnostics = parse_glslang_log(log, sources);
  close_log(result, name);
}

}  // namespace

namespace {

// The dialect asks for the StorageBuffer class where a variant may store bytes. A kernel without
// any keeps the class that every Vulkan 1.0 device knows, and so the words of the variant without
// bytes.
void drop_idle_pragma(std::string* text) {
  constexpr std::string_view kPragma = "#pragma use_storage_buffer";
  for (const char* type : {"int8_t", "i8vec", "u8vec"}) {
    if (text->find(type) != std::string::npos) return;
  }
  if (const auto at = text->find(kPragma); at != std::string::npos) {
    text->replace(at, kPragma.size(), kPragma.size(), ' ');
  }
}

}  // namespace

FrontResult preprocess(const PreprocessInput& input, SourceStore& sources) {
  initialise();
  const WorkScope scope(input.name);
  FrontResult result;
  glslang::TShader shader(EShLangCompute);
  const char* text = input.text.data();
  const int length = static_cast<int>(input.text.size());
  const std::string line = line_name(input.name);
  const char* name = line.c_str();
  shader.setStringsWithLengthsAndNames(&text, &length, &name, 1);
  set_environment(shader, kTargets[1]);
  IncludeResolver resolver(sources, input.dialect, input.include_folders);
  const auto messages =
      static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules | EShMsgOnlyPreprocessor);
  result.ok = shader.preprocess(GetDefaultResources(), kDefaultVersion, ENoProfile, false, false,
                                messages, &result.text, resolver);
  result.included = resolver.included();
  take_log(result, shader.getInfoLog(), input.name, sources);
  if (result.ok && result.text.size() > kMaxExpandedBytes) {
    result.ok = false;
    result.diagnostics.push_back({Severity::kError, input.name, 0, 0,
                                  fmt::format("expands to {} bytes, at most {} are compiled",
                                              result.text.size(), kMaxExpandedBytes)});
  }
  drop_idle_pragma(&result.text);
  return result;
}

FrontResult compile(const std::string& text, const std::string& name, const Target& target,
                    SourceStore& sources, bool debug) {
  initialise();
  FrontResult result;
  glslang::TShader shader(EShLangCompute);
  const char* strings = text.data();
  const int length = static_cast<int>(text.size());
  const std::string line = line_name(name);
  const char* names = line.c_str();
  shader.setStringsWithLengthsAndNames(&strings, &length, &names, 1);
  set_environment(shader, target);
  const auto messages = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules);
  glslang::TShader::ForbidIncluder includer;
  result.ok = shader.parse(GetDefaultResources(), kDefaultVersion, ENoProfile, false, false,
                           messages, includer);
  take_log(result, shader.getInfoLog(), name, sources);
  if (!result.ok) return result;

  glslang::TProgram program;
  program.addShader(&shader);
  result.ok = program.link(messages);
  if (!result.ok) {
    result.diagnostics = parse_link_log(program.getInfoLog(), text, name, sources);
    close_log(result, name);
    return result;
  }
  glslang::SpvOptions options;
  options.generateDebugInfo = debug;
  options.disableOptimizer = true;  // our own stage runs SPIRV-Tools, with the policy of the kernel
  spv::SpvBuildLogger logger;
  glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), result.words, &logger, &options);
  const std::string said = logger.getAllMessages();
  if (said.find("error: ") != std::string::npos || result.words.empty()) {
    result.ok = false;
    result.diagnostics.push_back({Severity::kError, name, 0, 0, said});
  }
  return result;
}

bool knows_extension(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, bool> known;
  const std::lock_guard lock(mutex);
  if (const auto it = known.find(name); it != known.end()) return it->second;
  SourceStore none;
  const std::string text =
      fmt::format("#version 450\n#extension {} : require\nvoid main() {{}}\n", name);
  return known[name] = compile(text, name, kTargets[3], none).ok;
}

std::size_t lowest_target(std::string_view text) {
  std::size_t target = 0;
  for (std::size_t at = text.find("#extension "); at != std::string_view::npos;
       at = text.find("#extension ", at + 1)) {
    std::string_view row = text.substr(at + 11);
    row = row.substr(0, row.find('\n'));
    if (row.find("disable") != std::string_view::npos) continue;
    if (row.starts_with("GL_KHR_shader_subgroup") || row.starts_with("GL_KHR_cooperative_matrix") ||
        row.starts_with("GL_EXT_shader_subgroup_extended_types") ||
        row.starts_with("GL_NV_cooperative_matrix") ||
        row.starts_with("GL_KHR_memory_scope_semantics")) {
      target = std::max<std::size_t>(target, 1);
    }
    if (row.starts_with("GL_NV_cooperative_matrix2")) target = 3;  // SPIR-V 1.6
  }
  return target;
}

std::string glslang_version() {
  const glslang::Version v = glslang::GetVersion();
  return fmt::format("glslang {}.{}.{}", v.major, v.minor, v.patch);
}

}  // namespace spirkiln::gen
