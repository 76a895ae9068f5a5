// SPDX-License-Identifier: Apache-2.0
#include "graph/shapes.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/pack_builder.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using namespace spirkiln::model;
using Catch::Matchers::ContainsSubstring;

namespace {

std::optional<std::int64_t> value(ExprOp op, std::int32_t a, std::int32_t b) {
  const Expr exprs[] = {{ExprOp::kConst, a, 0}, {ExprOp::kConst, b, 0}, {op, 0, 1}};
  return evaluate(exprs, {1, 1, 1})[2];
}

Result<std::vector<Dims>> shapes_of(const PackBuilder& pack, InputShape input) {
  auto model = Model::from_bytes(pack.build(), "pack");
  if (!model) return std::move(model).error();
  return tensor_shapes(*model->state(), input);
}

}  // namespace

TEST_CASE("expressions follow the format's rules") {
  CHECK(value(ExprOp::kAdd, 3, 4) == 7);
  CHECK(value(ExprOp::kSub, 3, 4) == -1);
  CHECK(value(ExprOp::kMul, -3, 4) == -12);
  CHECK(value(ExprOp::kFloorDiv, 7, 2) == 3);
  CHECK(value(ExprOp::kFloorDiv, -7, 2) == -4);
  CHECK(value(ExprOp::kCeilDiv, 7, 2) == 4);
  CHECK(value(ExprOp::kCeilDiv, -7, 2) == -3);
  CHECK(value(ExprOp::kExactDiv, 8, 2) == 4);
  CHECK(value(ExprOp::kMin, 8, 2) == 2);
  CHECK(value(ExprOp::kMax, 8, 2) == 8);
}

TEST_CASE("what has no value is absent, and so is all that uses it") {
  CHECK_FALSE(value(ExprOp::kFloorDiv, 1, 0));
  CHECK_FALSE(value(ExprOp::kFloorDiv, 1, -2));
  CHECK_FALSE(value(ExprOp::kCeilDiv, 1, 0));
  CHECK_FALSE(value(ExprOp::kExactDiv, 1, 0));
  CHECK_FALSE(value(ExprOp::kExactDiv, 7, 2));
  CHECK_FALSE(value(ExprOp::kMul, 1 << 30, 1 << 30));
  CHECK_FALSE(value(ExprOp::kAdd, INT32_MAX, INT32_MAX));
  CHECK(value(ExprOp::kExactDiv, INT32_MIN, -1) == std::int64_t{1} << 31);
  const Expr chain[] = {{ExprOp::kConst, 1 << 30, 0},
                        {ExprOp::kMul, 0, 0},
                        {ExprOp::kMin, 1, 0},
                        {ExprOp::kInput, 1, 0}};
  const auto values = evaluate(chain, {1, 77, 1});
  CHECK_FALSE(values[1]);
  CHECK_FALSE(values[2]);
  CHECK(values[3] == 77);
}

TEST_CASE("shapes of a small graph") {
  PackBuilder b;
  const auto half_h = b.windows(b.h(), 2, 3, 2), half_w = b.windows(b.w(), 2, 3, 2);
  const auto t = b.tensor(b.n(), half_h, half_w, 5);
  b.node(Op::kConv, t, {b.input()},
         {b.weights(std::vector<float>(9 * 4 * 8, 0.5f)), b.floats(std::vector<float>(8)),
          b.floats(std::vector<float>(8))},
         {3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 3, 5});
  b.output(t);
  const auto s = shapes_of(b, {2, 7, 10});
  REQUIRE(s);
  CHECK((*s)[t] == Dims{2, 4, 5, 5});

  for (const InputShape bad : {InputShape{0, 7, 7},
                               {1, 0, 7},
                               {1, 7, 0},
                               {1, 1u << 25, 7},
                               {0xffffffffu, 0xffffffffu, 0xffffffffu}}) {
    const auto r = shapes_of(b, bad);
    REQUIRE_FALSE(r);
    CHECK(r.error().code == ErrorCode::kInvalidArgument);
  }
  CHECK_THAT(shapes_of(b, {1u << 12, 1u << 12, 1u << 12}).error().message,
             ContainsSubstring("too large"));
}

