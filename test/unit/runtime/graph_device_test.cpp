// SPDX-License-Identifier: Apache-2.0
// Whole graphs on a device, through the C++ and the C interface, with validation where it is
// installed.
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "graph/executor.hpp"
#include "graph/pipelines.hpp"
#include "loader/device.hpp"
#include "reference_graph.hpp"
#include "spirkiln/spirkiln.h"
#include "spirkiln/spirkiln.hpp"
#include "support/pack_builder.hpp"
#include "support/watchdog.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SPIRKILN_ADDRESS_SANITIZER
#endif
#endif

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::string>& notes() {
  static std::vector<std::string> list;
  return list;
}

Device open_device() {
  DeviceOptions options;
  options.backend = "vulkan";
  options.message = [](Severity, std::string_view text) { notes().emplace_back(text); };
  auto device = Device::open(options);
  if (!device) FAIL(device.error().message);
  return *device;
}

// One device for all cases; the last case counts its validation messages.
Device& shared_device() {
  static Device device = open_device();
  return device;
}

Model model_of(const PackBuilder& pack) {
  auto model = Model::from_bytes(pack.build(), "test pack");
  if (!model) FAIL(model.error().message);
  return *model;
}

std::vector<std::uint8_t> noise(std::uint32_t n, std::uint32_t h, std::uint32_t w) {
  std::vector<std::uint8_t> px(std::size_t{4} * n * h * w);
  std::uint32_t state = n * 73 + h * 31 + w;
  for (std::size_t i = 0; i < px.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    px[i] = static_cast<std::uint8_t>(state >> 24);
    if (i % 4 == 3) px[i] = i % 28 == 3 ? 0 : 255;  // some pixels do not count
  }
  return px;
}

Graph graph_of(const Model& model, const std::string& variant, std::size_t max_plans = 32) {
  GraphOptions options;
  options.variant = variant;
  options.max_plans = max_plans;
  auto graph = Graph::create(shared_device(), model, options);
  if (!graph) FAIL(graph.error().message);
  return *graph;
}

std::vector<TensorF32> run(Graph& graph, std::uint32_t n, std::uint32_t h, std::uint32_t w) {
  const auto px = noise(n, h, w);
  auto out = graph.run({n, h, w, px});
  if (!out) FAIL(out.error().message);
  return *out;
}

bool is_fp32(const std::string& variant) { return variant == "fp32" || variant == "image"; }
double eps_of(const std::string& variant) { return is_fp32(variant) ? 0x1p-23 : 0x1p-10; }

struct Shape {
  std::uint32_t n, h, w;
};

}  // namespace

TEST_CASE("a graph of most operators is what its pack says, in every variant") {
  const PackBuilder pack = mixed_graph();
  const auto bytes = pack.build();
  std::vector<std::uint8_t> raw(bytes.size());
  std::memcpy(raw.data(), bytes.data(), raw.size());
  const ReferenceGraph reference(raw);
  const Model model = model_of(pack);
  for (const std::string& variant : variant_names()) {
    Graph graph = graph_of(model, variant);
    CHECK(graph.variant() == variant);
    for (const Shape s : {Shape{1, 7, 9}, {2, 2, 2}, {3, 33, 17}, {1, 64, 5}}) {
      INFO(variant << " " << s.n << "x" << s.h << "x" << s.w);
      const auto px = noise(s.n, s.h, s.w);
      const auto expected =
          reference.run(reference.normalise(px, static_cast<int>(s.n), static_cast<int>(s.h),
                                            static_cast<int>(s.w)),
                        is_fp32(variant) ? RefWeights::kFull : RefWeights::kHiOnly);
      const auto got = run(graph, s.n, s.h, s.w);
      REQUIRE(got.size() == expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        REQUIRE(got[i].values.size() == expected[i].v.size());
        CHECK(static_cast<int>(got[i].c) == expected[i].c);
        CHECK(static_cast<int>(got[i].h) == expected[i].h);
        double worst = 0, largest = 0;
        for (std::size_t k = 0; k < got[i].values.size(); ++k) {
          worst = std::max(worst, std::abs(got[i].values[k] - expected[i].v[k]));
          largest = std::max(largest, std::abs(expected[i].v[k]));
        }
        // Ten layers, each rounding a few times to the variant's storage or arithmetic.
        CHECK(worst <= 32 * eps_of(variant) * largest);
      }
    }
  }
}

