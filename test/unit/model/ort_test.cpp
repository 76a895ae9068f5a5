// SPDX-License-Identifier: Apache-2.0
// The three real graphs: packed, computed in double precision, and compared with what ONNX Runtime
// computed (test/ort/reference.mjs made test/data/ort).
#include "pack_helpers.hpp"
#include "reference_picture.hpp"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace spirkiln::test;

namespace {

std::vector<float> floats(const std::string& name) {
  std::ifstream file(std::string(SPIRKILN_ORT_DATA) + "/" + name, std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  std::vector<float> values(bytes.size() / 4);
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * 4);
  return values;
}

struct Run {
  ReferenceGraph graph;
  RefTensor full, half;
};

Run run(const std::string& file, std::array<double, 3> mean, std::array<double, 3> std,
        std::uint32_t seed, int n, int h, int w) {
  const std::string path = std::string(SPIRKILN_MODELS) + "/" + file;
  if (!std::filesystem::exists(path)) SKIP("no " << path << ": scripts/fetch-models.sh gets it");
  spirkiln::packer::PackOptions options;
  options.mean = mean;
  options.std = std;
  auto packed = spirkiln::packer::pack_onnx_file(path, options);
  INFO((packed.ok() ? std::string() : packed.error().message));
  REQUIRE(packed.ok());
  Run r{ReferenceGraph(std::move(packed->bytes)), {}, {}};
  const auto x = r.graph.normalise(reference_picture(seed, n, h, w), n, h, w);
  r.full = r.graph.run(x, RefWeights::kFull).at(0);
  r.half = r.graph.run(x, RefWeights::kHiOnly).at(0);
  return r;
}

// ONNX Runtime computes in fp32; 1e-4 is what its own rounding may add up to. The half-precision
// weights alone (arithmetic still exact) must stay well inside 0.15, which whole fp16 runs may use.
constexpr double kFull = 1e-4, kHalf = 0.05;

constexpr std::array<double, 3> kHalves{0.5, 0.5, 0.5};

}  // namespace

TEST_CASE("detection equals ONNX Runtime", "[ort]") {
  const auto want = floats("det.f32");
  REQUIRE(want.size() == 96 * 160);
  const auto r = run("ch_PP-OCRv4_det_infer.onnx", {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, 1,
                     1, 96, 160);
  CHECK(r.graph.nodes().size() <= 81);
  REQUIRE(r.full.v.size() == want.size());
  double full = 0, half = 0, top = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    full = std::fmax(full, std::fabs(r.full.v[i] - want[i]));
    half = std::fmax(half, std::fabs(r.half.v[i] - want[i]));
    top = std::fmax(top, want[i]);
  }
  CHECK(top > 0.99);  // the picture must make the graph say something
  CHECK(full <= kFull);
  CHECK(half <= kHalf);
}

TEST_CASE("orientation equals ONNX Runtime", "[ort]") {
  const auto want = floats("cls.f32");
  REQUIRE(want.size() == 4);
  const auto r = run("ch_ppocr_mobile_v2.0_cls_infer.onnx", kHalves, kHalves, 3, 2, 48, 96);
  CHECK(r.graph.nodes().size() <= 66);
  REQUIRE(r.full.v.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(std::fabs(r.full.v[i] - want[i]) <= kFull);
    CHECK(std::fabs(r.half.v[i] - want[i]) <= kHalf);
  }
}

TEST_CASE("recognition equals ONNX Runtime", "[ort]") {
  constexpr std::size_t kClasses = 6625, kSteps = 24, kRow = 2 + (kClasses + 15) / 16;
  const auto want = floats("rec.f32");
  REQUIRE(want.size() == kSteps * kRow);
  const auto r = run("ch_PP-OCRv4_rec_infer.onnx", kHalves, kHalves, 2, 2, 48, 96);
  CHECK(r.graph.nodes().size() <= 59);
  REQUIRE(r.full.v.size() == kSteps * kClasses);
  double full = 0, half = 0;
  for (std::size_t step = 0; step < kSteps; ++step) {
    const float* row = &want[step * kRow];
    const auto compare = [&](std::size_t c, float value) {
      full = std::fmax(full, std::fabs(r.full.v[step * kClasses + c] - value));
      half = std::fmax(half, std::fabs(r.half.v[step * kClasses + c] - value));
    };
    const auto best = static_cast<std::size_t>(row[0]);
    compare(best, row[1]);
    for (std::size_t k = 0; 2 + k < kRow; ++k) compare(16 * k, row[2 + k]);
    for (std::size_t c = 0; c < kClasses; ++c) {
      REQUIRE(r.full.v[step * kClasses + c] <= r.full.v[step * kClasses + best]);
    }
  }
  CHECK(full <= kFull);
  CHECK(half <= kHalf);
}

TEST_CASE("sizes that the graphs take are those that ONNX Runtime takes", "[ort]") {
  const auto rec = run("ch_PP-OCRv4_rec_infer.onnx", kHalves, kHalves, 2, 1, 48, 16);
  CHECK_NOTHROW(rec.graph.shapes(6, 48, 320));
  CHECK_THROWS(rec.graph.shapes(6, 32, 320));
  const auto det = run("ch_PP-OCRv4_det_infer.onnx", kHalves, kHalves, 2, 1, 32, 32);
  for (int h = 1; h <= 128; ++h) {
    CAPTURE(h);
    // Where both halves of the graph agree in size. ONNX Runtime takes the same ones, and 1 to 4,
    // where it stretches a size of 1 along the picture, which no picture means.
    if (h % 32 == 0 || h % 32 >= 29) {
      CHECK_NOTHROW(det.graph.shapes(1, h, 960));
    } else {
      CHECK_THROWS(det.graph.shapes(1, h, 960));
    }
  }
}
