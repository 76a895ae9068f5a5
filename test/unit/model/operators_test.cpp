// SPDX-License-Identifier: Apache-2.0
// Operators against plain loops over N x C x H x W, at odd sizes.
#include "pack_helpers.hpp"

#include <cmath>

using namespace spirkiln::test;
using spirkiln::model::Op;

namespace {

struct Window {
  int kh, kw, sh, sw, pt, pl, pb, pr, dh = 1, dw = 1;
};

int out_size(int in, int k, int s, int p, int d) { return (in + p - d * (k - 1) - 1) / s + 1; }

double relative(double got, double want) {
  return std::fabs(got - want) / std::fmax(1, std::fabs(want));
}

}  // namespace

TEST_CASE("convolutions of every kind", "[operators]") {
  const Window windows[] = {{3, 3, 1, 1, 1, 1, 1, 1},      {3, 3, 2, 2, 1, 1, 1, 1},
                            {1, 3, 1, 1, 0, 1, 0, 1},      {5, 5, 2, 1, 2, 2, 2, 2},
                            {2, 2, 1, 1, 0, 0, 1, 1},      {3, 2, 1, 2, 2, 0, 0, 1},
                            {3, 3, 1, 1, 2, 2, 2, 2, 2, 2}};
  for (const bool depthwise : {false, true}) {
    for (const Window& k : windows) {
      CAPTURE(depthwise, k.kh, k.kw, k.sh, k.sw);
      OnnxBuilder g;
      const int cout = depthwise ? 3 : 5, cin = depthwise ? 1 : 3;
      Numbers r(17);
      const auto w = r.floats(static_cast<std::size_t>(cout * cin * k.kh * k.kw));
      const auto b = r.floats(static_cast<std::size_t>(cout));
      g.floats("w", {cout, cin, k.kh, k.kw}, w);
      g.floats("b", {cout}, b);
      g.node("Conv", {"x", "w", "b"}, "y")
          .i("group", depthwise ? 3 : 1)
          .is("kernel_shape", {k.kh, k.kw})
          .is("strides", {k.sh, k.sw})
          .is("pads", {k.pt, k.pl, k.pb, k.pr})
          .is("dilations", {k.dh, k.dw});
      g.output("y");
      const auto pack = packed(g);
      REQUIRE(pack.nodes().size() == 1);
      CHECK(pack.nodes()[0].op == (depthwise ? Op::kDepthwise : Op::kConv));
      const auto x = random_input(5, 2, 7, 11);
      const auto y = pack.run(x)[0];
      REQUIRE(y.h == out_size(7, k.kh, k.sh, k.pt + k.pb, k.dh));
      REQUIRE(y.w == out_size(11, k.kw, k.sw, k.pl + k.pr, k.dw));
      double worst = 0;
      for (int n = 0; n < 2; ++n)
        for (int o = 0; o < cout; ++o)
          for (int h = 0; h < y.h; ++h)
            for (int q = 0; q < y.w; ++q) {
              double sum = b[static_cast<std::size_t>(o)];
              for (int c = 0; c < cin; ++c)
                for (int i = 0; i < k.kh; ++i)
                  for (int j = 0; j < k.kw; ++j) {
                    const int ih = h * k.sh + i * k.dh - k.pt, iw = q * k.sw + j * k.dw - k.pl;
                    if (ih < 0 || iw < 0 || ih >= 7 || iw >= 11) continue;
                    sum += x.at(n, ih, iw, depthwise ? o : c) *
                           w[static_cast<std::size_t>(((o * cin + c) * k.kh + i) * k.kw + j)];
                  }
              worst = std::fmax(worst, relative(y.at(n, h, q, o), sum));
            }
      CHECK(worst < 2e-6);
    }
  }
}

TEST_CASE("auto_pad SAME is the padding that it stands for", "[operators]") {
  for (const bool upper : {true, false}) {
    OnnxBuilder g;
    g.floats("w", {1, 3, 2, 4}, Numbers(1).floats(24));
    g.node("Conv", {"x", "w"}, "y").s("auto_pad", upper ? "SAME_UPPER" : "SAME_LOWER");
    g.output("y");
    const auto pack = packed(g);
    const auto& i = pack.nodes()[0].i;
    CHECK(i[4] == (upper ? 0 : 1));
    CHECK(i[5] == (upper ? 1 : 2));
    CHECK(i[6] == (upper ? 1 : 0));
    CHECK(i[7] == (upper ? 2 : 1));
    const auto shapes = pack.shapes(1, 9, 13);
    CHECK(shapes[pack.nodes()[0].output] == std::vector<int>{1, 9, 13, 1});
  }
}

