// SPDX-License-Identifier: Apache-2.0
#include "subject.hpp"

#include <fmt/format.h>

#include <fstream>

#include "bake_load.hpp"
#include "files.hpp"
#include "forms.hpp"
#include "parsed_module.hpp"
#include "source_compiler.hpp"
#include "specialise.hpp"
#include "spirv_operands.hpp"
#include "spirv_tools.hpp"
#include "table/nearest_name.hpp"

namespace spirkiln::access {
namespace fs = std::filesystem;
namespace {

constexpr Texel kTexels[] = {
    {"rgba32f", VK_FORMAT_R32G32B32A32_SFLOAT, 16, spv::ImageFormatRgba32f},
    {"rgba16f", VK_FORMAT_R16G16B16A16_SFLOAT, 8, spv::ImageFormatRgba16f},
    {"r32f", VK_FORMAT_R32_SFLOAT, 4, spv::ImageFormatR32f},
    {"r16f", VK_FORMAT_R16_SFLOAT, 2, spv::ImageFormatR16f},
    {"rgba8", VK_FORMAT_R8G8B8A8_UNORM, 4, spv::ImageFormatRgba8},
    {"r8", VK_FORMAT_R8_UNORM, 1, spv::ImageFormatR8},
    {"r32ui", VK_FORMAT_R32_UINT, 4, spv::ImageFormatR32ui},
    {"r32i", VK_FORMAT_R32_SINT, 4, spv::ImageFormatR32i},
    {"rgba32ui", VK_FORMAT_R32G32B32A32_UINT, 16, spv::ImageFormatRgba32ui},
};

// Scalars and vectors of four bytes a lane; all else has no lanes.
void flatten(const ParsedModule& module, std::uint32_t type, const std::string& name,
             std::uint32_t offset, std::vector<PushMember>* out) {
  const ParsedInstruction* d = module.definition(type);
  if (d->op == spv::OpTypeStruct) {
    for (std::uint32_t m = 0; m + 1 < d->operands.size(); ++m) {
      const auto at = module.member_decoration(type, m, spv::DecorationOffset);
      const std::string member = module.member_name(type, m);
      flatten(module, d->operands[m + 1], name.empty() ? member : name + "." + member,
              offset + static_cast<std::uint32_t>(std::max<std::int64_t>(at, 0)), out);
    }
    return;
  }
  const ScalarType scalar = module.scalar_of(type);
  const bool numbers = scalar.width == 32 && d->op != spv::OpTypeMatrix;
  out->push_back({name, offset, numbers ? module.lanes_of(type) : 0, scalar.is_float});
}

Status describe(Subject* subject) {
  auto module = ParsedModule::parse(subject->words);
  if (!module) return std::move(module).error();
  for (const ParsedInstruction& i : module->instructions) {
    if (i.op != spv::OpVariable || i.function) continue;
    const std::uint32_t storage = i.operands[2];
    const std::uint32_t type = module->definition(i.type)->operands[2];
    if (storage == spv::StorageClassPushConstant) flatten(*module, type, "", 0, &subject->push);
    const auto binding = module->decoration(i.result, spv::DecorationBinding);
    if (binding < 0) continue;
    const auto set = module->decoration(i.result, spv::DecorationDescriptorSet);
    const auto key = static_cast<std::uint32_t>(std::max<std::int64_t>(set, 0) << 16 | binding);
    const ParsedInstruction* d = module->definition(type);
    std::string name = module->name(i.result);
    if (name.empty() && d->op == spv::OpTypeStruct) name = module->member_name(type, 0);
    subject->names[key] = name;
    const bool sampled = d->op == spv::OpTypeSampledImage;
    if (sampled) d = module->definition(d->operands[1]);
    if (d->op != spv::OpTypeImage) continue;
    ImageNeedOf need;
    const std::uint32_t dim = d->operands[2];
    if (dim > spv::Dim3D || d->operands[4] != 0) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("binding {} is a cube, a buffer or an array of images; images of "
                               "one to three dimensions are traced",
                               binding)};
    }
    need.type = static_cast<VkImageType>(dim);
    for (const Texel& t : kTexels) {
      if (t.spirv != d->operands[7]) continue;
      need.format = t.format;
      need.texel_bytes = t.bytes;
    }
    if (!sampled && need.format == VK_FORMAT_UNDEFINED) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("binding {} has a texel format that is not traced", binding)};
    }
    subject->images[key] = need;
  }
  return Ok{};
}

// As a bake compiles it, but lines are made each instruction's own before the optimiser moves and
// inlines: behind an inlined call it would leave them out.
Result<Subject> compile(gen::SourceRequest request, gen::Optimise policy, std::string name,
                        const MessageCallback& message, gen::SourceStore& sources) {
  request.optimise = gen::Optimise::kNone;
  request.symbols = gen::Symbols::kLines;
  gen::SourceOutcome outcome = gen::compile_source(request, sources);
  std::string errors;
  for (const gen::Diagnostic& d : outcome.diagnostics) {
    if (d.severity == Severity::kError) {
      errors += (errors.empty() ? "" : "\n") + gen::to_string(d);
    } else if (message) {
      message(d.severity, gen::to_string(d));
    }
  }
  if (!outcome.ok) return Error{ErrorCode::kInvalidArgument, errors};
  auto lined = with_own_lines(outcome.words, Inlined::kNo);
  if (!lined) return std::move(lined).error();
  Subject subject;
  if (request.second && !gen::spirv_tools_know(*lined)) {
    auto tools = gen::SecondCompiler::open(*request.second);
    if (!tools.ok()) return tools.error();
    subject.tools = std::move(tools).value();
  }
  const gen::Target target = target_of(outcome.words[1]);
  auto optimised = subject.tools ? subject.tools->optimise(*lined, policy, target)
                                 : gen::optimise(*lined, policy, target);
  if (!optimised.ok()) return optimised.error();
  subject.name = std::move(name);
  subject.words = std::move(optimised).value();
  auto reflection = gen::reflect(subject.words);
  if (!reflection.ok()) return reflection.error();
  subject.reflection = std::move(reflection).value();
  for (const gen::SourceStore::Opened& file : sources.opened()) {
    if (file.exists) subject.sources.push_back(file.path);
  }
  return subject;
}

