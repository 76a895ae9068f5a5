// SPDX-License-Identifier: Apache-2.0
#include "source_compiler.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bake_load.hpp"
#include "compose.hpp"
#include "device_macros.hpp"
#include "finish_module.hpp"
#include "forms.hpp"
#include "half_repair.hpp"
#include "macro_check.hpp"
#include "newer_extensions.hpp"
#include "parallel.hpp"
#include "raw_access.hpp"
#include "second_compiler.hpp"
#include "word_errors.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

std::optional<std::string> check_define(const std::string& name, const std::string& value,
                                        const Form& form) {
  if (auto error = bad_macro_name(name)) return error;
  if (auto error = bad_macro_value(value)) return fmt::format("-D {}: {}", name, *error);
  for (const auto& [own, ignored] : form.macros) {
    if (own == name) return fmt::format("'{}' comes from the variant", name);
  }
  if ((name.starts_with("NCNN_") || name.starts_with("ncnn_")) && !is_axis_macro(name)) {
    if (is_dialect_macro(name)) {
      return fmt::format("'{}' comes from the variant; name another one instead", name);
    }
    return fmt::format("'{}': no such macro; the nearest is '{}'", name,
                       nearest_dialect_macro(name));
  }
  return std::nullopt;
}

// What only the second compiler can compile is its; `second` stays null for what is linked in. The
// error: an extension that neither knows, or a second compiler that does not work.
std::optional<Diagnostic> choose_compiler(const SourceRequest& request, const std::string& name,
                                          std::string_view expanded, SourceStore& sources,
                                          std::shared_ptr<const SecondCompiler>& second) {
  for (const RequiredExtension& extension : required_newer(expanded)) {
    if (knows_extension(extension.name)) continue;
    if (request.second && second == nullptr) {
      auto opened = SecondCompiler::open(*request.second);
      if (!opened.ok()) return Diagnostic{Severity::kError, name, 0, 0, opened.error().message};
      second = std::move(opened).value();
    }
    if (second != nullptr && second->knows(extension.name)) continue;
    const std::string nobody =
        second == nullptr
            ? glslang_version() + " does not know"
            : fmt::format("neither {} nor {} knows", glslang_version(), second->version());
    if (request.form == "bf16s" && extension.name == "GL_EXT_bfloat16") {
      return Diagnostic{Severity::kError, name, 0, 0,
                        fmt::format("variant bf16s needs {}, which {}", extension.name, nobody)};
    }
    Diagnostic d = place_of(extension, expanded, name, sources);
    d.text = fmt::format("'{}': {} this extension{}", extension.name, nobody,
                         since_text(extension.name));
    return d;
  }
  return std::nullopt;
}

SourceOutcome compile_here(const SourceRequest& request, SourceStore& sources) {
  SourceOutcome out;
  const std::string name = request.source->path.string();
  const auto fail = [&](std::string text) {
    out.diagnostics.push_back({Severity::kError, name, 0, 0, std::move(text)});
    return out;
  };
  const auto names = form_names(request.profile);
  if (names.empty()) {
    return fail(fmt::format("unknown profile '{}'; known: {}, {}", request.profile, kProfile2023,
                            kProfile2026));
  }
  const auto form = find_form(request.profile, request.form);
  if (!form) {
    return fail(fmt::format("profile {} has no variant '{}'; it has {}", request.profile,
                            request.form, fmt::join(names, ", ")));
  }
  Variant variant;
  variant.name = request.form;
  variant.macros = form->macros;
  if (request.acc_afp) variant.macros.emplace_back(kAccMacro, "1");
  for (const auto& [macro, value] : request.defines) {
    if (auto error = check_define(macro, value, *form)) return fail(std::move(*error));
    // As in ncnn, what is off is not defined, so that #ifdef and #if agree.
    if (value == "0" && is_axis_macro(macro)) continue;
    variant.macros.emplace_back(macro, value);
  }
  const Composed composed = compose(*request.source, variant, request.local_size);
  if (composed.error) {
    out.diagnostics.push_back(*composed.error);
    return out;
  }
  const fs::path dialect = request.glsl / "dialect" / "dialect.glsl";
  std::vector<fs::path> folders = request.include_folders;
  folders.push_back(request.glsl);
  FrontResult front = preprocess({composed.text, name, dialect, folders}, sources);
  front.included.insert(front.included.begin(), request.source);
  std::vector<Diagnostic> own;
  for (const auto& file : front.included) {
    for (Diagnostic& d : check_dialect_macros(*file)) own.push_back(std::move(d));
  }
  if (front.ok) {
    for (Diagnostic& d : check_psc(front.text, name, front.included, sources)) {
      own.push_back(std::move(d));
    }
  }
  if (request.strict) {
    for (Diagnostic& d : find_raw_access(front.included)) own.push_back(std::move(d));
  }
  name_written_words(front.diagnostics, front.included, dialect, sources);
  out.diagnostics = std::move(front.diagnostics);
  for (Diagnostic& d : own) {
    if (std::find(out.diagnostics.begin(), out.diagnostics.end(), d) == out.diagnostics.end()) {
      out.diagnostics.push_back(std::move(d));
    }
  }
  if (!front.ok || !own.empty()) return out;
  std::shared_ptr<const SecondCompiler> opened;
  if (auto error = choose_compiler(request, name, front.text, sources, opened)) {
    out.diagnostics.push_back(*std::move(error));
    return out;
  }
  const SecondCompiler* second = opened.get();

  const std::size_t asked =
      request.target == VulkanTarget::kAuto ? 0 : static_cast<std::size_t>(request.target) - 1;
  const Target& target = kTargets[std::max(asked, lowest_target(front.text))];
  FrontResult compiled = compile_with_repair(front.text, name, target, sources,
                                             front_end(second, request.symbols == Symbols::kLines));
  name_written_words(compiled.diagnostics, front.included, dialect, sources);
  for (Diagnostic& d : compiled.diagnostics) {
    if (std::find(out.diagnostics.begin(), out.diagnostics.end(), d) == out.diagnostics.end()) {
      out.diagnostics.push_back(std::move(d));
    }
  }
  if (!compiled.ok) return out;
  FinishOptions options;
  options.optimise = request.optimise;
  options.keep_names = request.symbols != Symbols::kNone;
  auto finished = finish_module(compiled.words, options, target, second);
  if (!finished.ok()) return fail(finished.error().message);
  out.words = std::move(finished->words);
  out.ok = true;
  return out;
}

}  // namespace

SourceOutcome compile_source(const SourceRequest& request, SourceStore& sources) {
  SourceOutcome out;
  // For the stack that a loop's thread has.
  parallel_for(1, 1, [&](std::size_t) { out = compile_here(request, sources); });
  return out;
}

}  // namespace spirkiln::gen
