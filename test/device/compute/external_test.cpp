// SPDX-License-Identifier: Apache-2.0
// Kernels and a graph on a device of the application's, kernels in its command buffers.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "compute_helpers.hpp"
#include "compute_table.hpp"
#include "own_device.hpp"
#include "support/pack_builder.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;
using compute::Kernel;

namespace {

const std::string kTwice = R"(#version 450
layout(local_size_x_id = 0) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < uint(a.length())) b[i] = a[i] * 2.0 + 1.0;
}
)";

// Memory of the application's, which the host sees.
struct OwnBuffer {
  OwnBuffer(const OwnDevice& d, std::uint64_t bytes) : own(d) {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    REQUIRE(own.find<PFN_vkCreateBuffer>("vkCreateBuffer")(own.device, &info, nullptr, &buffer) ==
            VK_SUCCESS);
    VkMemoryRequirements need{};
    own.find<PFN_vkGetBufferMemoryRequirements>("vkGetBufferMemoryRequirements")(own.device, buffer,
                                                                                 &need);
    VkPhysicalDeviceMemoryProperties memory_types{};
    own.find<PFN_vkGetPhysicalDeviceMemoryProperties>("vkGetPhysicalDeviceMemoryProperties")(
        own.physical, &memory_types);
    constexpr VkMemoryPropertyFlags kWanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkMemoryAllocateInfo alloc{};
    alloc.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    alloc.allocationSize = need.size;
    while ((need.memoryTypeBits >> alloc.memoryTypeIndex & 1) == 0 ||
           (memory_types.memoryTypes[alloc.memoryTypeIndex].propertyFlags & kWanted) != kWanted) {
      ++alloc.memoryTypeIndex;
      REQUIRE(alloc.memoryTypeIndex < memory_types.memoryTypeCount);
    }
    REQUIRE(own.find<PFN_vkAllocateMemory>("vkAllocateMemory")(own.device, &alloc, nullptr,
                                                               &memory) == VK_SUCCESS);
    REQUIRE(own.find<PFN_vkBindBufferMemory>("vkBindBufferMemory")(own.device, buffer, memory, 0) ==
            VK_SUCCESS);
    void* address = nullptr;
    REQUIRE(own.find<PFN_vkMapMemory>("vkMapMemory")(own.device, memory, 0, VK_WHOLE_SIZE, 0,
                                                     &address) == VK_SUCCESS);
    values = {static_cast<float*>(address), bytes / 4};
  }
  ~OwnBuffer() {
    own.find<PFN_vkDestroyBuffer>("vkDestroyBuffer")(own.device, buffer, nullptr);
    own.find<PFN_vkFreeMemory>("vkFreeMemory")(own.device, memory, nullptr);
  }
  OwnBuffer(const OwnBuffer&) = delete;
  OwnBuffer& operator=(const OwnBuffer&) = delete;

  const OwnDevice& own;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  std::span<float> values;
};

// A storage image of two dimensions and 32-bit lanes.
struct OwnImage {
  OwnImage(const OwnDevice& d, const compute::ImageShape& shape) : own(d) {
    VkImageCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    info.imageType = VK_IMAGE_TYPE_2D;
    info.format = VK_FORMAT_R32G32B32A32_SFLOAT;
    info.extent = {shape.size.x, shape.size.y, 1};
    info.mipLevels = info.arrayLayers = 1;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.usage = VK_IMAGE_USAGE_STORAGE_BIT;
    REQUIRE(own.find<PFN_vkCreateImage>("vkCreateImage")(own.device, &info, nullptr, &image) ==
            VK_SUCCESS);
    VkMemoryRequirements need{};
    own.find<PFN_vkGetImageMemoryRequirements>("vkGetImageMemoryRequirements")(own.device, image,
                                                                               &need);
    VkMemoryAllocateInfo alloc{};
    alloc.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    alloc.allocationSize = need.size;
    while ((need.memoryTypeBits >> alloc.memoryTypeIndex & 1) == 0) ++alloc.memoryTypeIndex;
    REQUIRE(own.find<PFN_vkAllocateMemory>("vkAllocateMemory")(own.device, &alloc, nullptr,
                                                               &memory) == VK_SUCCESS);
    REQUIRE(own.find<PFN_vkBindImageMemory>("vkBindImageMemory")(own.device, image, memory, 0) ==
            VK_SUCCESS);
    VkImageViewCreateInfo view_info{};
    view_info.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
    view_info.image = image;
    view_info.viewType = VK_IMAGE_VIEW_TYPE_2D;
    view_info.format = info.format;
    view_info.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    REQUIRE(own.find<PFN_vkCreateImageView>("vkCreateImageView")(own.device, &view_info, nullptr,
                                                                 &view) == VK_SUCCESS);
  }
  ~OwnImage() {
    own.find<PFN_vkDestroyImageView>("vkDestroyImageView")(own.device, view, nullptr);
    own.find<PFN_vkDestroyImage>("vkDestroyImage")(own.device, image, nullptr);
    own.find<PFN_vkFreeMemory>("vkFreeMemory")(own.device, memory, nullptr);
  }
  OwnImage(const OwnImage&) = delete;
  OwnImage& operator=(const OwnImage&) = delete;

