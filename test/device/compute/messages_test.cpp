// SPDX-License-Identifier: Apache-2.0
// Who hears a message may call the library, and wait for another thread that does.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <functional>
#include <thread>

#include "compute_helpers.hpp"
#include "compute_table.hpp"
#include "graph/pipelines.hpp"
#include "loader/device.hpp"
#include "proof/verdicts.hpp"
#include "support/watchdog.hpp"
#include "table/read_file.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

// A cache folder of this test's own.
struct Cache {
  Cache() { ::setenv("SPIRKILN_CACHE", path.c_str(), 1); }
  ~Cache() {
    ::unsetenv("SPIRKILN_CACHE");
    fs::remove_all(path);
  }
  fs::path path = fs::temp_directory_path() / ("spirkiln-messages-" + std::to_string(::getpid()));
};

// What was said, and what is done each time: once from the callback and once from another thread
// that it waits for. Messages of those calls are heard, and nothing more is done at them.
struct Listener {
  explicit Listener(std::function<void()> w) : work(std::move(w)) {}

  MessageCallback callback() {
    return [this](Severity, std::string_view text) {
      heard.emplace_back(text);
      if (busy) return;
      busy = true;
      work();
      std::thread([this] { work(); }).join();
      busy = false;
      ++worked;
    };
  }
  bool has_heard(const std::string& part) const {
    return std::any_of(heard.begin(), heard.end(), [&](const std::string& text) {
      return text.find(part) != std::string::npos;
    });
  }

  std::function<void()> work;
  std::vector<std::string> heard;
  bool busy = false;
  int worked = 0;
};

Device open(const MessageCallback& message) {
  DeviceOptions options;
  options.message = message;
  return must(compute::open_device(options));
}

KernelTable table() {
  return must(KernelTable::from_memory(tables::compute::table(), "the test's table"));
}

// A kernel that the device has not made yet.
compute::Kernel next_kernel(const Device& on) {
  static std::uint32_t add = 0;
  return must(compute::Kernel::create(on, table(), {.kernel = "affine", .forms = {"fp32"}},
                                      {.local_size = {4, 4, 1}, .constants = {{"add", ++add}}}));
}

void damage(const std::string& path) {
  REQUIRE(write_file_atomically(path, std::vector<std::byte>(100)).ok());
}

}  // namespace

TEST_CASE("a listener that calls the library: a damaged verdict file", "[messages]") {
  const Watchdog watchdog("a message of damaged verdicts");
  const Cache cache;
  Device opened;
  Listener listener([&] { next_kernel(opened); });
  opened = open(listener.callback());
  damage(verdict_path(cache.path.string(), opened.state()->caps));
  const compute::Kernel kernel = next_kernel(opened);
  CHECK(listener.has_heard("verdicts"));
  CHECK(listener.worked == 1);
}

TEST_CASE("a listener that calls the library: a damaged pipeline cache", "[messages]") {
  const Watchdog watchdog("a message of a damaged pipeline cache");
  const Cache cache;
  damage(open({}).state()->pipelines->cache_path());
  // Said before the device is there, so another one is opened.
  Listener listener([&] { next_kernel(open({})); });
  const Device opened = open(listener.callback());
  CHECK(listener.has_heard("the pipeline cache"));
  CHECK(listener.worked == 1);
}

TEST_CASE("a listener that calls the library: a cache that cannot be written", "[messages]") {
  const Watchdog watchdog("a message of a cache that cannot be written");
  const Cache cache;
  REQUIRE(write_file_atomically(cache.path.string(), {}).ok());  // a file in the folder's place
  Device opened;
  Listener listener([&] { next_kernel(opened); });
  opened = open(listener.callback());
  const compute::Kernel kernel = next_kernel(opened);
  CHECK(listener.has_heard("the pipeline cache is not kept"));
  CHECK(listener.worked >= 1);
}

TEST_CASE("what is said comes before the call returns, in order, on its thread", "[messages]") {
  const Cache cache;
  damage(open({}).state()->pipelines->cache_path());
  std::vector<std::thread::id> threads;
  std::vector<std::string> heard;
  const Device opened = open([&](Severity, std::string_view text) {
    threads.push_back(std::this_thread::get_id());
    heard.emplace_back(text);
  });
  REQUIRE(heard.size() == 1);
  damage(verdict_path(cache.path.string(), opened.state()->caps));
  const compute::Kernel kernel = next_kernel(opened);
  REQUIRE(heard.size() == 2);
  CHECK_THAT(heard[0], ContainsSubstring("pipeline cache"));
  CHECK_THAT(heard[1], ContainsSubstring("verdicts"));
  CHECK(std::all_of(threads.begin(), threads.end(),
                    [](std::thread::id id) { return id == std::this_thread::get_id(); }));
}
