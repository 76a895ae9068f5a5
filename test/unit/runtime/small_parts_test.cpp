// SPDX-License-Identifier: Apache-2.0
// Half conversion, the LRU, memory types, cache files, library names.
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "graph/half.hpp"
#include "graph/lru.hpp"
#include "graph/pipelines.hpp"
#include "graph/plan.hpp"
#include "graph/work.hpp"
#include "loader/instance.hpp"
#include "loader/library.hpp"
#include "loader/memory.hpp"
#include "table/read_file.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("every half survives the way to float and back") {
  for (std::uint32_t h = 0; h < 65536; ++h) {
    const float f = half_to_float(static_cast<std::uint16_t>(h));
    const std::uint16_t back = float_to_half(f);
    const bool nan = (h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0;
    if (nan) {
      REQUIRE(std::isnan(f));
      REQUIRE(std::isnan(half_to_float(back)));
    } else {
      REQUIRE(back == h);
    }
  }
}

TEST_CASE("floats round to the nearest half, ties to even") {
  // Between two neighbours h and h + 1: below, at and above the middle.
  for (std::uint32_t h = 0; h < 0x7bff; ++h) {
    const double a = half_to_float(static_cast<std::uint16_t>(h));
    const double b = half_to_float(static_cast<std::uint16_t>(h + 1));
    const float middle = static_cast<float>((a + b) / 2);  // exact
    REQUIRE(float_to_half(middle) == (h % 2 == 0 ? h : h + 1));
    REQUIRE(float_to_half(std::nextafter(middle, 0.0f)) == h);
    REQUIRE(float_to_half(std::nextafter(middle, 1e9f)) == h + 1);
  }
  CHECK(float_to_half(65519.0f) == 0x7bff);
  CHECK(float_to_half(65520.0f) == 0x7c00);
  CHECK(float_to_half(1e30f) == 0x7c00);
  CHECK(float_to_half(-1e-30f) == 0x8000);
}

TEST_CASE("the LRU never holds more than its bound and forgets the oldest") {
  LruCache<int, std::shared_ptr<int>> cache(3);
  auto alive = std::make_shared<int>(0);
  for (int i = 0; i < 1000; ++i) {
    cache.insert(i, alive);
    CHECK(cache.size() <= 3);
    CHECK(alive.use_count() <= 4);
  }
  CHECK(cache.find(999) != nullptr);
  CHECK(cache.find(996) == nullptr);
  CHECK(cache.find(997) != nullptr);  // used now: 998 is the oldest
  cache.insert(1000, alive);
  CHECK(cache.find(998) == nullptr);
  CHECK(cache.find(997) != nullptr);
  cache.insert(997, alive);  // replaces
  CHECK(cache.size() == 3);
  cache.set_capacity(1);
  CHECK(cache.size() == 1);
  CHECK(cache.find(997) != nullptr);
}

namespace {

VkPhysicalDeviceMemoryProperties memory_of(
    std::initializer_list<std::pair<VkMemoryPropertyFlags, std::uint32_t>> types,
    std::initializer_list<VkMemoryHeapFlags> heaps) {
  VkPhysicalDeviceMemoryProperties m{};
  for (const auto& [flags, heap] : types) m.memoryTypes[m.memoryTypeCount++] = {flags, heap};
  for (const VkMemoryHeapFlags flags : heaps)
    m.memoryHeaps[m.memoryHeapCount++] = {1u << 30, flags};
  return m;
}

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr VkMemoryPropertyFlags kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

}  // namespace

