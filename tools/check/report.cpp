// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <fmt/format.h>

#include "json_text.hpp"

namespace spirkiln::check {
namespace {

using gen::json_list;
using gen::json_string;

constexpr std::size_t kColumns = 100;

std::string shapes_text(const std::vector<InputShape>& shapes) {
  std::string text;
  for (const InputShape& s : shapes) {
    text += fmt::format("{}{}x{}x{}", text.empty() ? "" : " ", s.n, s.h, s.w);
  }
  return text;
}

// "NAME COUNT, ..." in lines of at most kColumns.
std::string chosen_text(const std::map<std::string, ChosenVariant>& chosen) {
  std::string text, line = "   ";
  for (const auto& [name, choice] : chosen) {
    const bool last = name == chosen.rbegin()->first;
    const std::string item = fmt::format(" {} {}{}", name, choice.dispatches, last ? "" : ",");
    if (line.size() + item.size() > kColumns) {
      text += line + "\n";
      line = "   ";
    }
    line += item;
  }
  return text + line + "\n";
}

std::string failure_text(const Outcome& outcome) {
  std::string text;
  for (const KernelFailure& k : outcome.kernels) {
    text += fmt::format("    {}: no variant may run ({} dispatch{}, first in {})\n", k.kernel,
                        k.dispatches, k.dispatches == 1 ? "" : "es", k.node);
    for (const Candidate& c : k.candidates) {
      text += fmt::format("      {}: {}\n", c.variant, c.excluded_by);
    }
    if (k.candidates.empty()) text += "      the table holds none\n";
  }
  for (const std::string& why : outcome.refused) text += fmt::format("    {}\n", why);
  return text;
}

std::string outcome_json(const Outcome& outcome) {
  return fmt::format(
      "{{\"ok\": {}, \"shapes\": {}, \"chosen\": {}, \"without_variant\": {}, \"refused\": {}}}",
      outcome.ok(),
      json_list(outcome.shapes,
                [](const InputShape& s) { return fmt::format("\"{}x{}x{}\"", s.n, s.h, s.w); }),
      json_list(outcome.chosen,
                [](const auto& entry) {
                  return fmt::format("{{\"variant\": {}, \"dispatches\": {}}}",
                                     json_string(entry.first), entry.second.dispatches);
                }),
      json_list(outcome.kernels,
                [](const KernelFailure& k) {
                  return fmt::format(
                      "{{\"kernel\": {}, \"node\": {}, \"dispatches\": {}, \"variants\": {}}}",
                      json_string(k.kernel), json_string(k.node), k.dispatches,
                      json_list(k.candidates, [](const Candidate& c) {
                        return fmt::format("{{\"variant\": {}, \"reason\": {}}}",
                                           json_string(c.variant), json_string(c.excluded_by));
                      }));
                }),
      json_list(outcome.refused, [](const std::string& why) { return json_string(why); }));
}

}  // namespace

std::string report_text(const std::vector<DeviceReport>& devices) {
  std::string text;
  for (const DeviceReport& d : devices) {
    text += d.device.caps.name + "\n";
    for (const GraphReport& g : d.graphs) {
      for (const Outcome& o : g.outcomes) {
        text += fmt::format("  {} {}: {} in {}\n", g.graph, shapes_text(o.shapes),
                            o.ok() ? "ok" : "fails", g.forms);
        text += o.ok() ? chosen_text(o.chosen) : failure_text(o);
      }
    }
  }
  return text;
}

std::string report_json(const std::vector<DeviceReport>& devices) {
  return "{\"devices\": " +
         json_list(devices,
                   [](const DeviceReport& d) {
                     return fmt::format(
                         "\n {{\"name\": {}, \"profile\": {}, \"assumed\": {}, \"graphs\": {}}}",
                         json_string(d.device.caps.name), json_string(d.device.path),
                         json_list(d.device.assumed,
                                   [](const std::string& key) { return json_string(key); }),
                         json_list(d.graphs, [](const GraphReport& g) {
                           return fmt::format(
                               "\n  {{\"graph\": {}, \"ok\": {}, \"forms\": {}, \"outcomes\": {}}}",
                               json_string(g.graph), g.ok(), json_string(g.forms),
                               json_list(g.outcomes, outcome_json));
                         }));
                   }) +
         "}\n";
}

}  // namespace spirkiln::check
