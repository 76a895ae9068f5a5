// SPDX-License-Identifier: Apache-2.0
#include "expand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "audit.hpp"
#include "forms.hpp"
#include "manifest_rules.hpp"

namespace spirkiln::gen {
namespace {

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (c == '-') c = 'm';  // -1 in a name
  }
  return out;
}

std::string axis_suffix(const Axis& axis, const std::string& value) {
  if (value == axis.default_value) return {};
  // However many values there are: one more must not rename the others.
  const bool is_switch = value == "1" && axis.default_value == "0";
  std::string_view name = axis.name;
  if (axis.device) name.remove_prefix(std::string_view("ncnn_").size());
  return fmt::format("_{}{}", lower(name), is_switch ? "" : lower(value));
}

Variant base_variant(std::string_view profile, std::string_view name) {
  Variant v;
  const auto form = find_form(profile, name);
  if (!form) return v;
  v.storage = form->storage;
  v.arithmetic = form->arithmetic;
  v.resource = form->resource;
  v.macros = form->macros;
  return v;
}

// "fp16p" as the dialect names it where tensors are images: "image_fp16p".
std::string form_of(table::Resource resource, const std::string& variant) {
  if (resource == table::Resource::kBuffer) return variant;
  return variant == "fp32" ? "image" : "image_" + variant;
}

void set_int8(Variant& v, table::Int8 int8) {
  v.int8 = int8;
  if (int8 == table::Int8::kPacked) {
    v.name += "_int8p";
    v.macros.emplace_back("NCNN_int8_packed", "1");
  } else if (int8 == table::Int8::kStorage) {
    v.name += "_int8s";
    v.macros.emplace_back("NCNN_int8_storage", "1");
  }
}

}  // namespace

Result<Expansion> expand(const KernelManifest& kernel) {
  std::size_t product = kernel.variants.size() * kernel.resources.size() * kernel.int8.size();
  for (const Axis& axis : kernel.axes) {
    product *= axis.values.size();
    if (product > kMaxVariants) {
      Diagnostic d = kernel.position;
      d.text = fmt::format("the axes of '{}' multiply to more than {} variants", kernel.name,
                           kMaxVariants);
      return Error{ErrorCode::kInvalidArgument, to_string(d)};
    }
  }
  // Every combination of own values, defaults first, the last axis changing fastest.
  std::vector<std::vector<std::string>> combinations = {{}};
  for (const Axis& axis : kernel.axes) {
    std::vector<std::string> values = axis.values;
    std::stable_partition(values.begin(), values.end(),
                          [&](const std::string& v) { return v == axis.default_value; });
    std::vector<std::vector<std::string>> next;
    for (const auto& prefix : combinations) {
      for (const std::string& value : values) {
        next.push_back(prefix);
        next.back().push_back(value);
      }
    }
    combinations = std::move(next);
  }
  struct Base {
    Variant variant;
    std::string name;  // as rules name it, whatever the tensors lie in
  };
  std::vector<Base> bases;
  for (const table::Resource resource : kernel.resources) {
    for (const std::string& variant : kernel.variants) {
      const std::string form = form_of(resource, variant);
      for (const table::Int8 int8 : kernel.int8) {
        bases.push_back({base_variant(kernel.profile, form), variant});
        Variant& v = bases.back().variant;
        v.name = kernel.name;
        v.form = form;
        if (form != "fp32") v.name += "_" + form;
        set_int8(v, int8);
      }
    }
  }
  Expansion out;
  std::set<std::string> names;
  for (const Base& base : bases) {
    for (const auto& values : combinations) {
      Variant v = base.variant;
      bool acc_afp = false;
      for (std::size_t i = 0; i < kernel.axes.size(); ++i) {
        const Axis& axis = kernel.axes[i];
        v.axis_values.emplace_back(axis.name, values[i]);
        if (axis.interchangeable) v.interchangeable.push_back(axis.name);
        v.name += axis_suffix(axis, values[i]);
        if (axis.name == "acc") {
          acc_afp = values[i] == "afp";
          if (acc_afp) v.macros.emplace_back(kAccMacro, "1");
        } else if (!axis.device || values[i] != "0") {
          // As in ncnn, what a device has not is not defined, so that #ifdef and #if agree.
          v.macros.emplace_back(axis.name, values[i]);
        }
      }
      for (const auto& [name, value] : kernel.defines) v.macros.emplace_back(name, value);
      if (acc_afp && v.arithmetic != table::Arithmetic::kFp16) {
        out.pruned.push_back({v.name, "acc-afp-requires-fp16-arithmetic"});
        continue;
      }
      if (const Rule* rule = forbidding_rule(kernel, base.name, values)) {
        out.pruned.push_back(
            {v.name, fmt::format("{} ({}:{})", rule->reason, shown(rule->position.file),
                                 rule->position.line)});
        continue;
      }
      if (!names.insert(v.name).second) {
        Diagnostic d = kernel.position;
        d.text = fmt::format("two variants would be called '{}'; rename an axis or value", v.name);
        return Error{ErrorCode::kInvalidArgument, to_string(d)};
      }
      v.promised = promised_capabilities(kernel, v, base.name, values);
      out.variants.push_back(std::move(v));
    }
  }
  // The runtime takes the values of the first variant for the defaults.
  for (std::size_t i = 0; i < kernel.axes.size() && !out.variants.empty(); ++i) {
    const auto& [axis, value] = out.variants.front().axis_values[i];
    if (value == kernel.axes[i].default_value) continue;
    Diagnostic d = kernel.position;
    d.text = fmt::format(
        "the rules of '{}' leave out {} = {}, its default, in the first variant that "
        "is left, '{}'; choose another default or order",
        kernel.name, axis, kernel.axes[i].default_value, out.variants.front().name);
    return Error{ErrorCode::kInvalidArgument, to_string(d)};
  }
  return out;
}

}  // namespace spirkiln::gen
