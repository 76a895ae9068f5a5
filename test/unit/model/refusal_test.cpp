// SPDX-License-Identifier: Apache-2.0
// What is not supported is named: node, operator, attribute, value.
#include "pack_helpers.hpp"

#include <functional>
#include <limits>

using namespace spirkiln::test;
using spirkiln::ErrorCode;

namespace {

struct Case {
  const char* what;
  std::function<void(OnnxBuilder&)> build;
  std::vector<std::string> parts;
  int opset = 13;
};

void conv(OnnxBuilder& g, const std::function<void(OnnxBuilder::NodeRef&)>& attributes,
          std::vector<std::int64_t> dims = {3, 3, 3, 3}) {
  std::size_t n = 1;
  for (const auto d : dims) n *= static_cast<std::size_t>(d);
  g.floats("w", dims, std::vector<float>(n, 1));
  auto node = g.node("Conv", {"x", "w"}, "y");
  attributes(node);
}

}  // namespace

TEST_CASE("unsupported things are named with their node", "[refusal]") {
  const std::vector<Case> cases = {
      {"operator",
       [](OnnxBuilder& g) { g.node("LSTM", {"x"}, "y"); },
       {"node 'n:y' (LSTM)", "operator LSTM"}},
      {"domain",
       [](OnnxBuilder& g) { g.node("Relu", {"x"}, "y").proto->set_domain("com.x"); },
       {"com.x", "n:y"}},
      {"group",
       [](OnnxBuilder& g) { conv(g, [](auto& n) { n.i("group", 3); }, {6, 1, 3, 3}); },
       {"(Conv)", "group = 3"}},
      {"channels",
       [](OnnxBuilder& g) { conv(g, [](auto&) {}, {2, 4, 1, 1}); },
       {"for 4 channels", "has 3"}},
      {"rank", [](OnnxBuilder& g) { conv(g, [](auto&) {}, {2, 3, 1}); }, {"rank 3"}},
      {"auto_pad",
       [](OnnxBuilder& g) {
         conv(g, [](auto& n) { n.s("auto_pad", "SAME_UPPER").is("strides", {2, 2}); });
       },
       {"auto_pad = 'SAME_UPPER'", "stride 2"}},
      {"pads",
       [](OnnxBuilder& g) { conv(g, [](auto& n) { n.is("pads", {0, -1, 0, 0}); }); },
       {"pads = [0, -1, 0, 0]"}},
      {"kernel",
       [](OnnxBuilder& g) { conv(g, [](auto& n) { n.is("kernel_shape", {5, 5}); }); },
       {"kernel_shape = [5, 5]", "3 x 3"}},
      {"unknown attribute",
       [](OnnxBuilder& g) { conv(g, [](auto& n) { n.i("fancy", 4); }); },
       {"attribute fancy = 4"}},
      {"deconv stride",
       [](OnnxBuilder& g) {
         g.floats("w", {3, 2, 3, 3}, std::vector<float>(54, 1));
         g.node("ConvTranspose", {"x", "w"}, "y").is("strides", {2, 2});
       },
       {"strides = [2, 2]", "[3, 3]"}},
      {"deconv pads",
       [](OnnxBuilder& g) {
         g.floats("w", {3, 2, 2, 2}, std::vector<float>(24, 1));
         g.node("ConvTranspose", {"x", "w"}, "y").is("strides", {2, 2}).is("pads", {1, 0, 0, 0});
       },
       {"pads = [1, 0, 0, 0]"}},
      {"ceil_mode",
       [](OnnxBuilder& g) {
         g.node("AveragePool", {"x"}, "y").is("kernel_shape", {2, 2}).i("ceil_mode", 1);
       },
       {"(AveragePool)", "ceil_mode = 1"}},
      {"pool indices",
       [](OnnxBuilder& g) {
         g.node("MaxPool", {"x"}, "y").is("kernel_shape", {2, 2}).proto->add_output("indices");
       },
       {"output 1 ('indices')"}},
      {"resize mode",
       [](OnnxBuilder& g) {
         g.floats("s", {4}, {1, 1, 2, 2});
         g.node("Resize", {"x", "", "s"}, "y").s("mode", "linear");
       },
       {"mode = 'linear'"}},
      {"resize rounding",
       [](OnnxBuilder& g) {
         g.floats("s", {4}, {1, 1, 2, 2});
         g.node("Resize", {"x", "", "s"}, "y").s("coordinate_transformation_mode", "asymmetric");
       },
       {"nearest_mode = 'round_prefer_floor'"}},
      {"resize factor",
       [](OnnxBuilder& g) {
         g.floats("s", {4}, {1, 1, 1.5, 2});
         g.node("Resize", {"x", "", "s"}, "y")
             .s("coordinate_transformation_mode", "asymmetric")
             .s("nearest_mode", "floor");
       },
       {"scale 1.5 of axis 2"}},
      {"resize to a fixed size",
       [](OnnxBuilder& g) {
         g.ints("z", {1, 3, 64, 64});
         g.node("Resize", {"x", "", "", "z"}, "y")
             .s("coordinate_transformation_mode", "asymmetric")
             .s("nearest_mode", "floor");
       },
       {"(Resize)", "no fixed whole multiple"}},
      {"softmax axis",
       [](OnnxBuilder& g) { g.node("Softmax", {"x"}, "y").i("axis", 2); },
       {"(Softmax)", "axis = 2"}},
      {"softmax's old default axis",
       [](OnnxBuilder& g) { g.node("Softmax", {"x"}, "y"); },
       {"axis = 1"},
       11},
      {"concat axis",
       [](OnnxBuilder& g) { g.node("Concat", {"x", "x"}, "y").i("axis", 2); },
       {"(Concat)", "axis = 2"}},
      {"concat of many",
       [](OnnxBuilder& g) { g.node("Concat", std::vector<std::string>(9, "x"), "y").i("axis", 1); },
       {"9 inputs"}},
      {"mean over width only",
       [](OnnxBuilder& g) { g.node("ReduceMean", {"x"}, "y").is("axes", {3}); },
       {"axes = [3]"}},
      {"a mean over channels alone",
       [](OnnxBuilder& g) { g.node("ReduceMean", {"x"}, "y").is("axes", {1}); },
       {"node 'n:y' (ReduceMean)", "layer normalisation"}},
      {"pow",
       [](OnnxBuilder& g) {
         g.floats("e", {}, {3});
         g.node("Pow", {"x", "e"}, "y");
       },
       {"exponent 3"}},
      {"a lone erf", [](OnnxBuilder& g) { g.node("Erf", {"x"}, "y"); }, {"(Erf)", "GELU"}},
      {"division by zero",
       [](OnnxBuilder& g) {
         g.floats("z", {}, {0});
         g.node("Div", {"x", "z"}, "y");
       },
       {"'z' holds a zero"}},
      {"reciprocal",
       [](OnnxBuilder& g) {
         g.floats("z", {}, {1});
         g.node("Div", {"z", "x"}, "y");
       },
       {"constant ('z') divided by"}},
      {"constant picture",
       [](OnnxBuilder& g) {
         g.floats("z", {1, 1, 4, 4}, std::vector<float>(16, 1));
         g.node("Add", {"x", "z"}, "y");
       },
       {"'z' of shape [1, 1, 4, 4]"}},
      {"copying transpose",
       [](OnnxBuilder& g) {
         g.node("Transpose", {"x"}, "t").is("perm", {0, 1, 3, 2});
         g.node("GlobalAveragePool", {"t"}, "y");
       },
       {"(GlobalAveragePool)", "would need a copy"}},
      {"sum of two layouts",
       [](OnnxBuilder& g) {
         g.node("Transpose", {"x"}, "t").is("perm", {0, 1, 3, 2});
         g.node("Add", {"x", "t"}, "y");
       },
       {"(Add)", "would need a copy"}},
      {"copying reshape",
       [](OnnxBuilder& g) {
         g.ints("s", {0, -1, 3});
         g.node("Reshape", {"x", "s"}, "y");
       },
       {"(Reshape)"}},
      {"merged output",
       [](OnnxBuilder& g) {
         g.node("Relu", {"x"}, "r");
         g.node("Flatten", {"r"}, "y");
       },
       {"output 'y'", "merged"}},
      {"product of two tensors",
       [](OnnxBuilder& g) { g.node("MatMul", {"x", "x"}, "y"); },
       {"output 'y'"}},
      {"product of three tensors",
       [](OnnxBuilder& g) {
         g.node("MatMul", {"x", "x"}, "m");
         g.node("MatMul", {"m", "x"}, "y");
       },
       {"(MatMul)", "softmax in between"}},
      {"squeeze without axes",
       [](OnnxBuilder& g) { g.node("Squeeze", {"x"}, "y"); },
       {"(Squeeze)", "names no axes"}},
      {"squeezing channels",
       [](OnnxBuilder& g) { g.node("Squeeze", {"x"}, "y").is("axes", {1}); },
       {"n:y", "3 must equal 1"},
       11},
      {"cast to double",
       [](OnnxBuilder& g) { g.node("Cast", {"x"}, "y").i("to", 11); },
       {"to = 11"}},
      {"negative variance",
       [](OnnxBuilder& g) {
         g.floats("o", {3}, {1, 1, 1});
         g.floats("v", {3}, {1, -1, 1});
         g.node("BatchNormalization", {"x", "o", "o", "o", "v"}, "y");
       },
       {"variance -1 of channel 1"}},
      {"training",
       [](OnnxBuilder& g) {
         g.floats("o", {3}, {1, 1, 1});
         g.node("BatchNormalization", {"x", "o", "o", "o", "o"}, "y").i("training_mode", 1);
       },
       {"training_mode = 1"},
       14},
      {"missing input", [](OnnxBuilder& g) { g.node("Conv", {"x"}, "y"); }, {"input 1 is missing"}},
      {"an output that is the input",
       [](OnnxBuilder& g) { g.node("Identity", {"x"}, "y"); },
       {"nothing to run"}},
      {"a constant output",
       [](OnnxBuilder& g) {
         g.floats("c", {1}, {1});
         g.node("Identity", {"c"}, "y");
       },
       {"output 'y'", "does not depend"}},
      {"clip with its bounds swapped",
       [](OnnxBuilder& g) {
         g.floats("a", {}, {2});
         g.floats("b", {}, {1});
         g.node("Clip", {"x", "a", "b"}, "y");
       },
       {"minimum 2 is above its maximum 1"}},
      {"dilated pool",
       [](OnnxBuilder& g) {
         g.node("MaxPool", {"x"}, "y").is("kernel_shape", {2, 2}).is("dilations", {2, 2});
       },
       {"dilations = [2, 2]"}},
  };
  for (const Case& c : cases) {
    OnnxBuilder g(c.opset);
    c.build(g);
    g.output("y");
    CAPTURE(c.what);
    const auto error = refused(g);
    CAPTURE(error.message);
    CHECK(contains(error.message, "test: "));
    for (const auto& part : c.parts) {
      CAPTURE(part);
      CHECK(contains(error.message, part));
    }
    CHECK(error.message.find('\n') == std::string::npos);
  }
}

