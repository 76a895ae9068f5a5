// SPDX-License-Identifier: Apache-2.0
#include "matrix_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <random>
#include <utility>

#include "dispatch_timer.hpp"
#include "graph/kernel_runner.hpp"
#include "graph/lower/common.hpp"
#include "sizes.hpp"
#include "table/table.hpp"

namespace spirkiln::bench {
namespace {

constexpr std::uint32_t kRepeats = 20, kRounds = 8;

struct Problem {
  MatrixShapeOption shape;
  Form form = kFp16s;
  std::vector<float> x, w;  // whole vectors; w [tap][c][out]
  std::uint32_t c4 = 0, n4 = 0;
  std::vector<std::byte> x_bytes, w_bytes, scale, bias;
};

Problem make_problem(const MatrixShapeOption& s) {
  Problem p;
  p.shape = s;
  p.c4 = (s.c + 3) / 4;
  p.n4 = (s.out + 3) / 4;
  std::mt19937 random(1);
  const auto draw = [&] {
    return static_cast<float>(static_cast<int>(random() % 257) - 128) / 128;
  };
  p.x.resize(std::size_t{s.n} * s.h * s.w * p.c4 * 4);
  p.w.resize(std::size_t{s.kh} * s.kw * p.c4 * 4 * p.n4 * 4);
  for (float& v : p.x) v = draw();
  for (float& v : p.w) v = draw();
  p.x_bytes = to_storage(p.x, p.form);
  p.w_bytes = to_storage(p.w, p.form);
  p.scale = as_bytes(std::vector<float>(p.n4 * 4, 1.0F));
  p.bias = as_bytes(std::vector<float>(p.n4 * 4, 0.0F));
  return p;
}

double exact(const Problem& p, std::size_t pixel, std::size_t column) {
  const auto& s = p.shape;
  const std::size_t x = pixel % s.w, y = pixel / s.w % s.h, n = pixel / s.w / s.h;
  double sum = 0;
  for (std::size_t ky = 0; ky < s.kh; ++ky) {
    for (std::size_t kx = 0; kx < s.kw; ++kx) {
      const std::size_t iy = y + ky - s.kh / 2, ix = x + kx - s.kw / 2;
      if (iy >= s.h || ix >= s.w) continue;
      const float* a = &p.x[((n * s.h + iy) * s.w + ix) * p.c4 * 4];
      const float* b = &p.w[(ky * s.kw + kx) * p.c4 * 4 * p.n4 * 4 + column];
      for (std::size_t c = 0; c < p.c4 * 4; ++c) sum += double{a[c]} * double{b[c * p.n4 * 4]};
    }
  }
  return sum;
}

Dispatch lowered(const Problem& p, const DeviceTraits& traits) {
  model::Node node{};
  node.op = model::Op::kConv;
  node.epilogue.post_scale = 1;
  const auto& s = p.shape;
  const std::int32_t i[] = {std::int32_t(s.kh),
                            std::int32_t(s.kw),
                            1,
                            1,
                            std::int32_t(s.kh / 2),
                            std::int32_t(s.kw / 2),
                            std::int32_t(s.kh / 2),
                            std::int32_t(s.kw / 2),
                            1,
                            1,
                            std::int32_t(s.c),
                            std::int32_t(s.out)};
  std::copy(std::begin(i), std::end(i), node.i);
  const LowerRequest request{node, {{s.n, s.h, s.w, s.c}}, {s.n, s.h, s.w, s.out}, traits};
  auto result = lower::conv(request);
  return result->dispatches.at(0);
}

// One way to compute the problem.
struct Way {
  MatrixRow row;
  Dispatch dispatch;
  std::size_t index = 0;  // in the timer; meaningless where the row has an error
};

// Of a sample of the result, the last pixels among them; relative to the largest value.
double error_of(const DispatchTimer& timer, const Problem& p) {
  const std::vector<float> result = from_storage(timer.result(), p.form);
  const std::size_t pixels = std::size_t{p.shape.n} * p.shape.h * p.shape.w;
  double largest = 0, error = 0;
  std::mt19937 random(2);
  for (std::size_t i = 0; i < 200; ++i) {
    const std::size_t pixel = i < 20 ? pixels - 1 - i % pixels : random() % pixels;
    const std::size_t column = random() % (p.n4 * 4);
    const double e = exact(p, pixel, column);
    const double d = std::abs(e - double{result[pixel * p.n4 * 4 + column]});
    largest = std::max(largest, std::abs(e));
    if (!(d <= error)) error = d;
  }
  return error / largest;
}

Status time_all(DispatchTimer& timer, const Problem& p, std::vector<Way>& ways) {
  for (Way& w : ways) {
    const auto index = timer.add(w.dispatch, p.form);
    if (index) {
      w.index = *index;
    } else {
      w.row.error = index.error().message;
    }
  }
  if (auto s = timer.prepare(kRepeats); !s) return s;
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(400)) {
    if (!ways.front().row.error.empty()) break;
    if (auto us = timer.run(ways.front().index); !us) return us.error();
  }
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    for (Way& w : ways) {
      if (!w.row.error.empty()) continue;
      const auto us = timer.run(w.index);
      if (!us) return us.error();
      w.row.us = round == 0 ? *us : std::min(w.row.us, *us);
      w.row.tflops = w.dispatch.flops / w.row.us * 1e-6;
      if (round + 1 == kRounds) w.row.max_error = error_of(timer, p);
    }
  }
  return Ok{};
}

