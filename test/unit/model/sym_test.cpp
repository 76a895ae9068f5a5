// SPDX-License-Identifier: Apache-2.0
#include "sym.hpp"
#include "pack_error.hpp"
#include "pack_helpers.hpp"

#include <functional>

using namespace spirkiln::packer;
using spirkiln::test::Numbers;

namespace {

using Env = std::array<std::int64_t, 3>;
using Plain = std::function<std::int64_t(const Env&)>;

// An expression twice: in normal form, and as a function that computes it step by step.
struct Both {
  Sym sym;
  Plain plain;
};

std::int64_t floor_of(std::int64_t a, std::int64_t b) {
  std::int64_t q = a / b;
  while (q * b > a) --q;
  while ((q + 1) * b <= a) ++q;
  return q;
}

Both random_expression(SymContext& s, Numbers& r, int depth) {
  if (depth == 0 || r.next() % 5 == 0) {
    if (r.next() % 2 == 0) {
      const int which = static_cast<int>(r.next() % 3);
      return {s.input(which), [which](const Env& e) { return e[static_cast<std::size_t>(which)]; }};
    }
    const std::int64_t c = static_cast<std::int64_t>(r.next() % 21) - 10;
    return {c, [c](const Env&) { return c; }};
  }
  const Both a = random_expression(s, r, depth - 1), b = random_expression(s, r, depth - 1);
  const std::int64_t d = 1 + r.next() % 9;
  switch (r.next() % 7) {
    case 0:
      return {s.add(a.sym, b.sym), [=](const Env& e) { return a.plain(e) + b.plain(e); }};
    case 1:
      return {s.sub(a.sym, b.sym), [=](const Env& e) { return a.plain(e) - b.plain(e); }};
    case 2:
      return {s.mul(a.sym, d), [=](const Env& e) { return a.plain(e) * d; }};
    case 3:
      return {s.floor_div(a.sym, d), [=](const Env& e) { return floor_of(a.plain(e), d); }};
    case 4:
      return {s.ceil_div(a.sym, d), [=](const Env& e) { return -floor_of(-a.plain(e), d); }};
    case 5:
      return {s.min(a.sym, b.sym), [=](const Env& e) { return std::min(a.plain(e), b.plain(e)); }};
    default:
      return {s.max(a.sym, b.sym), [=](const Env& e) { return std::max(a.plain(e), b.plain(e)); }};
  }
}

}  // namespace

TEST_CASE("the normal form computes what the steps compute", "[sym]") {
  Numbers r(7);
  for (int i = 0; i < 400; ++i) {
    SymContext s;
    const Both e = random_expression(s, r, 5);
    for (const Env& env : {Env{1, 1, 1}, Env{2, 48, 320}, Env{3, 33, 97}, Env{7, 960, 641}}) {
      INFO(s.to_string(e.sym));
      REQUIRE(s.evaluate(e.sym, env) == e.plain(env));
    }
  }
}

TEST_CASE("shapes computed along different ways compare equal", "[sym]") {
  SymContext s;
  const Sym h = s.input(1), w = s.input(2);
  // Three halvings by a 3x3 convolution with stride 2 are one division by 8.
  Sym x = h;
  for (int i = 0; i < 3; ++i) x = s.add(s.floor_div(s.sub(s.add(x, 2), 3), 2), 1);
  CHECK(x == s.floor_div(s.add(h, 7), 8));
  CHECK(s.to_string(x) == "floor((H + 7) / (8))");
  CHECK(s.floor_div(s.mul(h, 6), 3) == s.mul(h, 2));
  CHECK(s.floor_div(s.add(s.mul(h, 4), 3), 4) == h);
  CHECK(s.ceil_div(h, 1) == h);
  // A product divided by one of its factors, also where that is a sum.
  const Sym sum = s.add(s.floor_div(w, 2), 3);
  const auto q = s.quotient(s.mul(s.mul(h, 120), sum), s.mul(sum, 40));
  REQUIRE(q);
  CHECK(*q == s.mul(h, 3));
  CHECK_FALSE(s.quotient(s.add(h, 1), w));
  CHECK_FALSE(s.quotient(h, 2));
}

TEST_CASE("what is never negative is known", "[sym]") {
  SymContext s;
  CHECK(s.non_negative(s.add(s.input(0), s.floor_div(s.input(1), 4))));
  CHECK_FALSE(s.non_negative(s.sub(s.input(0), 1)));  // true in fact, but not proven
}

TEST_CASE("a coefficient beyond 64 bits is an error, not a wrap", "[sym]") {
  SymContext s;
  Sym x = s.input(1);
  const auto grow = [&] {
    for (int i = 0; i < 8; ++i) x = s.mul(x, INT64_C(1) << 30);
  };
  CHECK_THROWS_AS(grow(), PackError);
  CHECK_THROWS_AS(s.floor_div(s.input(0), 0), PackError);
}