Result<Subject> from_file(const SubjectRequest& request) {
  gen::SourceStore sources;
  auto source = sources.load(request.kernel);
  if (!source.ok()) return source.error();
  gen::SourceRequest compiled;
  compiled.source = *source;
  compiled.form = request.variant.empty() ? "fp32" : request.variant;
  compiled.defines = request.defines;
  compiled.local_size = request.local;
  compiled.glsl = request.glsl;
  compiled.second = request.second;
  const std::string name = fs::path(request.kernel).stem().string() + " " + compiled.form;
  return compile(std::move(compiled), gen::Optimise::kPerformance, name, request.message, sources);
}

// The whole name of a variant that is named as the command line does.
std::string variant_name(const std::string& kernel, const std::string& variant) {
  if (variant.empty() || variant == "fp32") return kernel;
  if (variant == kernel || variant.starts_with(kernel + "_")) return variant;
  if (variant.starts_with("fp32_")) return kernel + variant.substr(4);
  return kernel + "_" + variant;
}

Result<Subject> from_manifests(const SubjectRequest& request) {
  gen::SourceStore sources;
  std::string all_names;
  std::vector<std::string> names;
  fs::path input;
  for (const fs::path& path : request.manifests) {
    auto manifests = gen::load_manifests({path}, sources);
    if (!manifests.ok()) return manifests.error();
    for (const gen::Manifest& manifest : *manifests) {
      for (const gen::KernelManifest& kernel : manifest.kernels) {
        names.push_back(kernel.name);
        if (kernel.name == request.kernel) input = manifest.path;
      }
    }
  }
  if (names.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("no manifest that could have a kernel '{}' was found; name one with "
                             "--manifest, or a file that ends in .comp",
                             gen::shown(request.kernel))};
  }
  if (input.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("no kernel '{}' in the manifests; the nearest is '{}'. A file of a "
                             "kernel ends in .comp; --manifest names other manifests",
                             gen::shown(request.kernel), nearest_name(request.kernel, names))};
  }
  auto manifests = gen::load_manifests({input}, sources);
  if (!manifests.ok()) return manifests.error();
  for (gen::Manifest& manifest : *manifests) {
    std::erase_if(manifest.kernels, [&](const auto& k) { return k.name != request.kernel; });
  }
  gen::SourceOptions options;
  options.glsl = request.glsl;
  auto kernels = gen::load_kernels(options, *manifests, sources);
  if (!kernels.ok()) return kernels.error();
  const gen::BakeKernel& kernel = kernels->front();
  const std::string name = variant_name(request.kernel, request.variant);
  std::vector<std::string> variants;
  const gen::Variant* variant = nullptr;
  for (const gen::Variant& v : kernel.expansion.variants) {
    variants.push_back(v.name);
    if (v.name == name) variant = &v;
  }
  if (variant == nullptr) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("no variant '{}'; the nearest is '{}'", gen::shown(name),
                             nearest_name(name, variants))};
  }
  gen::SourceRequest compiled;
  compiled.source = kernel.source;
  compiled.profile = kernel.manifest->profile;
  compiled.form = variant->form;
  compiled.target = kernel.manifest->target;
  compiled.strict = kernel.manifest->strict;
  compiled.second = request.second;
  compiled.glsl = kernel.include_folders.back();  // the last one is the folder with the dialect
  compiled.include_folders.assign(kernel.include_folders.begin(), kernel.include_folders.end() - 1);
  const auto form = gen::find_form(compiled.profile, compiled.form);
  const std::size_t own = form ? form->macros.size() : 0;
  for (std::size_t i = own; i < variant->macros.size(); ++i) {
    const auto& [macro, value] = variant->macros[i];
    if (macro == gen::kAccMacro) {
      compiled.acc_afp = true;
    } else {
      compiled.defines.emplace_back(macro, value);
    }
  }
  return compile(std::move(compiled), kernel.manifest->optimise, name, request.message, sources);
}

}  // namespace

std::span<const Texel> texels() { return kTexels; }

gen::Target target_of(std::uint32_t spirv_version) {
  for (const gen::Target& t : gen::kTargets) {
    if (t.spirv >= spirv_version) return t;
  }
  return gen::kTargets[std::size(gen::kTargets) - 1];
}

std::vector<fs::path> usual_manifests(const fs::path& glsl) {
  std::vector<fs::path> found;
  std::error_code code;
  for (const fs::path& path : {glsl / ".." / "variants" / "kernels", glsl / "examples"}) {
    const fs::path plain = path.lexically_normal();
    if (fs::is_directory(plain, code)) found.push_back(plain);
  }
  return found;
}

Result<Subject> load_subject(const SubjectRequest& request) {
  auto subject = fs::path(request.kernel).extension() == ".comp" ? from_file(request)
                                                                 : from_manifests(request);
  if (!subject) return subject;
  if (auto s = describe(&*subject); !s) return std::move(s).error();
  return subject;
}

std::string line_text(const std::string& file, std::uint32_t line) {
  std::ifstream in(file);
  std::string text;
  for (std::uint32_t n = 0; n < line && in; ++n) std::getline(in, text);
  if (!in || line == 0) return {};
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? std::string() : text.substr(begin);
}

}  // namespace spirkiln::access
