// SPDX-License-Identifier: Apache-2.0
// Every Vulkan call of a small graph fails once: an error with the call and the code, nothing left
// behind, and the next call works.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <filesystem>
#include <set>

#include "loader/device.hpp"
#include "spirkiln/spirkiln.hpp"
#include "support/pack_builder.hpp"
#include "support/use_faults.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// A folder for the pipeline cache, so that no call depends on what ran before.
struct CacheFolder {
  CacheFolder() { ::setenv("SPIRKILN_CACHE", path.c_str(), 1); }
  ~CacheFolder() {
    ::unsetenv("SPIRKILN_CACHE");
    std::filesystem::remove_all(path);
  }
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("spirkiln-faults-" + std::to_string(::getpid()));
};

// A convolution, its mean, and both multiplied.
Model three_nodes() {
  PackBuilder b;
  const auto a = b.tensor(b.n(), b.h(), b.w(), 4);
  b.node(model::Op::kConv, a, {b.input()},
         {b.weights(ramp(9 * 4 * 4)), b.floats(ramp(4)), b.floats(ramp(4))},
         {3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 3, 4});
  const auto m = b.tensor(b.n(), b.num(1), b.num(1), 4);
  b.node(model::Op::kGlobalMean, m, {a});
  const auto s = b.tensor(b.n(), b.h(), b.w(), 4);
  b.node(model::Op::kBinary, s, {a, m}, {}, {2});
  b.output(s);
  auto model = Model::from_bytes(b.build(), "three nodes");
  if (!model) FAIL(model.error().message);
  return *model;
}

std::vector<std::uint8_t> pixels(std::uint32_t h, std::uint32_t w) {
  std::vector<std::uint8_t> px(std::size_t{4} * h * w);
  for (std::size_t i = 0; i < px.size(); ++i) {
    px[i] = i % 4 == 3 ? 255 : static_cast<std::uint8_t>(i * 37);
  }
  return px;
}

// What one process does, each step a second time where it failed: a device, a graph, a shape that
// is prepared, a run, a run of a larger shape for which memory grows, and a profile.
struct Session {
  std::vector<Error> errors;
  std::vector<std::string> messages;
  std::vector<std::vector<float>> outputs;
  bool done = false;

  template <typename Step>
  auto twice(Step&& step) -> decltype(step()) {
    auto result = step();
    if (result) return result;
    errors.push_back(std::move(result).error());
    return step();
  }

  void run(const Model& model, const std::string& variant) {
    DeviceOptions device_options;
    device_options.backend = "vulkan";
    device_options.message = [this](Severity, std::string_view m) { messages.emplace_back(m); };
    auto device = twice([&] { return Device::open(device_options); });
    if (!device) return;
    device->state()->submission_ms = 0;  // the same calls however slow the machine is
    GraphOptions options;
    options.variant = variant;
    options.no_proof = true;  // proof_test.cpp has those of proofs
    options.message = device_options.message;
    auto graph = twice([&] { return Graph::create(*device, model, options); });
    if (!graph) return;
    if (!twice([&] { return graph->prepare(1, 6, 5); })) return;
    for (const auto& [h, w] : {std::pair{6u, 5u}, std::pair{40u, 30u}, std::pair{6u, 5u}}) {
      const auto px = pixels(h, w);
      auto out = twice([&] { return graph->run({1, h, w, px}); });
      if (!out) return;
      outputs.push_back((*out)[0].values);
    }
    const auto px = pixels(6, 5);
    const auto times = twice([&] { return graph->profile({1, 6, 5, px}, 2, 1); });
    if (!times) return;
    done = true;
  }
};

bool names(const std::string& text, const std::string& call, VkResult code) {
  return text.find(call) != std::string::npos &&
         text.find(vk_result_name(code)) != std::string::npos;
}

// What the library does without: it says so, or it is at the end of a device where nobody listens.
bool does_without(const std::string& call) {
  return call == "vkCreatePipelineCache" || call == "vkGetPipelineCacheData";
}

struct Mode {
  const char* name;
  bool card;
  const char* variant;
};

}  // namespace

