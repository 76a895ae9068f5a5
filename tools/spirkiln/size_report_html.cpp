// SPDX-License-Identifier: Apache-2.0
// A size report as one page that needs no other file and no script.
#include <fmt/format.h>

#include <algorithm>

#include "size_report.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #5c6670; --line: #d8dde3; --page: #fff;
  --bar: #2f6db5; --alone: #d9822b; --track: #eef1f4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --quiet: #98a2ad; --line: #333a42;
  --page: #15181c; --bar: #6aa5e8; --alone: #e9a35c; --track: #23282e; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 68rem; margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2.25rem 0 .5rem; }
p { margin: .25rem 0; } .quiet { color: var(--quiet); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .2rem .5rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--quiet); font-weight: 600; } th:first-child, td:first-child { text-align: left; }
td.chart { width: 40%; padding-right: 0; }
svg { display: block; width: 100%; height: 14px; background: var(--track); border-radius: 2px; }
.bar { fill: var(--bar); } .alone { fill: var(--alone); }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin: 0 .3em 0 .8em; }
ul { padding-left: 1.2rem; } code { font: .92em ui-monospace, monospace; }
p, li, code { overflow-wrap: anywhere; }
td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 7rem; }
@media (max-width: 45rem) { body { margin: 1rem auto; padding: 0 .75rem; font-size: 14px; }
  th, td { padding: .2rem .3rem; } td.chart { width: 25%; }
  th:nth-child(3), td:nth-child(3), th:nth-child(4), td:nth-child(4) { display: none; } }
@media (max-width: 26rem) { th:nth-child(5), td:nth-child(5) { display: none; } }
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// 1234567 as "1 234 567", with spaces that do not break.
std::string number(std::uint64_t value) {
  std::string digits = fmt::format("{}", value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), "&#8239;");
  }
  return digits;
}

std::string rectangle(std::string_view kind, double part) {
  return fmt::format("<rect class=\"{}\" width=\"{:.3f}%\" height=\"14\"/>", kind,
                     std::clamp(part, 0.0, 1.0) * 100);
}

// `inner` is drawn over the front of the bar; below 0 there is none.
std::string row(const std::string& name, const Bytes& b, double largest, double inner) {
  std::string bars = rectangle("bar", largest > 0 ? b.packed / largest : 0);
  if (inner >= 0) bars += rectangle("alone", largest > 0 ? inner / largest : 0);
  return fmt::format(
      "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
      "<td class=\"chart\"><svg role=\"img\" aria-label=\"{:.0f} bytes "
      "packed\">{}</svg></td></tr>\n",
      name, number(b.variants), number(b.blobs), number(b.raw), number(b.unique),
      number(static_cast<std::uint64_t>(b.packed + 0.5)), b.packed, bars);
}

constexpr std::string_view kHead =
    "<tr><th>{}</th><th>variants</th><th>modules</th><th>raw bytes</th><th>unique</th>"
    "<th>packed</th><th></th></tr>\n";

std::string kernels(const SizeReport& r) {
  double largest = 0;
  for (const KernelBytes& k : r.kernels) largest = std::max(largest, k.bytes.packed);
  std::string out = "<h2>Kernels</h2>\n<table>\n" + fmt::format(fmt::runtime(kHead), "kernel");
  for (const KernelBytes& k : r.kernels) out += row(escaped(k.kernel), k.bytes, largest, -1);
  return out + row("<b>all</b>", r.all, 0, -1) + "</table>\n";
}

std::string axes(const SizeReport& r) {
  if (r.axes.empty()) return {};
  double largest = 0;
  for (const AxisBytes& a : r.axes) largest = std::max(largest, a.bytes.packed);
  std::string out =
      "<h2>Values of axes</h2>\n<p class=\"quiet\">Packed bytes of the modules that the value's "
      "variants use; <span class=\"key\" style=\"background:var(--alone)\"></span>of those, "
      "modules "
      "that no other value of the axis uses.</p>\n<table>\n" +
      fmt::format(fmt::runtime(kHead), "value");
  for (const AxisBytes& a : r.axes) {
    out += row(fmt::format("{} = {}", escaped(a.axis), escaped(a.value)), a.bytes, largest,
               a.exclusive.packed);
  }
  return out + "</table>\n";
}

std::string advice(const SizeReport& r) {
  std::string out;
  for (const ConstantAxis& c : r.constants) {
    out += fmt::format(
        "<li>Kernel <code>{}</code>: axis <code>{}</code> ({}) only changes constants. As a "
        "specialization constant it would save {} bytes of SPIR-V.</li>\n",
        escaped(c.kernel), escaped(c.axis), escaped(fmt::format("{}", fmt::join(c.values, ", "))),
        number(c.saved_unique));
  }
  for (const std::string& variant : r.ids_kept) {
    out += fmt::format("<li><code>{}</code> is stored as words, with ids of its own.</li>\n",
                       escaped(variant));
  }
  return out.empty() ? out : "<h2>Worth a look</h2>\n<ul>\n" + out + "</ul>\n";
}

std::string duplicates(const SizeReport& r) {
  if (r.duplicates.empty()) return {};
  std::string out = "<h2>Equal modules, stored once</h2>\n<ul>\n";
  for (const DuplicateBlob& d : r.duplicates) {
    out += fmt::format("<li>{} bytes: <code>{}</code></li>\n", number(d.bytes),
                       escaped(fmt::format("{}", fmt::join(d.variants, ", "))));
  }
  return out + "</ul>\n";
}

}  // namespace

std::string report_html(const SizeReport& r) {
  std::string attached;
  for (const auto& [name, bytes] : r.attachments) {
    attached += fmt::format(", {} {}", escaped(name), number(bytes));
  }
  return fmt::format(
             "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, "
             "initial-scale=1\">\n<title>{0}: sizes</title>\n"
             "<style>{1}</style>\n</head>\n<body>\n<h1>Table {0}: {2} bytes</h1>\n"
             "<p>{3} variants, {4} different modules of {5} bytes of SPIR-V ({6} with duplicates). "
             "In the "
             "file: modules {7}, index {8}, dictionary {9}{11} bytes.</p>\n<p class=\"quiet\">Made "
             "by "
             "{10}</p>\n",
             escaped(r.table), kStyle, number(r.file_bytes), number(r.all.variants),
             number(r.all.blobs), number(r.all.unique), number(r.all.raw), number(r.frame_bytes),
             number(r.index_bytes), number(r.dictionary_bytes), escaped(r.tool), attached) +
         kernels(r) + axes(r) + advice(r) + duplicates(r) + "</body>\n</html>\n";
}

}  // namespace spirkiln::gen
