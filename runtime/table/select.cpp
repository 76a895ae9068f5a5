// SPDX-License-Identifier: Apache-2.0
#include "table/select.hpp"

#include <algorithm>

#include "table/nearest_name.hpp"
#include "table/printable.hpp"

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

bool contains(std::span<const Form> forms, Form form) {
  return std::find(forms.begin(), forms.end(), form) != forms.end();
}

std::string join_forms(std::span<const Form> forms) {
  std::string text;
  for (const Form f : forms) text += (text.empty() ? "" : " or ") + form_name(f);
  return text;
}

std::string int8_name(Int8 int8) {
  static constexpr std::string_view kNames[] = {"none", "packed", "storage"};
  const auto i = static_cast<std::size_t>(int8);
  return i < std::size(kNames) ? std::string(kNames[i]) : std::to_string(i);
}

// A request and what the user wants of it, against the variants of its kernel.
class Selector {
 public:
  Selector(const Table& table, const SelectRequest& request, const DeviceCaps& caps,
           const SelectRules& rules, std::span<const VariantEntry> variants)
      : table_(table), request_(request), caps_(caps), rules_(rules), variants_(variants) {
    for (const Wishes::KernelForm& wish : rules.wishes.forms) {
      if (wish.kernel == request.kernel) wished_ = wish.form;
    }
    // Its tensors are those of the other kernels, so their bytes must be the same.
    fits_ = wished_ && std::any_of(request.forms.begin(), request.forms.end(), [&](Form f) {
              return vector_bytes(f) == vector_bytes(*wished_) && f.resource == wished_->resource;
            });
  }

  // The forms that are looked through, best first.
  std::span<const Form> forms() const {
    if (!wished_) return request_.forms;
    return fits_ ? std::span<const Form>(&*wished_, 1) : std::span<const Form>();
  }

  const VariantEntry* chosen() const {
    for (const Form form : forms()) {
      for (const VariantEntry& v : variants_) {
        if (form_of(v) == form && excluded(v).exclusion == Exclusion::kNone) return &v;
      }
    }
    return nullptr;
  }

  // But for kLater.
  Candidate excluded(const VariantEntry& v) const {
    Candidate c{std::string(table_.string(v.name)), {}, Exclusion::kNone};
    const auto by = [&](Exclusion exclusion, std::optional<std::string> why) {
      if (!why) return false;
      c.exclusion = exclusion;
      c.excluded_by = *std::move(why);
      return true;
    };
    if (by(Exclusion::kForm, other_form(v)) || by(Exclusion::kAxis, other_axis(v)) ||
        by(Exclusion::kRequirement, requirement(v)) || by(Exclusion::kWish, wish(v)) ||
        by(Exclusion::kQuirk, quirk(v)) || by(Exclusion::kFailed, failed(v))) {
      return c;
    }
    return c;
  }

 private:
  std::optional<std::string_view> axis_value(const VariantEntry& v, std::string_view axis) const {
    for (const AxisValue& value : table_.axis_values_of(v)) {
      if (table_.string(value.axis) == axis) return table_.string(value.value);
    }
    return std::nullopt;
  }
  const Wishes::Axis* wished_value(std::string_view axis) const {
    const auto& all = rules_.wishes.axes;
    const auto it = std::find_if(all.begin(), all.end(),
                                 [&](const Wishes::Axis& wish) { return wish.axis == axis; });
    return it != all.end() ? &*it : nullptr;
  }

  // Why the request does not mean this variant, or nothing.
  std::optional<std::string> other_form(const VariantEntry& v) const {
    const Form has = form_of(v);
    if (contains(request_.forms, has) || (fits_ && has == *wished_)) return std::nullopt;
    return "is " + form_name(has) + ", asked for is " + join_forms(request_.forms);
  }
  std::optional<std::string> other_axis(const VariantEntry& v) const {
    if (request_.int8 && v.int8 != *request_.int8) {
      return "reads bytes as int8 " + int8_name(v.int8) + ", asked for is " +
             int8_name(*request_.int8);
    }
    for (const AxisRequest& a : request_.axes) {
      if (!axis_value(v, a.axis)) return "has no axis " + std::string(a.axis);
    }
    for (const AxisValue& value : table_.axis_values_of(v)) {
      const std::string_view axis = table_.string(value.axis);
      const std::string_view is = table_.string(value.value);
      const auto asked = std::find_if(request_.axes.begin(), request_.axes.end(),
                                      [&](const AxisRequest& a) { return a.axis == axis; });
      const bool by_default = asked == request_.axes.end();
      if (by_default && (wished_value(axis) != nullptr || (value.flags & kInterchangeable) != 0)) {
        continue;
      }
      // The kernel's first variant has the defaults.
      const std::string_view wanted =
          by_default ? axis_value(variants_.front(), axis).value_or(is) : asked->value;
      if (is == wanted) continue;
      return "has " + std::string(axis) + "=" + std::string(is) + ", asked for is " +
             std::string(wanted) + (by_default ? " (the default)" : "");
    }
    return std::nullopt;
  }

