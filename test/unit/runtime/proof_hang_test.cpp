// SPDX-License-Identifier: Apache-2.0
// Kernels that never end in their proof, by waits that time out at once: what is blamed, what goes
// on, and that nothing is destroyed under work that may still run.
#include <catch2/matchers/catch_matchers_string.hpp>
#include <thread>

#include "loader/submit.hpp"
#include "proof_support.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Ends with nothing abandoned, as a new process begins.
struct NewProcess {
  NewProcess() { begin(); }
  ~NewProcess() { begin(); }
  static void begin() {
    faults().reset();
    forget_abandoned_devices();
  }
};

std::uint32_t calls_of(const std::string& name) {
  const auto calls = faults().calls();
  return static_cast<std::uint32_t>(std::count_if(
      calls.begin(), calls.end(), [&](const FaultableCall& c) { return c.name == name; }));
}

bool is_left(const char* kind) {
  const auto live = faults().live();
  return std::find(live.begin(), live.end(), kind) != live.end();
}

// "kernel NAME ..." of an error.
std::string kernel_of(const std::string& text) {
  const std::size_t at = text.find("kernel ");
  return at == std::string::npos ? "" : text.substr(at + 7, text.find(' ', at + 7) - at - 7);
}

// A few seconds, in waits that cost nothing.
void until(const std::function<bool()>& done) {
  for (int i = 0; i < 20000 && !done(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE(done());
}

// An empty command buffer, watched.
Result<std::optional<std::size_t>> watch_nothing(const std::shared_ptr<Device::State>& device) {
  const DeviceFunctions& f = device->f;
  auto fence = Fence::create(device);
  if (!fence) return fence.error();
  const VkFence handle = fence->handle();
  VkCommandPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.queueFamilyIndex = device->queue_family;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkResult r = f.vkCreateCommandPool(device->device, &info, nullptr, &pool);
  if (r != VK_SUCCESS) return device->error("vkCreateCommandPool", r);
  VkCommandBufferAllocateInfo alloc{};
  alloc.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  alloc.commandPool = pool;
  alloc.commandBufferCount = 1;
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  r = f.vkAllocateCommandBuffers(device->device, &alloc, &commands);
  if (r == VK_SUCCESS) r = f.vkBeginCommandBuffer(commands, &begin);
  if (r == VK_SUCCESS) r = f.vkEndCommandBuffer(commands);
  if (r != VK_SUCCESS) return device->error("an empty command buffer", r);
  auto watched = submit_and_watch(*device, {&handle, 1}, {&commands, 1});
  if (device->may_destroy()) f.vkDestroyCommandPool(device->device, pool, nullptr);
  return watched;
}

}  // namespace

TEST_CASE("a kernel that hangs in its proof is named, and not tried at the next start", "[proof]") {
  const Clean clean;
  const NewProcess process;
  if (!open_device()) SKIP("no Vulkan device");
  const Model model = three_nodes();
  const auto right = right_values(model);
  std::uint32_t submissions = 0;
  {
    fs::remove_all(clean.path);
    const auto opened = open_device();
    auto graph = Graph::create(opened->device, model, {});
    REQUIRE(graph.ok());
    faults().reset();
    REQUIRE(graph->prepare(1, 9, 7).ok());
    submissions = calls_of("vkQueueSubmit");
    CHECK(submissions >= opened->device.state()->proofs->stats().proved);
    CHECK(submissions >= 3);
  }
  std::set<std::string> blamed;
  for (const std::uint32_t nth : {1u, submissions}) {
    INFO("submission " << nth << " of " << submissions);
    NewProcess::begin();
    fs::remove_all(clean.path);
    std::string kernel;
    {
      const auto opened = open_device();
      auto graph = Graph::create(opened->device, model, {});
      REQUIRE(graph.ok());
      faults().reset();
      faults().hang(nth);
      const auto prepared = graph->prepare(1, 9, 7);
      REQUIRE_FALSE(prepared.ok());
      // Software, so ten minutes; what ended before it was waited for once.
      CHECK(calls_of("vkWaitForFences") == 600 + nth - 1);
      kernel = kernel_of(prepared.error().message);
      CHECK_THAT(prepared.error().message, ContainsSubstring("did not end within 600 s on ") &&
                                               ContainsSubstring("verdicts"));
      CHECK(opened->device.state()->proofs->stats().remembered == 0);
      const std::vector<std::uint8_t> px(4 * 9 * 7, 255);
      const auto again = graph->run({1, 9, 7, px});
      const auto other = Graph::create(opened->device, model, {});
      DeviceOptions options;
      options.backend = "vulkan";
      const auto reopened = Device::open(options);
      REQUIRE_FALSE(again.ok());
      REQUIRE_FALSE(other.ok());
      REQUIRE_FALSE(reopened.ok());
      for (const Error& e : {again.error(), other.error(), reopened.error()}) {
        CHECK(e.code == ErrorCode::kVulkan);
        CHECK_THAT(e.message, ContainsSubstring("Start the program again"));
      }
    }
    CHECK(faults().complaints() == std::vector<std::string>{});
    for (const char* kind : {"Instance", "Device", "Fence", "Memory", "Pipeline", "CommandPool"}) {
      INFO(kind);
      CHECK(is_left(kind));
    }
    CHECK(built_in().find_variant(kernel) != nullptr);
    blamed.insert(kernel);
    for (const auto& file : fs::directory_iterator(clean.path / "verdicts")) {
      CHECK(file.path().extension() == ".bin");
    }
    // The next start: where no other variant is left in this form, an error says why.
    NewProcess::begin();
    for (int start = 0; start < 2; ++start) {
      const auto opened = open_device();
      REQUIRE(opened != nullptr);
      const Ran ran = run_graph(opened->device, model);
      INFO(ran.error << joined(ran.messages));
      CHECK_THAT(
          joined(ran.messages),
          ContainsSubstring("kernel " + kernel + " is not run on ") &&
              ContainsSubstring("its proof did not end in time at an earlier start (remove ") &&
              ContainsSubstring(".bin to try it again)"));
      if (ran.error.empty()) {
        CHECK(near(ran.values, right));
      } else {
        CHECK_THAT(ran.error, ContainsSubstring("no variant of kernel"));
      }
      if (start > 0) CHECK(opened->device.state()->proofs->stats().proved == 0);
    }
  }
  CHECK(blamed.size() == 2);
}

TEST_CASE("the CPU goes on behind a kernel that hangs in its proof, with one warning", "[proof]") {
  if (!SPIRKILN_HAVE_CPU) SKIP("this build has no CPU backend");
  const Clean clean;
  const NewProcess process;
  if (!open_device()) SKIP("no Vulkan device");
  const Model model = three_nodes();
  const auto right = right_values(model);
  fs::remove_all(clean.path);
  faults().pose_as_card(true);
  {
    const auto opened = open_device("auto");
    REQUIRE(opened != nullptr);
    REQUIRE(opened->device.info().backend == "vulkan");
    GraphOptions options;
    std::vector<std::string> warnings;
    options.message = [&](Severity severity, std::string_view m) {
      if (severity == Severity::kWarning) warnings.emplace_back(m);
    };
    auto first = Graph::create(opened->device, model, options);
    auto second = Graph::create(opened->device, model, options);
    REQUIRE(first.ok());
    REQUIRE(second.ok());
    faults().reset();
    faults().hang(3);  // behind the copy of what the answers begin with
    std::vector<std::uint8_t> px(4 * 9 * 7);
    for (std::size_t i = 0; i < px.size(); ++i) {
      px[i] = i % 4 == 3 ? 255 : static_cast<std::uint8_t>(i * 37);
    }
    for (Graph* graph : {&*first, &*second, &*first}) {
      const auto out = graph->run({1, 9, 7, px});
      INFO((out.ok() ? std::string() : out.error().message));
      REQUIRE(out.ok());
      CHECK(near((*out)[0].values, right));
    }
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings[0], ContainsSubstring("the CPU runs in place of the device: kernel ") &&
                                ContainsSubstring("did not end within 60 s"));
    // A new device of this process is the CPU, too.
    const auto reopened = open_device("auto");
    REQUIRE(reopened != nullptr);
    CHECK(reopened->device.info().backend == "cpu");
    CHECK_THAT(joined(reopened->messages), ContainsSubstring("Start the program again"));
  }
  CHECK(faults().complaints() == std::vector<std::string>{});
  // The next start is the device's again, without that kernel.
  NewProcess::begin();
  const auto opened = open_device("auto");
  REQUIRE(opened->device.info().backend == "vulkan");
  const Ran ran = run_graph(opened->device, model);
  INFO(ran.error << joined(ran.messages));
  CHECK(near(ran.values, right));
  CHECK_THAT(joined(ran.messages), ContainsSubstring("did not end in time at an earlier start"));
}

