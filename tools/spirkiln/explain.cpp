// SPDX-License-Identifier: Apache-2.0
#include "explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "device_macros.hpp"
#include "json_text.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::string_view kFates[] = {"kept", "merged", "pruned", "left-out"};

std::string place_text(const Diagnostic& d) {
  return fmt::format("{}:{}:{}", shown(d.file), d.line, d.column);
}

// "values 0 4 16", or that a person has to list them.
std::string values_text(const TestedMacro& macro) {
  if (macro.unclear) return fmt::format("unclear at {}", place_text(*macro.unclear));
  return fmt::format("values {}", fmt::join(macro.values, " "));
}

std::string macro_text(const TestedMacro& macro) {
  return fmt::format("  {:<32} {:<20} {}, first at {}\n", macro.name,
                     fmt::format("{}", fmt::join(macro.conditions, ", ")), values_text(macro),
                     place_text(macro.first));
}

std::string macro_json(const TestedMacro& macro, const std::string& more = {}) {
  return fmt::format(
      "{{\"name\": {}, \"conditions\": {}, \"values\": {}, \"file\": {}, \"line\": {}, \"column\": "
      "{}{}}}",
      json_string(macro.name), json_list(macro.conditions, json_string),
      macro.unclear ? "null"
                    : json_list(macro.values, [](std::int64_t v) { return fmt::format("{}", v); }),
      json_string(macro.first.file), macro.first.line, macro.first.column, more);
}

const Axis* axis_of(const ExplainedKernel& kernel, const std::string& macro) {
  const auto it = std::find_if(kernel.axes.begin(), kernel.axes.end(),
                               [&](const Axis& axis) { return axis.name == macro; });
  return it == kernel.axes.end() ? nullptr : &*it;
}

}  // namespace

std::string point_text(const Point& point) {
  const std::string by =
      point.compiler.empty() ? "" : fmt::format(" (compiled by {})", point.compiler);
  switch (point.fate) {
    case Fate::kKept:
      return fmt::format("kept {}{}", point.variant, by);
    case Fate::kMerged:
      return fmt::format("merged {} into {}{}", point.variant, point.detail, by);
    case Fate::kPruned:
      return fmt::format("pruned {} by {}", point.variant, point.detail);
    default:
      return fmt::format("left out {}: {}", point.variant, point.detail);
  }
}

std::string explain_text(const std::vector<ExplainedKernel>& kernels) {
  std::string out;
  for (const ExplainedKernel& kernel : kernels) {
    out += fmt::format("{} ({})\n", kernel.name, shown(kernel.source));
    for (const TestedMacro& macro : kernel.tested) {
      const Axis* axis = axis_of(kernel, macro.name);
      const std::string conditions = fmt::format("{}", fmt::join(macro.conditions, ", "));
      out += axis != nullptr
                 ? fmt::format("  tests {} ({}): enumerated as {}\n", macro.name, conditions,
                               fmt::join(axis->values, " "))
                 : fmt::format("  tests {} ({}): stays 0; {}, first at {}\n", macro.name,
                               conditions, values_text(macro), place_text(macro.first));
    }
    for (const Axis& axis : kernel.axes) {
      const bool tested =
          std::any_of(kernel.tested.begin(), kernel.tested.end(),
                      [&](const TestedMacro& macro) { return macro.name == axis.name; });
      if (axis.device && !tested) {
        out += fmt::format("  does not test {}, which is enumerated\n", axis.name);
      }
    }
    for (const Point& point : kernel.points) out += "  " + point_text(point) + "\n";
  }
  return out;
}

std::string explain_json(const std::vector<ExplainedKernel>& kernels) {
  std::string out = "{\"kernels\": [";
  for (const ExplainedKernel& kernel : kernels) {
    out += fmt::format(
        "{}\n  {{\"name\": {}, \"source\": {}, \"tests\": {}, \"points\": [",
        out.ends_with('[') ? "" : ",", json_string(kernel.name), json_string(kernel.source),
        json_list(kernel.tested, [&](const TestedMacro& macro) {
          const Axis* axis = axis_of(kernel, macro.name);
          return macro_json(
              macro, fmt::format(", \"enumerated\": {}",
                                 axis == nullptr ? "null" : json_list(axis->values, json_string)));
        }));
    bool first = true;
    for (const Point& point : kernel.points) {
      const auto fate = kFates[static_cast<std::size_t>(point.fate)];
      const auto text = [](const std::string& s) { return s.empty() ? "null" : json_string(s); };
      out += fmt::format(
          "{}\n    {{\"variant\": {}, \"fate\": \"{}\", \"detail\": {}, \"compiler\": {}}}",
          first ? "" : ",", json_string(point.variant), fate, text(point.detail),
          text(point.compiler));
      first = false;
    }
    out += "]}";
  }
  return out + "]}\n";
}

KernelQuestions ask_kernel(const SourceFiles& files) {
  KernelQuestions questions;
  questions.source = files.front()->path.string();
  questions.tested = tested_macros(files);
  std::set<std::string> names;
  for (const auto& file : files) {
    for (std::string& name : tested_dialect_macros(file->text)) {
      if (is_dialect_macro(name) && !is_device_axis(name)) names.insert(std::move(name));
    }
  }
  questions.by_variant.assign(names.begin(), names.end());
  return questions;
}

std::string questions_text(const std::vector<KernelQuestions>& kernels) {
  std::string out;
  for (const KernelQuestions& kernel : kernels) {
    out += shown(kernel.source) + "\n";
    for (const TestedMacro& macro : kernel.tested) out += macro_text(macro);
    if (!kernel.by_variant.empty()) {
      out += fmt::format("  by the variant: {}\n", fmt::join(kernel.by_variant, " "));
    }
    if (kernel.tested.empty() && kernel.by_variant.empty()) out += "  tests none\n";
  }
  return out;
}

std::string questions_json(const std::vector<KernelQuestions>& kernels) {
  return "{\"kernels\": " +
         json_list(kernels,
                   [](const KernelQuestions& kernel) {
                     return fmt::format(
                         "{{\"source\": {}, \"tests\": {}, \"by_variant\": {}}}",
                         json_string(kernel.source),
                         json_list(kernel.tested,
                                   [](const TestedMacro& macro) { return macro_json(macro); }),
                         json_list(kernel.by_variant, json_string));
                   }) +
         "}\n";
}

}  // namespace spirkiln::gen
