// SPDX-License-Identifier: Apache-2.0
// Graphs on a driver that lies, flushes, fails, or ends the process: what they run instead, and
// what users are told.
#include <signal.h>
#include <sys/wait.h>

#include <catch2/matchers/catch_matchers_string.hpp>

#include "proof_support.hpp"
#include "table/read_file.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a kernel that lies is replaced: by its next form, another kernel, fp32, the CPU",
          "[proof]") {
  const Clean clean;
  if (!open_device()) SKIP("no Vulkan device");
  const Model model = three_nodes();
  const auto right = right_values(model);

  struct Row {
    std::set<std::uint64_t> lies;
    std::string told, variant;
    std::size_t warnings;
  };
  const std::vector<Form> halves = {kFp16s, kFp16p};
  const Row rows[] = {
      {modules_of("binary", {kFp16s}), "using binary_fp16p instead", "fp16s/fp16p", 1},
      {modules_of("stem", halves), "other kernels do its work", "fp16s/fp16p", 2},
      // And that the graph goes on in fp32.
      {modules_of("binary", halves), "using binary instead", "fp32", 3},
  };
  for (const Row& row : rows) {
    INFO(row.told);
    fs::remove_all(clean.path);
    faults().pose_as_card(true);
    faults().doctor(liar(Lie::kOneLane, row.lies));
    {
      const auto opened = open_device();
      REQUIRE(opened != nullptr);
      const Ran blind = run_graph(opened->device, model, true);
      CHECK(!near(blind.values, right));
      const Ran ran = run_graph(opened->device, model);
      INFO(ran.error << joined(ran.messages));
      CHECK(near(ran.values, right));
      CHECK(ran.variant == row.variant);
      CHECK(ran.warnings == row.warnings);
      CHECK_THAT(joined(ran.messages),
                 ContainsSubstring(row.told) && ContainsSubstring("gives wrong results on"));
      // A second graph knows, and says nothing again of the kernel.
      const Ran second = run_graph(opened->device, model);
      CHECK(near(second.values, right));
      CHECK_THAT(joined(second.messages), !ContainsSubstring("wrong results"));
    }
    // A second start runs nothing.
    const auto opened = open_device();
    REQUIRE(opened != nullptr);
    const Ran ran = run_graph(opened->device, model);
    CHECK(near(ran.values, right));
    CHECK(ran.warnings == row.warnings);
    const auto stats = opened->device.state()->proofs->stats();
    CHECK(stats.proved == 0);
    CHECK(stats.remembered >= 4);
  }

  // Nothing is left.
  faults().pose_as_card(false);
  faults().doctor(liar(Lie::kOneLane, modules_of("binary")));
  fs::remove_all(clean.path);
  const auto opened = open_device();
  const Ran ran = run_graph(opened->device, model);
  CHECK_THAT(ran.error, ContainsSubstring("no variant of kernel binary") &&
                            ContainsSubstring("wrong known answer"));
  CHECK_THAT(joined(ran.messages), ContainsSubstring("no other variant is left"));
#if SPIRKILN_HAVE_CPU
  faults().pose_as_card(true);
  fs::remove_all(clean.path);
  const auto automatic = open_device("auto");
  REQUIRE(automatic != nullptr);
  const Ran on_cpu = run_graph(automatic->device, model);
  INFO(on_cpu.error << joined(on_cpu.messages));
  CHECK(near(on_cpu.values, right));
  CHECK_THAT(joined(on_cpu.messages),
             ContainsSubstring("the CPU runs what the device cannot take"));
#endif
}

namespace {

// One convolution with this activation.
Model convolution(model::Activation activation) {
  PackBuilder b;
  const auto a = b.tensor(b.n(), b.h(), b.w(), 16);
  model::Node& node = b.node(model::Op::kConv, a, {b.input()},
                             {b.weights(ramp(9 * 4 * 16)), b.floats(ramp(16)), b.floats(ramp(16))},
                             {3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 3, 16});
  node.epilogue.act = activation;
  b.output(a);
  auto model = Model::from_bytes(b.build(), "a convolution");
  if (!model) FAIL(model.error().message);
  return *model;
}

}  // namespace