TEST_CASE("transposed convolution with kernel = stride", "[operators]") {
  OnnxBuilder g;
  Numbers r(3);
  const auto w = r.floats(3 * 5 * 2 * 3), b = r.floats(5);
  g.floats("w", {3, 5, 2, 3}, w);
  g.floats("b", {5}, b);
  g.node("ConvTranspose", {"x", "w", "b"}, "y").is("strides", {2, 3}).is("kernel_shape", {2, 3});
  g.output("y");
  const auto pack = packed(g);
  const auto x = random_input(5, 2, 3, 4);
  const auto y = pack.run(x)[0];
  REQUIRE(y.h == 6);
  REQUIRE(y.w == 12);
  RefTensor want(2, 6, 12, 5);
  for (int n = 0; n < 2; ++n)
    for (int h = 0; h < 3; ++h)
      for (int q = 0; q < 4; ++q)
        for (int o = 0; o < 5; ++o)
          for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 3; ++j) {
              double& v = want.at(n, h * 2 + i, q * 3 + j, o);
              v = b[static_cast<std::size_t>(o)];
              for (int c = 0; c < 3; ++c) {
                v += x.at(n, h, q, c) * w[static_cast<std::size_t>(((c * 5 + o) * 2 + i) * 3 + j)];
              }
            }
  for (std::size_t i = 0; i < y.v.size(); ++i) REQUIRE(relative(y.v[i], want.v[i]) < 2e-6);
}

TEST_CASE("pools, with and without the padding counted", "[operators]") {
  for (int kind = 0; kind < 3; ++kind) {
    CAPTURE(kind);
    OnnxBuilder g;
    auto node = g.node(kind == 0 ? "MaxPool" : "AveragePool", {"x"}, "y")
                    .is("kernel_shape", {3, 2})
                    .is("strides", {2, 1})
                    .is("pads", {1, 1, 1, 0});
    if (kind == 2) node.i("count_include_pad", 1);
    g.output("y");
    const auto pack = packed(g);
    const auto x = random_input(5, 1, 6, 5);
    const auto y = pack.run(x)[0];
    REQUIRE(y.h == 3);
    REQUIRE(y.w == 5);
    for (int h = 0; h < 3; ++h)
      for (int q = 0; q < 5; ++q)
        for (int c = 0; c < 3; ++c) {
          double top = -1e9, sum = 0;
          int count = 0;
          for (int i = 2 * h - 1; i < 2 * h + 2; ++i)
            for (int j = q - 1; j < q + 1; ++j) {
              if (i < 0 || j < 0 || i >= 6 || j >= 5) continue;
              top = std::fmax(top, x.at(0, i, j, c));
              sum += x.at(0, i, j, c);
              ++count;
            }
          const double want = kind == 0 ? top : sum / (kind == 2 ? 6 : count);
          REQUIRE(relative(y.at(0, h, q, c), want) < 1e-12);
        }
  }
}

TEST_CASE("nearest resize by scales, and by sizes that come from a shape", "[operators]") {
  for (const bool by_sizes : {false, true}) {
    OnnxBuilder g;
    g.floats("roi", {0}, {});
    if (by_sizes) {
      g.node("Shape", {"x"}, "s");
      g.ints("k", {1, 1, 2, 3});
      g.node("Mul", {"s", "k"}, "sizes");
      g.node("Resize", {"x", "", "", "sizes"}, "y")
          .s("coordinate_transformation_mode", "asymmetric")
          .s("nearest_mode", "floor");
    } else {
      g.floats("scales", {4}, {1, 1, 2, 3});
      g.node("Resize", {"x", "roi", "scales"}, "y")
          .s("coordinate_transformation_mode", "asymmetric")
          .s("nearest_mode", "floor");
    }
    g.output("y");
    const auto pack = packed(g);
    const auto x = random_input(5, 1, 3, 2);
    const auto y = pack.run(x)[0];
    REQUIRE(y.h == 6);
    REQUIRE(y.w == 6);
    for (int h = 0; h < 6; ++h)
      for (int w = 0; w < 6; ++w) {
        for (int c = 0; c < 3; ++c) REQUIRE(y.at(0, h, w, c) == x.at(0, h / 2, w / 3, c));
      }
  }
}