TEST_CASE("graphs that are not one picture in", "[refusal]") {
  {
    OnnxBuilder g(13, {-1, 4, -1, -1});
    g.node("Relu", {"x"}, "y");
    g.output("y");
    CHECK(contains(refused(g).message, "it has 4 channels"));
  }
  {
    OnnxBuilder g(13, {-1, -1, -1, -1});
    g.node("Relu", {"x"}, "y");
    g.output("y");
    CHECK(contains(refused(g).message, "must be fixed to 3"));
  }
  {
    OnnxBuilder g(13, {-1, 3});
    g.node("Relu", {"x"}, "y");
    g.output("y");
    CHECK(contains(refused(g).message, "rank 4"));
  }
  {
    OnnxBuilder g;
    auto* second = g.graph().add_input();
    *second = g.graph().input(0);
    second->set_name("x2");
    g.node("Relu", {"x"}, "y");
    g.output("y");
    CHECK(contains(refused(g).message, "2 inputs"));
  }
  {
    OnnxBuilder g(5);
    g.node("Relu", {"x"}, "y");
    g.output("y");
    CHECK(contains(refused(g).message, "operator set 5"));
  }
}

TEST_CASE("weights that are not finite, not here, or of another type", "[refusal]") {
  const auto with = [](const std::function<void(onnx::TensorProto*)>& change) {
    OnnxBuilder g;
    g.floats("w", {1, 3, 1, 1}, {1, 2, 3});
    change(g.graph().mutable_initializer(0));
    g.node("Conv", {"x", "w"}, "y");
    g.output("y");
    return refused(g);
  };
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const auto error = with([bad](auto* t) { t->set_float_data(1, bad); });
    CHECK(error.code == ErrorCode::kNotFinite);
    CHECK(contains(error.message, "initialiser 'w'"));
  }
  const auto external = with([](auto* t) {
    t->clear_float_data();
    t->set_data_location(onnx::TensorProto::EXTERNAL);
  });
  CHECK(contains(external.message, "external data"));
  CHECK(contains(with([](auto* t) { t->set_data_type(onnx::TensorProto::DOUBLE); }).message,
                 "DOUBLE"));
  CHECK(contains(with([](auto* t) { t->set_data_type(99); }).message, "number 99"));
  CHECK(contains(with([](auto* t) { t->set_dims(0, 7); }).message,
                 "3 values where its dims need 21"));
  CHECK(contains(with([](auto* t) { t->set_dims(0, -7); }).message, "a dim is -7"));
  CHECK(contains(with([](auto* t) { t->set_dims(0, INT64_C(1) << 62); }).message, "more than"));
  CHECK(contains(with([](auto* t) { t->set_raw_data("12345"); }).message, "5 bytes where"));
}

TEST_CASE("an order or names that cannot be", "[refusal]") {
  {
    OnnxBuilder g;
    g.node("Relu", {"later"}, "y");
    g.node("Relu", {"x"}, "later");
    g.output("y");
    CHECK(contains(refused(g).message, "not in order"));
  }
  {
    OnnxBuilder g;
    g.node("Relu", {"nowhere"}, "y");
    g.output("y");
    CHECK(contains(refused(g).message, "'nowhere' is made by no node"));
  }
  {
    OnnxBuilder g;
    g.node("Relu", {"x"}, "y");
    g.node("Relu", {"x"}, "y");
    g.output("y");
    CHECK(contains(refused(g).message, "'y' was made before"));
  }
  {
    OnnxBuilder g;
    g.node("Relu", {"x"}, "y");
    g.output("z");
    CHECK(contains(refused(g).message, "output 'z' is made by no node"));
  }
}
