// SPDX-License-Identifier: Apache-2.0
#include "answer_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "answer_numbers.hpp"
#include "table/nearest_name.hpp"

namespace spirkiln::gen {
namespace {

// In order of the enum.
constexpr std::string_view kClasses[kAnswerClasses] = {"fp32", "fp16", "fp16a"};

bool is_image(table::BindingKind kind) {
  return kind == table::BindingKind::kStorageImage || kind == table::BindingKind::kSampledImage;
}

// The kind of what the answer has at a binding; nothing where it has nothing there.
const AnswerKind* kind_at(const Answer& answer, std::uint32_t binding) {
  for (const AnswerBuffer& b : answer.buffers) {
    if (b.binding == binding) return &b.kind;
  }
  return answer.result.binding == binding ? &answer.result.kind : nullptr;
}

std::string wrong_binding(const Answer& answer, const Reflection& r) {
  // First, since a wrong number here leaves another binding without anything.
  std::string there;
  bool has_result = false;
  for (const table::BindingEntry& b : r.bindings) {
    there += fmt::format("{} {}", there.empty() ? "" : ",", b.binding);
    has_result = has_result || b.binding == answer.result.binding;
  }
  if (!has_result) {
    return fmt::format("no binding {}, the result; it has{}", answer.result.binding, there);
  }
  for (const table::BindingEntry& b : r.bindings) {
    if (b.set != 0 || b.kind == table::BindingKind::kUniformBuffer) {
      return fmt::format("set {} binding {} is no storage buffer or image of set 0", b.set,
                         b.binding);
    }
    const AnswerKind* kind = kind_at(answer, b.binding);
    if (kind == nullptr) return fmt::format("nothing is given for binding {}", b.binding);
    if (is_image(b.kind) && *kind != AnswerKind::kTensor) {
      return fmt::format("binding {} is an image, the answer's is no tensor", b.binding);
    }
    if (b.binding == answer.result.binding && (b.flags & table::kReadOnly) != 0) {
      return fmt::format("binding {}, the result, is read-only", b.binding);
    }
  }
  return {};
}

std::string wrong_constant(const Answer& answer, const Reflection& r) {
  std::vector<std::string_view> names;
  for (const SpecConstant& s : r.specs) names.push_back(s.name);
  for (const auto& [name, bits] : answer.constants) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    if (names.empty()) return fmt::format("no specialization constant '{}'", name);
    return fmt::format("no specialization constant '{}'; the nearest is '{}'", name,
                       nearest_name(name, names));
  }
  return {};
}

// What does not fit a module, or nothing.
std::string misfit(const Answer& answer, const Reflection& r) {
  if (auto text = wrong_binding(answer, r); !text.empty()) return text;
  if (answer.push.size() * 4 != r.push_bytes) {
    return fmt::format("{} bytes of push constants, the answer has {}", r.push_bytes,
                       answer.push.size() * 4);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint32_t wanted = answer.local_size[i];
    if (wanted == 0 || wanted == r.local_size[i] || r.local_size_id[i] != table::kNone) continue;
    return fmt::format("the workgroup's size is fixed to {} along axis {}, the answer has {}",
                       r.local_size[i], i, wanted);
  }
  return wrong_constant(answer, r);
}

// Of the variants that the answer is for.
std::vector<VariantModule> modules_for(const Answer& answer,
                                       const std::vector<VariantModule>& modules) {
  std::vector<VariantModule> out;
  for (const VariantModule& module : modules) {
    if (is_for(answer, *module.variant)) out.push_back(module);
  }
  return out;
}

}  // namespace

bool is_for(const Answer& answer, const Variant& variant) {
  if (!spirkiln::is_for(answer, answer_class(variant.storage, variant.arithmetic))) return false;
  return std::all_of(answer.axes.begin(), answer.axes.end(), [&](const auto& axis) {
    return std::find(variant.axis_values.begin(), variant.axis_values.end(), axis) !=
           variant.axis_values.end();
  });
}

std::vector<Diagnostic> check_answers(const KernelManifest& kernel,
                                      const std::vector<VariantModule>& modules) {
  std::vector<Diagnostic> errors;
  const auto fail = [&](const PlacedAnswer& placed, std::string text) {
    errors.push_back(placed.position);
    errors.back().text = std::move(text);
  };
  for (const PlacedAnswer& placed : kernel.answers) {
    const auto own = modules_for(placed.answer, modules);
    if (own.empty()) {
      fail(placed, fmt::format("this answer is for no variant of '{}': no variant has its axes and "
                               "a form that it has a tolerance for",
                               kernel.name));
    }
    bool fits = true;
    for (const VariantModule& module : own) {
      if (module.blob == nullptr) continue;
      const std::string what = misfit(placed.answer, module.blob->reflection);
      if (what.empty()) continue;
      fail(placed, fmt::format("this answer does not fit {}: {}", module.variant->name, what));
      fits = false;
      break;
    }
    if (!fits) continue;  // its numbers may be those of other constants
    const auto wrong = typed_answer(placed, own).errors;
    errors.insert(errors.end(), wrong.begin(), wrong.end());
  }
  return errors;
}

std::vector<Diagnostic> unproved_classes(const std::vector<KernelModules>& kernels) {
  // One warning a file, at its first answer of such a kernel.
  std::map<std::string, Diagnostic> warnings;
  for (const KernelModules& k : kernels) {
    if (k.kernel->answers.empty()) continue;
    std::array<bool, kAnswerClasses> has{}, tried{};
    for (const VariantModule& module : k.modules) {
      if (module.blob == nullptr) continue;
      const auto c = static_cast<std::size_t>(
          answer_class(module.variant->storage, module.variant->arithmetic));
      has[c] = true;
    }
    for (const PlacedAnswer& placed : k.kernel->answers) {
      if (placed.answer.subnormal) continue;  // tells nothing of what the kernel computes
      for (std::size_t c = 0; c < kAnswerClasses; ++c) {
        tried[c] = tried[c] || spirkiln::is_for(placed.answer, static_cast<AnswerClass>(c));
      }
    }
    std::string classes;
    for (std::size_t c = 0; c < kAnswerClasses; ++c) {
      if (has[c] && !tried[c]) classes += (classes.empty() ? "" : ", ") + std::string(kClasses[c]);
    }
    if (classes.empty()) continue;
    const Diagnostic& place = k.kernel->answers.front().position;
    const auto [it, is_new] = warnings.try_emplace(place.file, place);
    it->second.text += fmt::format("{}{} ({})", is_new ? "" : ", ", k.kernel->name, classes);
    if (place.line < it->second.line) {
      it->second.line = place.line;
      it->second.column = place.column;
    }
  }
  std::vector<Diagnostic> out;
  for (auto& [file, warning] : warnings) {
    warning.severity = Severity::kWarning;
    warning.text = fmt::format(
        "variants of these kernels run unproved, since no answer has a "
        "tolerance for their class: {}",
        warning.text);
    out.push_back(std::move(warning));
  }
  return out;
}

std::vector<Answer> typed_answers(const KernelManifest& kernel,
                                  const std::vector<VariantModule>& modules) {
  std::vector<Answer> answers;
  for (const PlacedAnswer& placed : kernel.answers) {
    answers.push_back(typed_answer(placed, modules_for(placed.answer, modules)).answer);
  }
  return answers;
}

}  // namespace spirkiln::gen