TEST_CASE("a program proves the paths that it takes, and a later one those that are new",
          "[proof]") {
  const Clean clean;
  if (!open_device()) SKIP("no Vulkan device");
  const Model plain = convolution(model::Activation::kNone);
  const Model swish = convolution(model::Activation::kSwish);
  const auto right_plain = right_values(plain), right_swish = right_values(swish);
  fs::remove_all(clean.path);
  faults().pose_as_card(true);
  const table::KernelEntry* kernel = built_in().find("stem");
  REQUIRE(kernel != nullptr);
  LieWhere where;
  const auto& blob = built_in().blobs()[built_in().variants_of(*kernel).front().blob];
  for (const table::SpecEntry& s : built_in().specs_of(blob)) {
    if (built_in().string(s.name) == "act_kind") {
      where = {s.id, static_cast<std::uint32_t>(model::Activation::kSwish)};
    }
  }
  REQUIRE(where.spec_id != LieWhere::kEverywhere);
  faults().doctor(liar_where(modules_of("stem", {kFp16s, kFp16p}), where));
  {
    const auto opened = open_device();
    CHECK(!near(run_graph(opened->device, swish, true).values, right_swish));
    const auto proved = [&] { return opened->device.state()->proofs->stats().proved; };
    const Ran first = run_graph(opened->device, plain);
    INFO(first.error << joined(first.messages));
    CHECK(near(first.values, right_plain));
    CHECK(first.warnings == 0);  // the path that lies was not run
    const auto before = proved();
    CHECK(before >= 2);
    const Ran second = run_graph(opened->device, swish);
    INFO(second.error << joined(second.messages));
    CHECK(near(second.values, right_swish));
    CHECK_THAT(joined(second.messages),
               ContainsSubstring("kernel stem_fp16s gives wrong results on"));
    CHECK(proved() > before);
    // Who does without that path keeps the kernel.
    const auto after = proved();
    CHECK(run_graph(opened->device, plain).warnings == 0);
    CHECK(proved() == after);
  }
  // At the next start each path has its verdict.
  const auto opened = open_device();
  CHECK(run_graph(opened->device, plain).warnings == 0);
  const Ran ran = run_graph(opened->device, swish);
  CHECK(near(ran.values, right_swish));
  CHECK_THAT(joined(ran.messages), ContainsSubstring("kernel stem_fp16s gives wrong results on"));
  CHECK(opened->device.state()->proofs->stats().proved == 0);
}

TEST_CASE("a driver that flushes keeps its halves, unless weights need subnormals", "[proof]") {
  const Clean clean;
  if (!open_device()) SKIP("no Vulkan device");
  faults().pose_as_card(true);
  faults().doctor(liar(Lie::kFlush));
  const auto opened = open_device();
  REQUIRE(opened != nullptr);
  const Ran scaled = run_graph(opened->device, three_nodes());
  CHECK(scaled.error.empty());
  CHECK(scaled.variant == "fp16s/fp16p");
  CHECK(scaled.warnings == 0);
  CHECK_THAT(joined(scaled.messages), ContainsSubstring("counts subnormals of 16 bits as 0"));
  // No packer of ours makes such weights.
  const Ran small = run_graph(opened->device, three_nodes(0x1p-13f));
  CHECK(small.variant == "fp32");
  CHECK_THAT(joined(small.messages), ContainsSubstring("which this graph's weights need"));
}

TEST_CASE("proofs may be left out", "[proof]") {
  const Clean clean;
  const auto opened = open_device();
  if (!opened) SKIP("no Vulkan device");
  CHECK(run_graph(opened->device, three_nodes(), true).error.empty());
  CHECK(opened->device.state()->proofs->stats().proved == 0);
  CHECK(!fs::exists(clean.path / "verdicts"));
  // Without a cache they are made each time.
  DeviceOptions options;
  options.backend = "vulkan";
  options.no_cache = true;
  auto device = Device::open(options);
  REQUIRE(device.ok());
  CHECK(run_graph(*device, three_nodes()).error.empty());
  CHECK(device->state()->proofs->stats().proved > 3);
  CHECK(!fs::exists(clean.path / "verdicts"));
}

TEST_CASE("a graph runs with damaged verdicts, and with a folder that cannot be written",
          "[proof]") {
  const Clean clean;
  auto opened = open_device();
  if (!opened) SKIP("no Vulkan device");
  const std::string path = verdict_path(clean.path.string(), opened->device.state()->caps);
  REQUIRE(write_file_atomically(path, std::vector<std::byte>(100)).ok());
  CHECK(run_graph(opened->device, three_nodes()).error.empty());
  CHECK_THAT(joined(opened->messages), ContainsSubstring("are damaged and are ignored"));
  bool damaged = false;
  CHECK(read_verdicts(path, &damaged).size() > 3);
  // A file in the folder's place.
  fs::remove_all(clean.path / "verdicts");
  REQUIRE(write_file_atomically((clean.path / "verdicts").string(), {}).ok());
  opened = open_device();
  CHECK(run_graph(opened->device, three_nodes()).error.empty());
  CHECK_THAT(joined(opened->messages), ContainsSubstring("verdicts are not kept"));
}

