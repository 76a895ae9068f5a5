// SPDX-License-Identifier: Apache-2.0
#include "answer_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "table/nearest_name.hpp"

namespace spirkiln::gen {
namespace {

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
    bool any = false;
    for (const VariantModule& module : modules) {
      if (!is_for(placed.answer, *module.variant)) continue;
      any = true;
      if (module.blob == nullptr) continue;
      const std::string what = misfit(placed.answer, module.blob->reflection);
      if (what.empty()) continue;
      fail(placed, fmt::format("this answer does not fit {}: {}", module.variant->name, what));
      break;
    }
    if (!any) {
      fail(placed, fmt::format("this answer is for no variant of '{}': no variant has its axes and "
                               "a form that it has a tolerance for",
                               kernel.name));
    }
  }
  return errors;
}

}  // namespace spirkiln::gen
