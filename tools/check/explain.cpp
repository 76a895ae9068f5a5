// SPDX-License-Identifier: Apache-2.0
#include "explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "graph/plan.hpp"
#include "json_text.hpp"
#include "table/device_rules.hpp"
#include "table/kernel_forms.hpp"
#include "table/wishes.hpp"

namespace spirkiln::check {
namespace {

using gen::json_list;
using gen::json_string;

constexpr std::size_t kColumns = 100;

std::string_view exclusion_name(Exclusion exclusion) {
  static constexpr std::string_view kNames[] = {"chosen", "form",  "axis",   "requirement",
                                                "wish",   "quirk", "failed", "later"};
  return kNames[static_cast<std::size_t>(exclusion)];
}

std::string forms_text(const std::vector<Form>& forms) {
  std::string text;
  for (const Form f : forms) text += (text.empty() ? "" : " or ") + form_name(f);
  return text;
}

const Candidate* chosen_of(const KernelExplanation& k) {
  const auto it = std::find_if(k.variants.begin(), k.variants.end(),
                               [](const Candidate& c) { return c.exclusion == Exclusion::kNone; });
  return it != k.variants.end() ? &*it : nullptr;
}

Result<std::vector<std::string>> kernel_names(const Table& table,
                                              const std::vector<std::string>& wanted) {
  std::vector<std::string> all;
  for (const auto& k : table.kernels()) all.emplace_back(table.string(k.name));
  if (std::find(wanted.begin(), wanted.end(), "all") != wanted.end()) return all;
  for (const std::string& name : wanted) {
    if (table.find(name) != nullptr) continue;
    return Error{ErrorCode::kInvalidArgument, unknown_kernel(table, name)};
  }
  return wanted;
}

// "a, b, c: reason", broken behind names.
void add_group(std::string& text, const std::vector<std::string_view>& names,
               const std::string& reason) {
  std::string line = "   ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string item = fmt::format(" {}{}", names[i], i + 1 < names.size() ? "," : ":");
    if (line.size() + item.size() > kColumns) {
      text += line + "\n";
      line = "     ";
    }
    line += item;
  }
  text += line + " " + reason + "\n";
}

void add_kernel(std::string& text, const KernelExplanation& k) {
  const Candidate* chosen = chosen_of(k);
  text += fmt::format("  {} in {}: {}\n", k.kernel, forms_text(k.forms),
                      chosen != nullptr ? chosen->variant : "none");
  std::vector<std::string> said;
  std::size_t other_forms = 0;
  for (const Candidate& c : k.variants) {
    other_forms += c.exclusion == Exclusion::kForm;
    if (c.exclusion == Exclusion::kForm || c.exclusion == Exclusion::kNone ||
        std::find(said.begin(), said.end(), c.excluded_by) != said.end()) {
      continue;
    }
    said.push_back(c.excluded_by);
    std::vector<std::string_view> names;
    for (const Candidate& same : k.variants) {
      if (same.excluded_by == c.excluded_by) names.push_back(same.variant);
    }
    add_group(text, names, c.excluded_by);
  }
  if (other_forms != 0) text += fmt::format("    {} of other forms\n", other_forms);
}

std::string kernel_json(const KernelExplanation& k) {
  const Candidate* chosen = chosen_of(k);
  return fmt::format(
      "\n  {{\"kernel\": {}, \"forms\": {}, \"chosen\": {}, \"variants\": {}}}",
      json_string(k.kernel), json_list(k.forms, [](Form f) { return json_string(form_name(f)); }),
      chosen != nullptr ? json_string(chosen->variant) : "null",
      json_list(k.variants, [](const Candidate& c) {
        return fmt::format("\n   {{\"variant\": {}, \"exclusion\": \"{}\", \"reason\": {}}}",
                           json_string(c.variant), exclusion_name(c.exclusion),
                           json_string(c.excluded_by));
      }));
}

}  // namespace

Result<DeviceExplanation> explain_kernels(const DeviceProfile& device, const Table& table,
                                          const std::vector<std::string>& kernels,
                                          const std::vector<std::string>& axes,
                                          const std::string& variant, ExplainedForms which) {
  const auto names = kernel_names(table, kernels);
  if (!names) return names.error();
  const auto forms = choose_forms(variant, device.caps);
  if (!forms) return forms.error();
  const auto rules = select_rules(table, device.caps);
  if (!rules) return rules.error();
  // Read as the runtime reads wishes, so that its errors are the same.
  const auto asked =
      parse_wishes(table, {{fmt::format("{}", fmt::join(axes, ",")), "--axis"}, {}, {}});
  if (!asked) return asked.error();
  std::vector<AxisRequest> requests;
  for (const Wishes::Axis& a : asked->axes) requests.push_back({a.axis, a.value});
  const auto built_in = Table::built_in();
  DeviceExplanation out{device, {}};
  for (const std::string& name : *names) {
    // Graphs run kernels of the built-in names, in whatever table they lie.
    const bool of_graphs = which == ExplainedForms::kByKernel
                               ? built_in.ok() && built_in->find(name) != nullptr
                               : which == ExplainedForms::kOfGraphs;
    const std::vector<Form> wanted =
        of_graphs || !variant.empty() ? *forms : forms_on_buffers(table, *table.find(name));
    out.kernels.push_back(
        {name, wanted, candidates(table, {name, wanted, requests}, device.caps, *rules)});
  }
  return out;
}

std::size_t without_variant(const std::vector<DeviceExplanation>& devices) {
  std::size_t count = 0;
  for (const DeviceExplanation& d : devices) {
    for (const KernelExplanation& k : d.kernels) count += chosen_of(k) == nullptr;
  }
  return count;
}

std::string explanation_text(const std::vector<DeviceExplanation>& devices) {
  std::string text;
  for (const DeviceExplanation& d : devices) {
    text += d.device.caps.name + "\n";
    for (const KernelExplanation& k : d.kernels) add_kernel(text, k);
  }
  return text;
}

std::string explanation_json(const std::vector<DeviceExplanation>& devices) {
  return "{\"devices\": " +
         json_list(devices,
                   [](const DeviceExplanation& d) {
                     return fmt::format("\n {{\"name\": {}, \"profile\": {}, \"kernels\": {}}}",
                                        json_string(d.device.caps.name), json_string(d.device.path),
                                        json_list(d.kernels, kernel_json));
                   }) +
         "}\n";
}

}  // namespace spirkiln::check
