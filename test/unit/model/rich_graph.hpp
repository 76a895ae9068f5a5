// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "numbers.hpp"
#include "onnx_builder.hpp"

namespace spirkiln::test {

// Most operators in one graph, so that flipped bits reach most of the importer.
inline OnnxBuilder rich_graph() {
  OnnxBuilder g(11);
  Numbers r(5);
  g.floats("w", {4, 3, 3, 3}, r.floats(108));
  g.floats("b", {4}, r.floats(4));
  g.node("Conv", {"x", "w", "b"}, "c").is("pads", {1, 1, 1, 1}).is("strides", {2, 2});
  g.floats("d", {4, 1, 3, 3}, r.floats(36));
  g.node("Conv", {"c", "d"}, "dw").is("pads", {1, 1, 1, 1}).i("group", 4);
  g.floats("three", {}, {3});
  g.floats("six", {}, {6});
  g.floats("zero", {}, {0});
  g.node("Add", {"dw", "three"}, "a");
  g.node("Clip", {"a", "zero", "six"}, "k");
  g.node("Mul", {"dw", "k"}, "hs");
  g.node("GlobalAveragePool", {"hs"}, "m");
  g.node("HardSigmoid", {"m"}, "gate").f("alpha", 0.2F);
  g.node("Mul", {"hs", "gate"}, "se");
  g.floats("scales", {4}, {1, 1, 2, 2});
  g.node("Resize", {"se", "", "scales"}, "up")
      .s("mode", "nearest")
      .s("coordinate_transformation_mode", "asymmetric")
      .s("nearest_mode", "floor");
  g.node("Concat", {"up", "x"}, "cat").i("axis", 1);
  g.node("Shape", {"cat"}, "shape");
  g.ints("from", {0});
  g.ints("to", {1});
  g.node("Slice", {"shape", "from", "to", "from"}, "n");
  g.ints("rest", {-1, 7});
  g.node("Concat", {"n", "rest"}, "target").i("axis", 0);
  g.node("AveragePool", {"cat"}, "pool").is("kernel_shape", {2, 2}).is("strides", {2, 2});
  g.node("Transpose", {"pool"}, "nhwc").is("perm", {0, 2, 3, 1});
  g.floats("mat", {7, 5}, r.floats(35));
  g.node("MatMul", {"nhwc", "mat"}, "p");
  g.node("Softmax", {"p"}, "y").i("axis", 3);
  g.output("y");
  return g;
}

}  // namespace spirkiln::test
