// SPDX-License-Identifier: Apache-2.0
// Answers for each family of kernels.
#pragma once

#include <optional>
#include <source_location>
#include <string_view>
#include <vector>

#include "cases.hpp"
#include "devices.hpp"
#include "writer.hpp"

namespace spirkiln::answers {

using OfLowering = spirkiln::Result<Lowered>;

// The dispatch of that number (-1: the last) where it is one of `kernel`. Nothing, and the writer
// knows it, where the tuning has lowering choose otherwise.
std::optional<Dispatch> taken(Writer* out, std::string_view kernel, const OfLowering& lowered,
                              int number = 0,
                              const std::source_location& at = std::source_location::current());
// A node that is one dispatch of `kernel`.
void add_node(Writer* out, std::string_view kernel, const Case& c, const DeviceTraits& traits,
              std::uint32_t subgroup = 0, const std::vector<AxisChoice>& axes = {},
              const std::source_location& at = std::source_location::current());

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
