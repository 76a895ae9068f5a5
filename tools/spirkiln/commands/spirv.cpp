// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "bake_load.hpp"
#include "commands.hpp"
#include "console.hpp"
#include "second_compiler.hpp"
#include "source_arguments.hpp"
#include "source_compiler.hpp"
#include "watchdog.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

std::optional<std::array<unsigned, 3>> parse_local_size(std::string_view text) {
  std::array<unsigned, 3> size{1, 1, 1};
  for (std::size_t i = 0; i < size.size(); ++i) {
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), size[i]);
    if (error != std::errc{} || size[i] == 0 || size[i] > 65535) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    if (text.empty()) return size;
    if (text.front() != ',' || i == 2) return std::nullopt;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

}  // namespace

int run_spirv(const SpirvArguments& arguments) {
  SourceRequest request;
  request.profile = arguments.profile;
  request.form = arguments.variant;
  request.strict = arguments.strict;
  request.acc_afp = arguments.acc == "afp";
  request.symbols = arguments.debug ? Symbols::kLines : Symbols::kNone;
  request.optimise = arguments.optimise == "performance" ? Optimise::kPerformance
                     : arguments.optimise == "size"      ? Optimise::kSize
                                                         : Optimise::kNone;
  request.target = arguments.target.empty()
                       ? VulkanTarget::kAuto
                       : static_cast<VulkanTarget>(1 + (arguments.target.back() - '0'));
  if (!arguments.local_size.empty()) {
    request.local_size = parse_local_size(arguments.local_size);
    if (!request.local_size) {
      return fail(fmt::format("--local-size '{}': expected X, X,Y or X,Y,Z, each from 1 to 65535",
                              arguments.local_size));
    }
  }
  for (const std::string& define : arguments.defines) {
    const std::size_t equal = define.find('=');
    request.defines.emplace_back(define.substr(0, equal),
                                 equal == std::string::npos ? "1" : define.substr(equal + 1));
  }
  request.include_folders.assign(arguments.folders.begin(), arguments.folders.end());
  const auto glsl = arguments.glsl.empty() ? find_glsl_folder(arguments.file)
                                           : std::optional<fs::path>(arguments.glsl);
  if (!glsl) return fail("the dialect's folder 'glsl' was not found; name it with --glsl");
  request.glsl = *glsl;
  request.second = second_folder(arguments.glslc);
  SourceStore sources;
  auto source = sources.load(arguments.file);
  if (!source.ok()) return fail(source.error());
  request.source = *source;
  // At once what is known already; the includes at the end.
  if (const Status status = check_single_output(arguments.output, {arguments.file}); !status.ok()) {
    return fail(status.error());
  }
  const Watchdog watchdog(std::chrono::seconds(arguments.time_limit));
  const SourceOutcome outcome = compile_source(request, sources);
  for (const Diagnostic& d : outcome.diagnostics) fmt::print(stderr, "{}\n", to_string(d));
  if (!outcome.ok) return 1;
  const std::string_view bytes(reinterpret_cast<const char*>(outcome.words.data()),
                               outcome.words.size() * 4);
  std::vector<fs::path> read;
  for (const auto& file : sources.opened()) read.push_back(file.path);
  const Status possible = check_single_output(arguments.output, read);
  return possible.ok() ? write_single_output(arguments.output, bytes) : fail(possible.error());
}

}  // namespace spirkiln::gen
