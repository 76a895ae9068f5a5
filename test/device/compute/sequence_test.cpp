// SPDX-License-Identifier: Apache-2.0
// Several dispatches: what each sees of those before it, and what is refused before anything runs.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <thread>

#include "compute_helpers.hpp"
#include "loader/device.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;
using compute::Dispatch;
using compute::Kernel;
using compute::Sequence;

namespace {

// b[i] = a[(i + 1) % n] + 1: any order but the right one gives other numbers.
Kernel shift() {
  return must(Kernel::create(*device(),
                             compile(R"(#version 450
layout(local_size_x_id = 0) in;
layout(push_constant) uniform parameter { uint n; } p;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) writeonly buffer B { uint b[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < p.n) b[i] = a[(i + 1) % p.n] + 1;
}
)",
                                     fp32()),
                             {.local_size = {16, 1, 1}, .name = "shift"}));
}

std::vector<std::uint32_t> shifted(const std::vector<std::uint32_t>& a, std::uint32_t times) {
  std::vector<std::uint32_t> out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[(i + times) % a.size()] + times;
  return out;
}

const std::uint32_t kCount = 5000;

std::vector<std::uint32_t> numbers() {
  std::vector<std::uint32_t> values(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) values[i] = i * 2654435761u % 1000000;
  return values;
}

Dispatch on(const compute::BufferRange& a, const compute::BufferRange& b) {
  Dispatch d;
  d.bindings = {{0, a}, {1, b}};
  d.push = bytes_of(kCount);
  d.invocations = {kCount, 1, 1};
  return d;
}

// The error of a call that must fail.
template <typename T>
Error refused(const Result<T>& result) {
  if (result) FAIL("it was not refused");
  return result.error();
}

}  // namespace

TEST_CASE("a chain needs a barrier at each step, and gives the same at each run", "[sequence]") {
  const Kernel kernel = shift();
  const auto a = buffer_with(*device(), numbers());
  const auto b = buffer_with(*device(), std::vector<std::uint32_t>(kCount));
  auto sequence = must(Sequence::create(*device()));
  for (int i = 0; i < 3; ++i) {
    must(sequence.add(kernel, on(a, b)));
    must(sequence.add(kernel, on(b, a)));
  }
  CHECK(sequence.dispatches() == 6);
  must(sequence.run());
  CHECK(sequence.barriers() == 5);
  CHECK(contents<std::uint32_t>(a) == shifted(numbers(), 6));
  must(sequence.run());
  CHECK(contents<std::uint32_t>(a) == shifted(numbers(), 12));
  CHECK(contents<std::uint32_t>(b) == shifted(numbers(), 11));
  const Error late = refused(sequence.add(kernel, on(a, b)));
  CHECK(late.code == ErrorCode::kInvalidArgument);
}

TEST_CASE("what shares nothing needs no barrier", "[sequence]") {
  const Kernel kernel = shift();
  const std::uint64_t part = (kCount * 4 + 255) / 256 * 256;
  const auto a = buffer_with(*device(), numbers());
  const auto all = must(compute::Buffer::create(*device(), part * 3));
  auto sequence = must(Sequence::create(*device()));
  // Three parts of one buffer from one source; then the third from the first.
  for (std::uint64_t i = 0; i < 3; ++i) {
    must(sequence.add(kernel, on(a, {all, i * part, kCount * 4})));
  }
  must(sequence.add(kernel, on({all, 0, kCount * 4}, {all, 2 * part, kCount * 4})));
  must(sequence.run());
  CHECK(sequence.barriers() == 1);
  std::vector<std::uint32_t> got(kCount);
  must(all.read(std::as_writable_bytes(std::span(got)), part));
  CHECK(got == shifted(numbers(), 1));
  must(all.read(std::as_writable_bytes(std::span(got)), 2 * part));
  CHECK(got == shifted(numbers(), 2));
}

