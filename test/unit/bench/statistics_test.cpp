// SPDX-License-Identifier: Apache-2.0
#include "statistics.hpp"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "thermal.hpp"

using namespace spirkiln::bench;
using Catch::Matchers::WithinRel;
namespace fs = std::filesystem;

TEST_CASE("medians and quantiles, whatever the order") {
  CHECK(median({}) == 0);
  CHECK(median({7}) == 7);
  CHECK(median({9, 1}) == 5);
  CHECK(median({9, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(quantile({}, 0.5) == 0);
  const std::vector<double> eleven = {10, 0, 9, 1, 8, 2, 7, 3, 6, 4, 5};
  CHECK(quantile(eleven, 0) == 0);
  CHECK(quantile(eleven, 1) == 10);
  CHECK(quantile(eleven, 0.5) == 5);
  CHECK(quantile(eleven, 0.95) == 10);  // 9.5 is nearer to the tenth
  CHECK(quantile(eleven, 0.94) == 9);
}

TEST_CASE("the median of the last, in the order of measuring") {
  const std::vector<double> values = {100, 100, 100, 1, 3, 2};
  CHECK(median_of_last(values, 3) == 2);
  CHECK(median_of_last(values, 2) == 2.5);
  CHECK(median_of_last(values, 50) == 51.5);
  CHECK(median_of_last({}, 3) == 0);
}

TEST_CASE("a paired ratio and its interval") {
  const auto same = paired_ratio(std::vector<double>{1, 2, 3}, std::vector<double>{2, 4, 6});
  CHECK_THAT(same.mean, WithinRel(2.0, 1e-12));
  CHECK_THAT(same.low, WithinRel(2.0, 1e-12));
  CHECK_THAT(same.high, WithinRel(2.0, 1e-12));
  // Logarithms 0 and ln 4: mean ln 2, standard error ln 2; t of one degree of freedom is 12.706.
  const auto two = paired_ratio(std::vector<double>{1, 1}, std::vector<double>{1, 4});
  CHECK_THAT(two.mean, WithinRel(2.0, 1e-12));
  CHECK_THAT(two.high, WithinRel(2 * std::pow(2.0, 12.706), 1e-9));
  CHECK_THAT(two.low, WithinRel(2 / std::pow(2.0, 12.706), 1e-9));
  // e^-1, 1, e: mean 1, standard deviation 1, error 1 / sqrt(3), t of two degrees 4.303.
  const double e = std::exp(1.0);
  const auto three = paired_ratio(std::vector<double>{e, 1, 1}, std::vector<double>{1, 1, e});
  CHECK_THAT(three.mean, WithinRel(1.0, 1e-12));
  CHECK_THAT(three.high, WithinRel(std::exp(4.303 / std::sqrt(3.0)), 1e-9));
  // One pair says nothing of its spread; none says nothing.
  CHECK(paired_ratio(std::vector<double>{2}, std::vector<double>{3}).low == 1.5);
  CHECK(paired_ratio({}, {}).mean == 1);
  // Many pairs: 2.042 is taken, not what is beyond the table.
  std::vector<double> ones(100, 1), mixed(100, e);
  for (std::size_t i = 0; i < 50; ++i) mixed[i] = 1 / e;
  const auto many = paired_ratio(ones, mixed);
  CHECK_THAT(many.high, WithinRel(std::exp(2.042 * std::sqrt(100.0 / 99) / 10), 1e-9));
}

TEST_CASE("thermal zones as Linux shows them") {
  const fs::path root = fs::temp_directory_path() / ("thermal-test-" + std::to_string(::getpid()));
  const auto write = [&](const std::string& zone, const char* name, const std::string& text) {
    fs::create_directories(root / zone);
    std::ofstream(root / zone / name) << text;
  };
  write("thermal_zone1", "temp", "41500\n");
  write("thermal_zone1", "type", "gpuss\n");
  write("thermal_zone0", "temp", "-500\n");
  write("thermal_zone2", "type", "without a value\n");
  write("thermal_zone3", "temp", "not a number\n");
  write("cooling_device0", "temp", "90000\n");
  const auto zones = thermal_zones(root.string());
  fs::remove_all(root);
  REQUIRE(zones.size() == 2);
  CHECK(zones[0].name == "thermal_zone0");
  CHECK(zones[0].celsius == -0.5);
  CHECK(zones[1].name == "gpuss");
  CHECK(zones[1].celsius == 41.5);
  CHECK(thermal_zones("/no/such/folder").empty());
}
