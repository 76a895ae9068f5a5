// SPDX-License-Identifier: Apache-2.0
// How an ONNX tensor of any rank lies in a stored N x H x W x C tensor.
//
// Each ONNX axis is an ordered product of factors; each factor is a stretch of one stored
// dimension, with the distance of its steps. Transposes, reshapes and slices only rearrange
// factors, so they cost nothing, and what an operator needs ("axis 1 is all of C") is checked, not
// assumed. Factors of size 1 are dropped and neighbours that belong together are merged, so equal
// views compare equal.
#pragma once

#include "sym.hpp"

#include <array>
#include <string>
#include <vector>

namespace spirkiln::packer {

enum Dim { kN = 0, kH = 1, kW = 2, kC = 3 };
using Dims = std::array<Sym, 4>;  // N, H, W, C

struct Factor {
  int dim = 0;  // Dim
  Sym size;
  Sym stride;  // in steps of the dimension
  bool operator==(const Factor&) const = default;
};
using Axis = std::vector<Factor>;  // outermost first

struct View {
  int tensor = -1;
  std::vector<Axis> axes;
  std::array<Sym, 4> offset;  // of the first element, for each stored dimension
  double factor = 1;          // a scalar that still has to be multiplied (attention only)

  std::size_t rank() const { return axes.size(); }
};

Sym axis_size(const SymContext& syms, const Axis& axis);
std::vector<Sym> view_shape(const SymContext& syms, const View& view);
std::string shape_text(const SymContext& syms, const std::vector<Sym>& shape);

// A view whose axes are the whole stored dimensions `order`, for example {kN, kC, kH, kW}.
View whole_view(const SymContext& syms, int tensor, const Dims& dims,
                const std::vector<int>& order);
// True where every axis k is all of the stored dimension order[k] and the dimensions that are not
// in `order` have size 1.
bool is_whole(const SymContext& syms, const View& view, const Dims& dims,
              const std::vector<int>& order);
// True where the view shows every element exactly once.
bool is_bijective(const SymContext& syms, const View& view, const Dims& dims);

View transpose(const View& view, const std::vector<std::size_t>& perm);
// Throws PackError where a new axis would not be a run of whole factors.
View reshape(SymContext& syms, const View& view, const std::vector<Sym>& shape);
View slice(SymContext& syms, const View& view, std::size_t axis, const Sym& start, const Sym& size);

}  // namespace spirkiln::packer
