// SPDX-License-Identifier: Apache-2.0
// A report as one page that needs no other file and no script. Each site has two pictures: which
// invocation asks for which address, and how many sectors each of the first requests moves.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report.hpp"

namespace spirkiln::access {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1b1f24; --quiet: #5c6670; --line: #d8dde3; --page: #fff;
  --good: #2f6db5; --bad: #d9822b; --track: #eef1f4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --quiet: #98a2ad; --line: #333a42;
  --page: #15181c; --good: #6aa5e8; --bad: #e9a35c; --track: #23282e; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 68rem; margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1rem; margin: 2.25rem 0 .25rem; }
p { margin: .25rem 0; } .quiet { color: var(--quiet); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .2rem .5rem; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 600; } th:nth-child(-n+3), td:nth-child(-n+3) { text-align: left; }
.wide { overflow-x: auto; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; margin: .75rem 0; }
figure { margin: 0; flex: 1 1 20rem; min-width: 0; }
figcaption { color: var(--quiet); font-size: .85rem; }
svg { display: block; width: 100%; background: var(--track); border-radius: 3px; }
.dot { fill: var(--good); } .bar { fill: var(--good); } .over { fill: var(--bad); }
.warp { stroke: var(--line); stroke-width: .2; }
.told { border-left: 3px solid var(--bad); padding-left: .6rem; margin: .4rem 0; }
.hint { border-left-color: var(--good); }
code { font: .92em ui-monospace, monospace; overflow-wrap: anywhere; }
)";

constexpr std::size_t kWarps = 4;   // of the map of addresses
constexpr std::size_t kRows = 48;   // of that map
constexpr std::size_t kBars = 64;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

// Columns are invocations of the first warps, rows are addresses, from the lowest at the top.
std::string address_map(const std::vector<Request>& requests, const MemoryShape& shape) {
  // One request a warp: the first time.
  std::vector<const Request*> first;
  for (const Request& r : requests) {
    if (r.occurrence == 0 && first.size() < kWarps && !r.lanes.empty()) first.push_back(&r);
  }
  if (first.empty()) return {};
  std::uint64_t low = ~std::uint64_t{0}, high = 0;
  for (const Request* r : first) {
    for (const auto& [lane, address] : r->lanes) {
      low = std::min(low, address);
      high = std::max(high, address);
    }
  }
  const std::uint64_t step = std::max<std::uint64_t>((high - low) / kRows + 1, 4);
  const std::size_t columns = first.size() * shape.warp;
  std::map<std::pair<std::uint64_t, std::uint64_t>, unsigned> cells;
  for (std::size_t w = 0; w < first.size(); ++w) {
    for (const auto& [lane, address] : first[w]->lanes) {
      ++cells[{w * shape.warp + lane, (address - low) / step}];
    }
  }
  std::string svg = fmt::format(
      "<figure><svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" height=\"180\" role=\"img\" "
      "aria-label=\"addresses by invocation\">",
      columns, kRows);
  for (std::size_t w = 1; w < first.size(); ++w) {
    svg += fmt::format("<line class=\"warp\" x1=\"{0}\" x2=\"{0}\" y1=\"0\" y2=\"{1}\"/>",
                       w * shape.warp, kRows);
  }
  for (const auto& [cell, count] : cells) {
    svg += fmt::format(
        "<rect class=\"dot\" x=\"{}\" y=\"{}\" width=\"1\" height=\"1\" opacity=\"{:.2f}\"/>",
        cell.first, cell.second, std::min(0.55 + 0.15 * count, 1.0));
  }
  return svg + fmt::format(
                   "</svg><figcaption>{} invocations of {} warp{} &rarr;, addresses {} to {} "
                   "&darr;, {} bytes a row</figcaption></figure>",
                   columns, first.size(), first.size() == 1 ? "" : "s", low, high, step);
}

std::string sector_bars(const std::vector<Request>& requests, const SiteFigures& f) {
  const std::size_t count = std::min(requests.size(), kBars);
  if (count == 0 || f.site.space == Space::kShared) return {};
  const double ideal = static_cast<double>(f.ideal_sectors) /
                       static_cast<double>(std::max<std::uint64_t>(f.requests, 1));
  std::uint32_t most = 1;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, requests[i].sectors);
  std::string svg = fmt::format(
      "<figure><svg viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" height=\"180\" role=\"img\" "
      "aria-label=\"sectors of each request\">",
      count, most);
  for (std::size_t i = 0; i < count; ++i) {
    const double all = requests[i].sectors;
    const double good = std::min(all, std::max(ideal, 0.0));
    svg += fmt::format(
        "<rect class=\"over\" x=\"{0}.1\" width=\".8\" y=\"{1:.2f}\" height=\"{2:.2f}\"/>"
        "<rect class=\"bar\" x=\"{0}.1\" width=\".8\" y=\"{3:.2f}\" height=\"{4:.2f}\"/>",
        i, most - all, all - good, most - good, good);
  }
  return svg + fmt::format(
                   "</svg><figcaption>sectors of the first {} requests, {} at most; in the other "
                   "colour what is more than {:.2f}, the best in the mean</figcaption></figure>",
                   count, most, ideal);
}