TEST_CASE("memory types: a card with ReBAR is never read from through the bus") {
  // As one NVIDIA driver lists them: none, local, host, host cached, local and visible.
  const auto m = memory_of({{0, 1},
                            {kLocal, 0},
                            {kVisible | kCoherent, 1},
                            {kVisible | kCoherent | kCached, 1},
                            {kLocal | kVisible | kCoherent, 0}},
                           {VK_MEMORY_HEAP_DEVICE_LOCAL_BIT, 0});
  CHECK(choose_memory_type(m, 0x1f, MemoryUse::kDevice) == 1);
  CHECK(choose_memory_type(m, 0x1f, MemoryUse::kUpload) == 2);
  CHECK(choose_memory_type(m, 0x1f, MemoryUse::kDownload) == 3);
  // What kernels read stands in the device's memory where the host sees all of it, not in a window.
  CHECK(choose_memory_type(m, 0x1f, MemoryUse::kInput) == 4);
  auto window = m;
  window.memoryHeaps[window.memoryHeapCount++] = {256u << 20, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  window.memoryTypes[4].heapIndex = 2;
  CHECK(choose_memory_type(window, 0x1f, MemoryUse::kInput) == 2);
  // What a buffer does not allow is not chosen, and where nothing is left there is no type.
  CHECK(choose_memory_type(m, 0x16, MemoryUse::kDownload) == 2);
  CHECK(choose_memory_type(m, 0x10, MemoryUse::kDownload) == 4);
  CHECK(choose_memory_type(m, 0x03, MemoryUse::kDownload) == 32);
}

TEST_CASE("memory types: where all memory is one, everything is mapped") {
  const auto m =
      memory_of({{kLocal | kVisible | kCoherent | kCached, 0}}, {VK_MEMORY_HEAP_DEVICE_LOCAL_BIT});
  for (const auto use :
       {MemoryUse::kDevice, MemoryUse::kUpload, MemoryUse::kInput, MemoryUse::kDownload}) {
    CHECK(choose_memory_type(m, 1, use) == 0);
  }
  const auto two =
      memory_of({{kLocal, 0}, {kLocal | kVisible | kCoherent, 0}, {kLocal | kVisible | kCached, 0}},
                {VK_MEMORY_HEAP_DEVICE_LOCAL_BIT});
  CHECK(choose_memory_type(two, 7, MemoryUse::kDownload) == 2);
  CHECK(choose_memory_type(two, 7, MemoryUse::kUpload) == 1);
  CHECK(choose_memory_type(two, 7, MemoryUse::kInput) == 1);
}

TEST_CASE("a cache file that is not whole is not used") {
  std::vector<std::byte> payload(100);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i);
  const auto file = wrap_cache(payload);
  const auto back = unwrap_cache(file);
  CHECK(std::vector<std::byte>(back.begin(), back.end()) == payload);
  for (std::size_t n = 0; n < file.size(); ++n) {
    CHECK(unwrap_cache(std::span(file).first(n)).empty());
    auto flipped = file;
    flipped[n] ^= std::byte{4};
    CHECK(unwrap_cache(flipped).empty());
  }
}

TEST_CASE(
    "temporary files that a process left go when the file is written again, not before a day") {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("spirkiln-stale-" + std::to_string(::getpid()));
  const std::string path = (folder / "cache.bin").string();
  const std::byte one[1]{};
  REQUIRE(write_file_atomically(path, one).ok());
  const std::vector<std::string> old = {".tmp17"};
  const std::vector<std::string> others = {".tmp", ".tmpx", ".tmp1x", "2.tmp3"};  // not its own
  const auto now = fs::file_time_type::clock::now();
  for (const auto& list : {old, others}) {
    for (const std::string& suffix : list) {
      REQUIRE(write_file_atomically(path + suffix, one).ok());
      fs::last_write_time(path + suffix, now - std::chrono::hours(25));
    }
  }
  REQUIRE(write_file_atomically(path + ".tmp18", one).ok());
  fs::last_write_time(path + ".tmp18", now - std::chrono::hours(23));
  REQUIRE(write_file_atomically(path, one).ok());
  CHECK_FALSE(fs::exists(path + ".tmp17"));
  CHECK(fs::exists(path + ".tmp18"));
  for (const std::string& suffix : others) CHECK(fs::exists(path + suffix));
  fs::remove_all(folder);
}

TEST_CASE("programs are cut where the work of a submission would be too much") {
  using Begins = std::vector<std::size_t>;
  const std::vector<double> work = {3, 3, 3, 10, 1, 1, 1};
  CHECK(submission_begins(work, 0) == Begins{0});
  CHECK(submission_begins(work, 22) == Begins{0});
  CHECK(submission_begins(work, 6) == Begins{0, 2, 3, 4});  // a step is never cut
  CHECK(submission_begins(work, 0.5) == Begins{0, 1, 2, 3, 4, 5, 6});
  CHECK(submission_begins({}, 1) == Begins{0});
}

TEST_CASE("the work of a layer follows its channels, taps and pixels") {
  // 10 pixels of 8 floats out of as many, by 3 x 3 taps: 9 * 8 products for each value.
  Program program;
  const auto add = [&](Home home, std::uint64_t bytes) {
    ProgramBuffer b;
    b.home = home;
    b.bytes = bytes;
    program.buffers.push_back(b);
  };
  add(Home::kArena, 10 * 8 * 4);
  add(Home::kArena, 10 * 8 * 4);
  add(Home::kWeights, 9 * 8 * 8 * 4);
  add(Home::kWeights, 8 * 4);
  Step step;
  step.uses = {{0, 0, true, false}, {1, 1, false, true}, {2, 2, true, false}, {3, 3, true, false}};
  CHECK(step_work(program, step) == 2 * 320 + 2304 + 32 + 80 * 72);
  step.uses = {{0, 0, true, false}, {1, 1, false, true}};
  CHECK(step_work(program, step) == 2 * 320 + 80);
}

