// SPDX-License-Identifier: Apache-2.0
// What many times are summed up in.
#pragma once

#include <span>
#include <vector>

namespace spirkiln::bench {

// The value below which a share `q` of them lies, the nearest there is; 0 of nothing.
double quantile(std::vector<double> values, double q);
// The mean of the two in the middle, where there are two.
double median(std::vector<double> values);
// Of the last `count`, or of all where there are fewer.
double median_of_last(std::span<const double> values, std::size_t count);

// What b takes of what a takes, from pairs that were measured one after the other.
struct Ratio {
  double mean = 1;           // geometric
  double low = 1, high = 1;  // 95 % confidence interval of the mean, by Student's t
};
// Of at least two pairs of positive values; of one the interval is the mean itself.
Ratio paired_ratio(std::span<const double> a, std::span<const double> b);

}  // namespace spirkiln::bench
