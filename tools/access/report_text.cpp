// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "json_text.hpp"
#include "report.hpp"

namespace spirkiln::access {
namespace {

using gen::json_list;
using gen::json_string;

std::string triple(const std::array<std::uint32_t, 3>& v) {
  return fmt::format("{}x{}x{}", v[0], v[1], v[2]);
}

std::string_view access_name(Access access) {
  return access == Access::kLoad ? "load" : access == Access::kStore ? "store" : "atomic";
}

std::string_view space_name(Space space) {
  switch (space) {
    case Space::kBuffer:
      return "buffer";
    case Space::kUniform:
      return "uniform";
    case Space::kShared:
      return "shared";
    case Space::kImage:
      return "image";
    case Space::kSampled:
      return "sampled";
  }
  return {};
}

// What nothing was counted for is no 0.
std::string number_or_null(bool known, double value, int digits) {
  return known ? fmt::format("{:.{}f}", value, digits) : "null";
}

double ratio(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

std::string site_text(const SiteFigures& f, const MemoryShape& shape) {
  std::string text = fmt::format(
      "  {} {} '{}'{}: ", access_name(f.site.access), space_name(f.site.space), f.site.name,
      f.instructions > 1 ? fmt::format(" ({} instructions)", f.instructions) : "");
  if (f.requests == 0) return text + "not executed\n";
  text += fmt::format("{}, {} accesses in {} requests, {} bytes asked", pattern_text(f), f.accesses,
                      f.requests, f.asked);
  if (f.site.space == Space::kShared) {
    text += fmt::format(", banks: {:.2f} steps in the mean, {} at worst", f.mean_conflict,
                        f.worst_conflict);
  } else if (f.sectors > 0) {
    text += fmt::format(
        ",\n    {} sectors ({:.2f} a request, {:.2f} at best), {} lines, efficiency {:.1f} %, "
        "{:.1f} % of "
        "the sectors again",
        f.sectors, ratio(f.sectors, f.requests), ratio(f.ideal_sectors, f.requests), f.lines,
        f.efficiency(shape) * 100, f.again_share() * 100);
  }
  if (f.out_of_bounds > 0) text += fmt::format(", {} OUT OF BOUNDS", f.out_of_bounds);
  return text + "\n";
}

}  // namespace

std::string pattern_text(const SiteFigures& f) {
  if (f.accesses > 0 && f.out_of_bounds == f.accesses) return "none in bounds";
  std::string text(pattern_name(f.pattern));
  if (f.pattern == Pattern::kMatrix) {
    text += fmt::format(" of {} lines of {} bytes, {} apart", f.site.matrix_lines,
                        f.site.matrix_line_bytes, f.stride);
  }
  if (f.pattern == Pattern::kStrided) {
    const auto bytes = static_cast<std::int64_t>(f.site.bytes);
    text += bytes > 0 && f.stride % bytes == 0
                ? fmt::format(" by {} ({} bytes)", f.stride / bytes, f.stride)
                : fmt::format(" by {} bytes", f.stride);
  }
  if (f.pattern_share > 0 && f.pattern_share < 0.995) {
    text += fmt::format(" in {:.0f} % of the requests", f.pattern_share * 100);
  }
  return text;
}

std::string report_text(const Report& r) {
  const Figures& f = r.figures;
  std::string text = fmt::format(
      "{}: {} groups of {}, on {}\nwarps of {}, sectors of {} bytes, lines of {}, {} banks ({})\n",
      r.kernel, triple(r.groups), triple(r.local), r.device, f.shape.warp, f.shape.sector,
      f.shape.line, f.shape.banks, r.shape_source);
  if (!r.warning.empty()) text += "NOTHING SEEN: " + r.warning + "\n";
  for (const std::string& note : r.notes) text += "note: " + note + "\n";
  if (f.traced_groups < f.groups) {
    text += fmt::format("traced: {} of {} groups; figures are theirs\n", f.traced_groups, f.groups);
  }
  if (f.lost > 0) {
    text += fmt::format(
        "NOT ALL KEPT: {} of {} accesses fit into the trace, and the figures are of these alone; "
        "trace fewer groups (--sample) or give it more room (--records)\n",
        f.records, f.records + f.lost);
  }
  std::string place;
  for (std::size_t s = 0; s < f.sites.size(); ++s) {
    const Site& site = f.sites[s].site;
    const std::string here = fmt::format("{}:{}", site.file, site.line);
    if (here != place) text += fmt::format("\n{}: {}\n", here, r.texts[s]);
    place = here;
    text += site_text(f.sites[s], f.shape);
    for (const Advice& a : r.advice) {
      if (a.site == s) text += fmt::format("    {} [{}] {}\n", a.fault ? "!" : "?", a.rule, a.text);
    }
  }
  for (const Untraced& u : r.untraced) {
    text += fmt::format("\n{}:{}: NOT TRACED: {}\n", u.file, u.line, u.why);
  }
  text += fmt::format(
      "\ntotal: {} bytes asked, {} moved ({} at best){}, {} bytes of sectors touched; {} flops, "
      "{:.3f} a byte moved\n",
      f.asked, f.moved, f.ideal,
      f.moved == 0 ? "" : fmt::format(", efficiency {:.1f} %", ratio(f.asked, f.moved) * 100),
      f.distinct, f.flops, f.intensity());
  if (r.time) {
    text += fmt::format(
        "predicted: {:.1f} us, all groups; lines and banks {:.1f}, last cache {:.1f}, memory "
        "{:.1f}\n",
        r.time->us(), r.time->line_us, r.time->cache_us, r.time->memory_us);
  }
  for (const Advice& a : r.advice) {
    if (a.site == f.sites.size()) text += fmt::format("  ! [{}] {}\n", a.rule, a.text);
  }
  for (const auto& [name, value] : r.statistics) text += fmt::format("{}: {}\n", name, value);
  if (!r.statistics_missing.empty()) text += "registers: " + r.statistics_missing + "\n";
  return text;
}

std::string report_json(const Report& r) {
  const Figures& f = r.figures;
  const auto site = [&](const SiteFigures& s) {
    const auto index = static_cast<std::size_t>(&s - f.sites.data());
    return fmt::format(
        "\n  {{\"file\": {}, \"line\": {}, \"text\": {}, \"access\": \"{}\", \"space\": \"{}\", "
        "\"name\": {}, \"binding\": {}, \"instructions\": {}, \"accesses\": {}, \"requests\": {}, "
        "\"bytes_asked\": {}, \"sectors\": {}, \"ideal_sectors\": {}, \"lines\": {}, "
        "\"bytes_moved\": {}, \"efficiency\": {}, \"packing\": {}, \"pattern\": \"{}\", "
        "\"stride_bytes\": {}, \"pattern_share\": {:.4f}, \"sectors_again\": {}, "
        "\"bank_steps_worst\": {}, \"bank_steps_mean\": {:.4f}, \"out_of_bounds\": {}}}",
        json_string(s.site.file), s.site.line, json_string(r.texts[index]),
        access_name(s.site.access), space_name(s.site.space), json_string(s.site.name),
        s.site.space == Space::kShared ? -1 : static_cast<int>(s.site.resource & 0xffff),
        s.instructions, s.accesses, s.requests, s.asked, s.sectors, s.ideal_sectors, s.lines,
        s.moved(f.shape), number_or_null(s.sectors > 0, s.efficiency(f.shape), 6),
        number_or_null(s.sectors > 0, s.packing(), 6), pattern_name(s.pattern), s.stride,
        s.pattern_share, s.again, s.worst_conflict, s.mean_conflict, s.out_of_bounds);
  };
  const auto advice = [&](const Advice& a) {
    return fmt::format("\n  {{\"rule\": \"{}\", \"site\": {}, \"fault\": {}, \"text\": {}}}",
                       a.rule, a.site < f.sites.size() ? static_cast<int>(a.site) : -1, a.fault,
                       json_string(a.text));
  };
  const std::string predicted =
      r.time ? fmt::format("{{\"lines\": {:.3f}, \"cache\": {:.3f}, \"memory\": {:.3f}}}",
                           r.time->line_us, r.time->cache_us, r.time->memory_us)
             : "null";
  return fmt::format(
      "{{\"kernel\": {}, \"device\": {}, \"groups\": [{}, {}, {}], \"local\": [{}, {}, {}], "
      "\"warp\": {}, \"sector\": {}, \"line\": {}, \"banks\": {},\n \"records\": {}, \"lost\": {}, "
      "\"traced_groups\": {}, \"all_groups\": {}, \"bytes_asked\": {}, \"bytes_moved\": {}, "
      "\"bytes_ideal\": {}, \"bytes_touched\": {}, \"flops\": {}, \"intensity\": {:.6f}, "
      "\"predicted_us\": {},\n \"warning\": {}, \"notes\": {},\n \"sites\": {},\n \"advice\": "
      "{},\n \"untraced\": {},\n "
      "\"statistics\": {}}}\n",
      json_string(r.kernel), json_string(r.device), r.groups[0], r.groups[1], r.groups[2],
      r.local[0], r.local[1], r.local[2], f.shape.warp, f.shape.sector, f.shape.line, f.shape.banks,
      f.records, f.lost, f.traced_groups, f.groups, f.asked, f.moved, f.ideal, f.distinct, f.flops,
      f.intensity(), predicted, r.warning.empty() ? "null" : json_string(r.warning),
      json_list(r.notes, [](const std::string& n) { return json_string(n); }),
      json_list(f.sites, site), json_list(r.advice, advice),
      json_list(r.untraced,
                [](const Untraced& u) {
                  return fmt::format("{{\"file\": {}, \"line\": {}, \"why\": {}}}",
                                     json_string(u.file), u.line, json_string(u.why));
                }),
      json_list(r.statistics, [](const auto& s) {
        return fmt::format("[{}, {}]", json_string(s.first), json_string(s.second));
      }));
}

}  // namespace spirkiln::access
