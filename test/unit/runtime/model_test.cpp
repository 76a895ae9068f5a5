// SPDX-License-Identifier: Apache-2.0
#include "graph/model.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <limits>
#include <random>

#include "graph/half.hpp"
#include "support/pack_builder.hpp"
#include "support/table_writer.hpp"
#include "support/use_pack.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using namespace spirkiln::model;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string refusal(const PackBuilder& b) {
  const auto m = Model::from_bytes(b.build(), "pack");
  REQUIRE_FALSE(m);
  return m.error().message;
}

}  // namespace

TEST_CASE("a whole pack opens") {
  const Status s = use_pack(mixed_graph().build());
  INFO((s ? std::string() : s.error().message));
  REQUIRE(s);
}

TEST_CASE("what is no pack, another format or missing is said plainly") {
  CHECK_THAT(Model::from_bytes({}, "x").error().message, ContainsSubstring("no model pack"));
  auto newer = mixed_graph().build();
  newer[8] = std::byte{9};
  CHECK_THAT(Model::from_bytes(newer, "x").error().message, ContainsSubstring("format 9"));
  auto flipped = mixed_graph().build();
  flipped.back() ^= std::byte{1};
  CHECK_THAT(Model::from_bytes(flipped, "x").error().message, ContainsSubstring("checksum"));
  const auto missing = Model::open("/nonexistent/model.spk");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::kIo);
  CHECK_THAT(missing.error().message, ContainsSubstring("/nonexistent/model.spk"));
}

TEST_CASE("a pack cut at any section, or anywhere, is refused") {
  const auto whole = mixed_graph().build();
  for (std::size_t n = 0; n < whole.size(); n += n < 400 ? 1 : 7) {
    std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    CHECK_FALSE(Model::from_bytes(cut, "x"));
    reseal_pack(cut);
    (void)use_pack(cut).ok();
  }
}

TEST_CASE("bits flipped behind a fitting checksum never do harm to a pack") {
  const auto whole = mixed_graph().build();
  std::mt19937 random(2);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    auto bytes = whole;
    const int flips = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < flips; ++i) {
      const std::size_t at = 8 + random() % (bytes.size() - 8);
      bytes[at] ^= static_cast<std::byte>(1u << (random() % 8));
    }
    reseal_pack(bytes);
    if (!use_pack(bytes)) ++refused;
  }
  CHECK(refused > 1000);
}

TEST_CASE("extreme values in every 32-bit field never do harm to a pack") {
  const auto whole = mixed_graph().build();
  for (std::size_t at = 8; at + 4 <= whole.size(); at += 4) {
    for (const std::uint32_t value :
         {0u, 1u, 0xffffffffu, 0x7fffffffu, 0x80000000u, 0x7f800000u, 0x10000u}) {
      auto bytes = whole;
      std::memcpy(bytes.data() + at, &value, 4);
      reseal_pack(bytes);
      (void)use_pack(bytes).ok();
    }
  }
}

TEST_CASE("weights that are not finite are refused by name") {
  const auto inf = std::numeric_limits<float>::infinity();
  for (const float bad : {inf, -inf, std::numeric_limits<float>::quiet_NaN()}) {
    for (const bool half : {false, true}) {
      PackBuilder b;
      const auto t = b.tensor(b.n(), b.h(), b.w(), 3);
      std::vector<float> scale = {1, 1, 1, 0}, weights = ramp(4);
      (half ? weights[2] : scale[1]) = bad;
      b.node(Op::kDepthwise, t, {b.input()},
             {b.weights(weights), b.floats(scale), b.floats(ramp(4))},
             {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 3, 3});
      b.output(t);
      const auto m = Model::from_bytes(b.build(), "pack");
      REQUIRE_FALSE(m);
      CHECK(m.error().code == ErrorCode::kNotFinite);
    }
  }
}

