// SPDX-License-Identifier: Apache-2.0
#include "conv_case.hpp"

#include <algorithm>

namespace spirkiln::test {

using model::Op;

Case conv_case(Op op, const Dims& x, std::uint32_t cout, const Window& w, std::uint32_t seed) {
  Maker make(seed);
  Case c;
  c.node.op = op;
  const std::int32_t i[] = {w.kh,
                            w.kw,
                            w.sh,
                            w.sw,
                            w.top,
                            w.left,
                            w.bottom,
                            w.right,
                            w.dh,
                            w.dw,
                            static_cast<std::int32_t>(x.c),
                            static_cast<std::int32_t>(cout)};
  std::copy(std::begin(i), std::end(i), c.node.i);
  const auto size = [](std::uint32_t in, std::int32_t k, std::int32_t s, std::int32_t pad,
                       std::int32_t d) {
    return static_cast<std::uint32_t>((static_cast<std::int32_t>(in) + pad - (k - 1) * d - 1) / s +
                                      1);
  };
  c.inputs = {make.tensor(x)};
  const std::uint32_t cin4 = (x.c + 3) / 4 * 4;
  const auto real = [&](std::uint64_t row) { return row % cin4 < x.c; };
  const auto taps = static_cast<std::uint32_t>(w.kh * w.kw);
  if (op == Op::kDeconv) {
    c.output = {x.n, x.h * static_cast<std::uint32_t>(w.kh), x.w * static_cast<std::uint32_t>(w.kw),
                cout};
    c.consts = {make.weights(std::uint64_t{cin4} * taps, cout,
                             [&](std::uint64_t row) { return row / taps < x.c; })};
  } else {
    c.output = {x.n, size(x.h, w.kh, w.sh, w.top + w.bottom, w.dh),
                size(x.w, w.kw, w.sw, w.left + w.right, w.dw), cout};
    c.consts = {op == Op::kDepthwise ? make.weights(taps, cout)
                                     : make.weights(std::uint64_t{taps} * cin4, cout, real)};
  }
  c.consts.push_back(make.vector(cout, 0.25, 1));
  c.consts.push_back(make.vector(cout, -1, 1));
  c.const_is_weight = {true, false, false};
  return c;
}

}  // namespace spirkiln::test
