// SPDX-License-Identifier: Apache-2.0
// The three real graphs on a Vulkan device, in every form, and on the CPU backend, against what
// ONNX Runtime computed in fp32 from the same bytes (test/ort/reference.mjs made test/data/ort).
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "reference_picture.hpp"
#include "spirkiln/spirkiln.hpp"

using namespace spirkiln;

namespace {

const Device& device() {
  static const Device opened = [] {
    DeviceOptions options;
    options.backend = "vulkan";
    auto result = Device::open(options);
    if (!result) FAIL(result.error().message);
    return *result;
  }();
  return opened;
}

// Absent in a build without the backend.
std::optional<Device> cpu_device() {
  if (!SPIRKILN_HAVE_CPU) return std::nullopt;
  DeviceOptions options;
  options.backend = "cpu";
  auto result = Device::open(options);
  if (!result) FAIL(result.error().message);
  CHECK(result->info().backend == "cpu");
  return *result;
}

std::vector<float> expected(const std::string& name) {
  std::ifstream file(std::string(SPIRKILN_ORT_DATA) + "/" + name, std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
  std::vector<float> values(bytes.size() / 4);
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * 4);
  return values;
}

// The first output, and the same again from a second run of the same graph.
TensorF32 run(const std::string& pack, const std::string& variant, std::uint32_t seed,
              std::uint32_t n, std::uint32_t h, std::uint32_t w) {
  auto model = Model::open(std::string(SPIRKILN_PACKS) + "/" + pack);
  if (!model) FAIL(model.error().message);
  GraphOptions options;
  const bool cpu = variant == "cpu";
  if (!cpu) options.variant = variant;
  const std::optional<Device> other = cpu ? cpu_device() : std::nullopt;
  if (cpu && !other) SKIP("this build has no CPU backend");
  auto graph = Graph::create(cpu ? *other : device(), *model, options);
  if (!graph) {
    if (graph.error().code == ErrorCode::kNoVariant) SKIP(graph.error().message);
    FAIL(graph.error().message);
  }
  const auto bytes =
      test::reference_picture(seed, static_cast<int>(n), static_cast<int>(h), static_cast<int>(w));
  auto first = graph->run({n, h, w, bytes});
  if (!first) FAIL(first.error().message);
  auto second = graph->run({n, h, w, bytes});
  if (!second) FAIL(second.error().message);
  REQUIRE(first->front().values == second->front().values);
  return std::move(first->front());
}

// The CPU backend, all forms with buffers, and `images` of those with images: a CPU driver compiles
// every pipeline of theirs, too.
std::string any_variant(std::vector<std::string> images) {
  std::vector<std::string> all = {"cpu", "fp32", "fp16p", "fp16pa", "fp16s", "fp16sa"};
  all.insert(all.end(), images.begin(), images.end());
  return GENERATE_REF(from_range(all));
}

bool is_fp32(const std::string& variant) {
  return variant == "fp32" || variant == "image" || variant == "cpu";
}

// What the product promises of a probability map: 1e-3 where storage and weights are fp32, 0.15
// where they are fp16.
double map_limit(const std::string& variant) { return is_fp32(variant) ? 1e-3 : 0.15; }

}  // namespace

TEST_CASE("detection on a device equals ONNX Runtime") {
  const std::string variant =
      any_variant({"image", "image_fp16p", "image_fp16pa", "image_fp16s", "image_fp16sa"});
  CAPTURE(variant);
  const auto want = expected("det.f32");
  REQUIRE(want.size() == 96 * 160);
  const TensorF32 got = run("det.spkm", variant, 1, 1, 96, 160);
  REQUIRE(got.values.size() == want.size());
  double worst = 0, top = 0;
  std::size_t both = 0, either = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    REQUIRE(std::isfinite(got.values[i]));
    worst = std::max(worst, std::abs(double{got.values[i]} - double{want[i]}));
    top = std::max(top, double{want[i]});
    const bool text = got.values[i] > 0.3f, text_wanted = want[i] > 0.3f;
    both += text && text_wanted ? 1 : 0;
    either += text || text_wanted ? 1 : 0;
  }
  CHECK(top > 0.99);  // the picture must make the graph say something
  CHECK(worst <= map_limit(variant));
  // The mask that boxes are made of. Only pixels at its rim, within map_limit of the threshold, may
  // change sides; characters here are 6 pixels wide, so that is a tenth of it at most.
  REQUIRE(either > 0);
  CHECK(double(both) / double(either) >= 0.9);
}

TEST_CASE("orientation on a device equals ONNX Runtime") {
  const std::string variant = any_variant({"image"});
  CAPTURE(variant);
  const auto want = expected("cls.f32");
  const TensorF32 got = run("cls.spkm", variant, 3, 2, 48, 96);
  REQUIRE(got.values.size() == want.size());
  REQUIRE(want.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(std::abs(got.values[i] - want[i]) <= (is_fp32(variant) ? 1e-3 : 0.05));
  }
  CHECK((got.values[0] > got.values[1]) == (want[0] > want[1]));
  CHECK((got.values[2] > got.values[3]) == (want[2] > want[3]));
}

TEST_CASE("recognition on a device takes ONNX Runtime's path") {
  constexpr std::size_t kClasses = 6625, kSteps = 24, kRow = 2 + (kClasses + 15) / 16;
  const std::string variant = any_variant({"image", "image_fp16p"});
  CAPTURE(variant);
  const auto want = expected("rec.f32");
  REQUIRE(want.size() == kSteps * kRow);
  const TensorF32 got = run("rec.spkm", variant, 2, 2, 48, 96);
  REQUIRE(got.values.size() == kSteps * kClasses);
  double worst = 0;
  std::size_t same = 0;
  for (std::size_t step = 0; step < kSteps; ++step) {
    const float* values = &got.values[step * kClasses];
    const float* row = &want[step * kRow];
    const auto best =
        static_cast<std::size_t>(std::max_element(values, values + kClasses) - values);
    same += best == static_cast<std::size_t>(row[0]) ? 1 : 0;
    double sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) sum += double{values[c]};
    CHECK(std::abs(sum - 1) <= 0.01);
    worst = std::max(worst, std::abs(double{values[static_cast<std::size_t>(row[0])]} - row[1]));
    for (std::size_t k = 0; 2 + k < kRow; ++k) {
      worst = std::max(worst, std::abs(double{values[16 * k]} - double{row[2 + k]}));
    }
  }
  // 24 steps: at least 98 % is all of them.
  CHECK(same == kSteps);
  CHECK(worst <= (is_fp32(variant) ? 1e-3 : 0.15));
}

TEST_CASE("validation has nothing to say about the real graphs") {
  CHECK(device().validation_message_count() == 0);
}