TEST_CASE("the same picture gives the same bits, whatever ran in between") {
  const Model model = model_of(mixed_graph());
  Graph graph = graph_of(model, "", 2);
  const auto first = run(graph, 2, 19, 23);
  for (const Shape s : {Shape{1, 5, 5}, {1, 90, 70}, {4, 8, 8}, {1, 6, 200}})
    run(graph, s.n, s.h, s.w);
  const auto again = run(graph, 2, 19, 23);
  REQUIRE(first.size() == again.size());
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(first[i].values == again[i].values);
}

TEST_CASE("memory is bound by the largest shape, not by the number of shapes") {
  const Model model = model_of(mixed_graph());
  Graph largest = graph_of(model, "");
  run(largest, 2, 70, 90);
  Graph graph = graph_of(model, "", 4);
  RunTimings timings;
  for (std::uint32_t i = 0; i < 60; ++i) run(graph, 1 + i % 2, 10 + i, 90 - i);
  run(graph, 2, 70, 90);
  CHECK(graph.device_bytes() <= largest.device_bytes() * 5 / 4);
  const auto px = noise(2, 70, 90);
  REQUIRE(graph.run({2, 70, 90, px}, &timings));
  CHECK(timings.plan_ms == 0);  // the plan of before
  CHECK(timings.dispatches > 5);
}

TEST_CASE("a device with memory of its own gets staging, copies and waves, and the same result") {
  // The same driver, told to be a card: weights go through staging, results through a copy, and
  // independent steps share barriers. Validation watches the hazards of that, too.
  Device card = open_device();
  card.state()->caps.unified_memory = false;
  card.state()->caps.type = "discrete";
  const Model model = model_of(mixed_graph());
  GraphOptions options;
  options.variant = "fp32";
  auto graph = Graph::create(card, model, options);
  REQUIRE(graph);
  Graph plain = graph_of(model, "fp32");
  for (const Shape s : {Shape{1, 11, 8}, {2, 40, 33}, {1, 11, 8}}) {
    const auto px = noise(s.n, s.h, s.w);
    auto got = graph->run({s.n, s.h, s.w, px});
    if (!got) FAIL(got.error().message);
    const auto expected = run(plain, s.n, s.h, s.w);
    REQUIRE(got->size() == expected.size());
    // The kernels are chosen for a card, so sums may be taken in another order.
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE((*got)[i].values.size() == expected[i].values.size());
      for (std::size_t k = 0; k < expected[i].values.size(); ++k) {
        REQUIRE(std::abs((*got)[i].values[k] - expected[i].values[k]) < 1e-5);
      }
    }
  }
  if (validation_in_environment()) CHECK(card.validation_message_count() == 0);
}

TEST_CASE("a prepared shape is planned before its first run") {
  const Model model = model_of(mixed_graph());
  Graph graph = graph_of(model, "");
  REQUIRE(graph.prepare(1, 14, 15));
  RunTimings timings;
  const auto px = noise(1, 14, 15);
  REQUIRE(graph.run({1, 14, 15, px}, &timings));
  CHECK(timings.plan_ms == 0);
  CHECK_FALSE(graph.prepare(1, 1, 15));  // breaks the pack's constraint
  CHECK_FALSE(graph.prepare(0, 14, 15));
}

