// SPDX-License-Identifier: Apache-2.0
// Peaks through their file, and what profiles make of them, worked out by hand.
#include <unistd.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <filesystem>
#include <fstream>

#include "json.hpp"
#include "prof_bench.hpp"

using namespace spirkiln;
using namespace spirkiln::bench;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

namespace {

Peaks round_peaks() {
  Peaks p;
  p.device = "a \"device\"";
  p.driver = "its driver";
  p.fp32_tflops = 10;
  p.fp16_tflops = 20;
  p.matrices = {{"16x16x16", 80}, {"16x8x16", 100}};
  p.copy_bytes = 64u << 20;
  p.copy_gbs = 1000;
  p.shared_gbs = 5000;
  p.step_us = 2;
  return p;
}

// A file of the test's own that is gone behind it.
struct TextFile {
  std::string path;
  explicit TextFile(const std::string& text) {
    static int count = 0;
    path = (std::filesystem::temp_directory_path() /
            ("bench-test-" + std::to_string(getpid()) + "-" + std::to_string(count++)))
               .string();
    std::ofstream(path) << text;
  }
  ~TextFile() { std::filesystem::remove(path); }
};

StepTime step(const std::string& kernel, const std::string& variant, std::uint64_t read,
              std::uint64_t written, double flop, double us) {
  StepTime s;
  s.node = "of " + kernel;
  s.kernel = kernel;
  s.variant = variant;
  s.groups = {3, 2, 1};
  s.bytes_read = read;
  s.bytes_written = written;
  s.flop = flop;
  s.us = us;
  return s;
}

}  // namespace

TEST_CASE("peaks come back from what was printed of them") {
  const Peaks p = round_peaks();
  const TextFile file(peaks_json(p));
  const auto again = read_peaks(file.path);
  if (!again) FAIL(again.error().message);
  CHECK(again->device == p.device);
  CHECK(again->driver == p.driver);
  CHECK(again->fp32_tflops == p.fp32_tflops);
  CHECK(again->fp16_tflops == p.fp16_tflops);
  CHECK(again->copy_bytes == p.copy_bytes);
  CHECK(again->copy_gbs == p.copy_gbs);
  CHECK(again->shared_gbs == p.shared_gbs);
  CHECK(again->step_us == p.step_us);
  REQUIRE(again->matrices.size() == 2);
  CHECK(again->matrices[1].shape == "16x8x16");
  CHECK(again->matrix_tflops() == 100);
}

TEST_CASE("what is no file of peaks is an error that names the file and what it lacks") {
  const std::string whole = peaks_json(round_peaks());
  CHECK_FALSE(read_peaks("/no/such/peaks.json"));
  const auto without = [&](const std::string& what, const std::string& instead) {
    std::string text = whole;
    text.replace(text.find(what), what.size(), instead);
    return text;
  };
  for (const auto& [text, said] :
       {std::pair<std::string, std::string>{"[]", "an object"},
        {without("\"copy_gbs\"", "\"copy\""), "copy_gbs"},
        {without("\"copy_gbs\": 1000", "\"copy_gbs\": -1"), "copy_gbs"},
        {without("\"copy_gbs\": 1000", "\"copy_gbs\": \"fast\""), "copy_gbs"},
        {without("\"device\"", "\"devices\""), "device"},
        {without("\"tflops\"", "\"flops\""), "tflops"},
        {whole.substr(0, whole.size() / 2), "not JSON"}}) {
    INFO(text);
    const TextFile file(text);
    const auto refused = read_peaks(file.path);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kCorrupt);
    CHECK_THAT(refused.error().message, ContainsSubstring(file.path));
    CHECK_THAT(refused.error().message, ContainsSubstring(said));
  }
}

