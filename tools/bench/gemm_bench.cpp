// SPDX-License-Identifier: Apache-2.0
#include "gemm_bench.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <random>

#include "commands.hpp"
#include "dispatch_timer.hpp"
#include "graph/kernel_runner.hpp"
#include "graph/lower/common.hpp"
#include "graph/lower/tuning.hpp"
#include "json.hpp"
#include "program.hpp"

namespace spirkiln::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr Form kForms[] = {kFp32, kFp16p, kFp16pa, kFp16s, kFp16sa};
constexpr std::uint64_t kMostProducts = 1u << 28;  // in double precision: about a second
constexpr std::uint32_t kMostRepeats = 20;

// A and B in whole vectors, as one storage has them.
struct Problem {
  GemmShape shape;
  std::uint32_t k4, n4;
  std::vector<float> a, b;
  Operands operands;

  Problem(const GemmShape& s, Form form) : shape(s), k4((s.k + 3) / 4), n4((s.n + 3) / 4) {
    std::mt19937 random(1);
    const auto draw = [&] { return static_cast<float>(random()) / 2147483648.0F - 1; };
    a.resize(std::size_t{s.m} * k4 * 4);
    b.resize(std::size_t{k4} * 4 * n4 * 4);
    for (std::size_t row = 0; row < s.m; ++row) {
      for (std::size_t i = 0; i < s.k; ++i) a[row * k4 * 4 + i] = draw();
    }
    for (std::size_t i = 0; i < s.k; ++i) {
      for (std::size_t column = 0; column < s.n; ++column) b[i * n4 * 4 + column] = draw();
    }
    operands.inputs = {to_storage(a, form)};
    operands.consts = {to_storage(b, form), as_bytes(std::vector<float>(n4 * 4, 1.0F)),
                       as_bytes(std::vector<float>(n4 * 4, 0.0F))};
    operands.output_bytes = std::uint64_t{s.m} * n4 * vector_bytes(form);
    // What is multiplied is what is stored.
    a = from_storage(operands.inputs[0], form);
    b = from_storage(operands.consts[0], form);
  }
};

// Some rows of the product, the first and the last among them, with the magnitudes of what was
// added up.
struct Exact {
  std::vector<std::uint32_t> rows;
  std::vector<double> sums, magnitudes;  // [row][n]

  explicit Exact(const Problem& p) {
    const std::uint64_t products = std::uint64_t{p.shape.k} * p.shape.n;
    const auto most = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(kMostProducts / products, 2, p.shape.m));
    const std::uint32_t count = std::min(most, p.shape.m);
    for (std::uint32_t i = 0; i < count; ++i) {
      rows.push_back(count == 1 ? 0
                                : static_cast<std::uint32_t>(std::uint64_t{i} * (p.shape.m - 1) /
                                                             (count - 1)));
    }
    sums.resize(rows.size() * p.shape.n);
    magnitudes.resize(sums.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t i = 0; i < p.shape.k; ++i) {
        const double a = p.a[std::size_t{rows[r]} * p.k4 * 4 + i];
        const float* b = &p.b[i * p.n4 * 4];
        for (std::size_t n = 0; n < p.shape.n; ++n) {
          sums[r * p.shape.n + n] += a * double{b[n]};
          magnitudes[r * p.shape.n + n] += std::abs(a * double{b[n]});
        }
      }
    }
  }
};

lower::MatrixProduct product_of(const Problem& p) {
  model::Epilogue identity{};
  identity.post_scale = 1;
  return {{BufferKind::kInput, 0},
          {BufferKind::kInput, 0},
          {BufferKind::kConst, 0},
          {BufferKind::kConst, 1},
          {BufferKind::kConst, 2},
          {BufferKind::kOutput, 0},
          p.shape.m,
          p.k4,
          p.n4,
          identity,
          0};
}

