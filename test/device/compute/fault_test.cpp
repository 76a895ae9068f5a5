// SPDX-License-Identifier: Apache-2.0
// Every Vulkan call behind the making of a device fails once, while kernels are made and run: an
// error with the call and the code, nothing left behind, and the same handle works at the next
// call.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <set>

#include "compute_table.hpp"
#include "loader/vulkan.hpp"
#include "spirkiln/compute.hpp"
#include "support/use_faults.hpp"

using namespace spirkiln;
using namespace spirkiln::test;

namespace {

constexpr std::uint32_t kSide = 4;
constexpr std::size_t kLanes = kSide * kSide * 4;

// What an application does, each step a second time where it failed.
struct Session {
  std::vector<Error> errors;
  std::vector<float> result;
  bool done = false;

  template <typename Step>
  auto twice(Step&& step) -> decltype(step()) {
    auto result = step();
    if (result) return result;
    errors.push_back(std::move(result).error());
    return step();
  }

  // The forms "fp32" on buffers, "image" on images.
  void run(const std::string& form) {
    DeviceOptions options;
    options.backend = "vulkan";
    const auto table = KernelTable::from_memory(tables::compute::table(), "the test's table");
    if (!table) FAIL(table.error().message);
    auto device = twice([&] { return compute::open_device(options, {&*table, 1}); });
    if (!device) return;
    auto kernel = twice([&] {
      return compute::Kernel::create(
          *device, *table, {.kernel = "affine", .forms = {form}},
          {.local_size = {kSide, kSide, 1}, .constants = {{"scale", 2.0f}, {"add", 1u}}});
    });
    if (!kernel) return;
    auto sequence = twice([&] { return compute::Sequence::create(*device); });
    if (!sequence) return;
    done = form == "image"
               ? on<compute::Image>(
                     *kernel, *sequence,
                     [&] { return compute::Image::create(*device, {2, {kSide, kSide, 1}}); })
               : on<compute::Buffer>(*kernel, *sequence,
                                     [&] { return compute::Buffer::create(*device, kLanes * 4); });
  }

  template <typename Resource, typename Make>
  bool on(const compute::Kernel& kernel, compute::Sequence& sequence, Make&& make) {
    auto a = twice(make);
    if (!a) return false;
    auto b = twice(make);
    if (!b) return false;
    auto c = twice(make);
    if (!c) return false;
    std::vector<float> values(kLanes);
    for (std::size_t i = 0; i < kLanes; ++i) values[i] = static_cast<float>(i);
    if (!twice([&] { return a->write(std::as_bytes(std::span(values))); })) return false;
    const std::uint32_t push[] = {kSide, kSide};
    compute::Dispatch dispatch;
    dispatch.push = std::as_bytes(std::span(push));
    dispatch.groups = {1, 1, 1};
    for (const bool second : {false, true}) {
      dispatch.bindings = {{0, second ? *b : *a}, {1, second ? *c : *b}};
      if (!twice([&] { return sequence.add(kernel, dispatch); })) return false;
    }
    // A run whose wait failed may have been one, so that both give the same.
    for (int i = 0; i < 2; ++i) {
      if (!twice([&] { return sequence.run(); })) return false;
    }
    result.resize(kLanes);
    return static_cast<bool>(
        twice([&] { return c->read(std::as_writable_bytes(std::span(result))); }));
  }
};

bool names(const std::string& text, const std::string& call, VkResult code) {
  return text.find(call) != std::string::npos &&
         text.find(vk_result_name(code)) != std::string::npos;
}

}  // namespace

