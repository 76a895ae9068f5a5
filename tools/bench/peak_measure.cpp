// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels/peak.toml: how they are sized, run and checked.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <random>

#include "bench_table.hpp"
#include "dispatch_timer.hpp"
#include "graph/kernel_runner.hpp"
#include "peaks.hpp"
#include "spirkiln/compute.hpp"
#include "table/kernel_table.hpp"

namespace spirkiln::bench {
namespace {

using Clock = std::chrono::steady_clock;

// As the kernels have them.
constexpr std::uint32_t kMaxFmaChains = 8, kFmaSteps = 31, kFmaAddends = 61;
constexpr std::uint32_t kSharedSteps = 16, kSharedPlaces = 512;
constexpr std::uint32_t kMatrixSums = 4, kMatrixSteps = 8;
// Sums stay below 2^24, where floats are exact, and halves below 2^11.
constexpr std::uint32_t kMaxFmaRounds = 1u << 20;
constexpr std::uint32_t kMaxSharedRounds = (1u << 24) / (15 * kSharedSteps);
constexpr std::uint32_t kMaxMatrixRounds = (1u << 24) / (16 * kMatrixSteps) - 1;

// The axis MATRIX of peak_matrix: rows, columns, inner size, subgroup.
struct Matrix {
  std::string_view axis;
  std::uint32_t m, n, k, subgroup;
};
constexpr Matrix kMatrices[] = {
    {"16081632", 16, 8, 16, 32}, {"16161632", 16, 16, 16, 32}, {"16161664", 16, 16, 16, 64},
    {"8161616", 8, 16, 16, 16},  {"8161632", 8, 16, 16, 32},   {"8080808", 8, 8, 8, 8},
};

Result<KernelTable> bench_table() {
  return KernelTable::from_memory(tables::bench::table(), "the kernels of spirkiln-bench");
}

Error wrong_result(const DispatchTimer& timer, std::size_t i, std::size_t at, double got,
                   double expected) {
  return Error{
      ErrorCode::kVulkan,
      fmt::format("kernel {} gives {} at index {} in place of {}: nothing that this device "
                  "is measured by can be trusted",
                  timer.variant(i), got, at, expected)};
}

// The first value that is not what `expected` says of its index.
Status check(const DispatchTimer& timer, std::size_t i, Form form,
             const std::function<double(std::size_t)>& expected) {
  const std::vector<float> got = from_storage(timer.result(), form);
  for (std::size_t k = 0; k < got.size(); ++k) {
    const double want = expected(k);
    if (double{got[k]} != want) return wrong_result(timer, i, k, got[k], want);
  }
  return Ok{};
}

struct Bench {
  const Device& device;
  const Table& table;
  const PeakOptions& options;
  bool software = device.state()->caps.type == "cpu";
  std::uint32_t local = std::min<std::uint32_t>(256, device.state()->caps.max_invocations);
  // Enough to fill a large device several times; a CPU has nothing to fill.
  std::uint32_t groups = software ? 16 : 4096;
  std::uint32_t chains = software ? 2 : kMaxFmaChains;

  bool has(std::string_view kernel, Form form, const std::vector<AxisRequest>& axes = {}) const {
    return select_blob(table, {kernel, {&form, 1}, axes}, device.state()->caps).ok();
  }

  // The least time of a dispatch whose push constants begin with a number of rounds, grown until
  // one takes long enough. `rounds` is that number then.
  Result<double> grown(DispatchTimer& timer, Dispatch dispatch, Form form, std::uint32_t most,
                       std::uint32_t* rounds, std::size_t* way) {
    *rounds = 1;
    while (true) {
      dispatch.push[0] = *rounds;
      const auto added = timer.add(dispatch, form);
      if (!added) return added.error();
      *way = *added;
      if (auto s = timer.prepare(1); !s) return std::move(s).error();
      auto us = least_us(timer, *way, 2);
      if (!us) return us;
      const double wanted = options.ms * 1e3;
      if (*us >= wanted / 2 || *rounds == most) break;
      // Small steps at first: a dispatch that does nearly nothing says little of a larger one.
      const double factor = std::clamp(wanted / std::max(*us, 1.0), 2.0, 8.0);
      *rounds = static_cast<std::uint32_t>(std::min<double>(*rounds * factor, most));
    }
    return least_us(timer, *way, options.runs);
  }