// Every kernel's dispatch for the product; whether the device may run it shows when it is added.
std::vector<Dispatch> dispatches(const Problem& p, const DeviceCaps& caps, const Table& table,
                                 Form form) {
  std::vector<Dispatch> all;
  const lower::MatrixProduct product = product_of(p);
  const DeviceTraits here = traits_of(caps);
  DeviceTraits tiled = here;
  tiled.software = false;
  if (tiled.max_invocations >= tuning::kGemmInvocations &&
      tiled.shared_bytes >= tuning::kGemmSharedBytes) {
    all.push_back(lower::matrix_product(product, tiled));
    all.push_back(all.back());
    all.back().axes = {{"DIRECT", "1"}};
  }
  DeviceTraits plain = here;
  plain.without = {"gemm_nc", "gemm_subgroup"};
  all.push_back(lower::matrix_product(product, plain));
  // Wrong on another size of subgroups, and written for no other.
  DeviceTraits subgroup = here;
  subgroup.software = true;
  if (here.subgroup_size == tuning::kSubgroupLanes) {
    all.push_back(lower::matrix_product(product, subgroup));
  }
  for (const DeviceTraits& t : matrix_traits(caps, table, {form})) {
    DeviceTraits none = t;
    none.matrix_m = none.matrix_n = none.matrix_k = 0;
    Dispatch d = lower::matrix_product(product, none);
    if (d.kernel != "gemm_nc") continue;
    lower::use_matrices(d, {p.shape.m, p.k4, p.n4}, t);
    all.push_back(std::move(d));
  }
  return all;
}

struct Way {
  GemmRow row;
  DispatchTimer* timer = nullptr;
  Dispatch dispatch;
  Form form;
  std::size_t index = 0;  // in the timer
};

void compare(const Problem& p, const Exact& exact, Way& way) {
  const bool halves = way.form.storage != table::Storage::kFp32;
  const double step = std::ldexp(1.0, halves ? -11 : -24);
  const bool half_sums = way.form.arithmetic != table::Arithmetic::kFp32;
  // Matrix units may cut off where others round: two bits more.
  const double bound =
      (p.shape.k + 8.0) * std::ldexp(1.0, half_sums ? -11 : -22) + (halves ? step : 0.0);
  const std::vector<float> got = from_storage(way.timer->result(), way.form);
  double sum = 0, sum_steps = 0;
  for (std::size_t r = 0; r < exact.rows.size(); ++r) {
    for (std::size_t n = 0; n < p.shape.n; ++n) {
      const double want = exact.sums[r * p.shape.n + n];
      const double magnitude = exact.magnitudes[r * p.shape.n + n];
      const double value = got[std::size_t{exact.rows[r]} * p.n4 * 4 + n];
      const double error = std::isfinite(value) ? std::abs(value - want) : 1e308;
      const double steps = magnitude > 0 ? error / (step * magnitude) : error / step;
      if (error > bound * magnitude) way.row.wrong = true;
      way.row.max_error = std::max(way.row.max_error, error);
      way.row.max_steps = std::max(way.row.max_steps, steps);
      sum += error;
      sum_steps += steps;
    }
  }
  const auto count = static_cast<double>(exact.sums.size());
  way.row.mean_error = sum / count;
  way.row.mean_steps = sum_steps / count;
}

// What one storage shares: fp16p and fp16s hold the same bytes.
struct Shared {
  std::unique_ptr<Problem> problem;
  std::unique_ptr<Exact> exact;
  std::unique_ptr<DispatchTimer> timer;
};

Result<Shared> make_shared_problem(const Device& device, const Table& table, const GemmShape& shape,
                                   Form form) {
  Shared shared;
  shared.problem = std::make_unique<Problem>(shape, form);
  shared.exact = std::make_unique<Exact>(*shared.problem);
  auto timer = DispatchTimer::create(device, table, std::move(shared.problem->operands));
  if (!timer) return std::move(timer).error();
  shared.timer = *std::move(timer);
  return shared;
}

Status time_all(std::vector<Way>& ways, const GemmOptions& options) {
  // Warm, each once; then as often in a row as a run's time allows.
  const auto begin = Clock::now();
  const auto warm = [&] {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count() >=
           options.warm_ms;
  };
  do {
    for (Way& w : ways) {
      if (w.timer == nullptr) continue;
      const auto us = w.timer->run(w.index);
      if (!us) return us.error();
      w.row.us = w.row.us == 0 ? *us : std::min(w.row.us, *us);
    }
  } while (!warm());
  for (Way& w : ways) {
    if (w.timer == nullptr) continue;
    const double fit = options.ms * 1e3 / std::max(w.row.us, 0.01);
    const auto again = w.timer->add(w.dispatch, w.form);
    if (!again) return again.error();
    w.index = *again;
    const auto repeats = static_cast<std::uint32_t>(std::clamp<double>(fit, 1, kMostRepeats));
    if (auto s = w.timer->prepare(repeats); !s) return s;
    w.row.us = 0;
  }
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    for (Way& w : ways) {
      if (w.timer == nullptr) continue;
      const auto us = w.timer->run(w.index);
      if (!us) return us.error();
      w.row.us = round == 0 ? *us : std::min(w.row.us, *us);
    }
  }
  return Ok{};
}

}  // namespace

