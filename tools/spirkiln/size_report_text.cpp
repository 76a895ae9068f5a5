// SPDX-License-Identifier: Apache-2.0
// A size report for people and for machines.
#include <fmt/format.h>

#include "json_text.hpp"
#include "size_report.hpp"

namespace spirkiln::gen {
namespace {

std::string row(std::string_view name, const Bytes& b) {
  return fmt::format("{:<34} {:>8} {:>6} {:>10} {:>10} {:>9.0f}\n", name, b.variants, b.blobs,
                     b.raw, b.unique, b.packed);
}

std::string bytes_json(const Bytes& b) {
  return fmt::format(
      "{{\"variants\": {}, \"blobs\": {}, \"raw\": {}, \"unique\": {}, \"packed\": {:.1f}}}",
      b.variants, b.blobs, b.raw, b.unique, b.packed);
}

}  // namespace

std::string report_text(const SizeReport& r) {
  std::string out = fmt::format("table {}: {} bytes: index {}, dictionary {}, modules {}", r.table,
                                r.file_bytes, r.index_bytes, r.dictionary_bytes, r.frame_bytes);
  for (const auto& [name, bytes] : r.attachments) out += fmt::format(", {} {}", name, bytes);
  out += fmt::format("\nmade by {}\n\n", r.tool);
  const std::string head = fmt::format("{:<34} {:>8} {:>6} {:>10} {:>10} {:>9}\n", "", "variants",
                                       "blobs", "raw", "unique", "packed");
  out += head;
  for (const KernelBytes& k : r.kernels) out += row(k.kernel, k.bytes);
  out += row("all", r.all);
  if (!r.axes.empty()) out += "\nby axis; 'alone' is what no other value of the axis uses\n" + head;
  for (const AxisBytes& a : r.axes) {
    out += row(fmt::format("{} = {}", a.axis, a.value), a.bytes);
    out += fmt::format("{:<34} {:>8} {:>6} {:>10} {:>10} {:>9.0f}\n", "  alone", "",
                       a.exclusive.blobs, "", a.exclusive.unique, a.exclusive.packed);
  }
  if (!r.duplicates.empty()) out += "\nequal modules, stored once\n";
  for (const DuplicateBlob& d : r.duplicates) {
    out += fmt::format("  {:>7} bytes  {}\n", d.bytes, fmt::join(d.variants, ", "));
  }
  for (const ConstantAxis& c : r.constants) {
    out += fmt::format(
        "\nkernel {}: axis {} ({}) only changes constants in {} pair{} of variants: make it a "
        "specialization constant and save {} bytes of SPIR-V\n",
        c.kernel, c.axis, fmt::join(c.values, ", "), c.pairs, c.pairs == 1 ? "" : "s",
        c.saved_unique);
  }
  if (!r.ids_kept.empty()) {
    out += fmt::format(
        "\nstored as words, with ids of their own, since this SPIRV-Tools does not know their "
        "instructions: {}\n",
        fmt::join(r.ids_kept, ", "));
  }
  return out;
}

std::string report_json(const SizeReport& r) {
  const auto strings = [](const std::vector<std::string>& list) {
    return json_list(list, [](const std::string& s) { return json_string(s); });
  };
  return fmt::format(
      "{{\"table\": {}, \"tool\": {}, \"bytes\": {}, \"index\": {}, \"dictionary\": {}, "
      "\"frames\": {}, \"attachments\": {}, \"all\": {},\n\"kernels\": {},\n\"axes\": {},\n"
      "\"duplicates\": {},\n"
      "\"constant_axes\": {},\n\"ids_kept\": {}}}\n",
      json_string(r.table), json_string(r.tool), r.file_bytes, r.index_bytes, r.dictionary_bytes,
      r.frame_bytes,
      json_list(r.attachments,
                [](const auto& a) {
                  return fmt::format("{{\"name\": {}, \"packed\": {}}}", json_string(a.first),
                                     a.second);
                }),
      bytes_json(r.all),
      json_list(r.kernels,
                [](const KernelBytes& k) {
                  return fmt::format("{{\"kernel\": {}, \"bytes\": {}}}", json_string(k.kernel),
                                     bytes_json(k.bytes));
                }),
      json_list(r.axes,
                [](const AxisBytes& a) {
                  return fmt::format(
                      "{{\"axis\": {}, \"value\": {}, \"bytes\": {}, \"alone\": {}}}",
                      json_string(a.axis), json_string(a.value), bytes_json(a.bytes),
                      bytes_json(a.exclusive));
                }),
      json_list(r.duplicates,
                [&](const DuplicateBlob& d) {
                  return fmt::format("{{\"bytes\": {}, \"variants\": {}}}", d.bytes,
                                     strings(d.variants));
                }),
      json_list(r.constants,
                [&](const ConstantAxis& c) {
                  return fmt::format(
                      "{{\"kernel\": {}, \"axis\": {}, \"values\": {}, \"pairs\": {}, "
                      "\"saved_unique\": {}}}",
                      json_string(c.kernel), json_string(c.axis), strings(c.values), c.pairs,
                      c.saved_unique);
                }),
      strings(r.ids_kept));
}

}  // namespace spirkiln::gen