  Result<double> fma_tflops(Form form) {
    const std::uint64_t invocations = std::uint64_t{groups} * local;
    auto timer = DispatchTimer::create(device, table, {{}, {}, invocations * vector_bytes(form)});
    if (!timer) return std::move(timer).error();
    Dispatch d;
    d.kernel = "peak_fma";
    d.specs = {{"chains", chains}};
    d.buffers = {{BufferKind::kOutput}};
    d.push_u32(1);
    d.push_f32(-1);
    d.groups = {groups, 1, 1};
    d.local_size = {local, 1, 1};
    std::uint32_t rounds = 0;
    std::size_t way = 0;
    auto us = grown(**timer, d, form, kMaxFmaRounds, &rounds, &way);
    if (!us) return us;
    // What becomes of each value that a chain begins with.
    std::array<double, 16 + 3 + kMaxFmaChains> ends{};
    for (std::size_t begin = 0; begin < ends.size(); ++begin) {
      double x = static_cast<double>(begin);
      for (std::uint32_t r = 0; r < rounds; ++r) {
        for (std::uint32_t s = 0; s < kFmaSteps; ++s) x = r % kFmaAddends - x;
      }
      ends[begin] = x;
    }
    const auto expected = [&](std::size_t k) {
      double sum = 0;
      for (std::size_t c = 0; c < chains; ++c) sum += ends[k / 4 % local % 16 + k % 4 + c];
      return sum;
    };
    if (auto s = check(**timer, way, form, expected); !s) return std::move(s).error();
    return 2.0 * 4 * chains * kFmaSteps * rounds * static_cast<double>(invocations) / *us * 1e-6;
  }

  Result<double> shared_gbs() {
    const std::uint64_t invocations = std::uint64_t{groups} * local;
    auto timer = DispatchTimer::create(device, table, {{}, {}, invocations * 16});
    if (!timer) return std::move(timer).error();
    Dispatch d;
    d.kernel = "peak_shared";
    d.buffers = {{BufferKind::kOutput}};
    d.push_u32(1);
    d.groups = {groups, 1, 1};
    d.local_size = {local, 1, 1};
    std::uint32_t rounds = 0;
    std::size_t way = 0;
    auto us = grown(**timer, d, kFp32, kMaxSharedRounds, &rounds, &way);
    if (!us) return us;
    std::vector<double> sums(std::size_t{local} * 4);
    for (std::size_t k = 0; k < sums.size(); ++k) {
      for (std::uint32_t r = 0; r < rounds; ++r) {
        for (std::uint32_t s = 0; s < kSharedSteps; ++s) {
          const std::size_t place = (k / 4 + r + std::size_t{s} * 32) % kSharedPlaces;
          sums[k] += static_cast<double>((place + k % 4) % 16);
        }
      }
    }
    const auto expected = [&](std::size_t k) { return sums[k % sums.size()]; };
    if (auto s = check(**timer, way, kFp32, expected); !s) return std::move(s).error();
    return 16.0 * kSharedSteps * rounds * static_cast<double>(invocations) / *us * 1e-3;
  }

  std::uint64_t copy_bytes() const {
    const DeviceCaps& caps = device.state()->caps;
    std::uint64_t bytes = options.copy_mib << 20;
    if (bytes == 0) {
      // With the way there and back there are four of them.
      bytes = 256u << 20;
      const std::uint64_t memory = device.info().device_local_bytes;
      while (bytes > (1u << 20) && (bytes > memory / 16 || (software && bytes > (64u << 20)))) {
        bytes /= 2;
      }
    }
    return std::min<std::uint64_t>(bytes, caps.max_storage_range / 4096 * 4096);
  }