// Of the table: bytes, but for workgroup memory, whose cost are steps of its banks.
std::string row_html(const SiteFigures& s, const MemoryShape& shape) {
  std::string cells;
  if (s.requests == 0) {
    cells = "<td>not executed</td><td></td><td></td><td></td><td></td><td></td>";
  } else if (s.site.space == Space::kShared) {
    cells =
        fmt::format("<td>{}</td><td>{}</td><td></td><td></td><td></td><td>{:.2f} bank steps</td>",
                    pattern_text(s), s.asked, s.mean_conflict);
  } else {
    cells = fmt::format("<td>{}</td><td>{}</td><td>{}</td><td>{}</td>", pattern_text(s), s.asked,
                        s.moved(shape), s.ideal_sectors * shape.sector);
    cells += s.sectors == 0 ? "<td></td><td></td>"
                            : fmt::format("<td>{:.1f} %</td><td>{:.1f} %</td>",
                                          s.again_share() * 100, s.efficiency(shape) * 100);
  }
  return fmt::format("<tr><td>{}</td><td>{}</td>{}</tr>", s.site.line, escaped(s.site.name), cells);
}

std::string site_html(const Report& r, std::size_t s) {
  const SiteFigures& f = r.figures.sites[s];
  const MemoryShape& shape = r.figures.shape;
  const char* access = f.site.access == Access::kLoad    ? "load"
                       : f.site.access == Access::kStore ? "store"
                                                         : "atomic";
  std::string html =
      fmt::format("<h2>{}:{} &middot; {} of {}</h2><p><code>{}</code></p><p>", escaped(f.site.file),
                  f.site.line, access, escaped(f.site.name), escaped(r.texts[s]));
  if (f.requests == 0) {
    html += "not executed";
  } else {
    html += fmt::format("{}; {} accesses in {} requests; {} bytes asked", pattern_text(f),
                        f.accesses, f.requests, f.asked);
  }
  if (f.requests > 0 && f.site.space == Space::kShared) {
    html += fmt::format("; banks: {:.2f} steps in the mean, {} at worst", f.mean_conflict,
                        f.worst_conflict);
  } else if (f.sectors > 0) {
    html +=
        fmt::format(", {} moved ({} at best), efficiency {:.1f} %, {:.1f} % of the sectors again",
                    f.moved(shape), f.ideal_sectors * shape.sector, f.efficiency(shape) * 100,
                    f.again_share() * 100);
  }
  if (f.out_of_bounds > 0) html += fmt::format(", <b>{} out of bounds</b>", f.out_of_bounds);
  html += "</p>";
  for (const Advice& a : r.advice) {
    if (a.site != s) continue;
    html += fmt::format("<p class=\"told{}\"><b>{}</b> {}</p>", a.fault ? "" : " hint", a.rule,
                        escaped(a.text));
  }
  if (s >= r.pictures.size()) return html;
  const auto& requests = r.pictures[s].requests;
  return html + "<div class=\"pictures\">" + address_map(requests, shape) +
         sector_bars(requests, f) + "</div>";
}

}  // namespace

std::string report_html(const Report& r) {
  const Figures& f = r.figures;
  std::string html = fmt::format(
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>{0}</title><style>{1}</style><h1>{0}</h1>"
      "<p class=\"quiet\">{2}x{3}x{4} groups of {5}x{6}x{7} on {8}; warps of {9}, sectors of {10} "
      "bytes, lines of {11}, {12} banks ({13})</p>",
      escaped(r.kernel), kStyle, r.groups[0], r.groups[1], r.groups[2], r.local[0], r.local[1],
      r.local[2], escaped(r.device), f.shape.warp, f.shape.sector, f.shape.line, f.shape.banks,
      escaped(r.shape_source));
  html += fmt::format("<p>{} bytes asked, {} moved, {} at best; {} flops, {:.3f} a byte moved</p>",
                      f.asked, f.moved, f.ideal, f.flops, f.intensity());
  if (r.time) {
    html += fmt::format(
        "<p>predicted {:.1f} &micro;s for all groups: lines and banks {:.1f}, last cache {:.1f}, "
        "memory {:.1f}</p>",
        r.time->us(), r.time->line_us, r.time->cache_us, r.time->memory_us);
  }
  if (!r.warning.empty()) {
    html += fmt::format("<p class=\"told\"><b>nothing seen</b> {}</p>", escaped(r.warning));
  }
  for (const std::string& note : r.notes) {
    html += fmt::format("<p class=\"quiet\">{}</p>", escaped(note));
  }
  if (f.traced_groups < f.groups) {
    html += fmt::format("<p class=\"quiet\">{} of {} groups were traced</p>", f.traced_groups,
                        f.groups);
  }
  if (f.lost > 0) {
    html += fmt::format(
        "<p class=\"told\">{} of {} accesses fit into the trace; the figures are "
        "of these alone</p>",
        f.records, f.records + f.lost);
  }
  html +=
      "<div class=\"wide\"><table><tr><th>line</th><th>access</th><th>pattern</th>"
      "<th>asked</th><th>moved</th><th>at best</th><th>again</th><th>efficiency</th></tr>";
  for (const SiteFigures& s : f.sites) html += row_html(s, f.shape);
  html += "</table></div>";
  for (std::size_t s = 0; s < f.sites.size(); ++s) html += site_html(r, s);
  for (const Untraced& u : r.untraced) {
    html += fmt::format("<p class=\"told\">{}:{} is not traced: {}</p>", escaped(u.file), u.line,
                        escaped(u.why));
  }
  for (const Advice& a : r.advice) {
    if (a.site == f.sites.size()) {
      html += fmt::format("<p class=\"told\"><b>{}</b> {}</p>", a.rule, escaped(a.text));
    }
  }
  for (const auto& [name, value] : r.statistics) {
    html += fmt::format("<p>{}: {}</p>", escaped(name), escaped(value));
  }
  return html + "</html>\n";
}

}  // namespace spirkiln::access
