// SPDX-License-Identifier: Apache-2.0
// What single nodes of a graph compute, and which of them made a NaN.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>

#include "reference_graph.hpp"
#include "spirkiln/spirkiln.hpp"
#include "support/pack_builder.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;
using model::Op;

namespace {

// Backend names that are there to be tested.
std::vector<std::string> backends() {
  std::vector<std::string> names = {"vulkan"};
  if (SPIRKILN_HAVE_CPU) names.emplace_back("cpu");
  return names;
}

Graph graph_on(const std::string& backend, const PackBuilder& pack,
               const GraphOptions& graph_options = {}) {
  DeviceOptions options;
  options.backend = backend;
  auto device = Device::open(options);
  if (!device) FAIL(device.error().message);
  auto model = Model::from_bytes(pack.build(), "test pack");
  if (!model) FAIL(model.error().message);
  auto graph = Graph::create(*device, *model, graph_options);
  if (!graph) FAIL(graph.error().message);
  return *graph;
}

std::vector<std::uint8_t> noise(std::size_t pixels) {
  std::vector<std::uint8_t> px(pixels * 4);
  std::uint32_t state = 77;
  for (std::size_t i = 0; i < px.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    px[i] = i % 4 == 3 ? 255 : static_cast<std::uint8_t>(state >> 24);
  }
  return px;
}

// Three nodes, the second of which divides the input by 0: infinite where it is not 0. The third
// hides that again.
PackBuilder dividing() {
  PackBuilder b;
  const auto tensor = [&] { return b.tensor(b.n(), b.h(), b.w(), 3); };
  const auto one = tensor(), two = tensor(), three = tensor(), four = tensor();
  const auto affine = [&](std::uint32_t to, std::uint32_t from, float scale) {
    b.node(Op::kAffine, to, {from}, {b.floats({scale, scale, scale, 0}), b.floats({0, 0, 0, 0})});
  };
  affine(one, b.input(), 0);
  b.node(Op::kBinary, two, {b.input(), one}, {}, {3});
  affine(three, two, 1);
  b.node(Op::kBinary, four, {three, two}, {}, {3});  // inf / inf
  b.output(four);
  return b;
}

}  // namespace

TEST_CASE("each node's values are those of the oracle") {
  const PackBuilder pack = mixed_graph();
  const auto bytes = pack.build();
  std::vector<std::uint8_t> raw(bytes.size());
  std::memcpy(raw.data(), bytes.data(), raw.size());
  const ReferenceGraph reference(raw);
  const auto px = noise(2 * 9 * 11);
  std::vector<RefTensor> expected;
  reference.run(reference.normalise(px, 2, 9, 11), RefWeights::kFull,
                [&](std::size_t, const RefTensor& t) { expected.push_back(t); });
  for (const std::string& backend : backends()) {
    GraphOptions options;
    if (backend == "vulkan") options.variant = "fp32";
    Graph graph = graph_on(backend, pack, options);
    const auto nodes = graph.nodes();
    REQUIRE(nodes.size() == expected.size());
    // All of them, in pieces of two.
    for (std::size_t first = 0; first < nodes.size(); first += 2) {
      const std::size_t count = std::min<std::size_t>(2, nodes.size() - first);
      const auto got = graph.run_nodes({2, 9, 11, px}, first, count);
      if (!got) FAIL(got.error().message);
      REQUIRE(got->size() == count);
      for (std::size_t i = 0; i < count; ++i) {
        const RefTensor& want = expected[first + i];
        const TensorF32& is = (*got)[i];
        INFO(backend << ", node " << first + i << " (" << nodes[first + i].op << ")");
        if (backend == "cpu" && is.n == 0) {
          CHECK(nodes[first + i].op == "resize");  // part of a concat
          continue;
        }
        REQUIRE(is.values.size() == want.v.size());
        CHECK((static_cast<int>(is.h) == want.h && static_cast<int>(is.c) == want.c));
        double worst = 0, largest = 0;
        for (std::size_t k = 0; k < want.v.size(); ++k) {
          worst = std::max(worst, std::abs(is.values[k] - want.v[k]));
          largest = std::max(largest, std::abs(want.v[k]));
        }
        CHECK(worst <= 64 * 0x1p-23 * largest);
      }
    }
    // The graph itself still runs as before.
    CHECK(graph.run({2, 9, 11, px}));
  }
}