  // Into the layout GENERAL, behind whatever used it before.
  void begin(VkCommandBuffer commands) const {
    VkImageMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
    barrier.srcAccessMask = barrier.dstAccessMask =
        VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = image;
    barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    own.find<PFN_vkCmdPipelineBarrier>("vkCmdPipelineBarrier")(
        commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 0,
        nullptr, 0, nullptr, 1, &barrier);
  }

  const OwnDevice& own;
  VkImage image = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkImageView view = VK_NULL_HANDLE;
};

// A command buffer of the application's, submitted twice.
void run_twice(const OwnDevice& own, const std::function<void(VkCommandBuffer)>& record) {
  VkCommandPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool_info.queueFamilyIndex = own.queue_info.queueFamilyIndex;
  VkCommandPool pool = VK_NULL_HANDLE;
  REQUIRE(own.find<PFN_vkCreateCommandPool>("vkCreateCommandPool")(own.device, &pool_info, nullptr,
                                                                   &pool) == VK_SUCCESS);
  VkCommandBufferAllocateInfo alloc{};
  alloc.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  alloc.commandPool = pool;
  alloc.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  REQUIRE(own.find<PFN_vkAllocateCommandBuffers>("vkAllocateCommandBuffers")(
              own.device, &alloc, &commands) == VK_SUCCESS);
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  REQUIRE(own.find<PFN_vkBeginCommandBuffer>("vkBeginCommandBuffer")(commands, &begin) ==
          VK_SUCCESS);
  record(commands);
  VkMemoryBarrier to_host{};
  to_host.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  to_host.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  to_host.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  own.find<PFN_vkCmdPipelineBarrier>("vkCmdPipelineBarrier")(
      commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0,
      nullptr, 0, nullptr);
  REQUIRE(own.find<PFN_vkEndCommandBuffer>("vkEndCommandBuffer")(commands) == VK_SUCCESS);
  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(own.find<PFN_vkQueueSubmit>("vkQueueSubmit")(own.queue, 1, &submit, VK_NULL_HANDLE) ==
            VK_SUCCESS);
    REQUIRE(own.find<PFN_vkQueueWaitIdle>("vkQueueWaitIdle")(own.queue) == VK_SUCCESS);
  }
  own.find<PFN_vkDestroyCommandPool>("vkDestroyCommandPool")(own.device, pool, nullptr);
}

}  // namespace

