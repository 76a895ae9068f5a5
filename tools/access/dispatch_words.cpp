// SPDX-License-Identifier: Apache-2.0
#include "dispatch_words.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "cli_helpers.hpp"
#include "options.hpp"
#include "output_set.hpp"
#include "read_file.hpp"
#include "second_compiler.hpp"

namespace spirkiln::access {
namespace {

constexpr std::uint32_t kSampleOfCases = 16;
constexpr std::size_t kMostBytes = 1 << 20;  // of a file of cases

Result<std::array<std::uint32_t, 3>> triple(const char* option, const std::string& text) {
  if (const auto value = parse_triple(text)) return *value;
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{} '{}': expected X, X,Y or X,Y,Z, each from 1", option, text)};
}

Result<Case> parse_case(const std::string& line, const DispatchWords& all) {
  Case one;
  one.text = line;
  one.words.sample = kSampleOfCases;
  CLI::App app;
  app.set_help_flag();  // a line has none
  add_dispatch_options(app, one.words);
  try {
    app.parse(line);
  } catch (const CLI::ParseError& e) {
    return Error{ErrorCode::kInvalidArgument, e.what()};
  }
  if (one.words.kernel.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "expected a kernel and its options, as 'spirkiln access' takes them"};
  }
  if (one.words.manifests.empty()) one.words.manifests = all.manifests;
  if (one.words.glslc.empty()) one.words.glslc = all.glslc;
  auto request = parse_dispatch(one.words);
  if (!request) return std::move(request).error();
  one.request = *std::move(request);
  return one;
}

}  // namespace

std::string DispatchWords::kernel_name() const {
  const std::filesystem::path path(kernel);
  return path.extension() == ".comp" ? path.stem().string() : kernel;
}

std::vector<std::filesystem::path> DispatchWords::inputs() const {
  namespace fs = std::filesystem;
  std::vector<fs::path> out;
  if (fs::path(kernel).extension() == ".comp") out.emplace_back(kernel);
  for (const fs::path path : manifests) {
    out.push_back(path);
    std::error_code code;
    for (auto entry = fs::directory_iterator(path, code);
         !code && entry != fs::directory_iterator(); entry.increment(code)) {
      if (entry->path().extension() == ".toml") out.push_back(entry->path());
    }
  }
  return out;
}

void add_dispatch_options(CLI::App& app, DispatchWords& words) {
  app.add_option("KERNEL", words.kernel, "A kernel of the manifests, or a file that ends in .comp")
      ->check(tool::not_empty());
  app.add_option("--variant", words.variant,
                 "fp32 (default), fp16s, fp16s_direct or the whole name")
      ->type_name("V");
  app.add_option("--groups", words.groups, "Workgroups of the dispatch (default: 1,1,1)")
      ->type_name("X,Y,Z");
  app.add_option("--local", words.local, "Local size, where the kernel leaves it open")
      ->type_name("X,Y,Z");
  app.add_option("--set", words.sets,
                 "A specialization constant or push constant by name (push constants: 0)")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  app.add_option("--buffer", words.buffers, "Size of a buffer (default: 4M; uniforms 64K)")
      ->allow_extra_args(false)
      ->type_name("BINDING=BYTES");
  app.add_option("--image", words.images,
                 "Size, texels and filter of an image (default: 256x256, rgba32f, nearest)")
      ->allow_extra_args(false)
      ->type_name("BINDING=WxH[:TEXEL][:linear]");
  app.add_option("-D,--define", words.defines, "A macro, for a .comp")
      ->allow_extra_args(false)
      ->type_name("NAME[=VALUE]");
  app.add_option("--manifest", words.manifests,
                 "Manifests or folders of them (default: the project's)")
      ->allow_extra_args(false)
      ->type_name("PATH");
  app.add_option("--records", words.records, "Room of the trace, in accesses (default: 4194304)")
      ->check(CLI::Range(1u, 1u << 27));
  app.add_option("--sample", words.sample,
                 "Trace this many groups, evenly spread (default: all; of --cases 16)");
  app.add_option("--timeout", words.timeout, "Seconds that the dispatch may take (default: 60)")
      ->check(CLI::Range(1u, 86400u));
  app.add_option("--seed", words.seed, "Of what buffers and images hold");
  app.add_option("--glslc", words.glslc, "Folder of a second compiler")->type_name("FOLDER");
}

Result<DispatchRequest> parse_dispatch(const DispatchWords& words) {
  DispatchRequest request;
  auto groups = triple("--groups", words.groups);
  if (!groups) return std::move(groups).error();
  request.groups = *groups;
  if (!words.local.empty()) {
    auto local = triple("--local", words.local);
    if (!local) return std::move(local).error();
    request.local = *local;
  }
  for (const std::string& text : words.buffers) {
    if (auto s = parse_buffer(text, &request); !s) return std::move(s).error();
  }
  for (const std::string& text : words.images) {
    if (auto s = parse_image(text, &request); !s) return std::move(s).error();
  }
  for (const std::string& text : words.sets) {
    if (auto s = parse_value(text, &request); !s) return std::move(s).error();
  }
  request.records = words.records;
  request.sample = words.sample;
  request.timeout_s = words.timeout;
  request.seed = words.seed;
  return request;
}

Result<Report> look_at_words(const DispatchWords& words, const DispatchRequest& request,
                             const Setting& setting, const Device& device, bool* hung) {
  SubjectRequest wanted;
  wanted.kernel = words.kernel;
  wanted.variant = words.variant;
  wanted.glsl = setting.glsl;
  wanted.manifests.assign(words.manifests.begin(), words.manifests.end());
  if (words.manifests.empty()) wanted.manifests = usual_manifests(setting.glsl);
  for (const std::string& define : words.defines) {
    const std::size_t equal = std::min(define.find('='), define.size());
    wanted.defines.emplace_back(define.substr(0, equal),
                                equal == define.size() ? "1" : define.substr(equal + 1));
  }
  wanted.local = request.local;
  wanted.second = gen::second_folder(words.glslc);
  wanted.message = setting.message;
  const auto subject = load_subject(wanted);
  if (!subject) return subject.error();
  if (auto s = tool::refuse_inputs({setting.output}, subject->sources); !s) {
    return std::move(s).error();
  }
  auto report = look_at(*subject, request, setting.shape, setting.rates, device, hung);
  if (!report) {
    return Error{report.error().code, subject->name + ": " + report.error().message};
  }
  report->shape_source = setting.shape_source;
  return report;
}

Result<std::vector<Case>> load_cases(const std::string& path, const DispatchWords& all) {
  const auto text = tool::read_file(path, kMostBytes);
  if (!text) return text.error();
  std::vector<Case> out;
  std::istringstream in(*text);
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    constexpr std::string_view kSpace = " \t\r";
    line.erase(0, std::min(line.find_first_not_of(kSpace), line.size()));
    line.erase(line.find_last_not_of(kSpace) + 1);
    if (line.empty() || line.front() == '#') continue;
    auto one = parse_case(line, all);
    if (!one) {
      return Error{one.error().code,
                   fmt::format("{}:{}: error: {}", path, number, one.error().message)};
    }
    one->place = fmt::format("{}:{}", path, number);
    out.push_back(*std::move(one));
  }
  if (out.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}:1: error: no case: expected a kernel and its options a line, as "
                             "'spirkiln access' takes them",
                             path)};
  }
  return out;
}

}  // namespace spirkiln::access
