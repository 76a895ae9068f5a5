// SPDX-License-Identifier: Apache-2.0
// Integer chains that compute a Reshape's target from the input's shape.
#include "pack_helpers.hpp"

#include <catch2/matchers/catch_matchers_string.hpp>

#include <functional>

using namespace spirkiln::test;

namespace {

// x is N x 3 x H x W; `chain` makes the target of a Reshape from the tensor "s" (Shape of x), and
// the result must have the given stored shape for N = 2, H = 4, W = 12.
std::vector<int> reshaped(int opset, const std::function<std::string(OnnxBuilder&)>& chain,
                          const std::vector<std::int64_t>& input = {-1, 3, -1, -1}) {
  OnnxBuilder g(opset, input);
  g.node("Transpose", {"x"}, "t").is("perm", {0, 2, 3, 1});
  g.node("Shape", {"x"}, "s");
  const std::string target = chain(g);
  g.node("Reshape", {"t", target}, "r");
  g.node("Relu", {"r"}, "y");
  g.output("y");
  const auto pack = packed(g);
  const auto shapes = pack.shapes(2, static_cast<int>(input[2] > 0 ? input[2] : 4), 12);
  return shapes[pack.nodes().back().output];
}

}  // namespace

TEST_CASE("shape chains of every operator end in the same numbers", "[shape]") {
  const std::vector<int> same{2, 4, 12, 3};
  SECTION("gather and concat") {
    CHECK(reshaped(13, [](OnnxBuilder& g) {
            g.ints("i", {0, 2, 3});
            g.ints("c", {-1});
            g.node("Gather", {"s", "i"}, "p");
            return std::string(g.node("Concat", {"p", "c"}, "q").i("axis", 0));
          }) == same);
  }
  SECTION("scalar gather and unsqueeze, both editions of the axes") {
    for (const int opset : {11, 13}) {
      CHECK(reshaped(opset,
                     [opset](OnnxBuilder& g) {
                       g.ints("two", {2}, true);
                       g.ints("zero", {0});
                       g.ints("head", {0});
                       g.ints("tail", {12, 3});
                       g.node("Gather", {"s", "two"}, "h");
                       if (opset == 13) {
                         g.node("Unsqueeze", {"h", "zero"}, "hv");
                       } else {
                         g.node("Unsqueeze", {"h"}, "hv").is("axes", {0});
                       }
                       return std::string(
                           g.node("Concat", {"head", "hv", "tail"}, "q").i("axis", 0));
                     },
                     {-1, 3, -1, 12}) == same);
    }
  }
  SECTION("slices by attribute and by input, with steps") {
    CHECK(reshaped(9, [](OnnxBuilder& g) {
            g.node("Slice", {"s"}, "hw").is("axes", {0}).is("starts", {2}).is("ends", {1000});
            g.ints("n", {0});
            g.ints("c", {3});
            return std::string(g.node("Concat", {"n", "hw", "c"}, "q").i("axis", 0));
          }) == same);
    CHECK(reshaped(13, [](OnnxBuilder& g) {
            g.ints("from", {3});
            g.ints("to", {1});
            g.ints("axis", {0});
            g.ints("step", {-1});
            g.node("Slice", {"s", "from", "to", "axis", "step"}, "wh");  // W, H
            g.ints("back", {1, 0});
            g.node("Gather", {"wh", "back"}, "hw");
            g.ints("n", {0});
            g.ints("c", {3});
            return std::string(g.node("Concat", {"n", "hw", "c"}, "q").i("axis", 0));
          }) == same);
  }
  SECTION("arithmetic that cancels, through floats and back") {
    CHECK(reshaped(13, [](OnnxBuilder& g) {
            g.ints("i", {2, 3});
            g.node("Gather", {"s", "i"}, "hw");
            g.node("Cast", {"hw"}, "f").i("to", 1);
            g.floats("k", {}, {0.5F});
            g.node("Mul", {"f", "k"}, "half");
            g.node("Add", {"half", "half"}, "whole");
            g.node("Floor", {"whole"}, "floor");
            g.node("Cast", {"floor"}, "back").i("to", 7);
            g.ints("seven", {7}, true);
            g.node("Mul", {"back", "seven"}, "m");
            g.node("Div", {"m", "seven"}, "d");
            g.node("Sub", {"d", "seven"}, "e");
            g.node("Add", {"e", "seven"}, "hw2");
            g.ints("n", {0});
            g.ints("c", {3});
            return std::string(g.node("Concat", {"n", "hw2", "c"}, "q").i("axis", 0));
          }) == same);
  }
  SECTION("a fixed height needs no chain at all") {
    CHECK(reshaped(13, [](OnnxBuilder& g) { return g.ints("c", {0, 4, -1, 3}); }, {-1, 3, 4, -1}) ==
          same);
  }
}

TEST_CASE("sizes that must agree become requirements with a reason", "[shape]") {
  OnnxBuilder g;
  g.floats("w", {4, 3, 3, 3}, Numbers(1).floats(108));
  g.node("Conv", {"x", "w"}, "d").is("strides", {2, 2}).is("pads", {1, 1, 1, 1});
  g.floats("scales", {4}, {1, 1, 2, 2});
  g.node("Resize", {"d", "", "scales"}, "u")
      .s("coordinate_transformation_mode", "asymmetric")
      .s("nearest_mode", "floor");
  g.floats("v", {4, 3, 1, 1}, Numbers(2).floats(12));
  g.node("Conv", {"x", "v"}, "side");
  g.node("Add", {"side", "u"}, "y");
  g.output("y");
  const auto pack = packed(g);
  CHECK(pack.shapes(1, 6, 8)[pack.nodes().back().output] == std::vector<int>{1, 6, 8, 4});
  CHECK_THROWS_WITH(pack.shapes(1, 7, 8), Catch::Matchers::ContainsSubstring("n:y"));
}

TEST_CASE("a fixed input size is a requirement", "[shape]") {
  OnnxBuilder g(13, {-1, 3, 48, -1});
  g.node("Relu", {"x"}, "y");
  g.output("y");
  const auto pack = packed(g);
  CHECK_NOTHROW(pack.shapes(1, 48, 7));
  CHECK_THROWS_WITH(pack.shapes(1, 47, 7), Catch::Matchers::ContainsSubstring("height is fixed"));
}

TEST_CASE("a squeezed axis must be 1 at run time", "[shape]") {
  OnnxBuilder g;
  g.ints("axes", {2});
  g.node("Squeeze", {"x", "axes"}, "q");
  g.node("Transpose", {"q"}, "t").is("perm", {0, 2, 1});
  g.floats("w", {3, 2}, Numbers(1).floats(6));
  g.node("MatMul", {"t", "w"}, "y");
  g.output("y");
  const auto pack = packed(g);
  CHECK_NOTHROW(pack.shapes(1, 1, 7));
  CHECK_THROWS_WITH(pack.shapes(1, 2, 7), Catch::Matchers::ContainsSubstring("n:q"));
}