TEST_CASE("nodes that are not there, and pictures of the wrong size, are refused") {
  for (const std::string& backend : backends()) {
    Graph graph = graph_on(backend, dividing());
    const auto px = noise(6);
    for (const auto& [first, count] :
         {std::pair<std::size_t, std::size_t>{4, 1}, {0, 5}, {3, 2}, {0, 0}, {SIZE_MAX, 2}}) {
      const auto out = graph.run_nodes({1, 2, 3, px}, first, count);
      REQUIRE_FALSE(out);
      CHECK(out.error().code == ErrorCode::kInvalidArgument);
      CHECK_THAT(out.error().message, ContainsSubstring("the graph has 4"));
    }
    CHECK_FALSE(graph.run_nodes({1, 2, 2, px}, 0, 1));
  }
}

TEST_CASE("a result that is no number names the first node that made one") {
  for (const std::string& backend : backends()) {
    INFO(backend);
    Graph graph = graph_on(backend, dividing());
    const auto px = noise(6);
    for (int round = 0; round < 2; ++round) {  // the graph stays usable
      const auto out = graph.run({1, 2, 3, px});
      REQUIRE_FALSE(out);
      CHECK(out.error().code == ErrorCode::kNotFinite);
      CHECK_THAT(out.error().message, ContainsSubstring("first made by node 1 (binary n1)"));
    }
    const auto inside = graph.run_nodes({1, 2, 3, px}, 1, 1);
    if (!inside) FAIL(inside.error().message);
    CHECK_FALSE(std::isfinite((*inside)[0].values[0]));
  }
}

TEST_CASE("the best class of a graph's outputs is that of all their values") {
  for (const std::string& backend : backends()) {
    GraphOptions options;
    if (backend == "vulkan") options.variant = "fp32";
    Graph all = graph_on(backend, mixed_graph(), options);
    options.best_class = true;
    Graph best = graph_on(backend, mixed_graph(), options);
    CHECK(best.output_channels() == all.output_channels());
    const auto px = noise(2 * 9 * 11);
    const auto values = all.run({2, 9, 11, px});
    const auto classes = best.run({2, 9, 11, px});
    if (!classes) FAIL(classes.error().message);
    REQUIRE(classes->size() == values->size());
    for (std::size_t i = 0; i < values->size(); ++i) {
      const TensorF32& v = (*values)[i];
      const TensorF32& b = (*classes)[i];
      INFO(backend << ", output " << i);
      CHECK((b.n == v.n && b.h == v.h && b.w == v.w && b.c == 2));
      REQUIRE(b.values.size() * v.c == v.values.size() * 2);
      for (std::size_t p = 0; p * v.c < v.values.size(); ++p) {
        const auto row = v.values.begin() + static_cast<std::ptrdiff_t>(p * v.c);
        const auto top = std::max_element(row, row + v.c);
        CHECK(b.values[p * 2] == static_cast<float>(top - row));
        CHECK(std::abs(b.values[p * 2 + 1] - *top) <= 0x1p-20f * std::abs(*top));
      }
    }
    // Nor does it hide what is no number.
    Graph dividing_graph = graph_on(backend, dividing(), options);
    const auto bad = dividing_graph.run({1, 2, 3, noise(6)});
    REQUIRE_FALSE(bad);
    CHECK(bad.error().code == ErrorCode::kNotFinite);
  }
}

TEST_CASE("a graph's outputs as bytes are 255 times all their values") {
  for (const std::string& backend : backends()) {
    GraphOptions options;
    if (backend == "vulkan") options.variant = "fp32";
    Graph floats = graph_on(backend, mixed_graph(), options);
    options.bytes = true;
    Graph bytes = graph_on(backend, mixed_graph(), options);
    const auto px = noise(2 * 9 * 11);
    const auto values = floats.run({2, 9, 11, px});
    const auto made = bytes.run_bytes({2, 9, 11, px});
    if (!made) FAIL(made.error().message);
    const auto shares = bytes.run({2, 9, 11, px});
    if (!shares) FAIL(shares.error().message);
    REQUIRE((made->size() == values->size() && shares->size() == values->size()));
    bool some = false;
    for (std::size_t i = 0; i < values->size(); ++i) {
      const TensorF32& v = (*values)[i];
      const TensorU8& b = (*made)[i];
      INFO(backend << ", output " << i);
      CHECK((b.n == v.n && b.h == v.h && b.w == v.w && b.c == v.c));
      REQUIRE(b.values.size() == v.values.size());
      REQUIRE((*shares)[i].values.size() == v.values.size());
      for (std::size_t k = 0; k < v.values.size(); ++k) {
        const double exact = 255.0 * std::clamp(double{v.values[k]}, 0.0, 1.0);
        CHECK(std::abs(b.values[k] - exact) <= 0.501);
        CHECK(std::abs((*shares)[i].values[k] * 255.0 - b.values[k]) < 1e-3);
        some = some || (b.values[k] != 0 && b.values[k] != 255);
      }
    }
    CHECK(some);
    // Nor do they hide what is no number; what makes it is named as ever.
    Graph dividing_graph = graph_on(backend, dividing(), options);
    const auto bad = dividing_graph.run_bytes({1, 2, 3, noise(6)});
    REQUIRE_FALSE(bad);
    CHECK(bad.error().code == ErrorCode::kNotFinite);
    CHECK_THAT(bad.error().message, ContainsSubstring("first made by node 1 (binary n1)"));

    const auto refused = floats.run_bytes({2, 9, 11, px});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kInvalidArgument);
    CHECK_THAT(refused.error().message, ContainsSubstring("GraphOptions::bytes"));
    options.best_class = true;
    DeviceOptions device_options;
    device_options.backend = backend;
    const auto device = Device::open(device_options);
    const auto model = Model::from_bytes(mixed_graph().build(), "test pack");
    REQUIRE((device.ok() && model.ok()));
    CHECK_FALSE(Graph::create(*device, *model, options));
  }
}