  Result<double> copy_gbs() {
    const std::uint64_t bytes = copy_bytes();
    std::vector<std::byte> source(bytes);
    std::mt19937_64 random(7);
    for (std::size_t i = 0; i + 8 <= source.size(); i += 8) {
      // No NaN among them: a copy may pass through floats.
      const std::uint64_t bits = random() & 0xbfffffffbfffffffu;
      std::memcpy(&source[i], &bits, 8);
    }
    const std::vector<std::byte> wanted = source;
    auto timer = DispatchTimer::create(device, table, {{std::move(source)}, {}, bytes});
    if (!timer) return std::move(timer).error();
    Dispatch d;
    d.kernel = "peak_copy";
    d.buffers = {{BufferKind::kInput}, {BufferKind::kOutput}};
    const std::uint64_t vectors = bytes / 16;
    d.push_u32(static_cast<std::uint32_t>(vectors));
    const auto all = static_cast<std::uint32_t>((vectors + local - 1) / local);
    const std::uint32_t across = std::min(all, device.state()->caps.max_group_count[0]);
    d.groups = {across, (all + across - 1) / across, 1};
    d.local_size = {local, 1, 1};
    const auto way = (*timer)->add(d, kFp32);
    if (!way) return way.error();
    if (auto s = (*timer)->prepare(2); !s) return std::move(s).error();
    auto us = least_us(**timer, *way, options.runs);
    if (!us) return us;
    const auto got = (*timer)->result();
    const auto [g, w] = std::mismatch(got.begin(), got.end(), wanted.begin());
    if (g != got.end()) {
      return wrong_result(**timer, *way, static_cast<std::size_t>(g - got.begin()),
                          std::to_integer<int>(*g), std::to_integer<int>(*w));
    }
    return 2 * static_cast<double>(bytes) / *us * 1e-3;
  }

  Result<double> step_us() {
    constexpr std::uint32_t kRepeats = 200;
    auto timer = DispatchTimer::create(device, table, {{std::vector<std::byte>(64 * 16)}, {}, 0});
    if (!timer) return std::move(timer).error();
    Dispatch d;
    d.kernel = "peak_step";
    d.buffers = {{BufferKind::kInput}};
    d.local_size = {64, 1, 1};
    const auto way = (*timer)->add(d, kFp32);
    if (!way) return way.error();
    if (auto s = (*timer)->prepare(kRepeats); !s) return std::move(s).error();
    auto us = least_us(**timer, *way, options.runs);
    if (!us) return us;
    const double count = double{kRepeats} * options.runs;
    if (auto s = check(**timer, *way, kFp32, [&](std::size_t) { return count; }); !s) {
      return std::move(s).error();
    }
    return us;
  }

  Result<double> matrix_tflops(const Matrix& x) {
    const std::uint32_t subgroups =
        std::clamp(device.state()->caps.max_invocations / x.subgroup, 1u, 4u);
    const std::size_t rows_b = x.k + kMatrixSums - 1;
    std::vector<float> a(std::size_t{x.m} * x.k), b(rows_b * x.n);
    std::mt19937 random(3);
    for (auto* values : {&a, &b}) {
      for (float& v : *values) v = static_cast<float>(random() % 3) - 1;
    }
    const std::size_t values = std::size_t{x.m} * x.n;
    const std::uint64_t all = std::uint64_t{groups} * subgroups * kMatrixSums * values;
    auto timer = DispatchTimer::create(
        device, table, {{to_storage(a, kFp16p), to_storage(b, kFp16p)}, {}, all * 4});
    if (!timer) return std::move(timer).error();
    Dispatch d;
    d.kernel = "peak_matrix";
    d.axes = {{"MATRIX", x.axis}};
    d.buffers = {{BufferKind::kInput, 0}, {BufferKind::kInput, 1}, {BufferKind::kOutput}};
    d.push_u32(1);
    d.groups = {groups, 1, 1};
    d.local_size = {subgroups * x.subgroup, 1, 1};
    std::uint32_t rounds = 0;
    std::size_t way = 0;
    auto us = grown(**timer, d, kFp16p, kMaxMatrixRounds, &rounds, &way);
    if (!us) return us;
    std::vector<double> products(kMatrixSums * values);
    for (std::size_t k = 0; k < products.size(); ++k) {
      const std::size_t sum = k / values, row = k % values / x.n, column = k % x.n;
      for (std::size_t i = 0; i < x.k; ++i) {
        products[k] += double{a[row * x.k + i]} * double{b[(sum + i) * x.n + column]};
      }
      products[k] *= double{kMatrixSteps} * rounds;
    }
    const auto expected = [&](std::size_t k) { return products[k % products.size()]; };
    if (auto s = check(**timer, way, kFp32, expected); !s) return std::move(s).error();
    const double flop =
        2.0 * x.m * x.n * x.k * kMatrixSums * kMatrixSteps * rounds * groups * subgroups;
    return flop / *us * 1e-6;
  }