TEST_CASE("errors name the reason and leave the graph usable") {
  const Model model = model_of(mixed_graph());
  Graph graph = graph_of(model, "fp32");
  const auto before = run(graph, 1, 16, 16);

  const std::vector<std::uint8_t> few(10);
  const auto mismatch = graph.run({1, 16, 16, few});
  REQUIRE_FALSE(mismatch);
  CHECK_THAT(mismatch.error().message, ContainsSubstring("there are 10"));
  CHECK_FALSE(graph.run({0, 0, 0, {}}));
  CHECK_FALSE(graph.run({0xffffffffu, 0xffffffffu, 0xffffffffu, few}));

  const auto constraint = graph.run({1, 1, 16, noise(1, 1, 16)});
  REQUIRE_FALSE(constraint);
  CHECK_THAT(constraint.error().message, ContainsSubstring("at least two rows"));

  // The concatenation has 12 channels at a quarter of the pixels: beyond any single binding of a
  // CPU driver (128 MiB), and a clear error, too, where a device binds more.
  if (shared_device().state()->caps.max_storage_range <= 1u << 28) {
    const std::vector<std::uint8_t> big(std::size_t{4} * 5000 * 5000, 255);
    const auto range = graph.run({1, 5000, 5000, big});
    REQUIRE_FALSE(range);
    CHECK(range.error().code == ErrorCode::kUnsupported);
    CHECK_THAT(range.error().message, ContainsSubstring("maxStorageBufferRange"));
  }
  const auto after = run(graph, 1, 16, 16);
  CHECK(after[0].values == before[0].values);

  GraphOptions wrong;
  wrong.variant = "fp12";
  CHECK_FALSE(Graph::create(shared_device(), model, wrong));
  ::setenv("SPIRKILN_VARIANT", "fp16pa", 1);
  Graph forced = graph_of(model, "");
  ::unsetenv("SPIRKILN_VARIANT");
  CHECK(forced.variant() == "fp16pa");
}

TEST_CASE("memory that is not there is an error that leaves everything usable") {
  const auto& state = shared_device().state();
  for (const std::uint64_t bytes : {std::uint64_t{1} << 40, std::uint64_t{1} << 60}) {
    const auto buffer = Buffer::create(state, bytes, MemoryUse::kDevice);
    REQUIRE_FALSE(buffer);
    CHECK(buffer.error().code == ErrorCode::kOutOfMemory);
    CHECK_THAT(buffer.error().message, ContainsSubstring(std::to_string(bytes)));
  }
  CHECK(Buffer::create(state, 1024, MemoryUse::kDevice));

  // A block that could not grow is gone; the next run brings it back.
  auto executor = Executor::create(state);
  REQUIRE(executor);
  REQUIRE((*executor)->reserve(Home::kArena, 4096));
  CHECK_FALSE((*executor)->reserve(Home::kArena, std::uint64_t{1} << 60));
  CHECK((*executor)->bytes() == 0);
  CHECK((*executor)->reserve(Home::kArena, 4096));
}

TEST_CASE("what a device cannot take goes to the CPU where that was left open") {
  if (!SPIRKILN_HAVE_CPU) SKIP("this build has no CPU backend");
  const Model model = model_of(mixed_graph());
  const auto px = noise(1, 40, 30);
  // Validation would mean that nothing but the device may run.
  const char* validation = std::getenv("SPIRKILN_VALIDATION");
  const std::string kept = validation != nullptr ? validation : "";
  ::unsetenv("SPIRKILN_VALIDATION");
  DeviceOptions options;
  options.index = shared_device().info().index;
  for (const char* backend : {"auto", "vulkan"}) {
    INFO(backend);
    options.backend = backend;
    auto device = Device::open(options);
    REQUIRE(device);
    CHECK(device->info().backend == "vulkan");
    // Enough for small pictures only.
    device->state()->caps.max_storage_range = 1 << 14;
    std::vector<std::string> said;
    GraphOptions graph_options;
    graph_options.message = [&](Severity, std::string_view text) { said.emplace_back(text); };
    auto graph = Graph::create(*device, model, graph_options);
    REQUIRE(graph);
    RunTimings timings;
    CHECK(graph->run({1, 4, 4, noise(1, 4, 4)}));
    CHECK(said.empty());
    const auto got = graph->run({1, 40, 30, px}, &timings);
    if (options.backend == "vulkan") {
      REQUIRE_FALSE(got);
      CHECK(got.error().code == ErrorCode::kUnsupported);
      continue;
    }
    if (!got) FAIL(got.error().message);
    REQUIRE(said.size() == 1);
    CHECK_THAT(said[0],
               ContainsSubstring("the CPU runs") && ContainsSubstring("maxStorageBufferRange"));
    Graph whole = graph_of(model, "fp32");
    const auto expected = run(whole, 1, 40, 30);
    REQUIRE(got->size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE((*got)[i].values.size() == expected[i].values.size());
      for (std::size_t k = 0; k < expected[i].values.size(); ++k) {
        REQUIRE(std::abs((*got)[i].values[k] - expected[i].values[k]) < 1e-4);
      }
    }
    // Said once for each shape, and what can never work is the device's error.
    CHECK(graph->run({1, 40, 30, px}));
    CHECK(said.size() == 1);
    CHECK_FALSE(graph->prepare(1, 1, 15));
    // A form that is asked for is no wish that the CPU can grant.
    graph_options.variant = "fp32";
    auto strict = Graph::create(*device, model, graph_options);
    REQUIRE(strict);
    CHECK_FALSE(strict->run({1, 40, 30, px}));
  }
  if (validation != nullptr) ::setenv("SPIRKILN_VALIDATION", kept.c_str(), 1);
}