Result<GemmReport> bench_gemm(const Device& device, const GemmOptions& options) {
  auto table = open_table();
  if (!table) return std::move(table).error();
  if (device.state() == nullptr) {
    return Error{ErrorCode::kUnsupported, "matrix products are timed on Vulkan devices only"};
  }
  std::vector<Form> forms(std::begin(kForms), std::end(kForms));
  if (!options.forms.empty()) forms.clear();
  for (const std::string& name : options.forms) {
    const auto form = form_from_name(name);
    if (!form || form->is_image() || form->storage > table::Storage::kFp16) {
      return Error{ErrorCode::kInvalidArgument,
                   name + ": expected a form on buffers: fp32, fp16p, fp16pa, fp16s, fp16sa"};
    }
    forms.push_back(*form);
  }
  std::map<bool, Shared> shared;  // by whether halves are stored
  std::vector<Way> ways;
  for (const Form form : forms) {
    const bool halves = form.storage != table::Storage::kFp32;
    if (!shared.contains(halves)) {
      auto made = make_shared_problem(device, *table, options.shape, form);
      if (!made) return std::move(made).error();
      shared.emplace(halves, *std::move(made));
    }
    const Shared& of = shared.at(halves);
    for (Dispatch& d : dispatches(*of.problem, device.state()->caps, *table, form)) {
      Way& way = ways.emplace_back();
      way.form = form;
      way.row.form = form_name(form);
      const auto index = of.timer->add(d, form);
      if (!index) {
        way.row.variant =
            std::string(d.kernel) + (d.axes.empty() ? "" : " DIRECT=1") + " in " + way.row.form;
        way.row.refused = index.error().message;
        continue;
      }
      way.index = *index;
      way.row.variant = of.timer->variant(*index);
      way.timer = of.timer.get();
      way.dispatch = std::move(d);
    }
  }
  for (auto& [halves, of] : shared) {
    if (auto s = of.timer->prepare(1); !s) return std::move(s).error();
  }
  if (auto s = time_all(ways, options); !s) return std::move(s).error();

  GemmReport report{device.info().name, device.info().driver, options.shape, 0, {}};
  std::map<std::uint64_t, std::uint32_t> bits;
  const double flop = 2.0 * options.shape.m * options.shape.n * options.shape.k;
  for (Way& w : ways) {
    if (w.timer == nullptr) continue;
    const Shared& of = shared.at(w.form.storage != table::Storage::kFp32);
    report.compared = of.exact->sums.size();
    if (const auto us = w.timer->run(w.index); !us) return us.error();
    compare(*of.problem, *of.exact, w);
    const auto result = w.timer->result();
    const std::uint64_t hash = XXH3_64bits(result.data(), result.size());
    w.row.bits = bits.emplace(hash, static_cast<std::uint32_t>(bits.size() + 1)).first->second;
    w.row.gflops = flop / w.row.us * 1e-3;
  }
  for (Way& w : ways) report.rows.push_back(std::move(w.row));
  std::stable_sort(report.rows.begin(), report.rows.end(), [](const GemmRow& a, const GemmRow& b) {
    return a.refused.empty() != b.refused.empty() ? a.refused.empty() : a.us < b.us;
  });
  return report;
}

std::string gemm_text(const GemmReport& r) {
  std::string text = fmt::format("{} x {} x {} (M, N, K) on {} ({}); {} results compared\n",
                                 r.shape.m, r.shape.n, r.shape.k, r.device, r.driver, r.compared);
  text += fmt::format("{:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>5}  {}\n", "us", "GFLOP/s",
                      "max error", "mean", "max steps", "mean", "bits", "variant");
  for (const GemmRow& row : r.rows) {
    if (!row.refused.empty()) continue;
    text += fmt::format("{:10.2f} {:9.2f} {:9.2g} {:9.2g} {:9.3f} {:9.3f} {:>5}  {}{}\n", row.us,
                        row.gflops, row.max_error, row.mean_error, row.max_steps, row.mean_steps,
                        row.bits, row.variant, row.wrong ? "  WRONG" : "");
  }
  for (const GemmRow& row : r.rows) {
    if (row.refused.empty()) continue;
    text += fmt::format("not run: {}: {}\n", row.variant,
                        row.refused.substr(0, row.refused.find('\n')));
  }
  return text;
}