TEST_CASE("every call that can fail, failing once, is an error that leaves all usable") {
  const CacheFolder cache;
  const Model model = three_nodes();
  std::set<std::string> met;
  // A card has all that a CPU driver has and staging, flushes and polls beside; images come on top.
  for (const Mode mode : {Mode{"card", true, "fp32"}, Mode{"images", false, "image"},
                          Mode{"one memory", false, "fp32"}}) {
    faults().reset();
    faults().pose_as_card(mode.card);
    Session clean;
    clean.run(model, mode.variant);
    for (const Error& e : clean.errors) UNSCOPED_INFO(e.message);
    REQUIRE(clean.errors.empty());
    REQUIRE(clean.done);
    REQUIRE(faults().live().empty());
    REQUIRE(faults().complaints().empty());
    CHECK(clean.outputs[0] == clean.outputs[2]);
    const auto calls = faults().calls();

    for (const FaultableCall& call : calls) {
      // A card is polled for as long as that takes, and waited for behind that, or not.
      if (call.name == "vkGetFenceStatus" && call.nth > 1) continue;
      if (call.name == "vkWaitForFences" && mode.card) continue;
      // Only what the modes before had not.
      const bool fresh = met.insert(call.name + " " + std::to_string(call.nth)).second;
      if (!fresh) continue;
      for (const VkResult code : faults().error_codes_of(call.name)) {
        // All codes where a call is first made, else the commonest.
        if (call.nth > 1 && code != VK_ERROR_OUT_OF_DEVICE_MEMORY) continue;
        if (code == VK_ERROR_DEVICE_LOST && call.name != "vkCreateDevice") continue;  // see below
        INFO(mode.name << ": " << call.name << " number " << call.nth << " gives "
                       << vk_result_name(code));
        faults().reset();
        std::filesystem::remove_all(cache.path);
        faults().fail(call.name, call.nth, code);
        Session session;
        session.run(model, mode.variant);
        for (const Error& e : session.errors) UNSCOPED_INFO(e.message);
        REQUIRE(faults().failed());
        REQUIRE(session.done);
        CHECK(session.outputs == clean.outputs);
        CHECK(faults().live() == std::vector<std::string>{});
        CHECK(faults().complaints() == std::vector<std::string>{});
        if (call.name == "vkDeviceWaitIdle") continue;  // the end of a device: nobody listens
        if (does_without(call.name)) {
          CHECK(session.errors.empty());
          CHECK(std::any_of(session.messages.begin(), session.messages.end(),
                            [&](const std::string& m) { return names(m, call.name, code); }));
          continue;
        }
        REQUIRE(session.errors.size() == 1);
        CHECK(names(session.errors[0].message, call.name, code));
        const bool memory =
            code == VK_ERROR_OUT_OF_HOST_MEMORY || code == VK_ERROR_OUT_OF_DEVICE_MEMORY;
        CHECK((session.errors[0].code == ErrorCode::kOutOfMemory) == memory);
      }
    }
  }
  faults().pose_as_card(false);
  // The list above is what was called; these must have been.
  for (const char* name :
       {"vkCreateInstance 1", "vkEnumeratePhysicalDevices 1", "vkCreateDevice 1",
        "vkAllocateMemory 5", "vkMapMemory 2", "vkFlushMappedMemoryRanges 1",
        "vkInvalidateMappedMemoryRanges 1", "vkCreateImage 2", "vkCreateImageView 1",
        "vkCreateSampler 1", "vkCreateComputePipelines 2", "vkQueueSubmit 2", "vkWaitForFences 1",
        "vkGetFenceStatus 1", "vkGetQueryPoolResults 1", "vkGetPipelineCacheData 2"}) {
    INFO(name);
    CHECK(met.contains(name));
  }
}

