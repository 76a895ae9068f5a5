// SPDX-License-Identifier: Apache-2.0
// The first and the last node of a graph together with the picture's bytes and the caller's floats,
// against both in double precision.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>

#include "conv_case.hpp"
#include "harness.hpp"

namespace spirkiln::test {
namespace {

constexpr float kScale[4] = {0.0171f, 0.0175f, 0.0174f, 5};
constexpr float kShift[4] = {-2.1f, -2.0f, -1.8f, 7};

// Bytes in place of the input; a third of the pixels is not valid.
Case picture_case(const Dims& x, std::uint32_t cout, const Window& w, std::uint32_t seed) {
  Case c = conv_case(model::Op::kConv, x, cout, w, seed);
  std::mt19937 random(seed);
  oracle::Tensor& colours = c.inputs[0];
  for (std::uint64_t p = 0; p < x.pixels(); ++p) {
    for (std::uint32_t lane = 0; lane < 4; ++lane) {
      const auto byte = static_cast<std::uint8_t>(random());
      c.bytes.push_back(lane < 3 ? byte : static_cast<std::uint8_t>(p % 3 == 0 ? 0 : p % 3 * 127));
    }
    for (std::uint32_t lane = 0; lane < 3; ++lane) {
      const double v = double{kScale[lane]} * c.bytes[p * 4 + lane] + double{kShift[lane]};
      colours.v[p * 3 + lane] = c.bytes[p * 4 + 3] != 0 ? v : 0;
    }
  }
  return c;
}

}  // namespace

TEST_CASE("picture bytes become the first convolution", "[stem]") {
  if (!device()) SKIP("no Vulkan device");
  struct Shape {
    Dims x;
    std::uint32_t out;
    Window w;
  };
  const Shape shapes[] = {{{2, 9, 21, 3}, 16, {3, 3, 2, 2, 1, 1, 1, 1}},
                          {{1, 12, 7, 3}, 8, {3, 3, 2, 2, 0, 0, 1, 1}},
                          {{3, 5, 6, 3}, 9, {3, 3, 1, 1, 1, 1, 1, 1}},
                          {{1, 31, 33, 3}, 15, {5, 4, 3, 2, 2, 1, 2, 2}},
                          {{1, 300, 250, 3}, 14, {3, 3, 2, 2, 1, 1, 1, 1}}};
  std::size_t turn = 0;
  const auto lines = activations(false);
  for (const Shape& shape : shapes) {
    Case c = picture_case(shape.x, shape.out, shape.w, 1300 + static_cast<std::uint32_t>(turn));
    for (const Form form : forms_for(turn == 0 ? Forms::kAll : Forms::kBuffers, turn)) {
      if (runner(form) == nullptr) continue;
      INFO(form_name(form) << ", " << shape.out << " channels");
      c.node.epilogue = lines[turn % lines.size()];
      const auto lowered = lower_stem({c.node, {shape.x}, c.output, gpu_traits()}, kScale, kShift);
      if (!lowered) FAIL(lowered.error().message);
      CHECK(lowered->dispatches.at(0).kernel == "stem");
      check_lowered(*lowered, c, oracle::run(c.node, c.inputs, c.consts, c.output), form);
    }
    ++turn;
  }
}

TEST_CASE("a transposed convolution to one channel becomes tight floats", "[head]") {
  if (!device()) SKIP("no Vulkan device");
  struct Shape {
    Dims x;
    Window w;
  };
  const Shape shapes[] = {{{2, 5, 7, 24}, {2, 2}},
                          {{1, 9, 11, 3}, {2, 2}},
                          {{1, 4, 3, 22}, {3, 4}},
                          {{1, 1, 1, 8}, {1, 1}},
                          {{1, 130, 133, 24}, {2, 2}}};
  std::size_t turn = 0;
  // The sigmoid is what a detection ends in.
  auto ways = activations(false);
  ways.insert(ways.begin(), {model::Activation::kSigmoid, 0, 0, 1, 0});
  for (const Shape& shape : shapes) {
    Case c =
        conv_case(model::Op::kDeconv, shape.x, 1, shape.w, 1350 + static_cast<std::uint32_t>(turn));
    for (const Form form : forms_for(turn == 0 ? Forms::kAll : Forms::kBuffers, turn)) {
      if (runner(form) == nullptr) continue;
      INFO(form_name(form) << ", " << shape.x.c << " channels");
      c.node.epilogue = ways[turn % ways.size()];
      const auto lowered = lower_head({c.node, {shape.x}, c.output, gpu_traits()});
      if (!lowered) FAIL(lowered.error().message);
      CHECK(lowered->dispatches.at(0).kernel == "deconv_floats");
      check_lowered(*lowered, c, oracle::run(c.node, c.inputs, c.consts, c.output), form);
    }
    ++turn;
  }
}

TEST_CASE("a transposed convolution to one channel becomes bytes", "[head][bytes]") {
  if (!device()) SKIP("no Vulkan device");
  struct Shape {
    Dims x;
    Window w;
  };
  // Lines of whole words; of the second a workgroup's pixels are parts of several lines.
  const Shape shapes[] = {{{2, 5, 6, 24}, {2, 2}},
                          {{1, 90, 6, 3}, {2, 2}},
                          {{1, 4, 3, 22}, {3, 4}},
                          {{1, 1, 4, 8}, {1, 1}},
                          {{1, 130, 134, 24}, {2, 2}}};
  std::size_t turn = 0;
  auto ways = activations(false);
  ways.insert(ways.begin(), {model::Activation::kSigmoid, 0, 0, 1, 0});
  for (const Shape& shape : shapes) {
    Case c =
        conv_case(model::Op::kDeconv, shape.x, 1, shape.w, 1370 + static_cast<std::uint32_t>(turn));
    for (const Form form : forms_for(turn == 0 ? Forms::kAll : Forms::kBuffers, turn)) {
      if (runner(form) == nullptr) continue;
      INFO(form_name(form) << ", " << shape.x.c << " channels");
      c.node.epilogue = ways[turn % ways.size()];
      const auto lowered = lower_head_bytes({c.node, {shape.x}, c.output, gpu_traits()});
      if (!lowered) FAIL(lowered.error().message);
      CHECK(lowered->dispatches.at(0).kernel == "deconv_bytes");
      check_lowered(*lowered, c, oracle::run(c.node, c.inputs, c.consts, c.output), form);
    }
    ++turn;
  }
}

TEST_CASE("among bytes, the workgroup of a value that is no number says so", "[head][bytes]") {
  if (!device()) SKIP("no Vulkan device");
  const Dims x{1, 40, 20, 5};
  const Case good = conv_case(model::Op::kDeconv, x, 1, {2, 2}, 1390);
  const auto lowered = lower_head_bytes({good.node, {x}, good.output, gpu_traits()});
  REQUIRE(lowered.ok());
  const std::uint64_t words = check_words(*lowered);
  REQUIRE(words > 2);
  const std::size_t group = lowered->dispatches[0].local_size[0];
  const auto bad_groups = [&](const Case& c) {
    const auto out = run_lowered(*lowered, c, kFp32);
    std::vector<bool> bad;
    for (std::uint64_t i = 0; i < words; ++i) {
      std::uint32_t word;
      std::memcpy(&word, out.data() + c.output.pixels() + i * 4, 4);
      bad.push_back(word != 0);
    }
    return bad;
  };
  CHECK(bad_groups(good) == std::vector<bool>(words, false));
  for (const double value : {static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    Case c = good;
    c.inputs[0].v[(group + 3) * x.c + 1] = value;  // of the second workgroup
    std::vector<bool> second(words, false);
    second[1] = true;
    CHECK(bad_groups(c) == second);
  }
}

TEST_CASE("what the head leaves to two kernels", "[head]") {
  const auto refused = [&](const Dims& x, std::uint32_t out, const Window& w) {
    const Case c = conv_case(model::Op::kDeconv, x, out, w, 1);
    return !lower_head({c.node, {x}, c.output, gpu_traits()}).ok();
  };
  CHECK_FALSE(refused({1, 3, 3, 24}, 1, {2, 2}));
  CHECK(refused({1, 3, 3, 24}, 2, {2, 2}));
  CHECK(refused({1, 3, 3, 24}, 1, {5, 4}));
  CHECK(refused({1, 3, 3, 257}, 1, {2, 2}));
  const Case conv = conv_case(model::Op::kConv, {1, 3, 3, 24}, 1, {}, 1);
  CHECK(refused({1, 3, 3, 24}, 4, {}));
  CHECK_FALSE(lower_head({conv.node, {conv.inputs[0].dims}, conv.output, gpu_traits()}).ok());
  // As bytes also what would leave a word to two lines or two workgroups.
  const auto no_bytes = [](const Dims& x, const Window& w, const DeviceTraits& traits) {
    const Case c = conv_case(model::Op::kDeconv, x, 1, w, 1);
    return !lower_head_bytes({c.node, {x}, c.output, traits}).ok();
  };
  CHECK_FALSE(no_bytes({1, 3, 4, 24}, {2, 2}, gpu_traits()));
  CHECK(no_bytes({1, 4, 3, 24}, {2, 2}, gpu_traits()));
  CHECK_FALSE(no_bytes({1, 3, 3, 24}, {3, 4}, gpu_traits()));
  DeviceTraits odd = gpu_traits();
  odd.max_group_size[0] = 33;
  CHECK(no_bytes({1, 3, 4, 24}, {2, 2}, odd));
  DeviceTraits without = gpu_traits();
  without.without = {"deconv_bytes"};
  CHECK(no_bytes({1, 3, 4, 24}, {2, 2}, without));
}

TEST_CASE("what the stem leaves to two kernels", "[stem]") {
  const Dims x{1, 8, 8, 3};
  const auto refused = [&](const Case& c, const DeviceTraits& traits) {
    return !lower_stem({c.node, {c.inputs[0].dims}, c.output, traits}, kScale, kShift).ok();
  };
  const Window three{3, 3, 1, 1, 1, 1, 1, 1};
  const DeviceTraits traits = gpu_traits();
  CHECK_FALSE(refused(conv_case(model::Op::kConv, x, 8, three, 1), traits));
  CHECK(refused(conv_case(model::Op::kConv, {1, 8, 8, 4}, 8, three, 1), traits));
  CHECK(refused(conv_case(model::Op::kConv, x, 17, three, 1), traits));
  CHECK(refused(conv_case(model::Op::kConv, x, 8, {3, 3, 1, 1, 2, 2, 2, 2, 2, 2}, 1), traits));
  CHECK(refused(conv_case(model::Op::kConv, x, 8, {7, 7, 1, 1, 3, 3, 3, 3}, 1), traits));
  CHECK(refused(conv_case(model::Op::kDepthwise, x, 3, three, 1), traits));
  DeviceTraits without = traits;
  without.without = {"stem"};
  CHECK(refused(conv_case(model::Op::kConv, x, 8, three, 1), without));
  Case residual = conv_case(model::Op::kConv, x, 8, three, 1);
  residual.node.flags = model::kHasResidual;
  CHECK(refused(residual, traits));
}

}  // namespace spirkiln::test