// All tiles worth a try: no column of matrices stands outside, and workgroup memory suffices.
std::vector<tuning::MatrixTile> matrix_tiles(std::uint32_t pixels, std::uint32_t k4,
                                             std::uint32_t n4, const DeviceTraits& t) {
  const std::uint32_t columns = (n4 * 4 - 1) / t.matrix_n + 1;
  const std::uint32_t step = t.matrix_k / 4;
  std::vector<tuning::MatrixTile> tiles;
  const auto add = [&](const tuning::MatrixTile& m) {
    const std::uint32_t groups = m.groups_k * m.groups_m * m.groups_n;
    const std::uint32_t block_m = m.groups_m * m.matrices_m * t.matrix_m;
    const bool fits = groups >= 2 && groups <= 8 &&
                      tuning::matrix_shared_bytes(m, t.matrix_m, t.matrix_n) <= t.shared_bytes &&
                      groups * t.subgroup_size <= t.max_invocations;
    const bool useful = (m.groups_n - 1) * m.matrices_n < columns &&
                        m.groups_n * m.matrices_n < columns + m.matrices_n &&
                        (block_m < 2 * pixels || block_m <= t.matrix_m) &&
                        (m.groups_k == 1 || k4 >= 8 * m.groups_k) &&
                        (m.tile_k4 <= step || m.tile_k4 < 2 * k4);
    if (fits && useful && m.matrices_n * t.matrix_n <= 64 && m.matrices_m * m.matrices_n <= 8) {
      tiles.push_back(m);
    }
  };
  for (const std::uint32_t k : {1u, 2u, 4u, 8u}) {
    for (const std::uint32_t m : {1u, 2u, 4u}) {
      for (const std::uint32_t n : {1u, 2u, 4u}) {
        for (const std::uint32_t mm : {1u, 2u}) {
          for (const std::uint32_t nn : {1u, 2u, 3u, 4u, 6u, 8u}) {
            for (const std::uint32_t deep : {1u, 2u, 4u, 8u}) {
              if (step * k * deep <= (k4 >= 128 ? 128u : 32u))
                add({k, m, n, mm, nn, step * k * deep});
            }
          }
        }
      }
    }
  }
  return tiles;
}

