// SPDX-License-Identifier: Apache-2.0
#include "prove_bench.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <random>

#include "proof/proofs.hpp"

namespace spirkiln::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVerdicts[] = {"right", "flushes", "wrong", "unproven"};

const char* text_of(Verdict v) { return kVerdicts[static_cast<std::size_t>(v)]; }

// $SPIRKILN_CACHE for as long as it lives.
class OwnCache {
 public:
  OwnCache() {
    path_ = fs::temp_directory_path() / fmt::format("spirkiln-prove-{}", std::random_device{}());
    if (const char* before = std::getenv(kName)) before_ = before;
    ::setenv(kName, path_.c_str(), 1);
  }
  ~OwnCache() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    before_ ? ::setenv(kName, before_->c_str(), 1) : ::unsetenv(kName);
  }

 private:
  static constexpr const char* kName = "SPIRKILN_CACHE";
  fs::path path_;
  std::optional<std::string> before_;
};

struct Start {
  Device device;
  std::vector<Proofs::Judgement> judged;
  Proofs::Stats stats;
  double ms = 0;
};

Result<Start> start(const DeviceOptions& options, const Table& table) {
  auto device = Device::open(options);
  if (!device) return std::move(device).error();
  const auto& state = device->state();
  if (state == nullptr) {
    return Error{ErrorCode::kUnsupported, "kernels are proved on Vulkan devices only"};
  }
  const auto variants = variants_for(table, state->caps);
  const auto begin = std::chrono::steady_clock::now();
  auto judged = state->proofs->judge(state, table, variants);
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (!judged) return std::move(judged).error();
  return Start{*device, *std::move(judged), state->proofs->stats(), ms};
}

}  // namespace

Result<ProveReport> bench_proofs(const DeviceOptions& options) {
  const OwnCache cache;
  auto table = open_table();
  if (!table) return std::move(table).error();
  ProveReport report;
  {
    const auto first = start(options, *table);
    if (!first) return first.error();
    report.device = first->device.info();
    report.modules = first->stats.proved;
    report.first_ms = first->ms;
    for (const Proofs::Judgement& j : first->judged) {
      const table::VariantEntry& v = table->variants()[j.variant];
      report.variants.push_back({std::string(table->string(v.name)), j.finding});
    }
  }
  const auto second = start(options, *table);
  if (!second) return second.error();
  report.second_ms = second->ms;
  return report;
}

std::string prove_text(const ProveReport& report) {
  std::string text = fmt::format("{} ({})\n", report.device.name, report.device.driver);
  std::size_t counts[std::size(kVerdicts)] = {};
  for (const ProvedVariant& v : report.variants) {
    ++counts[static_cast<std::size_t>(v.finding.verdict)];
    if (v.finding.verdict == Verdict::kRight) continue;
    text += fmt::format("  {}: {}", v.name, text_of(v.finding.verdict));
    if (v.finding.wrong != 0) {
      text += fmt::format(", {} of {} values, the worst {:.4g} in place of {:.4g} at index {}",
                          v.finding.wrong, v.finding.values, v.finding.got, v.finding.expected,
                          v.finding.at);
    }
    text += v.finding.failure.empty() ? "\n" : fmt::format(" ({})\n", v.finding.failure);
  }
  text += fmt::format("{} variants, {} modules: ", report.variants.size(), report.modules);
  for (std::size_t i = 0; i < std::size(counts); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", counts[i], kVerdicts[i]);
  }
  return text + fmt::format("\n{:.1f} ms at the first start, {:.3f} ms at the second\n",
                            report.first_ms, report.second_ms);
}

std::string prove_json(const ProveReport& report) {
  std::string text = fmt::format(
      "{{\"device\": {:?}, \"driver\": {:?}, \"modules\": {}, \"first_ms\": {:.3f}, "
      "\"second_ms\": {:.3f}, \"variants\": [",
      report.device.name, report.device.driver, report.modules, report.first_ms, report.second_ms);
  const char* separator = "";
  for (const ProvedVariant& v : report.variants) {
    text += fmt::format(
        "{}\n {{\"variant\": {:?}, \"verdict\": \"{}\", \"wrong\": {}, \"values\": {}}}", separator,
        v.name, text_of(v.finding.verdict), v.finding.wrong, v.finding.values);
    separator = ",";
  }
  return text + "\n]}\n";
}

}  // namespace spirkiln::bench