TEST_CASE("threads share a device, a kernel and a source", "[sequence][threads]") {
  const Kernel kernel = shift();
  const auto a = buffer_with(*device(), numbers());
  const auto expected = shifted(numbers(), 2);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {  // no assertions of Catch2 here: they are for one thread
      for (int i = 0; i < 5; ++i) {
        auto b = compute::Buffer::create(*device(), kCount * 4);
        auto c = compute::Buffer::create(*device(), kCount * 4);
        auto sequence = Sequence::create(*device());
        if (!b || !c || !sequence) return;
        std::vector<std::uint32_t> got(kCount);
        if (sequence->add(kernel, on(a, *b)) && sequence->add(kernel, on(*b, *c)) &&
            sequence->run() && c->read(std::as_writable_bytes(std::span(got))) && got == expected) {
          ++right;
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(right == 20);
}

TEST_CASE("images are seen by barriers, too", "[sequence]") {
  const Kernel kernel = must(Kernel::create(*device(),
                                            compile(R"(#version 450
layout(binding = 0) uniform sampler2D a;
layout(binding = 1, rgba32f) writeonly uniform image2D b;
void main() {
  ivec2 i = ivec2(gl_GlobalInvocationID.xy);
  imageStore(b, i, texelFetch(a, ivec2((i.x + 1) % 40, i.y), 0) + 1.0);
}
)",
                                                    fp32()),
                                            {.local_size = {8, 8, 1}}));
  const compute::ImageShape shape{2, {40, 8, 1}, compute::ImageFormat::kRgba32f};
  auto a = must(compute::Image::create(*device(), shape));
  const auto b = must(compute::Image::create(*device(), shape));
  const auto values = small_numbers(40 * 8 * 4);
  must(a.write(std::as_bytes(std::span(values))));
  auto sequence = must(Sequence::create(*device()));
  for (int i = 0; i < 2; ++i) {
    must(sequence.add(kernel, {.bindings = {{0, a}, {1, b}}, .invocations = {40, 8, 1}}));
    must(sequence.add(kernel, {.bindings = {{0, b}, {1, a}}, .invocations = {40, 8, 1}}));
  }
  must(sequence.run());
  CHECK(sequence.barriers() == 3);
  std::vector<float> got(values.size()), expected(values.size());
  must(a.read(std::as_writable_bytes(std::span(got))));
  for (std::size_t y = 0; y < 8; ++y) {
    for (std::size_t x = 0; x < 40; ++x) {
      for (std::size_t c = 0; c < 4; ++c) {
        expected[(y * 40 + x) * 4 + c] = values[(y * 40 + (x + 4) % 40) * 4 + c] + 4;
      }
    }
  }
  CHECK(got == expected);
}

TEST_CASE("wrong dispatches are refused, and name what there is", "[refusals]") {
  const Kernel kernel = shift();
  const auto a = buffer_with(*device(), numbers());
  const auto b = buffer_with(*device(), numbers());
  const auto small = must(compute::Buffer::create(*device(), 2));
  auto sequence = must(Sequence::create(*device()));
  const auto refuse = [&](const Dispatch& d) { return refused(sequence.add(kernel, d)).message; };

  Dispatch d = on(a, b);
  d.bindings = {{0, a}};
  CHECK_THAT(refuse(d), ContainsSubstring("shift: set 0 binding 1 (B), a storage buffer, is not "
                                          "bound; bound are 0.0"));
  d.bindings = {};
  CHECK_THAT(refuse(d), ContainsSubstring("nothing is bound"));
  d.bindings = {{0, a}, {1, b}, {0, b}};
  CHECK_THAT(refuse(d), ContainsSubstring("bound twice"));
  d.bindings = {{0, a}, {1, small}};
  CHECK_THAT(refuse(d), ContainsSubstring("2 bytes, the kernel declares 4 at least"));
  d.bindings = {{0, a}, {1, compute::BufferRange(b, 4 * kCount)}};
  CHECK_THAT(refuse(d), ContainsSubstring("beyond the end"));
  d.bindings = {{0, a}, {1, compute::BufferRange(b, 0, 4 * kCount + 1)}};
  CHECK_THAT(refuse(d), ContainsSubstring("beyond the end"));
  d.bindings = {{0, a}, {1, compute::BufferRange(b, 1)}};
  CHECK_THAT(refuse(d), ContainsSubstring("wants a multiple of"));
  const auto image = must(compute::Image::create(*device(), {}));
  d.bindings = {{0, a}, {1, image}};
  CHECK_THAT(refuse(d), ContainsSubstring("is a storage buffer, bound is an image"));

  d = on(a, b);
  d.push = {};
  CHECK_THAT(refuse(d), ContainsSubstring("0 bytes of push constants, the kernel declares 4"));
  const std::uint64_t eight = 8;
  d.push = bytes_of(eight);
  CHECK_THAT(refuse(d), ContainsSubstring("8 bytes of push constants, the kernel declares 4"));

  d = on(a, b);
  d.groups = {1, 1, 1};
  CHECK_THAT(refuse(d), ContainsSubstring("one of groups and invocations"));
  d.groups = d.invocations = {};
  CHECK_THAT(refuse(d), ContainsSubstring("one of groups and invocations"));
  d.invocations = {5, 0, 1};
  CHECK_THAT(refuse(d), ContainsSubstring("5 x 0 x 1"));
  const auto& most = device()->state()->caps.max_group_count;
  d.invocations = {};
  d.groups = {1, 1, most[2] + 1};
  CHECK_THAT(refuse(d), ContainsSubstring(std::to_string(most[2]) + " along axis 2"));
  // None of these is in the sequence, and an empty one does not run.
  CHECK(sequence.dispatches() == 0);
  CHECK(refused(sequence.run()).code == ErrorCode::kInvalidArgument);
  must(sequence.add(kernel, on(a, b)));
  must(sequence.run());
  CHECK(contents<std::uint32_t>(b) == shifted(numbers(), 1));
}

TEST_CASE("images that do not fit are refused", "[refusals]") {
  const Kernel kernel = must(Kernel::create(*device(),
                                            compile(R"(#version 450
layout(binding = 0) uniform sampler3D a;
layout(binding = 1, rgba16f) writeonly uniform image2D b;
void main() { imageStore(b, ivec2(0), texelFetch(a, ivec3(0), 0)); }
)",
                                                    fp32()),
                                            {}));
  const auto deep =
      must(compute::Image::create(*device(), {3, {2, 2, 2}, compute::ImageFormat::kRgba32f}));
  const auto flat =
      must(compute::Image::create(*device(), {2, {2, 2, 1}, compute::ImageFormat::kRgba32f}));
  const auto half =
      must(compute::Image::create(*device(), {2, {2, 2, 1}, compute::ImageFormat::kRgba16f}));
  const auto with = [&](const compute::Image& a, const compute::Image& b) {
    return compute::run(kernel, {.bindings = {{0, a}, {1, b}}, .groups = {1, 1, 1}});
  };
  CHECK_THAT(refused(with(flat, half)).message,
             ContainsSubstring("an image of 2 dimensions, the kernel declares 3"));
  CHECK_THAT(refused(with(deep, flat)).message,
             ContainsSubstring("an image of rgba32f, the kernel declares rgba16f"));
  must(with(deep, half));

  const auto make = [](const compute::ImageShape& shape) {
    return refused(compute::Image::create(*device(), shape));
  };
  CHECK(make({0, {1, 1, 1}, {}}).code == ErrorCode::kInvalidArgument);
  CHECK(make({4, {1, 1, 1}, {}}).code == ErrorCode::kInvalidArgument);
  CHECK(make({2, {4, 0, 1}, {}}).code == ErrorCode::kInvalidArgument);
  CHECK(make({2, {4, 4, 2}, {}}).code == ErrorCode::kInvalidArgument);
  CHECK(make({1, {4, 2, 1}, {}}).code == ErrorCode::kInvalidArgument);
  CHECK(make({2, {4, 4, 1}, static_cast<compute::ImageFormat>(5)}).code ==
        ErrorCode::kInvalidArgument);
  CHECK(make({3, {100000, 1, 1}, {}}).code == ErrorCode::kUnsupported);
}

TEST_CASE("kernels that cannot be made are refused", "[refusals]") {
  const std::string text = R"(#version 450
layout(local_size_x_id = 7, local_size_y = 2) in;
layout(constant_id = 0) const int count = 0;
layout(constant_id = 1) const uint length = 4;
shared float between[length];
layout(binding = 0) buffer A { float a[]; };
void main() {
  between[gl_LocalInvocationID.x % length] = float(count);
  barrier();
  a[0] = between[0];
}
)";
  const auto words = compile(text, fp32());
  const auto make = [&](const compute::KernelOptions& o) {
    return refused(Kernel::create(*device(), words, o));
  };
  using C = compute::Constant;
  CHECK_THAT(make({.constants = {C("conut", 1)}}).message,
             ContainsSubstring("no specialization constant 'conut'; there are: count (id 0, int)"));
  CHECK_THAT(make({.constants = {C(9, 1)}}).message, ContainsSubstring("constant 9;"));
  CHECK_THAT(make({.constants = {C("count", 1.0f)}}).message, ContainsSubstring("a float"));
  CHECK_THAT(make({.constants = {C("count", 0x80000000u)}}).message, ContainsSubstring("a uint"));
  CHECK_THAT(make({.constants = {C("length", -1)}}).message, ContainsSubstring("an int"));
  CHECK_THAT(make({.constants = {C("count", 1), C(0, 2)}}).message, ContainsSubstring("twice"));
  must(Kernel::create(*device(), words, {.constants = {C("count", 5u), C("length", 4)}}));

  const auto& caps = device()->state()->caps;
  CHECK_THAT(make({.local_size = {4, 4, 1}}).message,
             ContainsSubstring("along y is fixed to 2, asked for is 4"));
  CHECK_THAT(make({.local_size = {4, 0, 1}}).message, ContainsSubstring("0 along y"));
  const Error wide = make({.local_size = {caps.max_group_size[0] + 1, 2, 1}});
  CHECK(wide.code == ErrorCode::kUnsupported);
  CHECK_THAT(wide.message, ContainsSubstring(std::to_string(caps.max_group_size[0])));
  const Error many = make({.local_size = {caps.max_invocations, 2, 1}});
  CHECK(many.code == ErrorCode::kUnsupported);
  CHECK_THAT(make({.local_size = {4, 2, 1}, .optimal_for = {4, 2, 1}}).message,
             ContainsSubstring("both"));
  CHECK_THAT(make({.local_size = {4, 2, 1}, .constants = {C(7, 8)}}).message,
             ContainsSubstring("given twice"));
  CHECK(must(Kernel::create(*device(), words, {.constants = {C(7, 8)}})).local_size() ==
        compute::Extent{8, 2, 1});
  const Error shared = make({.constants = {C("length", caps.max_shared_bytes / 4 + 1)}});
  CHECK(shared.code == ErrorCode::kUnsupported);
  CHECK_THAT(shared.message, ContainsSubstring("shared memory"));

  // A size that the kernel reads is no secret of the module's: it cannot be rewritten.
  const auto reads = compile(R"(#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer A { uint a[]; };
void main() { a[0] = gl_WorkGroupSize.x; }
)",
                             fp32());
  CHECK(refused(Kernel::create(*device(), reads, {.local_size = {2, 1, 1}})).code ==
        ErrorCode::kInvalidArgument);

  // No words at all, and words that say too little.
  const std::vector<std::uint32_t> none, noise = {1, 2, 3, 4, 5, 6};
  CHECK(refused(Kernel::create(*device(), none, {})).code == ErrorCode::kCorrupt);
  CHECK(refused(Kernel::create(*device(), noise, {})).code == ErrorCode::kCorrupt);
  CHECK(refused(Kernel::create(*device(), std::span(words).first(5), {})).code ==
        ErrorCode::kUnsupported);
}