TEST_CASE("kernels in the application's command buffer, on its buffers", "[external]") {
  const auto own = OwnDevice::make({});
  OwnBuffer a(*own, 4000), b(*own, 8000);
  for (std::size_t i = 0; i < 1000; ++i) a.values[i] = static_cast<float>(i);
  std::fill(b.values.begin(), b.values.end(), -5.0f);
  {
    const Device device = must(open_external_device(own->external()));
    CHECK(device.info().backend == "vulkan");
    const Kernel kernel =
        must(Kernel::create(device, compile(kTwice, fp32()), {.local_size = {64, 1, 1}}));
    const auto from = must(compute::wrap(device, a.buffer, 4000));
    const auto to = must(compute::wrap(device, b.buffer, 8000));
    const auto between = must(compute::Buffer::create(device, 4000));
    auto sequence = must(compute::Sequence::create(device));
    must(
        sequence.add(kernel, {.bindings = {{0, from}, {1, between}}, .invocations = {1000, 1, 1}}));
    must(
        sequence.add(kernel, {.bindings = {{0, between}, {1, compute::BufferRange(to, 4096, 2000)}},
                              .invocations = {500, 1, 1}}));
    run_twice(*own, [&](VkCommandBuffer c) { must(compute::record(sequence, c)); });
    CHECK(sequence.barriers() == 1);
    bool same = true;
    for (std::size_t i = 0; i < b.values.size(); ++i) {
      const bool inside = i >= 1024 && i < 1524;
      const float expected = inside ? (static_cast<float>(i - 1024) * 2 + 1) * 2 + 1 : -5.0f;
      same = same && b.values[i] == expected;
    }
    CHECK(same);
    // What is the application's is read by the application.
    std::vector<std::byte> bytes(4);
    auto writable = from;
    CHECK_FALSE(from.read(bytes));
    CHECK_FALSE(writable.write(bytes));
    CHECK_FALSE(compute::record(sequence, VK_NULL_HANDLE));
  }
  // The device is still the application's, whole.
  CHECK(own->find<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle")(own->device) == VK_SUCCESS);
}

TEST_CASE("the library's own submissions on the application's queue", "[external]") {
  const auto own = OwnDevice::make({});
  int locked = 0, depth = 0;
  {
    ExternalDevice external = own->external();
    external.lock_queue = [&] {
      ++locked;
      CHECK(++depth == 1);
    };
    external.unlock_queue = [&] { --depth; };
    const Device device = must(open_external_device(external));
    const Kernel kernel =
        must(Kernel::create(device, compile(kTwice, fp32()), {.optimal_for = {1000, 1, 1}}));
    const auto values = small_numbers(1000);
    const auto a = buffer_with(device, values);
    const auto b = must(compute::Buffer::create(device, 4000));
    must(compute::run(kernel, {.bindings = {{0, a}, {1, b}}, .invocations = {1000, 1, 1}}));
    std::vector<float> expected;
    for (const float v : values) expected.push_back(v * 2 + 1);
    CHECK(contents<float>(b) == expected);
  }
  CHECK(locked > 0);
  CHECK(depth == 0);
}

TEST_CASE("only what the device was made with is used", "[external]") {
  const KernelTable table =
      must(KernelTable::from_memory(tables::compute::table(), "the test's table"));
  struct Row {
    OwnDevice::Wish wish;
    std::string best;
    std::string refused, reason;
  };
  for (const Row& row :
       {Row{{VK_API_VERSION_1_0, false, false}, "fp16p", "fp16s", "storageBuffer16BitAccess"},
        Row{{VK_API_VERSION_1_1, false, false}, "fp16p", "fp16s", "storageBuffer16BitAccess"},
        Row{{VK_API_VERSION_1_1, true, false}, "fp16s", "fp16sa", "shaderFloat16"},
        Row{{VK_API_VERSION_1_3, false, true}, "fp16p", "fp16sa", "storageBuffer16BitAccess"}}) {
    const auto own = OwnDevice::make(row.wish);
    const Device device = must(open_external_device(own->external()));
    CHECK(device.info().storage16 == row.wish.storage16);
    CHECK(device.info().float16 == row.wish.float16);
    const Kernel best = must(Kernel::create(device, table, {.kernel = "affine"}));
    CHECK(best.form() == row.best);
    const auto not_enabled =
        Kernel::create(device, table, {.kernel = "affine", .forms = {row.refused}});
    REQUIRE_FALSE(not_enabled);
    CHECK(not_enabled.error().code == ErrorCode::kNoVariant);
    CHECK_THAT(not_enabled.error().message, ContainsSubstring(row.reason));
    Option half;
    half.use_fp16_uniform = false;
    const auto words = compile(
        "#version 450\nlayout(binding = 0) buffer A { sfpvec4 a[]; };\n"
        "void main() { buffer_st4(a, 0, buffer_ld4(a, 1)); }\n",
        half);
    if (!(row.wish.storage16 && row.wish.float16)) {
      const auto kernel = Kernel::create(device, words, {.name = "half"});
      REQUIRE_FALSE(kernel);
      CHECK(kernel.error().code == ErrorCode::kUnsupported);
      CHECK_THAT(kernel.error().message, ContainsSubstring("half needs "));
    }
  }
}

TEST_CASE("a graph on the application's device", "[external]") {
  PackBuilder b;
  const auto a = b.tensor(b.n(), b.h(), b.w(), 4);
  b.node(model::Op::kConv, a, {b.input()},
         {b.weights(ramp(9 * 4 * 4)), b.floats(ramp(4)), b.floats(ramp(4))},
         {3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 3, 4});
  b.output(a);
  const Model model = must(Model::from_bytes(b.build(), "one convolution"));
  std::vector<std::uint8_t> pixels(std::size_t{4} * 9 * 7);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = i % 4 == 3 ? 255 : static_cast<std::uint8_t>(i * 37);
  }
  GraphOptions options;
  options.variant = "fp32";
  const auto own = OwnDevice::make({});
  std::vector<std::vector<float>> results;
  for (const Device& device : {*test::device(), must(open_external_device(own->external()))}) {
    auto graph = must(Graph::create(device, model, options));
    results.push_back(must(graph.run({1, 9, 7, pixels}))[0].values);
  }
  CHECK(results[0].size() == 9 * 7 * 4);
  CHECK(results[0] == results[1]);
}