TEST_CASE("every call of a kernel that can fail, failing once") {
  const auto cache =
      std::filesystem::temp_directory_path() / ("spirkiln-compute-" + std::to_string(::getpid()));
  ::setenv("SPIRKILN_CACHE", cache.c_str(), 1);
  std::vector<float> expected(kLanes);
  for (std::size_t i = 0; i < kLanes; ++i) expected[i] = static_cast<float>(i) * 4 + 3;
  std::set<std::string> met;
  struct Mode {
    const char* name;
    bool card;
    const char* form;
  };
  for (const Mode& mode : {Mode{"card", true, "fp32"}, Mode{"images", false, "image"},
                           Mode{"one memory", false, "fp32"}}) {
    faults().reset();
    faults().pose_as_card(mode.card);
    Session clean;
    clean.run(mode.form);
    for (const Error& e : clean.errors) UNSCOPED_INFO(e.message);
    REQUIRE(clean.errors.empty());
    REQUIRE(clean.done);
    CHECK(clean.result == expected);
    REQUIRE(faults().live().empty());
    REQUIRE(faults().complaints().empty());
    const auto calls = faults().calls();
    auto begin = std::find_if(calls.begin(), calls.end(),
                              [](const FaultableCall& c) { return c.name == "vkCreateDevice"; });
    REQUIRE(begin != calls.end());
    for (auto call = begin + 1; call != calls.end(); ++call) {
      if (call->name == "vkGetFenceStatus" && call->nth > 1) continue;  // a poll
      if (call->name == "vkWaitForFences" && mode.card) continue;       // or not
      if (call->name == "vkDeviceWaitIdle") continue;  // the end of a device: nobody listens
      // Without a pipeline cache everything works, slower.
      if (call->name == "vkCreatePipelineCache" || call->name == "vkGetPipelineCacheData") continue;
      const bool fresh = met.insert(call->name + " " + std::to_string(call->nth)).second;
      if (!fresh) continue;
      const VkResult code = VK_ERROR_OUT_OF_DEVICE_MEMORY;
      INFO(mode.name << ": " << call->name << " number " << call->nth);
      faults().reset();
      std::filesystem::remove_all(cache);
      faults().fail(call->name, call->nth, code);
      Session session;
      session.run(mode.form);
      for (const Error& e : session.errors) UNSCOPED_INFO(e.message);
      REQUIRE(faults().failed());
      REQUIRE(session.done);
      CHECK(session.result == expected);
      CHECK(faults().live() == std::vector<std::string>{});
      CHECK(faults().complaints() == std::vector<std::string>{});
      REQUIRE(session.errors.size() == 1);
      CHECK(session.errors[0].code == ErrorCode::kOutOfMemory);
      CHECK(names(session.errors[0].message, call->name, code));
    }
  }
  faults().pose_as_card(false);
  // The list above is what was called; these must have been.
  for (const char* name :
       {"vkAllocateMemory 3", "vkMapMemory 1", "vkFlushMappedMemoryRanges 1",
        "vkInvalidateMappedMemoryRanges 1", "vkGetPhysicalDeviceImageFormatProperties 2",
        "vkCreateImage 2", "vkCreateImageView 2", "vkCreateSampler 1", "vkCreateComputePipelines 1",
        "vkCreateDescriptorPool 1", "vkAllocateDescriptorSets 2", "vkBeginCommandBuffer 2",
        "vkEndCommandBuffer 2", "vkQueueSubmit 3", "vkWaitForFences 1", "vkGetFenceStatus 1"}) {
    INFO(name);
    CHECK(met.contains(name));
  }
  ::unsetenv("SPIRKILN_CACHE");
  std::filesystem::remove_all(cache);
}