TEST_CASE("the user's wishes reach a graph, and what they leave nothing of goes on in fp32") {
  const Model model = model_of(mixed_graph());
  Graph plain = graph_of(model, "fp32");
  const auto expected = run(plain, 1, 40, 30);
  const auto px = noise(1, 40, 30);
  // The same driver, told to be a card: halves are its choice.
  Device card = open_device();
  card.state()->caps.unified_memory = false;
  card.state()->caps.type = "discrete";
  const auto near = [&](const std::vector<TensorF32>& got, float bound) {
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      REQUIRE(got[i].values.size() == expected[i].values.size());
      for (std::size_t k = 0; k < expected[i].values.size(); ++k) {
        REQUIRE(std::abs(got[i].values[k] - expected[i].values[k]) < bound);
      }
    }
  };
  std::vector<std::string> said;
  GraphOptions options;
  options.no_proof = true;
  options.message = [&](Severity, std::string_view text) { said.emplace_back(text); };
  const auto made = [&] {
    auto graph = Graph::create(card, model, options);
    if (!graph) FAIL(graph.error().message);
    return *graph;
  };
  SECTION("one kernel of 16 bits less, and another one does its work") {
    options.avoid = "gemm_nc,conv_nc";
    Graph graph = made();
    const auto got = graph.run({1, 40, 30, px});
    if (!got) FAIL(got.error().message);
    near(*got, 0.05f);
    CHECK(graph.variant() == "fp16s/fp16p");
    CHECK(said.empty());
  }
  SECTION("a kernel without any: the whole graph in fp32, also the shapes that ran before") {
    options.avoid = "unpack_fp16s,unpack_fp16p";
    Graph graph = made();
    for (int i = 0; i < 2; ++i) {
      const auto got = graph.run({1, 40, 30, px});
      if (!got) FAIL(got.error().message);
      near(*got, 1e-4f);
      CHECK(graph.variant() == "fp32");
      REQUIRE(said.size() == 1);
      CHECK_THAT(said[0], ContainsSubstring("the graph goes on in fp32: ") &&
                              ContainsSubstring("the user avoids unpack_fp16s"));
      CHECK(graph.run({1, 11, 8, noise(1, 11, 8)}));
    }
  }
  SECTION("one kernel in fp32 takes all along") {
    options.kernels = "unpack=fp32";
    Graph graph = made();
    const auto got = graph.run({1, 40, 30, px});
    if (!got) FAIL(got.error().message);
    near(*got, 1e-4f);
    CHECK(graph.variant() == "fp32");
  }
  SECTION("not where a form was asked for, and not where fp32 has none either") {
    options.variant = "fp16s";
    options.avoid = "unpack_fp16s";
    Graph forced = made();
    const auto none = forced.run({1, 40, 30, px});
    REQUIRE_FALSE(none);
    CHECK(none.error().code == ErrorCode::kNoVariant);
    CHECK_THAT(none.error().message, ContainsSubstring("the user avoids unpack_fp16s"));
    options.variant.clear();
    options.avoid = "unpack";
    Graph empty = made();
    const auto nothing = empty.run({1, 40, 30, px});
    REQUIRE_FALSE(nothing);
    CHECK_THAT(nothing.error().message, ContainsSubstring("and in fp32: "));
    CHECK(said.empty());
  }
  SECTION("values that there are not") {
    options.axes = "DIRECT=3";
    const auto graph = Graph::create(card, model, options);
    REQUIRE_FALSE(graph);
    CHECK(graph.error().code == ErrorCode::kInvalidArgument);
    CHECK(graph.error().message == "GraphOptions::axes: DIRECT has no value '3'; there are 0, 1");
  }
  SECTION("by the environment, behind the options") {
    ::setenv("SPIRKILN_AVOID", "unpack", 1);
    Graph first = made();
    options.avoid = "gemm_nc";
    Graph second = made();
    ::setenv("SPIRKILN_AVOID", "no_such", 1);
    options.avoid.clear();
    const auto third = Graph::create(card, model, options);
    ::setenv("SPIRKILN_NO_PROOF", "maybe", 1);
    const auto fourth = Graph::create(card, model, options);
    ::unsetenv("SPIRKILN_AVOID");
    ::unsetenv("SPIRKILN_NO_PROOF");
    CHECK_FALSE(first.run({1, 40, 30, px}));
    CHECK(second.prepare(1, 40, 30).ok());
    REQUIRE_FALSE(third);
    CHECK_THAT(third.error().message, ContainsSubstring("SPIRKILN_AVOID: there is no kernel or"));
    REQUIRE_FALSE(fourth);
  }
}

