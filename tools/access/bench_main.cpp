// SPDX-License-Identifier: Apache-2.0
// spirkiln-access-bench: times dispatches of a table and holds them against what was predicted. It
// has the runtime inside and needs nothing else but the table and the predictions.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "cli_helpers.hpp"
#include "prediction.hpp"
#include "program.hpp"
#include "read_file.hpp"
#include "run_kernel.hpp"
#include "table/table.hpp"

namespace {

using namespace spirkiln;
using namespace spirkiln::access;

int fail(const std::string& text, int code = 1) {
  fmt::print(stderr, "spirkiln-access-bench: error: {}\n", text);
  return code;
}

struct Timing {
  std::uint32_t repeats = 20, turns = 5, warm_ms = 200;
};

// In microseconds of one dispatch.
Result<double> time_of(const Device& device, const Table& table, const Prediction& p,
                       const Timing& timing) {
  const table::VariantEntry* variant = table.find_variant(p.variant);
  if (variant == nullptr) {
    return Error{ErrorCode::kInvalidArgument, "the table has no variant '" + p.variant + "'"};
  }
  const table::BlobEntry& blob = table.blobs()[variant->blob];
  const auto words = table.words(variant->blob);
  if (!words) return words.error();
  const std::vector<std::uint32_t> module(words->begin(), words->end());
  RunRequest request{module, {}};
  const auto bindings = table.bindings_of(blob);
  request.bindings.assign(bindings.begin(), bindings.end());
  request.specs = p.specs;
  request.push = p.push;
  request.groups = p.groups;
  for (const auto& [key, bytes] : p.buffers) request.extents.buffers[key] = bytes;
  for (const PredictedImage& i : p.images) {
    request.extents.images[i.key] = {i.width, i.height, i.depth, i.texel_bytes, i.linear != 0};
    request.formats[i.key] = static_cast<VkFormat>(i.format);
    request.dimensions[i.key] = static_cast<VkImageType>(i.type);
  }
  for (const table::BindingEntry& b : bindings) {
    const std::uint32_t key = std::uint32_t{b.set} << 16 | b.binding;
    if (!request.extents.buffers.contains(key) && !request.extents.images.contains(key)) {
      return Error{ErrorCode::kInvalidArgument, fmt::format("no size of binding {}", b.binding)};
    }
  }
  request.repeats = timing.repeats;
  request.turns = timing.turns;
  request.warm_ms = timing.warm_ms;
  bool hung = false;
  const auto result = run_kernel(device, request, &hung);
  if (hung) {
    fail(result.error().message);
    std::_Exit(1);
  }
  if (!result) return result.error();
  return result->us;
}

int main_of(int argc, char** argv) {
  std::string table_path, predictions_path;
  Timing timing;
  CLI::App app{
      "Times dispatches and holds the times against the bytes they were predicted to move."};
  app.name("spirkiln-access-bench");
  app.set_version_flag("--version", "spirkiln-access-bench " SPIRKILN_VERSION);
  app.add_option("TABLE", table_path, "A baked table of the kernels")
      ->required()
      ->check(tool::not_empty());
  app.add_option("PREDICTIONS", predictions_path, "What 'spirkiln access --cases' wrote")
      ->required()
      ->check(tool::not_empty());
  app.add_option("--repeats", timing.repeats, "Dispatches of one run")->check(CLI::Range(1, 10000));
  app.add_option("--turns", timing.turns, "Runs, of which the best counts")
      ->check(CLI::Range(1, 1000));
  app.add_option("--warm-ms", timing.warm_ms,
                 "What the device works before, since an idle one has slow clocks")
      ->check(CLI::Range(0, 60000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return tool::print_help(app, e);
    return fail(fmt::format("{}\nTry 'spirkiln-access-bench --help'.", e.what()), 2);
  }
  const auto text = tool::read_file(predictions_path, 1 << 20);
  if (!text) return fail(text.error().message);
  const auto predictions = parse_predictions(*text);
  if (!predictions) return fail(predictions_path + ": " + predictions.error().message);
  const auto table = Table::from_file(table_path);
  if (!table) return fail(table.error().message);
  const auto device = open_device({}, table);
  if (!device) return fail(device.error().message);
  fmt::print("{} ({})\n{:>13} {:>12} {:>10} {:>10} {:>9} {:>9}  dispatch\n", device->info().name,
             device->info().driver, "moved", "touched", "predicted", "us", "GB/s", "GFLOP/s");
  std::vector<double> moved, touched, predicted, times;
  for (const Prediction& p : *predictions) {
    const auto us = time_of(*device, *table, p, timing);
    if (!us) return fail(fmt::format("{}: {}", p.label, us.error().message));
    fmt::print("{:13.0f} {:12.0f} {:10.2f} {:10.2f} {:9.1f} {:9.1f}  {}\n", p.moved, p.touched,
               p.us(), *us, p.moved / *us / 1e3, p.flops / *us / 1e3, p.label);
    moved.push_back(p.moved);
    touched.push_back(p.touched);
    predicted.push_back(p.us());
    times.push_back(*us);
  }
  fmt::print(
      "{} dispatches; rank correlation of time with bytes moved {:.3f}, with bytes touched {:.3f}",
      times.size(), rank_correlation(moved, times), rank_correlation(touched, times));
  const bool rates =
      std::any_of(predicted.begin(), predicted.end(), [](double us) { return us > 0; });
  fmt::print("{}\n", rates ? fmt::format(", with the predicted time {:.3f}",
                                         rank_correlation(predicted, times))
                           : std::string("; no time was predicted (access --device FILE)"));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return tool::run_program("spirkiln-access-bench", main_of, argc, argv);
}
