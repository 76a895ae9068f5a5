// SPDX-License-Identifier: Apache-2.0
#include "table/wishes.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "table/nearest_name.hpp"
#include "table/printable.hpp"

namespace spirkiln {
namespace {

using Names = std::set<std::string_view>;
using Tables = std::vector<const Table*>;

std::string joined(const Names& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

std::string quoted(std::string_view text) {
  return text.empty() ? "an empty part" : "'" + printable(text.substr(0, 80)) + "'";
}

Error wrong(const WishText& of, const std::string& what) {
  return Error{ErrorCode::kInvalidArgument, of.origin + ": " + what};
}

// "no kernel 'gem_nc'; the nearest is 'gemm_nc'"
std::string unknown(const std::string& what, std::string_view name, const Names& known) {
  std::string text = "there is no " + what + " " + quoted(name);
  if (const auto nearest = nearest_name(name, known); !nearest.empty()) {
    text += "; the nearest is " + quoted(nearest);
  }
  return text;
}

// The parts between commas, without spaces around them.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(',');
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.push_back(part);
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

using Pair = std::pair<std::string_view, std::string_view>;

// "A=B,C=D", each name once.
Result<std::vector<Pair>> pairs_of(const WishText& of, const char* expected) {
  std::vector<Pair> pairs;
  Names seen;
  for (const std::string_view part : parts_of(of.text)) {
    const std::size_t at = part.find('=');
    if (at == std::string_view::npos || at == 0 || at + 1 == part.size()) {
      return wrong(
          of, quoted(part) + " is no wish; expected " + expected + ", several separated by ','");
    }
    pairs.emplace_back(part.substr(0, at), part.substr(at + 1));
    if (!seen.insert(pairs.back().first).second) {
      return wrong(of, quoted(pairs.back().first) + " is there twice");
    }
  }
  return pairs;
}

Names kernel_names(const Tables& tables) {
  Names names;
  for (const Table* t : tables) {
    for (const auto& k : t->kernels()) names.insert(t->string(k.name));
  }
  return names;
}

Status read_axes(const Tables& tables, const WishText& of, Wishes* out) {
  const auto pairs = pairs_of(of, "AXIS=VALUE");
  if (!pairs) return pairs.error();
  for (const auto& [axis, value] : *pairs) {
    Names axes, values;
    for (const Table* t : tables) {
      for (const auto& v : t->variants()) {
        for (const auto& a : t->axis_values_of(v)) {
          axes.insert(t->string(a.axis));
          if (t->string(a.axis) == axis) values.insert(t->string(a.value));
        }
      }
    }
    if (values.empty()) return wrong(of, unknown("axis", axis, axes));
    if (!values.contains(value)) {
      return wrong(of, std::string(axis) + " has no value " + quoted(value) + "; there are " +
                           joined(values));
    }
    out->axes.push_back({std::string(axis), std::string(value)});
  }
  return Ok{};
}

Status read_forms(const Tables& tables, const WishText& of, Wishes* out) {
  const auto pairs = pairs_of(of, "KERNEL=FORM");
  if (!pairs) return pairs.error();
  for (const auto& [name, form_text] : *pairs) {
    std::vector<std::string> texts;
    bool known = false;
    const auto form = form_from_name(form_text);
    for (const Table* t : tables) {
      const auto* kernel = t->find(name);
      if (kernel == nullptr) continue;
      for (const auto& v : t->variants_of(*kernel)) {
        texts.push_back(form_name(form_of(v)));
        known = known || (form && form_of(v) == *form);
      }
    }
    if (texts.empty()) return wrong(of, unknown("kernel", name, kernel_names(tables)));
    if (!known) {
      return wrong(of, std::string(name) + " has no form " + quoted(form_text) + "; there are " +
                           joined({texts.begin(), texts.end()}));
    }
    out->forms.push_back({std::string(name), *form});
  }
  return Ok{};
}

Status read_avoid(const Tables& tables, const WishText& of, Wishes* out) {
  Names names = kernel_names(tables);
  for (const Table* t : tables) {
    for (const auto& v : t->variants()) names.insert(t->string(v.name));
  }
  for (const std::string_view part : parts_of(of.text)) {
    if (part.empty()) {
      return wrong(of, quoted(part) +
                           " is no wish; expected names of kernels or variants, several separated "
                           "by ','");
    }
    if (!names.contains(part)) return wrong(of, unknown("kernel or variant", part, names));
    out->avoid.emplace_back(part);
  }
  return Ok{};
}

}  // namespace

Result<Wishes> parse_wishes(const Table& table, const WishTexts& texts,
                            std::span<const Table> others) {
  Tables tables = {&table};
  for (const Table& other : others) tables.push_back(&other);
  Wishes wishes;
  if (!texts.axes.text.empty()) {
    if (auto s = read_axes(tables, texts.axes, &wishes); !s) return std::move(s).error();
  }
  if (!texts.kernels.text.empty()) {
    if (auto s = read_forms(tables, texts.kernels, &wishes); !s) return std::move(s).error();
  }
  if (!texts.avoid.text.empty()) {
    if (auto s = read_avoid(tables, texts.avoid, &wishes); !s) return std::move(s).error();
  }
  return wishes;
}

}  // namespace spirkiln
