// SPDX-License-Identifier: Apache-2.0
// Answers for each family of kernels.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cases.hpp"
#include "devices.hpp"
#include "writer.hpp"

namespace spirkiln::answers {

// A node as dispatches.
Lowered lower(const Case& c, const DeviceTraits& traits);
// A node that is one dispatch of `kernel`.
void add_node(Writer* out, std::string_view kernel, const Case& c, const DeviceTraits& traits,
              std::uint32_t subgroup = 0, const std::vector<AxisChoice>& axes = {});

// products.cpp: matrix products, dense and transposed convolutions, and what is several nodes with
// one in it.
void add_separable(Writer* out, const Separable& s, const Matrix& m);
void add_transformer(Writer* out, const std::vector<Case>& nodes, const Matrix& m);
void add_matrix_products(Writer* out, Numbers numbers);

// gates.cpp: means and squeeze-and-excite.
void add_scaled(Writer* out, const Case& c);
void add_halves(Writer* out, const Case& c);
void add_mean(Writer* out, Numbers numbers);
void add_gates_of_means(Writer* out);

// ends.cpp: pictures in, floats and bytes out.
void add_picture(Writer* out, Numbers numbers);
void add_stem(Writer* out, Numbers numbers, std::optional<model::Activation> act = {});
void add_head(Writer* out, const Case& c, bool bytes = false);
void add_floats(Writer* out, Numbers numbers, bool bytes = false);
void add_best(Writer* out, Numbers numbers);

}  // namespace spirkiln::answers