TEST_CASE("without caches no file is written") {
  char folder[] = "/tmp/spirkiln-no-cache-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  const char* before = std::getenv("SPIRKILN_CACHE");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("SPIRKILN_CACHE", folder, 1);
  const Model model = model_of(mixed_graph());
  const auto runs = [&](const DeviceOptions& options) {
    const auto device = Device::open(options);
    if (!device) FAIL(device.error().message);
    GraphOptions graph_options;
    graph_options.variant = "fp32";
    auto graph = Graph::create(*device, model, graph_options);
    REQUIRE(graph);
    CHECK(graph->run({1, 11, 8, noise(1, 11, 8)}));
  };
  DeviceOptions options;
  options.backend = "vulkan";
  options.no_cache = true;
  runs(options);
  options.no_cache = false;
  ::setenv("SPIRKILN_NO_CACHE", "1", 1);
  runs(options);
  CHECK(std::filesystem::is_empty(folder));
  ::setenv("SPIRKILN_NO_CACHE", "yes", 1);
  const auto wrong = Device::open(options);
  ::unsetenv("SPIRKILN_NO_CACHE");
  runs(options);
  CHECK_FALSE(std::filesystem::is_empty(folder));
  before != nullptr ? ::setenv("SPIRKILN_CACHE", kept.c_str(), 1) : ::unsetenv("SPIRKILN_CACHE");
  std::filesystem::remove_all(folder);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message == "SPIRKILN_NO_CACHE is 'yes'; expected 0 or 1");
}

TEST_CASE("a device that is not there is refused with the list of those that are") {
  DeviceOptions options;
  options.index = 77;
  const auto by_index = Device::open(options);
  REQUIRE_FALSE(by_index);
  CHECK_THAT(by_index.error().message, ContainsSubstring("77") && ContainsSubstring("0: "));
  options.index.reset();
  options.name = "no such card";
  const auto by_name = Device::open(options);
  REQUIRE_FALSE(by_name);
  CHECK_THAT(by_name.error().message, ContainsSubstring("no such card"));
  const auto list = list_devices();
  REQUIRE(list);
  REQUIRE_FALSE(list->empty());
  CHECK_FALSE((*list)[0].name.empty());
}

