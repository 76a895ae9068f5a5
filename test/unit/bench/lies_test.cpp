// SPDX-License-Identifier: Apache-2.0
// A driver that computes something else must not be measured as if it did its work: one lane of
// every kernel stores zeros, on the modules' way to the driver.
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <string>

#include "gemm_bench.hpp"
#include "peaks.hpp"
#include "support/lying_modules.hpp"
#include "support/use_faults.hpp"

using namespace spirkiln;
using namespace spirkiln::bench;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

// A cache of this test's own, and a driver that is honest in the end.
struct Clean {
  Clean() { ::setenv("SPIRKILN_CACHE", path.c_str(), 1); }
  ~Clean() {
    ::unsetenv("SPIRKILN_CACHE");
    faults().doctor({});
    fs::remove_all(path);
  }
  fs::path path = fs::temp_directory_path() / ("spirkiln-lies-" + std::to_string(::getpid()));
};

void lie() {
  faults().doctor([](std::span<const std::uint32_t> words) {
    return lying(words, Lie::kOneLane).value_or(std::vector<std::uint32_t>());
  });
}

DeviceOptions vulkan() {
  DeviceOptions options;
  options.backend = "vulkan";
  return options;
}

}  // namespace

TEST_CASE("peaks are measured of an honest driver, and of no other") {
  PeakOptions small;
  small.ms = 0.1;
  small.warm_ms = 0;
  small.runs = 1;
  small.copy_mib = 1;
  const Clean clean;
  {
    const auto device = open_peak_device(vulkan());
    if (!device) SKIP(device.error().message);
    const auto peaks = measure_peaks(*device, small);
    if (!peaks) FAIL(peaks.error().message);
    CHECK(peaks->fp32_tflops > 0);
  }
  lie();
  const auto device = open_peak_device(vulkan());
  REQUIRE(device);
  const auto peaks = measure_peaks(*device, small);
  REQUIRE_FALSE(peaks);
  CHECK_THAT(peaks.error().message, ContainsSubstring("kernel peak_fma gives 0 at index"));
}

TEST_CASE("a product is marked wrong where one lane of it is") {
  GemmOptions options;
  options.shape = {37, 30, 53};
  options.forms = {"fp32", "fp16p"};
  options.rounds = 1;
  options.ms = 0.1;
  options.warm_ms = 0;
  const Clean clean;
  for (const bool lies : {false, true}) {
    INFO(lies);
    if (lies) lie();
    const auto device = Device::open(vulkan());
    if (!device) SKIP(device.error().message);
    const auto report = bench_gemm(*device, options);
    if (!report) FAIL(report.error().message);
    std::size_t ran = 0;
    for (const GemmRow& row : report->rows) {
      if (!row.refused.empty()) continue;
      INFO(row.variant);
      CHECK(row.wrong == lies);
      ++ran;
    }
    CHECK(ran >= 2);
  }
}

TEST_CASE("a form that is none, or one of images, is refused") {
  const auto device = Device::open(vulkan());
  if (!device) SKIP(device.error().message);
  for (const char* form : {"image", "fp64", ""}) {
    GemmOptions options;
    options.shape = {4, 4, 4};
    options.forms = {form};
    const auto report = bench_gemm(*device, options);
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::kInvalidArgument);
    CHECK_THAT(report.error().message, ContainsSubstring("fp16sa"));
  }
}