TEST_CASE("an image of the application's", "[external]") {
  const auto own = OwnDevice::make({});
  OwnBuffer a(*own, 1024), b(*own, 1024);
  const compute::ImageShape shape{2, {8, 8, 1}, compute::ImageFormat::kRgba32f};
  const OwnImage image(*own, shape);
  for (std::size_t i = 0; i < 256; ++i) a.values[i] = static_cast<float>(i);
  {
    const Device device = must(open_external_device(own->external()));
    const Kernel into = must(Kernel::create(device, compile(R"(#version 450
layout(binding = 0) readonly buffer A { vec4 a[]; };
layout(binding = 1, rgba32f) writeonly uniform image2D b;
void main() {
  const uvec2 i = gl_GlobalInvocationID.xy;
  imageStore(b, ivec2(i), a[i.y * 8 + i.x] + 1.0);
}
)",
                                                            fp32())));
    const Kernel out_of = must(Kernel::create(device, compile(R"(#version 450
layout(binding = 0, rgba32f) readonly uniform image2D a;
layout(binding = 1) writeonly buffer B { vec4 b[]; };
void main() {
  const uvec2 i = gl_GlobalInvocationID.yx;
  b[i.x * 8 + i.y] = imageLoad(a, ivec2(i)) * 2.0;
}
)",
                                                              fp32())));
    auto wrapped = must(compute::wrap(device, image.image, image.view, shape));
    auto sequence = must(compute::Sequence::create(device));
    must(sequence.add(into,
                      {.bindings = {{0, must(compute::wrap(device, a.buffer, 1024))}, {1, wrapped}},
                       .groups = {8, 8, 1}}));
    must(sequence.add(out_of,
                      {.bindings = {{0, wrapped}, {1, must(compute::wrap(device, b.buffer, 1024))}},
                       .groups = {8, 8, 1}}));
    run_twice(*own, [&](VkCommandBuffer c) {
      image.begin(c);
      must(compute::record(sequence, c));
    });
    CHECK(sequence.barriers() == 1);
    std::vector<std::byte> texels(1024);
    CHECK_FALSE(wrapped.read(texels));
    CHECK_FALSE(wrapped.write(texels));
    CHECK_FALSE(compute::wrap(device, image.image, VK_NULL_HANDLE, shape));
    CHECK_FALSE(compute::wrap(device, VK_NULL_HANDLE, image.view, shape));
    CHECK_FALSE(compute::wrap(device, VK_NULL_HANDLE, 16));
    CHECK_FALSE(compute::wrap(device, a.buffer, 0));
  }
  // The second kernel turns the picture.
  bool same = true;
  for (std::size_t y = 0; y < 8; ++y) {
    for (std::size_t x = 0; x < 8; ++x) {
      for (std::size_t c = 0; c < 4; ++c) {
        same = same && b.values[(y * 8 + x) * 4 + c] == (a.values[(x * 8 + y) * 4 + c] + 1) * 2;
      }
    }
  }
  CHECK(same);
}

TEST_CASE("what is missing of a device is named", "[external]") {
  const auto own = OwnDevice::make({});
  const auto message = [](const ExternalDevice& e) {
    const auto device = open_external_device(e);
    if (device) FAIL("it was not refused");
    CHECK(device.error().code == ErrorCode::kInvalidArgument);
    return device.error().message;
  };
  ExternalDevice e;
  CHECK_THAT(message(e), ContainsSubstring("get_instance_proc_addr is null"));
  e = own->external();
  e.instance = VK_NULL_HANDLE;
  CHECK_THAT(message(e), ContainsSubstring("instance is null"));
  e = own->external();
  e.physical = VK_NULL_HANDLE;
  CHECK_THAT(message(e), ContainsSubstring("physical is null"));
  e = own->external();
  e.device = VK_NULL_HANDLE;
  CHECK_THAT(message(e), ContainsSubstring("device is null"));
  e = own->external();
  e.made_with = nullptr;
  CHECK_THAT(message(e), ContainsSubstring("VkDeviceCreateInfo"));
  e = own->external();
  e.queue_index = 1;
  CHECK_THAT(message(e), ContainsSubstring("a queue 1 of family"));
  e = own->external();
  e.queue_family = 77;
  CHECK_THAT(message(e), ContainsSubstring("of family 77"));
}