TEST_CASE("a run that loses its device says so, and so does each later call") {
  faults().reset();
  DeviceOptions options;
  options.backend = "vulkan";
  const auto table = KernelTable::from_memory(tables::compute::table(), "the test's table");
  if (!table) FAIL(table.error().message);
  {
    auto device = compute::open_device(options, {&*table, 1});
    if (!device) FAIL(device.error().message);
    auto kernel = compute::Kernel::create(*device, *table, {.kernel = "affine"});
    auto a = compute::Buffer::create(*device, 64), b = compute::Buffer::create(*device, 64);
    REQUIRE((kernel && a && b));
    const std::uint32_t push[] = {1, 1};
    const compute::Dispatch dispatch{.bindings = {{0, *a}, {1, *b}},
                                     .push = std::as_bytes(std::span(push)),
                                     .groups = {1, 1, 1}};
    faults().fail("vkQueueSubmit", 1, VK_ERROR_DEVICE_LOST);
    for (int i = 0; i < 2; ++i) {
      const auto lost = compute::run(*kernel, dispatch);
      REQUIRE_FALSE(lost);
      CHECK(lost.error().code == ErrorCode::kVulkan);
      CHECK(lost.error().message.find("VK_ERROR_DEVICE_LOST") != std::string::npos);
    }
    CHECK_FALSE(compute::Kernel::create(*device, *table, {.kernel = "affine"}));
  }
  CHECK(faults().live() == std::vector<std::string>{});
}

TEST_CASE("an image that the device does not give is refused with what it gives") {
  faults().reset();
  DeviceOptions options;
  options.backend = "vulkan";
  {
    auto device = compute::open_device(options);
    if (!device) FAIL(device.error().message);
    const auto refusal = [&](const compute::ImageShape& shape) {
      const auto image = compute::Image::create(*device, shape);
      if (image) return std::string();
      CHECK(image.error().code == ErrorCode::kUnsupported);
      return image.error().message;
    };
    using Catch::Matchers::ContainsSubstring;
    faults().images([](VkFormat, VkImageType, VkImageUsageFlags, VkImageFormatProperties* most) {
      most->maxExtent = {64, 32, 1};
      most->maxResourceSize = 16 * 1024;
      return VK_SUCCESS;
    });
    CHECK(refusal({2, {32, 32, 1}}) == "");
    CHECK(refusal({2, {64, 32, 1}, compute::ImageFormat::kRgba8}) == "");
    for (const compute::Extent size : {compute::Extent{65, 1, 1}, compute::Extent{1, 33, 1}}) {
      CHECK_THAT(refusal({2, size}),
                 ContainsSubstring("has such images of up to 64 x 32 x 1 texels"));
    }
    CHECK_THAT(refusal({2, {33, 32, 1}}),
               ContainsSubstring("up to 16384 bytes, this one has 16896"));
    faults().images([](VkFormat format, VkImageType type, VkImageUsageFlags usage,
                       VkImageFormatProperties*) {
      if (type != VK_IMAGE_TYPE_3D) return VK_SUCCESS;
      const bool stored = (usage & VK_IMAGE_USAGE_STORAGE_BIT) != 0;
      return stored || format == VK_FORMAT_R32_SFLOAT ? VK_ERROR_FORMAT_NOT_SUPPORTED : VK_SUCCESS;
    });
    CHECK(refusal({2, {4, 4, 1}}) == "");
    CHECK_THAT(refusal({3, {4, 4, 4}}),
               ContainsSubstring("an image of 4 x 4 x 4 texels, rgba32f: ") &&
                   ContainsSubstring("has no rgba32f of 3 dimensions that is copied, sampled, "
                                     "stored; it has one that is copied, sampled. Take"));
    CHECK_THAT(refusal({3, {4, 4, 4}, compute::ImageFormat::kR32f}),
               ContainsSubstring("it has none at all"));
    faults().images({});
    CHECK(refusal({3, {4, 4, 4}}) == "");
    // Before the device is asked: the bytes of such a one may not fit 64 bits.
    for (const compute::Extent size : {compute::Extent{~0u, ~0u, ~0u}, {~0u, ~0u, 1}}) {
      CHECK_THAT(refusal({3, size}),
                 ContainsSubstring("an image of 4294967295 x 4294967295 x") &&
                     ContainsSubstring("more than 10^15 texels, which no device has memory for"));
    }
  }
  CHECK(faults().live() == std::vector<std::string>{});
  CHECK(faults().complaints() == std::vector<std::string>{});
}
