// SPDX-License-Identifier: Apache-2.0
#include "prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

namespace spirkiln::access {
namespace {

// The mean of the ranks of equal values.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) {
      ranks[order[k]] = static_cast<double>(i + end - 1) / 2;
    }
    i = end;
  }
  return ranks;
}

}  // namespace

// Numbers with spaces between; lists begin with their length. The label is the rest of the line.
std::string prediction_line(const Prediction& p) {
  std::string line = fmt::format("{} {} {} {} {}", p.variant, p.groups[0], p.groups[1], p.groups[2],
                                 p.specs.size());
  for (const auto& [id, bits] : p.specs) line += fmt::format(" {} {}", id, bits);
  line += fmt::format(" {}", p.push.size());
  for (const std::uint32_t word : p.push) line += fmt::format(" {}", word);
  line += fmt::format(" {}", p.buffers.size());
  for (const auto& [key, bytes] : p.buffers) line += fmt::format(" {} {}", key, bytes);
  line += fmt::format(" {}", p.images.size());
  for (const PredictedImage& i : p.images) {
    line += fmt::format(" {} {} {} {} {} {} {} {}", i.key, i.width, i.height, i.depth,
                        i.texel_bytes, i.format, i.type, i.linear);
  }
  return line + fmt::format(" {:.0f} {:.0f} {:.0f} {:.3f} {:.3f} {:.3f} {}\n", p.moved, p.touched,
                            p.flops, p.line_us, p.cache_us, p.memory_us, p.label);
}

Result<std::vector<Prediction>> parse_predictions(std::string_view text) {
  std::vector<Prediction> out;
  std::istringstream in{std::string(text)};
  std::string row;
  for (std::size_t number = 1; std::getline(in, row); ++number) {
    if (row.empty() || row.front() == '#') continue;
    std::istringstream line(row);
    Prediction p;
    std::size_t count = 0;
    // More than any dispatch has: a damaged file must not ask for memory.
    const auto counted = [&] { return static_cast<bool>(line >> count) && count <= 64; };
    line >> p.variant >> p.groups[0] >> p.groups[1] >> p.groups[2];
    bool whole = counted();
    if (whole) p.specs.resize(count);
    for (auto& [id, bits] : p.specs) line >> id >> bits;
    whole = whole && counted();
    if (whole) p.push.resize(count);
    for (std::uint32_t& word : p.push) line >> word;
    whole = whole && counted();
    if (whole) p.buffers.resize(count);
    for (auto& [key, bytes] : p.buffers) line >> key >> bytes;
    whole = whole && counted();
    if (whole) p.images.resize(count);
    for (PredictedImage& i : p.images) {
      line >> i.key >> i.width >> i.height >> i.depth >> i.texel_bytes >> i.format >> i.type >>
          i.linear;
    }
    line >> p.moved >> p.touched >> p.flops >> p.line_us >> p.cache_us >> p.memory_us >> std::ws;
    if (!whole || !line) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("line {}: no dispatch that 'spirkiln access --cases' wrote", number)};
    }
    std::getline(line, p.label);
    out.push_back(std::move(p));
  }
  return out;
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  const std::size_t n = std::min(a.size(), b.size());
  if (n < 2) return 0;
  const auto x = ranks_of(a.first(n)), y = ranks_of(b.first(n));
  const double mean = static_cast<double>(n - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < n; ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx == 0 || yy == 0 ? 0 : xy / std::sqrt(xx * yy);
}

}  // namespace spirkiln::access