namespace {

// Validation in the environment would mean that nothing but Vulkan may run.
struct Lost {
  explicit Lost(const char* backend) {
    options.backend = backend;
    auto opened = Device::open(options);
    if (!opened) FAIL(opened.error().message);
    device = *opened;
    graph_options.message = [this](Severity severity, std::string_view text) {
      if (severity == Severity::kWarning) warnings.emplace_back(text);
    };
    auto made = Graph::create(device, model, graph_options);
    if (!made) FAIL(made.error().message);
    graph = *made;
    auto before = graph.run({1, 6, 5, px});
    if (!before) FAIL(before.error().message);
    expected = (*before)[0].values;
  }
  bool is_close(const std::vector<float>& values) const {
    if (values.size() != expected.size()) return false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!(std::abs(values[i] - expected[i]) < 1e-3)) return false;
    }
    return true;
  }
  Model model = three_nodes();
  std::vector<std::uint8_t> px = pixels(6, 5);
  DeviceOptions options;
  GraphOptions graph_options;
  std::vector<std::string> warnings;
  std::vector<float> expected;
  Device device;
  Graph graph;
};

const char* const kLosing[] = {"vkQueueSubmit", "vkGetFenceStatus", "vkWaitForFences",
                               "vkGetQueryPoolResults"};

// The next such call of `graph` loses its device.
void lose(const std::string& call) {
  faults().reset();
  faults().fail(call, 1, VK_ERROR_DEVICE_LOST);
}

}  // namespace

TEST_CASE("on a lost device every call says so, and a new one works") {
  const CacheFolder cache;
  for (const std::string call : kLosing) {
    INFO(call);
    faults().reset();
    faults().pose_as_card(call == "vkGetFenceStatus");
    {
      Lost it("vulkan");
      lose(call);
      const auto lost = it.graph.run({1, 6, 5, it.px});
      REQUIRE(faults().failed());
      REQUIRE_FALSE(lost);
      CHECK(names(lost.error().message, call, VK_ERROR_DEVICE_LOST));
      const auto run = it.graph.run({1, 6, 5, it.px});
      REQUIRE_FALSE(run);
      const auto prepared = it.graph.prepare(1, 9, 9);
      REQUIRE_FALSE(prepared);
      const auto created = Graph::create(it.device, it.model);
      REQUIRE_FALSE(created);
      for (const Error& e : {run.error(), prepared.error(), created.error()}) {
        CHECK(e.code == ErrorCode::kVulkan);
        CHECK_THAT(e.message, ContainsSubstring("VK_ERROR_DEVICE_LOST") &&
                                  ContainsSubstring("Open the device again"));
      }
      CHECK(it.warnings.empty());
      Lost again("vulkan");
      CHECK(again.expected == it.expected);
    }
    CHECK(faults().live() == std::vector<std::string>{});
    CHECK(faults().complaints() == std::vector<std::string>{});
  }
  faults().pose_as_card(false);
}

TEST_CASE("where the backend was left open, the CPU goes on behind a lost device") {
  const CacheFolder cache;
  faults().pose_as_card(true);  // a software device would not be taken
  for (const bool have_cpu : {true, false}) {
    if (have_cpu && !SPIRKILN_HAVE_CPU) continue;
    const char* before = std::getenv("SPIRKILN_CPU_LIBRARY");
    const std::string kept = before != nullptr ? before : "";
    if (!have_cpu) ::setenv("SPIRKILN_CPU_LIBRARY", "libabsent-cpu.so", 1);
    for (const std::string call : {"vkQueueSubmit", "vkGetFenceStatus"}) {
      INFO(call << ", " << (have_cpu ? "with" : "without") << " the CPU backend");
      {
        Lost it("auto");
        REQUIRE(it.device.info().backend == "vulkan");
        auto second = Graph::create(it.device, it.model, it.graph_options);
        REQUIRE(second);
        lose(call);
        for (int i = 0; i < 3; ++i) {
          Graph& graph = i == 1 ? *second : it.graph;
          const auto out = graph.run({1, 6, 5, it.px});
          const auto created = Graph::create(it.device, it.model, it.graph_options);
          const auto prepared = graph.prepare(1, 9, 9);
          REQUIRE(out.ok() == have_cpu);
          REQUIRE(created.ok() == have_cpu);
          CHECK(prepared.ok() == have_cpu);
          if (have_cpu) {
            CHECK(it.is_close((*out)[0].values));
            continue;
          }
          for (const Error& e : {out.error(), created.error(), prepared.error()}) {
            CHECK_THAT(e.message, ContainsSubstring("VK_ERROR_DEVICE_LOST") &&
                                      ContainsSubstring("libabsent-cpu.so"));
          }
        }
        if (have_cpu) {
          REQUIRE(it.warnings.size() == 1);
          CHECK(names(it.warnings[0], call, VK_ERROR_DEVICE_LOST));
        }
        Lost again("auto");
        CHECK(again.expected == it.expected);
      }
      CHECK(faults().live() == std::vector<std::string>{});
      CHECK(faults().complaints() == std::vector<std::string>{});
    }
    if (!have_cpu) {
      before != nullptr ? ::setenv("SPIRKILN_CPU_LIBRARY", kept.c_str(), 1)
                        : ::unsetenv("SPIRKILN_CPU_LIBRARY");
    }
  }
  faults().pose_as_card(false);
}