TEST_CASE("graphs of one device run from many threads at once", "[threads]") {
  const Model model = model_of(mixed_graph());
  const Shape shapes[] = {{1, 21, 13}, {2, 8, 30}, {1, 5, 5}};
  Graph serial = graph_of(model, "");
  std::vector<std::vector<TensorF32>> expected;
  for (const Shape s : shapes) expected.push_back(run(serial, s.n, s.h, s.w));
  for (const int count : {1, 4, 8}) {
    INFO(count << " threads");
    // One handle for all, of fewer plans than shapes, and another that every second call goes to.
    Graph shared = graph_of(model, "", 2), other = graph_of(model, "");
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 9; ++i) {
          const std::size_t which = static_cast<std::size_t>(t + i) % std::size(shapes);
          const Shape s = shapes[which];
          const auto px = noise(s.n, s.h, s.w);
          Graph& graph = i % 2 == 0 ? shared : other;
          if (i == 3 && !graph.prepare(s.n, s.h, s.w)) ++wrong;
          if (graph.device_bytes() == 0) ++wrong;
          auto out = graph.run({s.n, s.h, s.w, px});
          for (std::size_t k = 0; k < expected[which].size(); ++k) {
            if (!out || (*out)[k].values != expected[which][k].values) ++wrong;
          }
        }
      });
    }
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("devices and graphs are opened and closed from many threads at once", "[threads]") {
  const Model model = model_of(mixed_graph());
  Graph serial = graph_of(model, "");
  const auto expected = run(serial, 1, 9, 7);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      DeviceOptions options;
      options.backend = "vulkan";
      auto device = Device::open(options);
      auto graph = device ? Graph::create(*device, model) : Result<Graph>(device.error());
      const auto px = noise(1, 9, 7);
      auto out = graph ? graph->run({1, 9, 7, px}) : graph.error();
      if (!out || (*out)[0].values != expected[0].values) ++wrong;
    });
  }
  for (auto& t : threads) t.join();
  CHECK(wrong == 0);
}