std::vector<Way> ways_of(const Problem& p, const DeviceTraits& plain,
                         const std::vector<DeviceTraits>& matrices) {
  std::vector<Way> ways;
  const auto add = [&](const Dispatch& d, std::string name) {
    ways.emplace_back();
    ways.back().row.tile = std::move(name);
    ways.back().dispatch = d;
  };
  const Dispatch base = lowered(p, plain);
  add(base, std::string(base.kernel));
  ways.back().row.baseline = true;
  const auto& s = p.shape;
  const Dims in{s.n, s.h, s.w, s.c}, out{s.n, s.h, s.w, s.out};
  const auto pixels = static_cast<std::uint32_t>(in.pixels());
  for (const DeviceTraits& t : matrices) {
    const std::string size = fmt::format("{}x{}x{}", t.matrix_m, t.matrix_n, t.matrix_k);
    for (const tuning::MatrixTile& m : matrix_tiles(pixels, p.c4 * s.kh * s.kw, p.n4, t)) {
      Dispatch d = base;
      lower::use_matrices(d, {pixels, p.c4 * s.kh * s.kw, p.n4}, m, t);
      add(d, fmt::format("{} groups {}x{}x{} matrices {}x{} tile_k4 {}", size, m.groups_k,
                         m.groups_m, m.groups_n, m.matrices_m, m.matrices_n, m.tile_k4));
    }
    for (const std::uint32_t groups : {2u, 4u, 8u}) {
      for (const std::uint32_t mm : {1u, 2u}) {
        for (const std::uint32_t nn : {1u, 2u, 3u, 4u, 6u, 8u}) {
          Dispatch d = base;
          if (s.kh * s.kw == 1 || nn * t.matrix_n > 64 ||
              !lower::use_window_matrices(d, in, out, s.kh, s.kw, s.kh / 2, s.kw / 2,
                                          {groups, mm, nn}, t)) {
            continue;
          }
          add(d, fmt::format("{} window, groups {} matrices {}x{}", size, groups, mm, nn));
        }
      }
    }
  }
  return ways;
}

}  // namespace

std::optional<MatrixShapeOption> parse_matrix_shape(const std::string& text) {
  MatrixShapeOption s;
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto picture = tool::parse_sizes<3>(text.substr(0, colon));
  const auto window = tool::parse_sizes<3>(text.substr(std::min(colon + 1, text.size())));
  if (!picture || !window) return std::nullopt;
  s.h = (*picture)[0], s.w = (*picture)[1], s.c = (*picture)[2];
  s.kh = (*window)[0], s.kw = (*window)[1], s.out = (*window)[2];
  constexpr std::uint64_t kMost = 1u << 26;
  const auto fits = [&](std::initializer_list<std::uint32_t> sizes) {
    std::uint64_t product = 1;
    for (const std::uint32_t size : sizes) {
      if (size == 0 || size > kMost) return false;
      product *= size;
      if (product > kMost) return false;
    }
    return true;
  };
  // A window of even size would not keep the picture's.
  if (s.kh % 2 == 0 || s.kw % 2 == 0 || !fits({s.h, s.w, s.c}) || !fits({s.h, s.w, s.out}) ||
      !fits({s.kh, s.kw, s.c, s.out}) || s.kh > 63 || s.kw > 63) {
    return std::nullopt;
  }
  return s;
}

Result<std::vector<MatrixRow>> bench_matrix(const Device& device, const MatrixShapeOption& shape) {
  auto table = open_table();
  if (!table) return table.error();
  if (device.state() == nullptr) {
    return Error{ErrorCode::kUnsupported, "tiles are timed on Vulkan devices only"};
  }
  Problem p = make_problem(shape);
  Operands operands{{std::move(p.x_bytes)},
                    {std::move(p.w_bytes), std::move(p.scale), std::move(p.bias)},
                    std::uint64_t{shape.n} * shape.h * shape.w * p.n4 * vector_bytes(p.form)};
  auto timer = DispatchTimer::create(device, *table, std::move(operands));
  if (!timer) return std::move(timer).error();
  const DeviceCaps& caps = device.state()->caps;
  std::vector<Way> ways = ways_of(p, traits_of(caps), matrix_traits(caps, *table, {p.form}));
  if (auto s = time_all(**timer, p, ways); !s) return s.error();
  std::vector<MatrixRow> rows;
  for (Way& w : ways) rows.push_back(std::move(w.row));
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.error.empty() != b.error.empty() ? a.error.empty() : a.us < b.us;
  });
  return rows;
}

}  // namespace spirkiln::bench
