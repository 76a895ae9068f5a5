// SPDX-License-Identifier: Apache-2.0
#include "table/select.hpp"

#include <algorithm>

namespace spirkiln {
namespace {

using namespace table;

struct FormName {
  Form form;
  std::string_view name;
};
constexpr FormName kForms[] = {
    {kFp32, "fp32"},
    {kFp16p, "fp16p"},
    {kFp16pa, "fp16pa"},
    {kFp16s, "fp16s"},
    {kFp16sa, "fp16sa"},
    {image_of(kFp32), "image"},
    {image_of(kFp16p), "image_fp16p"},
    {image_of(kFp16pa), "image_fp16pa"},
    {image_of(kFp16s), "image_fp16s"},
    {image_of(kFp16sa), "image_fp16sa"},
    {{Storage::kBf16Packed, Arithmetic::kFp32}, "bf16p"},
    {{Storage::kBf16, Arithmetic::kFp32}, "bf16s"},
};

std::optional<std::string_view> axis_value(const Table& table, const VariantEntry& v,
                                           std::string_view axis) {
  for (const AxisValue& value : table.axis_values_of(v)) {
    if (table.string(value.axis) == axis) return table.string(value.value);
  }
  return std::nullopt;
}

std::string int8_name(Int8 int8) {
  static constexpr std::string_view kNames[] = {"none", "packed", "storage"};
  const auto i = static_cast<std::size_t>(int8);
  return i < std::size(kNames) ? std::string(kNames[i]) : std::to_string(i);
}

// Why the request does not mean this variant, or nothing. `first` holds the defaults.
std::optional<std::string> not_asked_for(const Table& table, const VariantEntry& first,
                                         const VariantEntry& v, Form form,
                                         const SelectRequest& request) {
  const Form has = form_of(v);
  if (has != form) return "is " + form_name(has) + ", asked for is " + form_name(form);
  if (request.int8 && v.int8 != *request.int8) {
    return "reads bytes as int8 " + int8_name(v.int8) + ", asked for is " +
           int8_name(*request.int8);
  }
  for (const AxisRequest& a : request.axes) {
    if (!axis_value(table, v, a.axis)) return "has no axis " + std::string(a.axis);
  }
  for (const AxisValue& value : table.axis_values_of(v)) {
    const std::string_view axis = table.string(value.axis);
    const std::string_view is = table.string(value.value);
    const auto asked = std::find_if(request.axes.begin(), request.axes.end(),
                                    [&](const AxisRequest& a) { return a.axis == axis; });
    const bool by_default = asked == request.axes.end();
    const std::string_view wanted =
        by_default ? axis_value(table, first, axis).value_or(is) : asked->value;
    if (is == wanted) continue;
    return "has " + std::string(axis) + "=" + std::string(is) + ", asked for is " +
           std::string(wanted) + (by_default ? " (the default)" : "");
  }
  return std::nullopt;
}

std::string join_forms(std::span<const Form> forms) {
  std::string text;
  for (const Form f : forms) text += (text.empty() ? "" : " or ") + form_name(f);
  return text;
}

Error no_variant(const Table& table, const SelectRequest& request, const DeviceCaps& caps) {
  std::string text =
      "no variant of kernel " + std::string(request.kernel) + " (" + join_forms(request.forms);
  for (const AxisRequest& a : request.axes) {
    text += ", " + std::string(a.axis) + "=" + std::string(a.value);
  }
  text += ") may run on " + caps.name + ":";
  const auto all = candidates(table, request, caps);
  for (const Candidate& c : all) text += "\n  " + c.variant + ": " + c.excluded_by;
  if (all.empty()) text += " the table holds none";
  return Error{ErrorCode::kNoVariant, text};
}

}  // namespace

std::string form_name(Form form) {
  for (const FormName& f : kForms) {
    if (f.form == form) return std::string(f.name);
  }
  return "storage " + std::to_string(static_cast<int>(form.storage)) + " arithmetic " +
         std::to_string(static_cast<int>(form.arithmetic));
}

std::optional<Form> form_from_name(std::string_view name) {
  for (const FormName& f : kForms) {
    if (f.name == name) return f.form;
  }
  return std::nullopt;
}

std::span<const std::string_view> form_names() {
  // bf16 is named in tables, but no graph runs in it.
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const FormName& f : kForms) {
      if (f.form.storage <= Storage::kFp16) list.push_back(f.name);
    }
    return list;
  }();
  return names;
}

std::uint32_t vector_bytes(Form form) { return form.storage == Storage::kFp32 ? 16 : 8; }

Result<Selection> select_blob(const Table& table, const SelectRequest& request,
                              const DeviceCaps& caps) {
  const KernelEntry* kernel = table.find(request.kernel);
  if (kernel == nullptr) {
    return Error{ErrorCode::kNoVariant, "the kernel table " + table.origin() + " has no kernel \"" +
                                            std::string(request.kernel) + "\""};
  }
  const auto variants = table.variants_of(*kernel);
  for (const Form form : request.forms) {
    for (const VariantEntry& v : variants) {
      if (form_of(v) != form) continue;
      if (not_asked_for(table, variants.front(), v, form, request)) continue;
      if (missing_requirement(table, table.blobs()[v.blob], caps)) continue;
      return Selection{static_cast<std::uint32_t>(&v - table.variants().data()), v.blob};
    }
  }
  return no_variant(table, request, caps);
}

std::vector<Candidate> candidates(const Table& table, const SelectRequest& request,
                                  const DeviceCaps& caps) {
  std::vector<Candidate> all;
  const KernelEntry* kernel = table.find(request.kernel);
  if (kernel == nullptr) return all;
  const auto variants = table.variants_of(*kernel);
  for (const VariantEntry& v : variants) {
    const Form has = form_of(v);
    std::optional<std::string> why;
    if (std::find(request.forms.begin(), request.forms.end(), has) == request.forms.end()) {
      why = "is " + form_name(has);
    } else {
      why = not_asked_for(table, variants.front(), v, has, request);
      if (!why) {
        why = missing_requirement(table, table.blobs()[v.blob], caps);
        if (why) why = "needs " + *why;
      }
    }
    all.push_back({std::string(table.string(v.name)), why.value_or("")});
  }
  return all;
}

}  // namespace spirkiln
