// SPDX-License-Identifier: Apache-2.0
#include "newer_extensions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "expanded_text.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::string_view kNames[] = {"GL_EXT_bfloat16",
                                       "GL_EXT_control_flow_attributes2",
                                       "GL_EXT_expect_assume",
                                       "GL_EXT_float_e4m3",
                                       "GL_EXT_float_e5m2",
                                       "GL_EXT_integer_dot_product",
                                       "GL_EXT_maximal_reconvergence",
                                       "GL_EXT_shader_quad_control",
                                       "GL_KHR_cooperative_matrix",
                                       "GL_KHR_shader_subgroup_rotate",
                                       "GL_NV_cooperative_matrix",
                                       "GL_NV_cooperative_matrix2",
                                       "GL_NV_cooperative_vector"};

// Which release of glslang knew it first, by its list of changes; not all are in that. (The list
// has GL_EXT_integer_dot_product under 15.2; 15.1 as Debian 13 has it compiles it.)
struct Since {
  std::string_view name, release;
};
constexpr Since kSince[] = {
    {"GL_EXT_control_flow_attributes2", "14.1"}, {"GL_EXT_expect_assume", "14.1"},
    {"GL_EXT_integer_dot_product", "15.1"},      {"GL_EXT_maximal_reconvergence", "14.1"},
    {"GL_EXT_shader_quad_control", "14.1"},      {"GL_KHR_cooperative_matrix", "13.0"},
    {"GL_KHR_shader_subgroup_rotate", "14.1"},   {"GL_NV_cooperative_matrix2", "15.1"},
    {"GL_NV_cooperative_vector", "15.2"}};

bool is_newer(std::string_view name) {
  return std::binary_search(std::begin(kNames), std::end(kNames), name);
}

}  // namespace

std::span<const std::string_view> newer_extensions() { return kNames; }

std::string since_text(std::string_view name) {
  for (const Since& since : kSince) {
    if (since.name == name)
      return fmt::format("; glslang {} is the first that does", since.release);
  }
  return {};
}

std::vector<RequiredExtension> required_newer(std::string_view expanded) {
  constexpr std::string_view kWord = "#extension ";
  std::vector<RequiredExtension> required;
  for (std::size_t at = 0; at < expanded.size();) {
    const std::size_t end = std::min(expanded.find('\n', at), expanded.size());
    std::string_view row = expanded.substr(at, end - at);
    if (row.starts_with(kWord)) {
      row.remove_prefix(kWord.size());
      const std::size_t name = std::min(row.find_first_of(" :"), row.size());
      if (is_newer(row.substr(0, name)) && row.find("require", name) != std::string_view::npos) {
        required.push_back({std::string(row.substr(0, name)), at});
      }
    }
    at = end + 1;
  }
  return required;
}

Diagnostic place_of(const RequiredExtension& extension, std::string_view expanded,
                    const std::string& name, SourceStore& sources) {
  const Place place = place_of(expanded, extension.offset, name);
  Diagnostic d{Severity::kError, place.file, place.line, 0, {}};
  if (auto source = sources.find(place.file); source.ok() && *source) {
    d.column = column_of(line_of((*source)->text, place.line), extension.name);
  }
  return d;
}

}  // namespace spirkiln::gen