TEST_CASE("a profile has every dispatch, with its node, kernel, bytes and operations") {
  const PackBuilder pack = dividing();
  auto graph = graph_on("vulkan", pack);
  const std::uint32_t h = 5, w = 9;
  // A picture without a pixel of 0, so that nothing divides by it.
  const std::vector<std::uint8_t> bytes(std::size_t{h} * w * 4, 255);
  const auto times = graph.profile({1, h, w, bytes}, 2, 2);
  if (!times && times.error().message.find("no timestamps") != std::string::npos) {
    SKIP(times.error().message);
  }
  if (!times) FAIL(times.error().message);
  // The picture's bytes in, four nodes, floats out.
  REQUIRE(times->size() == 6);
  CHECK(times->front().node == "input");
  CHECK(times->front().kernel == "normalize");
  CHECK_THAT(times->back().node, Catch::Matchers::StartsWith("output "));
  CHECK(times->back().kernel == "unpack");
  const std::string variant = graph.variant();
  const std::uint64_t tensor = std::uint64_t{h} * w * (variant == "fp32" ? 16 : 8);
  CHECK(times->front().bytes_written == tensor);
  CHECK(times->back().bytes_read == tensor);
  CHECK(times->back().bytes_written == std::uint64_t{h} * w * 3 * 4);  // three channels, tight
  for (const StepTime& t : *times) {
    INFO(t.node << " " << t.variant);
    CHECK_THAT(t.variant, Catch::Matchers::StartsWith(t.kernel));
    CHECK(t.bytes_read > 0);
    CHECK(t.groups[0] * t.groups[1] * t.groups[2] > 0);
    CHECK(std::isfinite(t.us));
    CHECK(t.us >= 0);
  }
  // The second node reads the picture's tensor and the first node's result.
  CHECK((*times)[2].kernel == "binary");
  CHECK((*times)[2].bytes_read == 2 * tensor);
  CHECK((*times)[2].bytes_written == tensor);
}

TEST_CASE("a profile refuses what makes no sense, and leaves the graph usable") {
  const PackBuilder pack = mixed_graph();
  for (const std::string& backend : backends()) {
    INFO(backend);
    auto graph = graph_on(backend, pack);
    const auto bytes = noise(8 * 12);
    const Pictures pictures{1, 8, 12, bytes};
    const auto before = graph.run(pictures);
    if (!before) FAIL(before.error().message);
    for (const auto& [repeats, rounds] : {std::pair{0u, 1u}, {1u, 0u}, {1001u, 1u}, {1u, 1001u}}) {
      const auto refused = graph.profile(pictures, repeats, rounds);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == ErrorCode::kInvalidArgument);
    }
    const auto profile = graph.profile(pictures, 3, 1);
    if (backend == "cpu") {
      REQUIRE_FALSE(profile);
      CHECK(profile.error().code == ErrorCode::kUnsupported);
    }
    // Steps that ran more than once leave nothing behind.
    const auto after = graph.run(pictures);
    if (!after) FAIL(after.error().message);
    REQUIRE(after->size() == before->size());
    for (std::size_t i = 0; i < after->size(); ++i) {
      CHECK((*after)[i].values == (*before)[i].values);
    }
  }
}