TEST_CASE("forms: one name forces one, and a device has its best by itself") {
  DeviceCaps caps;
  caps.type = "discrete";
  CHECK(*choose_forms("", caps) == std::vector<Form>{kFp16s, kFp16p});
  CHECK(*choose_forms("fp16pa", caps) == std::vector<Form>{kFp16pa});
  CHECK(*choose_forms("image", caps) == std::vector<Form>{image_of(kFp32)});
  CHECK(*choose_forms("image_fp16sa", caps) == std::vector<Form>{image_of(kFp16sa)});
  const auto wrong = choose_forms("fp8", caps);
  REQUIRE_FALSE(wrong);
  CHECK_THAT(wrong.error().message, ContainsSubstring("fp8") &&
                                        ContainsSubstring("they are fp32, ") &&
                                        ContainsSubstring(", image, image_fp16p,"));
  CHECK_FALSE(choose_forms("bf16s", caps));
}

TEST_CASE("each system's names of the Vulkan loader, the versioned one first") {
  using Names = std::vector<std::string>;
  CHECK(vulkan_library_names_on(System::kLinux) == Names{"libvulkan.so.1", "libvulkan.so"});
  CHECK(vulkan_library_names_on(System::kAndroid) == Names{"libvulkan.so"});
  CHECK(vulkan_library_names_on(System::kWindows) == Names{"vulkan-1.dll"});
  const Names mac = vulkan_library_names_on(System::kMac);
  REQUIRE(mac.size() > 3);
  CHECK(Names(mac.begin(), mac.begin() + 3) ==
        Names{"libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib"});
}

TEST_CASE("without a Vulkan library the error names every one that was tried") {
  const auto r = VulkanLibrary::open({"libno-such-vulkan.so.1", "/nonexistent/libvulkan.so"});
  REQUIRE_FALSE(r);
  CHECK(r.error().code == ErrorCode::kNoVulkan);
  CHECK_THAT(r.error().message, ContainsSubstring("libno-such-vulkan.so.1") &&
                                    ContainsSubstring("/nonexistent/libvulkan.so"));
  // A library that is there but is no loader counts as tried.
  const auto other = VulkanLibrary::open({"libc.so.6"});
  REQUIRE_FALSE(other);
  CHECK_THAT(other.error().message, ContainsSubstring("libc.so.6: is no Vulkan loader"));
  CHECK_THAT(VulkanLibrary::open({}).error().message, ContainsSubstring("empty"));
}

#ifndef _WIN32
TEST_CASE("the public API gives that error, too") {
  ::setenv("SPIRKILN_VULKAN_LIBRARY", "libabsent-a.so:libabsent-b.so", 1);
  CHECK(vulkan_library_names() == std::vector<std::string>{"libabsent-a.so", "libabsent-b.so"});
  ::setenv("SPIRKILN_CPU_LIBRARY", "libabsent-cpu.so", 1);
  const auto list = list_devices();
  DeviceOptions options;
  options.backend = "vulkan";
  const auto device = Device::open(options);
  // Nor is there another backend.
  options.backend = "auto";
  const auto neither = Device::open(options);
  options.backend = "cpu";
  const auto cpu = Device::open(options);
  ::unsetenv("SPIRKILN_CPU_LIBRARY");
  ::unsetenv("SPIRKILN_VULKAN_LIBRARY");
  REQUIRE_FALSE(list);
  REQUIRE_FALSE(neither);
  CHECK(neither.error().code == ErrorCode::kNoVulkan);
  CHECK_THAT(neither.error().message,
             ContainsSubstring("libabsent-b.so") && ContainsSubstring("libabsent-cpu.so"));
  REQUIRE_FALSE(cpu);
  CHECK(cpu.error().code == ErrorCode::kUnsupported);
  CHECK_THAT(cpu.error().message, ContainsSubstring("libabsent-cpu.so"));
  REQUIRE_FALSE(device);
  CHECK(list.error().code == ErrorCode::kNoVulkan);
  CHECK_THAT(device.error().message,
             ContainsSubstring("libabsent-a.so") && ContainsSubstring("libabsent-b.so"));
}
#endif

TEST_CASE("SPIRKILN_VALIDATION: a value that means nothing is an error") {
  const char* before = std::getenv("SPIRKILN_VALIDATION");
  const std::string kept = before != nullptr ? before : "";
  for (const char* value : {"2", "yes", "GPU", "1 "}) {
    INFO(value);
    ::setenv("SPIRKILN_VALIDATION", value, 1);
    const auto instance = Instance::create(false, {});
    REQUIRE_FALSE(instance);
    CHECK(instance.error().code == ErrorCode::kInvalidArgument);
    CHECK(instance.error().message ==
          "SPIRKILN_VALIDATION is '" + std::string(value) + "'; expected 0, 1 or gpu");
  }
  ::setenv("SPIRKILN_VALIDATION", "0", 1);
  CHECK_FALSE(validation_in_environment());
  ::setenv("SPIRKILN_VALIDATION", "gpu", 1);
  CHECK(validation_in_environment());
  before != nullptr ? ::setenv("SPIRKILN_VALIDATION", kept.c_str(), 1)
                    : ::unsetenv("SPIRKILN_VALIDATION");
}
