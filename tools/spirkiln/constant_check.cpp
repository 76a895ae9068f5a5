// SPDX-License-Identifier: Apache-2.0
#include "constant_check.hpp"

#include <fmt/format.h>

#include <bit>
#include <set>

#include "list.hpp"
#include "table/nearest_name.hpp"

namespace spirkiln::gen {
namespace {

struct Use {
  const Variant* variant;
  const SpecConstant* spec;
};

std::vector<Use> uses_of(const std::string& name, const std::vector<VariantModule>& modules) {
  std::vector<Use> uses;
  for (const VariantModule& module : modules) {
    if (module.blob == nullptr) continue;
    for (const SpecConstant& spec : module.blob->reflection.specs) {
      if (spec.name == name) uses.push_back({module.variant, &spec});
    }
  }
  return uses;
}

std::string unknown_constant(const KernelManifest& kernel, const NamedConstant& constant,
                             const std::vector<VariantModule>& modules) {
  std::set<std::string_view> names;
  for (const VariantModule& module : modules) {
    if (module.blob == nullptr) continue;
    for (const SpecConstant& spec : module.blob->reflection.specs) {
      if (!spec.name.empty()) names.insert(spec.name);
      if (constant.id == spec.id && !spec.name.empty()) {
        return fmt::format("no variant of '{}' has a constant '{}'; the id {} is '{}'", kernel.name,
                           constant.name, spec.id, spec.name);
      }
    }
  }
  if (names.empty()) {
    return fmt::format("'{}' has no specialization constants with a name, so no '{}'", kernel.name,
                       constant.name);
  }
  return fmt::format("no variant of '{}' has a constant '{}'; the nearest is '{}'", kernel.name,
                     constant.name, nearest_name(constant.name, names));
}

std::string default_text(const SpecConstant& spec) {
  switch (spec.type) {
    case table::SpecType::kBool:
      return spec.default_bits != 0 ? "true" : "false";
    case table::SpecType::kFloat:
      return fmt::format("{}", std::bit_cast<float>(spec.default_bits));
    case table::SpecType::kInt:
      return fmt::format("{}", static_cast<std::int32_t>(spec.default_bits));
    default:
      return fmt::format("{}", spec.default_bits);
  }
}

// Whether the manifest's default is the module's; a whole number may stand for a float.
bool has_default(const NamedConstant& constant, const SpecConstant& spec) {
  if (const auto* b = std::get_if<bool>(&constant.default_value)) {
    return spec.type == table::SpecType::kBool && (spec.default_bits != 0) == *b;
  }
  if (const auto* f = std::get_if<double>(&constant.default_value)) {
    return spec.type == table::SpecType::kFloat &&
           std::bit_cast<float>(spec.default_bits) == static_cast<float>(*f);
  }
  const auto* i = std::get_if<std::int64_t>(&constant.default_value);
  if (i == nullptr) return true;
  switch (spec.type) {
    case table::SpecType::kBool:
      return false;
    case table::SpecType::kFloat:
      return std::bit_cast<float>(spec.default_bits) == static_cast<float>(*i);
    case table::SpecType::kInt:
      return static_cast<std::int32_t>(spec.default_bits) == *i;
    default:
      return spec.default_bits == *i;
  }
}

// What is wrong with one use, or nothing.
std::string contradiction(const NamedConstant& constant, const Use& use, const Use& first) {
  const SpecConstant& spec = *use.spec;
  const std::string& variant = use.variant->name;
  if (constant.id && spec.id != *constant.id) {
    return fmt::format("'{}' has the id {} in {}, not {}", constant.name, spec.id, variant,
                       *constant.id);
  }
  if (spec.id != first.spec->id) {
    return fmt::format("'{}' has the id {} in {} and {} in {}; a name that callers use has one id",
                       constant.name, first.spec->id, first.variant->name, spec.id, variant);
  }
  if (constant.type && spec.type != *constant.type) {
    return fmt::format("'{}' is of type {} in {}, not {}", constant.name, spec_type_name(spec.type),
                       variant, spec_type_name(*constant.type));
  }
  if (spec.type != first.spec->type) {
    return fmt::format(
        "'{}' is of type {} in {} and {} in {}; a name that callers use has one type",
        constant.name, spec_type_name(first.spec->type), first.variant->name,
        spec_type_name(spec.type), variant);
  }
  if (!has_default(constant, spec)) {
    return fmt::format("the default of '{}' is {} ({}) in {}", constant.name, default_text(spec),
                       spec_type_name(spec.type), variant);
  }
  return {};
}

}  // namespace

std::vector<Diagnostic> check_constants(const KernelManifest& kernel,
                                        const std::vector<VariantModule>& modules) {
  std::vector<Diagnostic> errors;
  bool any = false;
  for (const VariantModule& module : modules) any |= module.blob != nullptr;
  if (!any) return errors;
  for (const NamedConstant& constant : kernel.constants) {
    const auto uses = uses_of(constant.name, modules);
    std::string text = uses.empty() ? unknown_constant(kernel, constant, modules) : "";
    for (std::size_t i = 0; i < uses.size() && text.empty(); ++i) {
      text = contradiction(constant, uses[i], uses.front());
    }
    if (text.empty()) continue;
    errors.push_back(constant.position);
    errors.back().text = std::move(text);
  }
  return errors;
}

std::vector<std::pair<std::string, std::uint32_t>> constant_ids(
    const KernelManifest& kernel, const std::vector<VariantModule>& modules) {
  std::vector<std::pair<std::string, std::uint32_t>> ids;
  for (const NamedConstant& constant : kernel.constants) {
    const auto uses = uses_of(constant.name, modules);
    if (!uses.empty()) ids.emplace_back(constant.name, uses.front().spec->id);
  }
  return ids;
}

}  // namespace spirkiln::gen