  std::optional<std::string> requirement(const VariantEntry& v) const {
    auto missing = missing_requirement(table_, table_.blobs()[v.blob], caps_);
    if (missing) return "needs " + *missing;
    return std::nullopt;
  }

  std::optional<std::string> wish(const VariantEntry& v) const {
    if (wished_ && form_of(v) != *wished_) {
      return "is " + form_name(form_of(v)) + ", the user wants " + std::string(request_.kernel) +
             " in " + form_name(*wished_) +
             (fits_ ? "" : ", which cannot run beside " + join_forms(request_.forms));
    }
    for (const AxisValue& value : table_.axis_values_of(v)) {
      const std::string_view axis = table_.string(value.axis);
      const Wishes::Axis* wanted = wished_value(axis);
      if (wanted == nullptr || wanted->value == table_.string(value.value)) continue;
      return "has " + std::string(axis) + "=" + std::string(table_.string(value.value)) +
             ", the user wants " + wanted->value;
    }
    for (const std::string& name : rules_.wishes.avoid) {
      if (name == request_.kernel || name == table_.string(v.name)) {
        return "the user avoids " + name;
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> quirk(const VariantEntry& v) const {
    for (const Quirk& q : rules_.quirks) {
      if (!q.kernel.empty() && q.kernel != request_.kernel) continue;
      if (!q.axis.empty() && axis_value(v, q.axis) != q.value) continue;
      if (!q.forms.empty() && !contains(q.forms, form_of(v))) continue;
      return "quirk: " + q.reason + (q.source.empty() ? "" : " (" + q.source + ")");
    }
    return std::nullopt;
  }

  std::optional<std::string> failed(const VariantEntry& v) const {
    if (!rules_.failed.contains(table_.blobs()[v.blob].hash)) return std::nullopt;
    return "gave a wrong known answer, or none, on this device and driver";
  }

  const Table& table_;
  const SelectRequest& request_;
  const DeviceCaps& caps_;
  const SelectRules& rules_;
  std::span<const VariantEntry> variants_;
  std::optional<Form> wished_;
  bool fits_ = false;
};

Error no_variant(const Table& table, const SelectRequest& request, const DeviceCaps& caps,
                 const SelectRules& rules) {
  std::string text =
      "no variant of kernel " + std::string(request.kernel) + " (" + join_forms(request.forms);
  for (const AxisRequest& a : request.axes) {
    text += ", " + std::string(a.axis) + "=" + std::string(a.value);
  }
  text += ") may run on " + caps.name + ":";
  const auto all = candidates(table, request, caps, rules);
  for (const Candidate& c : all) text += "\n  " + c.variant + ": " + c.excluded_by;
  if (all.empty()) text += " the table holds none";
  return Error{ErrorCode::kNoVariant, text};
}

}  // namespace

std::string unknown_kernel(const Table& table, std::string_view kernel) {
  std::vector<std::string_view> names;
  for (const KernelEntry& k : table.kernels()) names.push_back(table.string(k.name));
  std::string text = table.origin() + " has no kernel \"" + printable(kernel.substr(0, 80)) + "\"";
  if (names.empty()) return text;
  return text + "; the nearest is \"" + std::string(nearest_name(kernel, names)) + "\"";
}

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
                              const DeviceCaps& caps, const SelectRules& rules) {
  const KernelEntry* kernel = table.find(request.kernel);
  if (kernel == nullptr) {
    return Error{ErrorCode::kNoVariant, unknown_kernel(table, request.kernel)};
  }
  const Selector selector(table, request, caps, rules, table.variants_of(*kernel));
  if (const VariantEntry* v = selector.chosen()) {
    return Selection{static_cast<std::uint32_t>(v - table.variants().data()), v->blob};
  }
  return no_variant(table, request, caps, rules);
}

std::vector<Candidate> candidates(const Table& table, const SelectRequest& request,
                                  const DeviceCaps& caps, const SelectRules& rules) {
  std::vector<Candidate> all;
  const KernelEntry* kernel = table.find(request.kernel);
  if (kernel == nullptr) return all;
  const auto variants = table.variants_of(*kernel);
  const Selector selector(table, request, caps, rules, variants);
  const VariantEntry* chosen = selector.chosen();
  for (const VariantEntry& v : variants) {
    Candidate& c = all.emplace_back(selector.excluded(v));
    if (c.exclusion != Exclusion::kNone || &v == chosen) continue;
    c.exclusion = Exclusion::kLater;
    c.excluded_by = "comes behind " + std::string(table.string(chosen->name));
  }
  return all;
}

}  // namespace spirkiln