TEST_CASE("what waits behind other work is not blamed, and who waits for hung work is let go",
          "[proof]") {
  const Clean clean;
  const NewProcess process;
  const auto opened = open_device();
  if (!opened) SKIP("no Vulkan device");
  const auto device = opened->device.state();
  const auto nothing = [](VkCommandBuffer) {};
  const std::uint32_t bound = watched_seconds(*device);
  // Somebody's long run, and behind it what is watched.
  for (const bool ends : {true, false}) {
    INFO("the long run " << (ends ? "ends" : "is given up"));
    faults().reset();
    faults().hang(1);
    Status ran = Ok{};
    std::thread runner([&] { ran = run_once(device, nothing); });
    until([&] { return calls_of("vkWaitForFences") > 2; });
    if (ends) {
      auto watched = Result<std::optional<std::size_t>>(std::nullopt);
      std::thread watcher([&] { watched = watch_nothing(device); });
      until([&] { return calls_of("vkQueueSubmit") == 2; });
      const std::uint32_t before = calls_of("vkWaitForFences");
      until([&] { return calls_of("vkWaitForFences") > before + 4 * bound; });
      CHECK_FALSE(device->lost);
      faults().reset();
      watcher.join();
      REQUIRE(watched.ok());
      CHECK_FALSE(watched->has_value());
    } else {
      device->abandon();
    }
    runner.join();
    CHECK(ran.ok() == ends);
    if (!ends) CHECK_THAT(ran.error().message, ContainsSubstring("Start the program again"));
  }
  CHECK(faults().complaints() == std::vector<std::string>{});
}