TEST_CASE("what was never made is refused", "[refusals]") {
  Device nothing;
  CHECK(refused(compute::Buffer::create(nothing, 4)).code == ErrorCode::kInvalidArgument);
  CHECK(refused(compute::Image::create(nothing, {})).code == ErrorCode::kInvalidArgument);
  CHECK(refused(Sequence::create(nothing)).code == ErrorCode::kInvalidArgument);
  CHECK(refused(Kernel::create(nothing, std::vector<std::uint32_t>{}, {})).code ==
        ErrorCode::kInvalidArgument);
  CHECK(refused(Kernel::create(*device(), KernelTable(), {}, {})).code ==
        ErrorCode::kInvalidArgument);
  CHECK(refused(compute::run(Kernel(), {})).code == ErrorCode::kInvalidArgument);
  auto sequence = must(Sequence::create(*device()));
  CHECK(refused(sequence.add(Kernel(), {})).code == ErrorCode::kInvalidArgument);

  // Handles that were moved from, and those that hold nothing: errors, and 0 or nothing to tell.
  auto full = must(compute::Buffer::create(*device(), 4));
  const auto kept = std::move(full);
  std::byte bytes[4]{};
  CHECK_THAT(refused(full.write(bytes)).message, ContainsSubstring("the buffer was never made"));
  CHECK(refused(full.read(bytes)).code == ErrorCode::kInvalidArgument);
  CHECK(full.bytes() == 0);
  auto picture =
      must(compute::Image::create(*device(), {2, {1, 1, 1}, compute::ImageFormat::kR32f}));
  const auto kept_picture = std::move(picture);
  CHECK_THAT(refused(picture.write(bytes)).message, ContainsSubstring("the image was never made"));
  CHECK(refused(picture.read(bytes)).code == ErrorCode::kInvalidArgument);
  CHECK(picture.bytes() == 0);
  CHECK(picture.shape().dimensions == 0);
  Sequence moved;
  CHECK_THAT(refused(moved.run()).message, ContainsSubstring("the sequence was never made"));
  CHECK(refused(moved.add(shift(), {})).code == ErrorCode::kInvalidArgument);
  CHECK(moved.dispatches() == 0);
  CHECK(moved.barriers() == 0);
  const Kernel no_kernel;
  CHECK(no_kernel.name().empty());
  CHECK(no_kernel.form().empty());
  CHECK(no_kernel.bindings().empty());
  CHECK(no_kernel.constants().empty());
  CHECK(no_kernel.push_bytes() == 0);
  CHECK(no_kernel.local_size() == compute::Extent{});
  CHECK(no_kernel.groups_for({5, 5, 5}) == compute::Extent{});
  CHECK(nothing.info().name.empty());
  CHECK(refused(Graph::create(*device(), Model())).code == ErrorCode::kInvalidArgument);
  Graph no_graph;
  const std::uint8_t pixel[4]{};
  CHECK(refused(no_graph.run({1, 1, 1, pixel})).code == ErrorCode::kInvalidArgument);
  CHECK(refused(no_graph.run_nodes({1, 1, 1, pixel}, 0)).code == ErrorCode::kInvalidArgument);
  CHECK(refused(no_graph.profile({1, 1, 1, pixel})).code == ErrorCode::kInvalidArgument);
  CHECK(refused(no_graph.prepare(1, 1, 1)).code == ErrorCode::kInvalidArgument);
  CHECK(no_graph.nodes().empty());
  CHECK(no_graph.variant().empty());
  CHECK(no_graph.output_channels().empty());
  CHECK(no_graph.device_bytes() == 0);
  DeviceOptions cpu;
  cpu.backend = "cpu";
  CHECK(refused(compute::open_device(cpu)).code == ErrorCode::kUnsupported);

  // Objects of one device on another.
  const Device other = must(compute::open_device());
  const auto a = must(compute::Buffer::create(other, 4 * kCount));
  const auto b = must(compute::Buffer::create(*device(), 4 * kCount));
  CHECK_THAT(refused(sequence.add(shift(), on(a, b))).message, ContainsSubstring("another device"));
  auto elsewhere = must(Sequence::create(other));
  CHECK_THAT(refused(elsewhere.add(shift(), on(a, a))).message,
             ContainsSubstring("another device"));
}
