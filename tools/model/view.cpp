// SPDX-License-Identifier: Apache-2.0
#include "view.hpp"

#include "pack_error.hpp"

#include <fmt/format.h>

namespace spirkiln::packer {
namespace {

void normalise(const SymContext& syms, Axis& axis) {
  std::erase_if(axis, [](const Factor& f) { return f.size.is(1); });
  for (std::size_t i = 0; i + 1 < axis.size();) {
    Factor& outer = axis[i];
    const Factor& inner = axis[i + 1];
    if (outer.dim == inner.dim && outer.stride == syms.mul(inner.size, inner.stride)) {
      outer.size = syms.mul(outer.size, inner.size);
      outer.stride = inner.stride;
      axis.erase(axis.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else {
      ++i;
    }
  }
}

}  // namespace

Sym axis_size(const SymContext& syms, const Axis& axis) {
  Sym size = 1;
  for (const Factor& f : axis) size = syms.mul(size, f.size);
  return size;
}

std::vector<Sym> view_shape(const SymContext& syms, const View& view) {
  std::vector<Sym> shape;
  for (const Axis& axis : view.axes) shape.push_back(axis_size(syms, axis));
  return shape;
}

std::string shape_text(const SymContext& syms, const std::vector<Sym>& shape) {
  std::string text = "[";
  for (const Sym& s : shape) text += (text.size() > 1 ? ", " : "") + syms.to_string(s);
  return text + "]";
}

View whole_view(const SymContext& syms, int tensor, const Dims& dims,
                const std::vector<int>& order) {
  View view;
  view.tensor = tensor;
  for (const int d : order) {
    Axis axis{{d, dims[static_cast<std::size_t>(d)], 1}};
    normalise(syms, axis);
    view.axes.push_back(std::move(axis));
  }
  return view;
}

bool is_whole(const SymContext& syms, const View& view, const Dims& dims,
              const std::vector<int>& order) {
  if (view.factor != 1 || view.rank() != order.size()) return false;
  std::array<bool, 4> seen{};
  for (const int d : order) seen[static_cast<std::size_t>(d)] = true;
  for (std::size_t d = 0; d < 4; ++d) {
    if (!view.offset[d].is(0) || (!seen[d] && !dims[d].is(1))) return false;
  }
  return whole_view(syms, view.tensor, dims, order).axes == view.axes;
}

bool is_bijective(const SymContext& syms, const View& view, const Dims& dims) {
  if (view.factor != 1) return false;
  // Factors come from splitting whole dimensions, so they never overlap: covering is a matter of
  // counting.
  Dims covered{1, 1, 1, 1};
  for (const Axis& axis : view.axes) {
    for (const Factor& f : axis) {
      const auto d = static_cast<std::size_t>(f.dim);
      covered[d] = syms.mul(covered[d], f.size);
    }
  }
  for (std::size_t d = 0; d < 4; ++d) {
    if (!(covered[d] == dims[d]) || !view.offset[d].is(0)) return false;
  }
  return true;
}

View transpose(const View& view, const std::vector<std::size_t>& perm) {
  View result = view;
  for (std::size_t i = 0; i < perm.size(); ++i) result.axes[i] = view.axes[perm[i]];
  return result;
}

View reshape(SymContext& syms, const View& view, const std::vector<Sym>& shape) {
  std::vector<Factor> pending;  // innermost last
  for (const Axis& axis : view.axes) pending.insert(pending.end(), axis.begin(), axis.end());
  View result = view;
  result.axes.assign(shape.size(), {});
  std::size_t next = 0;
  const auto refuse = [&](std::size_t axis) {
    fail_unsupported(fmt::format(
        "reshaping {} to {}: axis {} of the result is no run of whole axes of what is stored",
        shape_text(syms, view_shape(syms, view)), shape_text(syms, shape), axis));
  };
  for (std::size_t k = 0; k < shape.size(); ++k) {
    Sym left = shape[k];
    while (!left.is(1)) {
      if (next == pending.size()) refuse(k);
      Factor& f = pending[next];
      if (const auto q = syms.quotient(left, f.size)) {
        result.axes[k].push_back(f);
        left = *q;
        ++next;
      } else if (const auto inner = syms.quotient(f.size, left)) {
        // The outer part is this axis's, the inner part stays for the next.
        result.axes[k].push_back({f.dim, left, syms.mul(f.stride, *inner)});
        f.size = *inner;
        left = 1;
      } else {
        refuse(k);
      }
    }
    normalise(syms, result.axes[k]);
  }
  if (next != pending.size()) refuse(shape.size() - 1);
  return result;
}

View slice(SymContext& syms, const View& view, std::size_t axis, const Sym& start,
           const Sym& size) {
  View result = view;
  Axis& a = result.axes[axis];
  if (start.is(0) && size == axis_size(syms, a)) return result;
  if (a.size() != 1) {
    fail_unsupported(
        fmt::format("slicing axis {}, which is no single stretch of what is stored", axis));
  }
  const auto d = static_cast<std::size_t>(a[0].dim);
  result.offset[d] = syms.add(result.offset[d], syms.mul(start, a[0].stride));
  a[0].size = size;
  normalise(syms, a);
  return result;
}

}  // namespace spirkiln::packer