  bool multiplies(const Matrix& x) const {
    const DeviceCaps& caps = device.state()->caps;
    const MatrixShape wanted{x.m,         x.n,          x.k,          kMatrixHalf,
                             kMatrixHalf, kMatrixFloat, kMatrixFloat, false};
    return caps.subgroup_size == x.subgroup &&
           std::find(caps.matrix_shapes.begin(), caps.matrix_shapes.end(), wanted) !=
               caps.matrix_shapes.end() &&
           has("peak_matrix", kFp16p, {{"MATRIX", x.axis}});
  }

  // A device that did nothing for a second needs a third of one to come back to its clocks.
  Status warm() {
    const auto begin = Clock::now();
    while (std::chrono::duration<double, std::milli>(Clock::now() - begin).count() <
           options.warm_ms) {
      PeakOptions brief = options;
      brief.runs = 1;
      Bench bench{device, table, brief};
      if (const auto done = bench.fma_tflops(kFp32); !done) return done.error();
    }
    return Ok{};
  }
};

}  // namespace

Result<Device> open_peak_device(const DeviceOptions& options) {
  const auto table = bench_table();
  if (!table) return table.error();
  return compute::open_device(options, {&*table, 1});
}

Result<Peaks> measure_peaks(const Device& device, const PeakOptions& options) {
  if (device.state() == nullptr) {
    return Error{ErrorCode::kUnsupported, "peaks are those of Vulkan devices"};
  }
  const auto table = bench_table();
  if (!table) return table.error();
  Bench bench{device, table->state()->table, options};
  Peaks peaks;
  peaks.device = device.info().name;
  peaks.driver = device.info().driver;
  peaks.copy_bytes = bench.copy_bytes();
  if (auto s = bench.warm(); !s) return std::move(s).error();
  const auto take = [](Result<double> figure, double* out) -> Status {
    if (!figure) return std::move(figure).error();
    *out = *figure;
    return Ok{};
  };
  if (auto s = take(bench.fma_tflops(kFp32), &peaks.fp32_tflops); !s) return std::move(s).error();
  if (bench.has("peak_fma", kFp16pa)) {
    auto s = take(bench.fma_tflops(kFp16pa), &peaks.fp16_tflops);
    if (!s) return std::move(s).error();
  }
  for (const Matrix& x : kMatrices) {
    if (!bench.multiplies(x)) continue;
    MatrixPeak& peak = peaks.matrices.emplace_back();
    peak.shape = fmt::format("{}x{}x{}", x.m, x.n, x.k);
    if (auto s = take(bench.matrix_tflops(x), &peak.tflops); !s) return std::move(s).error();
  }
  if (auto s = take(bench.copy_gbs(), &peaks.copy_gbs); !s) return std::move(s).error();
  if (auto s = take(bench.shared_gbs(), &peaks.shared_gbs); !s) return std::move(s).error();
  if (auto s = take(bench.step_us(), &peaks.step_us); !s) return std::move(s).error();
  return peaks;
}

}  // namespace spirkiln::bench
