// SPDX-License-Identifier: Apache-2.0
#include "subject.hpp"

#include <fmt/format.h>

#include <fstream>

#include "cache.hpp"
#include "compile_phase.hpp"
#include "files.hpp"
#include "parsed_module.hpp"
#include "source_compiler.hpp"
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

// Scalars and vectors of four bytes a lane; nothing for what --set cannot write.
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
  if (scalar.width != 32 || d->op == spv::OpTypeMatrix) return;
  out->push_back({name, offset, module.lanes_of(type), scalar.is_float});
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

Result<Subject> from_file(const SubjectRequest& request) {
  gen::SourceStore sources;
  auto source = sources.load(request.kernel);
  if (!source.ok()) return source.error();
  gen::SourceRequest compile;
  compile.source = *source;
  compile.form = request.variant.empty() ? "fp32" : request.variant;
  compile.defines = request.defines;
  compile.local_size = request.local;
  compile.optimise = gen::Optimise::kPerformance;
  compile.symbols = gen::Symbols::kLines;
  compile.glsl = request.glsl;
  compile.second = request.second;
  gen::SourceOutcome outcome = gen::compile_source(compile, sources);
  std::string errors;
  for (const gen::Diagnostic& d : outcome.diagnostics) {
    if (d.severity == Severity::kError)
      errors += (errors.empty() ? "" : "\n") + gen::to_string(d);
    else if (request.message)
      request.message(d.severity, gen::to_string(d));
  }
  if (!outcome.ok) return Error{ErrorCode::kInvalidArgument, errors};
  Subject subject;
  subject.name = fs::path(request.kernel).stem().string() + " " + compile.form;
  subject.words = std::move(outcome.words);
  auto reflection = gen::reflect(subject.words);
  if (!reflection.ok()) return reflection.error();
  subject.reflection = std::move(reflection).value();
  return subject;
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
  if (input.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("no kernel '{}' in the manifests; the nearest is '{}'. A file of a "
                             "kernel ends in .comp; --manifest names other manifests",
                             gen::shown(request.kernel), nearest_name(request.kernel, names))};
  }
  gen::SourceOptions options;
  options.inputs = {input};
  options.kernel = request.kernel;
  options.debug = true;
  options.cache = request.cache;
  options.second = request.second;
  options.glsl = request.glsl;
  options.jobs = 1;
  const bool whole =
      request.variant == request.kernel || request.variant.starts_with(request.kernel + "_");
  const bool plain = request.variant.empty() || request.variant == "fp32";
  options.variant = whole   ? request.variant
                    : plain ? request.kernel
                            : request.kernel + "_" + request.variant;
  if (!whole && request.variant.starts_with("fp32_")) {
    options.variant = request.kernel + request.variant.substr(4);
  }
  const gen::Cache cache(options.cache);
  std::string messages;
  const auto keep = [&](Severity severity, std::string_view text) {
    if (severity == Severity::kError)
      messages += std::string(text) + "\n";
    else if (request.message)
      request.message(severity, text);
  };
  auto compiled = gen::compile_kernels(options, cache, sources, keep);
  if (!compiled.ok()) {
    return Error{compiled.error().code, messages + compiled.error().message};
  }
  const gen::BakeJob& job = compiled->jobs.front();
  if (job.blob == nullptr) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("'{}' {}", options.variant,
                             job.left_out.empty() ? "was not compiled" : job.left_out)};
  }
  Subject subject;
  subject.name = options.variant;
  subject.words = job.blob->words;
  subject.reflection = job.blob->reflection;
  return subject;
}

}  // namespace

std::span<const Texel> texels() { return kTexels; }

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