TEST_CASE("a driver that fails where the backend was left open: the CPU, and a warning") {
  faults().pose_as_card(true);
  for (const char* call :
       {"vkCreateInstance", "vkEnumerateDeviceExtensionProperties", "vkCreateDevice"}) {
    INFO(call);
    faults().reset();
    faults().fail(call, 1, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    std::vector<std::string> warnings;
    DeviceOptions options;
    options.backend = "auto";
    options.message = [&](Severity, std::string_view text) { warnings.emplace_back(text); };
    const auto device = Device::open(options);
    REQUIRE(device.ok() == SPIRKILN_HAVE_CPU);
    if (!device) {
      CHECK(names(device.error().message, call, VK_ERROR_OUT_OF_DEVICE_MEMORY));
      continue;
    }
    CHECK(device->info().backend == "cpu");
    REQUIRE(warnings.size() == 1);
    CHECK(names(warnings[0], call, VK_ERROR_OUT_OF_DEVICE_MEMORY));
    CHECK(faults().live() == std::vector<std::string>{});
  }
  faults().pose_as_card(false);
}

TEST_CASE("a driver that lacks a function is refused by the function's name") {
  DeviceOptions options;
  options.backend = "vulkan";
  for (const char* function : {"vkCreateInstance", "vkEnumeratePhysicalDevices", "vkCreateDevice",
                               "vkQueueSubmit", "vkCmdDispatch", "vkGetQueryPoolResults"}) {
    INFO(function);
    faults().reset();
    faults().hide(function);
    const auto device = Device::open(options);
    faults().hide("");
    REQUIRE_FALSE(device);
    CHECK_THAT(device.error().message, ContainsSubstring(function));
    CHECK(faults().live() == std::vector<std::string>{});
  }
}

TEST_CASE("a submission that fails between others leaves none running") {
  const CacheFolder cache;
  faults().reset();
  {
    Lost it("vulkan");
    it.device.state()->submission_ms = 1e-9;
    auto cut = Graph::create(it.device, it.model);
    REQUIRE(cut);
    faults().reset();
    const auto whole = cut->run({1, 6, 5, it.px});
    REQUIRE(whole);
    CHECK((*whole)[0].values == it.expected);
    std::uint32_t submissions = 0;
    for (const FaultableCall& call : faults().calls()) submissions += call.name == "vkQueueSubmit";
    REQUIRE(submissions >= 4);  // each of the steps its own
    for (std::uint32_t nth = 1; nth <= submissions; ++nth) {
      INFO("submission " << nth);
      faults().reset();
      faults().fail("vkQueueSubmit", nth, VK_ERROR_OUT_OF_HOST_MEMORY);
      const auto failed = cut->run({1, 6, 5, it.px});
      REQUIRE_FALSE(failed);
      CHECK(names(failed.error().message, "vkQueueSubmit", VK_ERROR_OUT_OF_HOST_MEMORY));
      const auto again = cut->run({1, 6, 5, it.px});
      REQUIRE(again);
      CHECK((*again)[0].values == it.expected);
      CHECK(faults().complaints() == std::vector<std::string>{});
    }
  }
  CHECK(faults().live() == std::vector<std::string>{});
  CHECK(faults().complaints() == std::vector<std::string>{});
}