TEST_CASE("concat, elementwise stretching and a matrix product", "[operators]") {
  OnnxBuilder g;
  g.node("GlobalAveragePool", {"x"}, "m");
  g.node("Sub", {"x", "m"}, "d");
  g.node("Concat", {"x", "d"}, "c").i("axis", 1);
  g.node("Transpose", {"c"}, "t").is("perm", {0, 2, 3, 1});
  const auto w = Numbers(4).floats(6 * 2);
  g.floats("w", {6, 2}, w);
  g.node("MatMul", {"t", "w"}, "p");
  g.node("Softmax", {"p"}, "y").i("axis", -1);
  g.output("y");
  const auto pack = packed(g);
  CHECK(pack.nodes().size() == 5);
  const auto x = random_input(5, 2, 3, 5);
  const auto y = pack.run(x)[0];
  for (int n = 0; n < 2; ++n) {
    double mean[3] = {0, 0, 0};
    for (int h = 0; h < 3; ++h)
      for (int q = 0; q < 5; ++q)
        for (int c = 0; c < 3; ++c) mean[c] += x.at(n, h, q, c) / 15;
    for (int h = 0; h < 3; ++h)
      for (int q = 0; q < 5; ++q) {
        double e[2];
        for (int o = 0; o < 2; ++o) {
          double sum = 0;
          for (int c = 0; c < 6; ++c) {
            const double v = c < 3 ? x.at(n, h, q, c) : x.at(n, h, q, c - 3) - mean[c - 3];
            sum += v * w[static_cast<std::size_t>(c * 2 + o)];
          }
          e[o] = std::exp(sum);
        }
        for (int o = 0; o < 2; ++o)
          REQUIRE(relative(y.at(n, h, q, o), e[o] / (e[0] + e[1])) < 1e-6);
      }
  }
}

TEST_CASE("constants are folded", "[operators]") {
  OnnxBuilder g;
  g.floats("a", {2, 3}, {1, 2, 3, 4, 5, 6});
  g.floats("b", {3}, {10, 20, 30});
  g.node("Add", {"a", "b"}, "ab");                            // [[11 22 33] [14 25 36]]
  g.node("Transpose", {"ab"}, "t").is("perm", {1, 0});         // [[11 14] [22 25] [33 36]]
  g.ints("dims", {2, 3, 1, 1});
  g.node("Reshape", {"t", "dims"}, "w");                       // o0: 11 14 22, o1: 25 33 36
  g.node("Identity", {"w"}, "wi");
  g.node("Conv", {"x", "wi"}, "y");
  g.output("y");
  const auto pack = packed(g);
  REQUIRE(pack.nodes().size() == 1);
  const auto x = random_input(5, 1, 1, 1);
  const auto y = pack.run(x)[0];
  CHECK(relative(y.v[0], 11 * x.v[0] + 14 * x.v[1] + 22 * x.v[2]) < 1e-6);
  CHECK(relative(y.v[1], 25 * x.v[0] + 33 * x.v[1] + 36 * x.v[2]) < 1e-6);
}

TEST_CASE("the input's normalisation is in the header", "[operators]") {
  OnnxBuilder g;
  g.node("Relu", {"x"}, "y");
  g.output("y");
  spirkiln::packer::PackOptions options;
  options.mean = {0.5, 0.25, 0};
  options.std = {0.5, 1, 2};
  const auto pack = packed(g, options);
  const std::vector<std::uint8_t> pixels{255, 51, 102, 255, 9, 9, 9, 0};
  const auto x = pack.normalise(pixels, 1, 1, 2);
  CHECK(relative(x.v[0], 1) < 1e-6);
  CHECK(relative(x.v[1], 0.2 - 0.25) < 1e-6);
  CHECK(relative(x.v[2], 0.2) < 1e-6);
  CHECK(x.v[3] == 0);  // outside the picture
  options.std = {0.5, 0, 2};
  const auto bad = spirkiln::packer::pack_onnx_bytes(g.bytes(), "test", options);
  REQUIRE_FALSE(bad.ok());
  CHECK(bad.error().code == spirkiln::ErrorCode::kInvalidArgument);
}