TEST_CASE("a constraint refuses with its own words") {
  PackBuilder b;
  b.constraint(b.op(ExprOp::kMul, b.op(ExprOp::kFloorDiv, b.h(), b.num(32)), b.num(32)), b.h(),
               "the height must be a multiple of 32");
  const auto t = b.tensor(b.n(), b.h(), b.w(), 3);
  b.node(Op::kSoftmax, t, {b.input()});
  b.output(t);
  CHECK(shapes_of(b, {1, 64, 5}));
  const auto r = shapes_of(b, {1, 65, 5});
  REQUIRE_FALSE(r);
  CHECK_THAT(r.error().message, ContainsSubstring("the height must be a multiple of 32"));
  CHECK_THAT(r.error().message, ContainsSubstring("65 x 5"));
}

TEST_CASE("an output that is not the operator's is refused before a kernel can index by it") {
  auto refused = [](auto make) {
    PackBuilder b;
    const auto t = make(b);
    b.output(t);
    const auto r = shapes_of(b, {2, 8, 8});
    REQUIRE_FALSE(r);
    CHECK(r.error().code == ErrorCode::kCorrupt);
    return r.error().message;
  };
  CHECK_THAT(refused([](PackBuilder& b) {
               const auto t = b.tensor(b.n(), b.num(9), b.w(), 3);
               b.node(Op::kSoftmax, t, {b.input()});
               return t;
             }),
             ContainsSubstring("gives 2x8x8x3, the pack says 2x9x8x3"));
  CHECK_THAT(refused([](PackBuilder& b) {
               const auto t = b.tensor(b.n(), b.num(15), b.num(16), 3);
               b.node(Op::kResize, t, {b.input()}, {}, {2, 2});
               return t;
             }),
             ContainsSubstring("resize"));
  CHECK_THAT(refused([](PackBuilder& b) {
               const auto t = b.tensor(b.n(), b.num(3), b.num(3), 3);
               b.node(Op::kMaxPool, t, {b.input()}, {}, {2, 2, 2, 2});
               return t;
             }),
             ContainsSubstring("gives 2x4x4x3"));
  CHECK_THAT(refused([](PackBuilder& b) {  // a window larger than the picture
               const auto t = b.tensor(b.n(), b.num(1), b.num(1), 3);
               b.node(Op::kAvgPool, t, {b.input()}, {}, {9, 9, 1, 1});
               return t;
             }),
             ContainsSubstring("impossible"));
  CHECK_THAT(refused([](PackBuilder& b) {  // y is neither x's shape nor one of the broadcasts
               const auto m = b.tensor(b.n(), b.num(4), b.num(4), 3);
               b.node(Op::kMaxPool, m, {b.input()}, {}, {2, 2, 2, 2});
               const auto t = b.tensor(b.n(), b.h(), b.w(), 3);
               b.node(Op::kBinary, t, {b.input(), m});
               return t;
             }),
             ContainsSubstring("impossible"));
  CHECK_THAT(refused([](PackBuilder& b) {  // concat of different heights
               const auto m = b.tensor(b.n(), b.num(4), b.num(4), 3);
               b.node(Op::kMaxPool, m, {b.input()}, {}, {2, 2, 2, 2});
               const auto t = b.tensor(b.n(), b.h(), b.w(), 6);
               b.node(Op::kConcat, t, {b.input(), m}, {}, {2});
               return t;
             }),
             ContainsSubstring("impossible"));
  CHECK_THAT(refused([](PackBuilder& b) {  // a residual of another shape
               const auto m = b.tensor(b.n(), b.num(4), b.num(4), 3);
               b.node(Op::kMaxPool, m, {b.input()}, {}, {2, 2, 2, 2});
               const auto t = b.tensor(b.n(), b.num(4), b.num(4), 3);
               b.node(Op::kMaxPool, t, {b.input(), b.input()}, {}, {2, 2, 2, 2}).flags =
                   kHasResidual;
               return t;
             }),
             ContainsSubstring("average pool") || ContainsSubstring("max pool"));
}