namespace {

struct ProcessMemory {
  std::uint64_t size = 0, resident = 0;  // bytes
};
ProcessMemory process_memory() {
  std::ifstream statm("/proc/self/statm");
  ProcessMemory m;
  statm >> m.size >> m.resident;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return {m.size * page, m.resident * page};
}

// No more address space than there is now and `more` bytes.
class SpaceLimit {
 public:
  explicit SpaceLimit(std::uint64_t more) {
    ::getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = process_memory().size + more;
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~SpaceLimit() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("two hundred shapes, three times over, take no more memory than once") {
  const Model model = model_of(mixed_graph());
  Graph graph = graph_of(model, "", 8);
  std::vector<std::uint64_t> device, resident;
  std::vector<float> first;
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < 200; ++i) {
      const auto out = run(graph, 1 + i % 2, 4 + i % 20, 4 + i / 10);
      if (i != 0) continue;
      if (round == 0) first = out[0].values;
      CHECK(out[0].values == first);
    }
    device.push_back(graph.device_bytes());
    resident.push_back(process_memory().resident);
  }
  CHECK(device[2] == device[0]);
#ifndef SPIRKILN_ADDRESS_SANITIZER  // which keeps what was freed, to know of its use
  // Room for an allocator's habits: what each of 200 shapes left behind would be far more.
  CHECK(resident[2] < resident[0] + (4u << 20));
#endif
}

TEST_CASE("a huge picture is refused before anything of its size is allocated") {
  const Model model = model_of(mixed_graph());
  Graph graph = graph_of(model, "fp32");
  const auto before = run(graph, 1, 8, 8);
  const std::uint64_t bytes = graph.device_bytes(), resident = process_memory().resident;
  for (const Shape s : {Shape{1, 20000, 20000}, {64, 20000, 20000}, {1, 16777215, 16777215}}) {
    const auto prepared = [&] {
      const SpaceLimit limit(256u << 20);
      return graph.prepare(s.n, s.h, s.w);
    }();
    REQUIRE_FALSE(prepared);
    INFO(prepared.error().message);
    // By its size, and not for want of what it would have taken.
    CHECK(prepared.error().message.find("the host has no memory") == std::string::npos);
  }
  CHECK(graph.device_bytes() == bytes);
  CHECK(process_memory().resident < resident + (16u << 20));
  CHECK(run(graph, 1, 8, 8)[0].values == before[0].values);
}

TEST_CASE("a program that is cut into submissions gives the same bits") {
  const Model model = model_of(mixed_graph());
  Graph whole = graph_of(model, "");
  Device device = open_device();
  CHECK(device.state()->submission_ms == (device.info().type == "cpu" ? 0 : 500));
  for (const double ms : {1e-9, 0.05}) {
    device.state()->submission_ms = ms;
    auto graph = Graph::create(device, model);
    REQUIRE(graph);
    for (const Shape s : {Shape{1, 21, 13}, {2, 40, 33}, {1, 21, 13}}) {
      const auto px = noise(s.n, s.h, s.w);
      for (int i = 0; i < 3; ++i) {  // by an estimate, then by time
        auto got = graph->run({s.n, s.h, s.w, px});
        if (!got) FAIL(got.error().message);
        const auto expected = run(whole, s.n, s.h, s.w);
        for (std::size_t k = 0; k < expected.size(); ++k) {
          CHECK((*got)[k].values == expected[k].values);
        }
      }
    }
  }
  if (validation_in_environment()) CHECK(device.validation_message_count() == 0);
}

TEST_CASE("a damaged pipeline cache is ignored with a note, and written anew") {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("spirkiln-test-" + std::to_string(::getpid()));
  ::setenv("SPIRKILN_CACHE", folder.c_str(), 1);
  const Model model = model_of(mixed_graph());
  std::string path;
  auto once = [&] {
    Device device = open_device();
    path = device.state()->pipelines->cache_path();
    auto graph = Graph::create(device, model);
    REQUIRE(graph);
    const auto px = noise(1, 8, 8);
    REQUIRE(graph->run({1, 8, 8, px}));
  };
  once();
  REQUIRE(fs::exists(path));
  CHECK(path.starts_with(folder.string()));
  {
    std::ofstream file(path, std::ios::binary | std::ios::in);
    file.seekp(20);
    file.put('x');
  }
  const std::size_t before = notes().size();
  once();
  ::unsetenv("SPIRKILN_CACHE");
  bool noted = false;
  for (std::size_t i = before; i < notes().size(); ++i) {
    noted = noted || notes()[i].find("is damaged") != std::string::npos;
  }
  CHECK(noted);
  std::ifstream file(path, std::ios::binary);
  std::vector<char> text((std::istreambuf_iterator<char>(file)), {});
  CHECK_FALSE(unwrap_cache(std::as_bytes(std::span(text))).empty());
  fs::remove_all(folder);
}

// Every message of a graph is said while it works.
TEST_CASE("a listener may use the graph that speaks, here and on another thread") {
  const Watchdog watchdog("a message of a graph that is running");
  const Model model = model_of(mixed_graph());
  const auto px = noise(1, 8, 8);
  std::optional<Graph> graph;
  int heard = 0, runs = 0;
  GraphOptions options;
  options.message = [&](Severity, std::string_view) {
    if (heard++ != 0) return;
    const auto use = [&] { runs += graph->run({1, 8, 8, px}).ok() && graph->device_bytes() > 0; };
    use();
    std::thread(use).join();
  };
  ::setenv("SPIRKILN_PROFILE", "1", 1);  // a message each step
  auto created = Graph::create(shared_device(), model, options);
  ::unsetenv("SPIRKILN_PROFILE");
  REQUIRE(created);
  graph = *created;
  REQUIRE(graph->run({1, 8, 8, px}));
  CHECK(heard > 3);
  CHECK(runs == 2);
}

TEST_CASE("the C interface does what the C++ one does") {
  const PackBuilder pack = mixed_graph();
  const auto bytes = pack.build();
  Graph reference = graph_of(model_of(pack), "");
  const auto expected = run(reference, 1, 12, 11);
  char error[256] = "untouched";

  std::uint32_t count = 0;
  REQUIRE(spirkiln_list_devices(nullptr, 0, &count, error, sizeof error) == SPIRKILN_OK);
  REQUIRE(count > 0);
  std::vector<spirkiln_device_info> infos(count);
  REQUIRE(spirkiln_list_devices(infos.data(), count, &count, nullptr, 0) == SPIRKILN_OK);
  CHECK(std::strlen(infos[0].name) > 0);

  spirkiln_device_options options = SPIRKILN_DEVICE_OPTIONS_INIT;
  options.index = static_cast<std::int32_t>(shared_device().info().index);
  spirkiln_device* device = nullptr;
  REQUIRE(spirkiln_device_open(&options, &device, error, sizeof error) == SPIRKILN_OK);
  spirkiln_device_info info;
  REQUIRE(spirkiln_device_get_info(device, &info) == SPIRKILN_OK);
  CHECK(shared_device().info().name == info.name);

  spirkiln_model* model = nullptr;
  CHECK(spirkiln_model_from_memory("no pack", 7, "x", &model, error, sizeof error) ==
        SPIRKILN_CORRUPT);
  CHECK(model == nullptr);
  CHECK_THAT(error, ContainsSubstring("x is no model pack"));
  CHECK(spirkiln_model_open("/nonexistent", &model, error, 4) == SPIRKILN_IO);
  CHECK(std::strlen(error) == 3);
  REQUIRE(spirkiln_model_from_memory(bytes.data(), bytes.size(), nullptr, &model, error,
                                     sizeof error) == SPIRKILN_OK);
  spirkiln_graph* graph = nullptr;
  REQUIRE(spirkiln_graph_create(device, model, nullptr, &graph, error, sizeof error) ==
          SPIRKILN_OK);
  // A graph keeps what it needs.
  spirkiln_model_close(model);
  spirkiln_device_close(device);

  CHECK(spirkiln_graph_prepare(graph, 1, 12, 11, error, sizeof error) == SPIRKILN_OK);
  CHECK(spirkiln_graph_prepare(graph, 0, 12, 11, error, sizeof error) == SPIRKILN_INVALID_ARGUMENT);
  const auto px = noise(1, 12, 11);
  spirkiln_outputs* outputs = nullptr;
  CHECK(spirkiln_graph_run(graph, 1, 12, 12, px.data(), px.size(), &outputs, nullptr, error,
                           sizeof error) == SPIRKILN_INVALID_ARGUMENT);
  CHECK(outputs == nullptr);
  spirkiln_timings timings;
  REQUIRE(spirkiln_graph_run(graph, 1, 12, 11, px.data(), px.size(), &outputs, &timings, error,
                             sizeof error) == SPIRKILN_OK);
  CHECK(timings.dispatches > 5);
  CHECK(spirkiln_graph_device_bytes(graph) > 0);
  REQUIRE(spirkiln_outputs_count(outputs) == expected.size());
  for (std::uint32_t i = 0; i < expected.size(); ++i) {
    spirkiln_tensor t;
    REQUIRE(spirkiln_outputs_get(outputs, i, &t) == SPIRKILN_OK);
    REQUIRE(t.count == expected[i].values.size());
    CHECK(t.c == expected[i].c);
    CHECK(std::memcmp(t.values, expected[i].values.data(), t.count * sizeof(float)) == 0);
  }
  spirkiln_tensor none;
  CHECK(spirkiln_outputs_get(outputs, 99, &none) == SPIRKILN_INVALID_ARGUMENT);
  spirkiln_outputs_close(outputs);
  spirkiln_graph_close(graph);

  CHECK(spirkiln_graph_create(nullptr, nullptr, nullptr, &graph, error, sizeof error) ==
        SPIRKILN_INVALID_ARGUMENT);
  CHECK(spirkiln_device_open(nullptr, nullptr, error, sizeof error) == SPIRKILN_INVALID_ARGUMENT);
  options.struct_bytes = 3;
  CHECK(spirkiln_device_open(&options, &device, error, sizeof error) == SPIRKILN_INVALID_ARGUMENT);
  spirkiln_graph_close(nullptr);
  spirkiln_outputs_close(nullptr);
  CHECK(std::string(spirkiln_status_name(SPIRKILN_OUT_OF_MEMORY)) == "out of memory");
  CHECK(std::string(spirkiln_status_name(static_cast<spirkiln_status>(99))) == "unknown status");
}

// Stands last: Catch2 runs cases in the order in which they are declared.
TEST_CASE("validation had nothing to say") {
  if (!validation_in_environment()) SKIP("SPIRKILN_VALIDATION is not set");
  for (const std::string& n : notes()) {
    if (n.find("is damaged") == std::string::npos) UNSCOPED_INFO(n);
  }
  CHECK(shared_device().validation_message_count() == 0);
}
