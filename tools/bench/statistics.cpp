// SPDX-License-Identifier: Apache-2.0
#include "statistics.hpp"

#include <algorithm>
#include <cmath>

namespace spirkiln::bench {
namespace {

// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom; above, the normal
// distribution's is taken, a little wider.
constexpr double kT95[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                           2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                           2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

double t95(std::size_t degrees) { return degrees <= std::size(kT95) ? kT95[degrees - 1] : 2.042; }

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double median_of_last(std::span<const double> values, std::size_t count) {
  const auto last = values.last(std::min(count, values.size()));
  return median({last.begin(), last.end()});
}

Ratio paired_ratio(std::span<const double> a, std::span<const double> b) {
  const std::size_t n = std::min(a.size(), b.size());
  if (n == 0) return {};
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i) sum += std::log(b[i] / a[i]);
  const double mean = sum / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double off = std::log(b[i] / a[i]) - mean;
    squares += off * off;
  }
  double half = 0;
  if (n > 1) {
    const double error = std::sqrt(squares / static_cast<double>(n - 1) / static_cast<double>(n));
    half = t95(n - 1) * error;
  }
  return {std::exp(mean), std::exp(mean - half), std::exp(mean + half)};
}

}  // namespace spirkiln::bench