TEST_CASE("a row's floor is the longer of its bytes and its operations") {
  ProfReport report;
  report.peaks = round_peaks();
  add_rows(
      {// 8 MB at 1000 GB/s are 8 us; 10 MFLOP at 10 TFLOP/s are 1.
       step("binary", "binary_fp16s", 6'000'000, 2'000'000, 1e7, 16),
       // 200 MFLOP: 20 us in single precision, 10 in half, 2 by the better of the matrices.
       step("gemm_nc", "gemm_nc_fp16s", 1'000'000, 0, 2e8, 40),
       step("gemm_nc", "gemm_nc_fp16sa_direct", 1'000'000, 0, 2e8, 40),
       step("gemm_coopmat", "gemm_coopmat_fp16p", 1'000'000, 0, 2e8, 4)},
      &report);
  REQUIRE(report.rows.size() == 4);
  const double floors[] = {8, 20, 10, 2}, shares[] = {0.5, 0.5, 0.25, 0.5};
  for (std::size_t i = 0; i < 4; ++i) {
    INFO(i);
    CHECK_THAT(report.rows[i].floor_us, WithinRel(floors[i], 1e-9));
    CHECK_THAT(report.rows[i].of_roofline, WithinRel(shares[i], 1e-9));
    CHECK(report.rows[i].by_bytes == (i == 0));
    CHECK_THAT(report.rows[i].share, WithinRel(report.rows[i].step.us / 100, 1e-9));
  }
  CHECK_THAT(report.sum_us, WithinRel(100.0, 1e-9));
  CHECK_THAT(report.floor_us, WithinRel(40.0, 1e-9));
  REQUIRE(report.kernels.size() == 3);
  CHECK(report.kernels[0].kernel == "gemm_nc");
  CHECK(report.kernels[0].dispatches == 2);
  CHECK_THAT(report.kernels[0].us, WithinRel(80.0, 1e-9));
  CHECK_THAT(report.kernels[0].floor_us, WithinRel(30.0, 1e-9));
  CHECK(report.kernels[2].kernel == "gemm_coopmat");
}

TEST_CASE("without matrices or half arithmetic the peak is that of single precision") {
  ProfReport report;
  report.peaks = round_peaks();
  report.peaks.fp16_tflops = 0;
  report.peaks.matrices.clear();
  add_rows({step("gemm_coopmat", "gemm_coopmat_fp16p", 8, 8, 1e8, 20),
            step("gemm_nc", "gemm_nc_fp16pa", 8, 8, 1e8, 20)},
           &report);
  for (const ProfRow& row : report.rows) CHECK_THAT(row.floor_us, WithinRel(10.0, 1e-9));
}

TEST_CASE("a step without time, bytes or operations divides nothing by nothing") {
  ProfReport report;
  add_rows({step("nothing", "nothing", 0, 0, 0, 0)}, &report);
  CHECK(report.rows[0].of_roofline == 0);
  CHECK(report.rows[0].share == 0);
}

TEST_CASE("text and JSON say the same of a report") {
  ProfReport report;
  report.device = "d";
  report.pack = "p.spkm";
  report.shape = "1x2x3";
  report.variant = "fp16s";
  report.peaks = round_peaks();
  add_rows({step("a", "a_fp16s", 10, 20, 30, 1), step("b", "b_fp16s", 40, 50, 60, 3)}, &report);
  const auto json = json::parse(prof_json(report), "the report");
  if (!json) FAIL(json.error().message);
  const auto& dispatches = json->find("dispatches")->array;
  REQUIRE(dispatches.size() == 2);
  CHECK(dispatches[1].find("node")->string == "of b");
  CHECK(dispatches[1].find("bytes_read")->number == 40);
  CHECK(dispatches[1].find("bytes_written")->number == 50);
  CHECK(dispatches[1].find("share")->number == 0.75);
  CHECK(json->find("peaks")->find("copy_gbs")->number == 1000);
  const std::string all = prof_text(report, 0), one = prof_text(report, 1);
  CHECK(all.find("a_fp16s: of a") < all.find("b_fp16s: of b"));
  CHECK_THAT(one, ContainsSubstring("b_fp16s: of b"));
  CHECK_THAT(one, !ContainsSubstring("a_fp16s: of a"));
}
