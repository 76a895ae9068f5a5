// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "families.hpp"

namespace spirkiln::answers {

std::optional<Dispatch> taken(Writer* out, std::string_view kernel, const OfLowering& lowered,
                              int number, const std::source_location& at) {
  if (!lowered) {
    out->leave_out(kernel, lowered.error().message, at);
    return std::nullopt;
  }
  const auto& all = lowered->dispatches;
  const std::size_t i = number < 0 ? all.size() - 1 : static_cast<std::size_t>(number);
  if (i < all.size() && all[i].kernel == kernel) return all[i];
  std::string chosen;
  for (const Dispatch& d : all) chosen += fmt::format("{}{}", chosen.empty() ? "" : ", ", d.kernel);
  out->leave_out(kernel, fmt::format("lowering chose {}", chosen), at);
  return std::nullopt;
}

void add_node(Writer* out, std::string_view kernel, const Case& c, const DeviceTraits& traits,
              std::uint32_t subgroup, const std::vector<AxisChoice>& axes,
              const std::source_location& at) {
  auto found = taken(out, kernel, lower_node({c.node, c.dims, c.output, traits}), -1, at);
  if (!found) return;
  Dispatch& d = *found;
  for (const AxisChoice& a : axes) d.axes.push_back(a);
  // Narrow, lowering would give each invocation one column, and no tile would be tried.
  for (SpecChoice& s : d.specs) {
    if (s.name == "tile_w") s.bits = 2;
  }
  // Of wide matrices one a subgroup, so that here, too, there are several workgroups.
  for (SpecChoice& s : d.specs) {
    if (s.name != "matrices_n" || s.bits != 2 || traits.matrix_n != 16) continue;
    s.bits = 1;
    d.groups[0] = (d.push[10] - 1) / (traits.matrix_n / 4) + 1;  // push[10]: vectors of columns
  }
  out->add(d, subgroup, c, result_of(c), bind_case(c));
}

// Both convolutions in one step; what lies between them is rounded as if it were stored.
void add_separable(Writer* out, const Separable& s, const Matrix& m) {
  DeviceTraits traits = matrices(m);
  traits.max_storage_buffers = 9;
  const auto lowered = lower_separable({s.window.node, s.window.dims, s.window.output, traits},
                                       {s.point.node, s.point.dims, s.point.output, traits});
  const auto d = taken(out, "separable_coopmat", lowered);
  if (!d) return;
  std::vector<oracle::Tensor> inputs{oracle::run(s.window.node,
                                                 {tight(s.window.inputs[0], s.window.dims[0])},
                                                 values_of(s.window.consts), s.window.output)};
  if (s.point.inputs.size() > 1) inputs.push_back(tight(s.point.inputs[1], s.point.dims[1]));
  out->add(*d, m.subgroup, s.point, result_of(s.point, inputs), [&](const BufferRef& ref) {
    return bind_case(ref.node == 0 ? s.window : s.point)(ref);
  });
}

void add_transformer(Writer* out, const std::vector<Case>& nodes, const Matrix& m) {
  DeviceTraits traits = matrices(m);
  traits.max_storage_buffers = 20;
  TransformerNodes requests;
  std::vector<oracle::Step> steps;
  for (const Case& c : nodes) {
    requests.push_back({c.node, c.dims, c.output, traits});
    steps.push_back({c.node, values_of(c.consts), c.output});
  }
  const auto d = taken(out, "transformer_coopmat", lower_transformer(requests));
  if (!d) return;
  const oracle::Tensor end =
      oracle::run_transformer(steps, tight(nodes[0].inputs[0], nodes[0].output));
  out->add(*d, m.subgroup, nodes.back(), stored(end, false),
           [&](const BufferRef& ref) { return bind_case(nodes.at(ref.node))(ref); });
}

void add_matrix_products(Writer* out, Numbers numbers) {
  const Case product = pointwise(numbers), conv = window(numbers), wide = wide_window(numbers),
             deconv = transposed(numbers);
  add_node(out, "gemm_nc", product, gpu());
  add_node(out, "gemm_reg", product, plain_cpu());
  add_node(out, "gemm_subgroup", product, subgroups_of_eight(), 8);
  add_node(out, "conv_nc", conv, gpu());
  add_node(out, "conv_direct", conv, plain_cpu());
  add_node(out, "conv_subgroup", conv, subgroups_of_eight(), 8);
  add_node(out, "deconv_nc", deconv, gpu());
  add_node(out, "deconv", deconv, plain_cpu());
  add_node(out, "deconv_subgroup", deconv, subgroups_of_eight(), 8);
  for (const Matrix& m : kMatrices) {
    add_node(out, "gemm_coopmat", product, matrices(m), m.subgroup);
    add_node(out, "window_coopmat", conv, matrices(m), m.subgroup);
    add_node(out, "conv_coopmat", wide, matrices(m), m.subgroup);
    add_node(out, "deconv_coopmat", deconv, matrices(m), m.subgroup);
    add_separable(out, separable(numbers, false), m);
    if (has_transformer(m))
      add_transformer(out, transformer(numbers, model::Activation::kHardSwish, false), m);
  }
}

}  // namespace spirkiln::answers