TEST_CASE("a node that contradicts itself is refused with the reason") {
  auto softmax_of = [](auto change) {
    PackBuilder b;
    const auto t = b.tensor(b.n(), b.h(), b.w(), 3);
    Node& n = b.node(Op::kSoftmax, t, {b.input()});
    b.output(t);
    change(n, b);
    return refusal(b);
  };
  CHECK_THAT(softmax_of([](Node& n, PackBuilder&) { n.op = static_cast<Op>(77); }),
             ContainsSubstring("unknown operator"));
  CHECK_THAT(softmax_of([](Node& n, PackBuilder&) { n.flags = 8; }), ContainsSubstring("flags"));
  CHECK_THAT(softmax_of([](Node& n, PackBuilder&) { n.output = 0; }),
             ContainsSubstring("made twice"));
  CHECK_THAT(softmax_of([](Node& n, PackBuilder&) { n.input_count = 0; }),
             ContainsSubstring("0 inputs"));
  CHECK_THAT(softmax_of([](Node& n, PackBuilder&) { n.first_input = 0xfffffff0u; }),
             ContainsSubstring("references"));
  CHECK_THAT(softmax_of([](Node& n, PackBuilder&) { n.epilogue.b = std::nanf(""); }),
             ContainsSubstring("not finite"));
  CHECK_THAT(
      softmax_of([](Node& n, PackBuilder&) { n.epilogue.act = static_cast<Activation>(99); }),
      ContainsSubstring("activation"));
  CHECK_THAT(softmax_of([](Node& n, PackBuilder&) { n.op = Op::kConv; }),
             ContainsSubstring("conv"));
  CHECK_THAT(softmax_of([](Node&, PackBuilder& b) {
               const auto t = b.tensor(b.n(), b.h(), b.w(), 3);
               const auto u = b.tensor(b.n(), b.h(), b.w(), 3);
               b.node(Op::kSoftmax, u, {t});
             }),
             ContainsSubstring("no node before it"));
  CHECK_THAT(softmax_of([](Node&, PackBuilder& b) { b.output(b.tensor(b.n(), b.h(), b.w(), 3)); }),
             ContainsSubstring("an output that no node makes"));

  PackBuilder short_weights;
  const auto t = short_weights.tensor(0, 1, 2, 6);
  short_weights.node(Op::kConv, t, {0},
                     {short_weights.weights(ramp(9 * 4 * 8 - 4)), short_weights.floats(ramp(8)),
                      short_weights.floats(ramp(8))},
                     {3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 3, 6});
  short_weights.output(t);
  CHECK_THAT(refusal(short_weights), ContainsSubstring("284 elements, expected 288"));
}

TEST_CASE("weights arrive as halves, or as the sum of both planes") {
  PackBuilder b;
  const std::vector<float> values = {0.1f, -0.7f, 1.0f / 3, 0.9999f};
  const auto t = b.tensor(b.n(), b.h(), b.w(), 3);
  b.node(Op::kDepthwise, t, {b.input()},
         {b.weights(values), b.floats({1, 2, 3, 0}), b.floats({4, 5, 6, 0})},
         {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 3, 3});
  b.output(t);
  auto m = Model::from_bytes(b.build(), "pack");
  REQUIRE(m);
  const WeightLayout full = lay_out_weights(*m->state(), true, 256);
  REQUIRE(full.places.size() == 3);
  CHECK(full.places[0].bytes == 16);
  CHECK(full.places[1].offset == 256);
  std::vector<std::byte> out(full.bytes);
  fill_weights(*m->state(), full, out);
  for (std::size_t i = 0; i < 4; ++i) {
    float v;
    std::memcpy(&v, out.data() + full.places[0].offset + 4 * i, 4);
    // 11 bits of each plane, 12 apart.
    CHECK(std::abs(v - values[i]) <= std::abs(values[i]) * 0x1p-22f);
  }
  const WeightLayout half = lay_out_weights(*m->state(), false, 16);
  CHECK(half.places[0].bytes == 16);  // 8 bytes, padded
  std::vector<std::byte> out16(half.bytes);
  fill_weights(*m->state(), half, out16);
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint16_t h;
    std::memcpy(&h, out16.data() + 2 * i, 2);
    CHECK(h == float_to_half(values[i]));
  }
}