TEST_CASE("every call of a proof that fails is an error, and the next call works", "[proof]") {
  const Clean clean;
  if (!open_device()) SKIP("no Vulkan device");
  const Model model = three_nodes();
  for (const char* name : {"vkAllocateMemory", "vkCreateBuffer", "vkQueueSubmit",
                           "vkCreateDescriptorPool", "vkBeginCommandBuffer"}) {
    INFO(name);
    fs::remove_all(clean.path);
    const auto opened = open_device();
    GraphOptions options;
    auto graph = Graph::create(opened->device, model, options);
    REQUIRE(graph.ok());
    faults().reset();
    faults().fail(name, 1, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    const auto failed = graph->prepare(1, 9, 7);
    REQUIRE_FALSE(failed.ok());
    CHECK_THAT(failed.error().message, ContainsSubstring(name));
    CHECK(opened->device.state()->proofs->stats().proved == 0);
    CHECK(graph->prepare(1, 9, 7).ok());
    CHECK(opened->device.state()->proofs->stats().proved > 3);
    faults().reset();
  }
}

TEST_CASE("a process that its driver ends", "[.ended-by-driver]") {
  const auto opened = open_device();
  if (!opened) SKIP("no Vulkan device");
  const auto deadly = modules_of("binary", {kFp16s});
  faults().pose_as_card(true);
  faults().doctor([=](std::span<const std::uint32_t> words) {
    if (deadly.contains(XXH3_64bits(words.data(), words.size() * 4))) ::raise(SIGKILL);
    return std::vector<std::uint32_t>();
  });
  (void)run_graph(open_device()->device, three_nodes());
  FAIL("it was not ended");
}

TEST_CASE("a kernel whose proof ended the process twice is left out, until users clear it",
          "[proof]") {
  const Clean clean;
  const auto verdicts = clean.path / "verdicts";
  const auto start_that_ends = [] {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::execl("/proc/self/exe", "runtime_proof_test", "[.ended-by-driver]", nullptr);
      ::_exit(127);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  };
  if (!open_device()) SKIP("no Vulkan device");
  faults().pose_as_card(true);
  REQUIRE(start_that_ends());
  REQUIRE(start_that_ends());
  {
    const auto opened = open_device();
    const Ran ran = run_graph(opened->device, three_nodes());
    INFO(ran.error << joined(ran.messages));
    CHECK(ran.error.empty());
    CHECK(ran.variant == "fp16s/fp16p");
    CHECK(ran.warnings == 1);  // of those that were tried with it nothing is said
    CHECK_THAT(joined(ran.messages),
               ContainsSubstring("kernel binary_fp16s is not run on") &&
                   ContainsSubstring("did not end 2 times, the last of them that of process ") &&
                   ContainsSubstring(".try to try it again") &&
                   ContainsSubstring("using binary_fp16p instead"));
  }
  // Nor at the next start; what else was tried has its verdict.
  {
    const auto opened = open_device();
    const Ran ran = run_graph(opened->device, three_nodes());
    CHECK(ran.warnings == 1);
    CHECK(opened->device.state()->proofs->stats().proved == 0);
  }
  for (const auto& file : fs::directory_iterator(verdicts)) {
    if (file.path().extension() == ".try") fs::remove(file.path());
  }
  const auto opened = open_device();
  const Ran ran = run_graph(opened->device, three_nodes());
  CHECK(ran.warnings == 0);
  CHECK(opened->device.state()->proofs->stats().proved == 1);
  CHECK(std::distance(fs::directory_iterator(verdicts), {}) == 1);
}

TEST_CASE("a kernel whose proof lost the device twice is left out", "[proof]") {
  const Clean clean;
  if (!open_device()) SKIP("no Vulkan device");
  const Model model = three_nodes();
  for (int start = 0; start < 2; ++start) {
    const auto opened = open_device();
    auto graph = Graph::create(opened->device, model, {});
    REQUIRE(graph.ok());
    faults().reset();
    faults().fail("vkQueueSubmit", 1, VK_ERROR_DEVICE_LOST);
    CHECK_FALSE(graph->prepare(1, 9, 7).ok());
    faults().reset();
  }
  const auto opened = open_device();
  const Ran ran = run_graph(opened->device, model);
  CHECK_THAT(joined(ran.messages), ContainsSubstring("did not end 2 times"));
}

TEST_CASE("kernels that only run_nodes needs are proved when it needs them", "[proof]") {
  const Clean clean;
  if (!open_device()) SKIP("no Vulkan device");
  PackBuilder b;
  const auto a = b.tensor(b.n(), b.h(), b.w(), 8);
  b.node(model::Op::kConv, a, {b.input()},
         {b.weights(ramp(4 * 8)), b.floats(ramp(8)), b.floats(ramp(8))},
         {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 3, 8});
  b.output(a);
  auto model = Model::from_bytes(b.build(), "one node");
  REQUIRE(model.ok());
  faults().doctor(liar(Lie::kOneLane, modules_of("unpack")));
  const auto opened = open_device();
  GraphOptions options;
  options.best_class = true;
  auto graph = Graph::create(opened->device, *model, options);
  REQUIRE(graph.ok());
  const std::vector<std::uint8_t> px(4 * 9 * 7, 255);
  CHECK(graph->run({1, 9, 7, px}).ok());
  const auto nodes = graph->run_nodes({1, 9, 7, px}, 0, 1);
  REQUIRE_FALSE(nodes.ok());
  CHECK_THAT(nodes.error().message, ContainsSubstring("no variant of kernel unpack"));
  // The graph itself goes on.
  CHECK(graph->run({1, 9, 7, px}).ok());
}