std::string gemm_json(const GemmReport& r) {
  std::string text = fmt::format(
      "{{\"device\": {}, \"driver\": {}, \"m\": {}, \"n\": {}, \"k\": {}, \"compared\": {}, "
      "\"variants\": [",
      json::quoted(r.device), json::quoted(r.driver), r.shape.m, r.shape.n, r.shape.k, r.compared);
  const char* separator = "";
  for (const GemmRow& row : r.rows) {
    text += fmt::format(
        "{}\n {{\"variant\": {}, \"form\": {}, \"refused\": {}, \"us\": {:.3f}, \"gflops\": "
        "{:.3f}, \"max_error\": {:.6g}, \"mean_error\": {:.6g}, \"max_steps\": {:.6g}, "
        "\"mean_steps\": {:.6g}, \"bits\": {}, \"wrong\": {}}}",
        separator, json::quoted(row.variant), json::quoted(row.form), json::quoted(row.refused),
        row.us, row.gflops, row.max_error, row.mean_error, row.max_steps, row.mean_steps, row.bits,
        row.wrong);
    separator = ",";
  }
  return text + "\n]}\n";
}

namespace {

struct Arguments {
  std::string device;
  GemmOptions options;
  bool json = false;
};

// 1 where a variant is wrong.
int run_gemm(const Arguments& arguments) {
  const GemmShape& s = arguments.options.shape;
  constexpr std::uint64_t kMost = 1u << 26;
  if (std::uint64_t{s.m} * (s.k + 3) > kMost || std::uint64_t{s.k + 3} * (s.n + 3) > kMost ||
      std::uint64_t{s.m} * (s.n + 3) > kMost) {
    return fail(fmt::format("{} x {} x {}: at most 2^26 numbers a matrix", s.m, s.n, s.k), 2);
  }
  DeviceOptions wanted = device_options(arguments.device);
  wanted.backend = "vulkan";
  const auto device = Device::open(wanted);
  if (!device) return fail(device.error().message);
  const auto report = bench_gemm(*device, arguments.options);
  if (!report) return fail(report.error().message);
  tool::print(arguments.json ? gemm_json(*report) : gemm_text(*report));
  return std::any_of(report->rows.begin(), report->rows.end(),
                     [](const GemmRow& row) { return row.wrong; });
}

}  // namespace

void add_gemm(CLI::App& app, Command* chosen) {
  const auto a = std::make_shared<Arguments>();
  CLI::App* mode = app.add_subcommand(
      "gemm", "a matrix product by every kernel and form, timed and against double precision");
  GemmShape& shape = a->options.shape;
  for (const auto& [name, value] : {std::pair{"M", &shape.m}, {"N", &shape.n}, {"K", &shape.k}}) {
    mode->add_option(name, *value, "C[M][N] = A[M][K] * B[K][N]")
        ->required()
        ->check(CLI::Range(1u, 1u << 24));
  }
  mode->add_option("--variant", a->options.forms, "forms to run (without: all five on buffers)")
      ->check(CLI::IsMember({"fp32", "fp16p", "fp16pa", "fp16s", "fp16sa"}));
  mode->add_option("--rounds", a->options.rounds, "in each of which all take turns")
      ->check(CLI::Range(1, 1000));
  mode->add_option("--ms", a->options.ms,
                   "of a run, in which a dispatch is repeated up to 20 times")
      ->check(CLI::Range(0.001, 200.0));
  mode->add_option("--warm-ms", a->options.warm_ms, "untimed running before")
      ->check(CLI::Range(0, 60000));
  mode->add_option("--device", a->device, "the device's index, or a part of its name");
  mode->add_flag("--json", a->json, "the same as one JSON object");
  mode->callback([a, chosen] { *chosen = [a] { return run_gemm(*a); }; });
}

}  // namespace spirkiln::bench
