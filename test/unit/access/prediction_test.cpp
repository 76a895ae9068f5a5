// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "prediction.hpp"

namespace spirkiln::access {
namespace {

using Catch::Approx;

TEST_CASE("Spearman's coefficient") {
  const double a[] = {1, 2, 3, 4, 5};
  const double up[] = {10, 100, 1000, 1e4, 1e5};
  const double down[] = {5, 4, 3, 2, 1};
  CHECK(rank_correlation(a, up) == Approx(1));
  CHECK(rank_correlation(a, down) == Approx(-1));
  // 1 - 6 * (1 + 1) / (5 * 24), for one pair of neighbours that changed places.
  const double swapped[] = {2, 1, 3, 4, 5};
  CHECK(rank_correlation(a, swapped) == Approx(0.9));
  // Ties have the mean of their ranks: 0, 1.5, 1.5, 3 against 0, 1, 2, 3 is 4.5 / sqrt(5 * 4.5).
  const double x[] = {1, 2, 2, 3}, y[] = {1, 2, 3, 4};
  CHECK(rank_correlation(x, y) == Approx(0.9486833));
  const double same[] = {7, 7, 7, 7};
  CHECK(rank_correlation(same, y) == 0);
  CHECK(rank_correlation(std::span(a, 1), std::span(up, 1)) == 0);
}

TEST_CASE("A prediction comes back from its line, and damage is told with the line") {
  Prediction p;
  p.label = "copy --groups 4 --set count=256";
  p.variant = "copy";
  p.groups = {4, 1, 1};
  p.specs = {{3, 7}};
  p.push = {256, 1, 0};
  p.buffers = {{0, 4096}, {1, std::uint64_t{1} << 33}};
  p.images = {{2, 64, 32, 1, 4, 100, 1, 1}};
  p.moved = 12345;
  p.touched = 99;
  p.flops = 5;
  p.line_us = 1.5;
  p.cache_us = 2.25;
  p.memory_us = 0.125;
  const auto back = parse_predictions("# a comment\n" + prediction_line(p));
  REQUIRE(back.ok());
  REQUIRE(back->size() == 1);
  const Prediction& q = back->front();
  CHECK(q.label == p.label);
  CHECK(q.groups == p.groups);
  CHECK(q.specs == p.specs);
  CHECK(q.push == p.push);
  CHECK(q.buffers == p.buffers);
  CHECK(q.images.front().height == 32);
  CHECK(q.moved == 12345);
  CHECK(q.touched == 99);
  CHECK(q.line_us == 1.5);
  CHECK(q.memory_us == 0.125);
  CHECK(q.us() == 2.25);
  for (const char* damaged : {"copy 4 1", "copy 4 1 1 99999999999", "copy 4 1 1 0 0 1 0"}) {
    const auto wrong = parse_predictions(std::string("\n") + damaged);
    REQUIRE_FALSE(wrong.ok());
    CHECK(wrong.error().message.find("line 2") != std::string::npos);
  }
}

}  // namespace
}  // namespace spirkiln::access
