// SPDX-License-Identifier: Apache-2.0
// Lowering alone: which kernels, how many dispatches, within which limits, and what it refuses.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <map>
#include <string>
#include <tuple>

#include "graph/dispatch.hpp"

namespace spirkiln {
namespace {

using model::Op;

model::Node node_of(Op op, std::initializer_list<std::int32_t> ints) {
  model::Node node{};
  node.op = op;
  node.epilogue.post_scale = 1;
  std::copy(ints.begin(), ints.end(), node.i);
  return node;
}

model::Node conv_node(Op op, std::int32_t k, std::int32_t stride, std::int32_t pad,
                      std::int32_t cin, std::int32_t cout) {
  return node_of(op, {k, k, stride, stride, pad, pad, pad, pad, 1, 1, cin, cout});
}

DeviceTraits gpu() {
  DeviceTraits t;
  t.max_invocations = 1024;
  t.max_group_size[0] = 1024;
  t.max_group_size[1] = 1024;
  t.shared_bytes = 49152;
  t.max_storage_buffers = 16;
  return t;
}
DeviceTraits cpu() {
  DeviceTraits t = gpu();
  t.software = true;
  t.subgroup_size = 8;
  return t;
}

// What holds for every dispatch on every device.
void check_limits(const Lowered& lowered, const DeviceTraits& t) {
  for (const Dispatch& d : lowered.dispatches) {
    INFO(d.kernel);
    CHECK(d.push_words <= kMaxPushWords);
    std::uint64_t invocations = 1;
    for (int i = 0; i < 3; i++) {
      CHECK(d.groups[i] >= 1);
      CHECK(d.groups[i] <= t.max_group_count[i]);
      CHECK(d.local_size[i] >= 1);
      CHECK(d.local_size[i] <= t.max_group_size[i]);
      invocations *= d.local_size[i];
    }
    CHECK(invocations <= t.max_invocations);
    // Fewer than eight are not enough, whatever lowering does: selection says so then.
    CHECK(d.buffers.size() <= std::max(t.max_storage_buffers, 8u));
    for (const BufferRef& b : d.buffers) {
      if (b.kind == BufferKind::kScratch) CHECK(b.index < lowered.scratch_bytes.size());
    }
  }
}

std::string refusal(const model::Node& node, std::vector<Dims> inputs, Dims output,
                    const DeviceTraits& traits = gpu()) {
  auto r = lower_node({node, std::move(inputs), output, traits});
  if (r) return "not refused";
  CHECK(r.error().code == ErrorCode::kUnsupported);
  return r.error().message;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("each convolution is one dispatch of the kernel that suits the device") {
  struct Row {
    model::Node node;
    Dims in, out;
    const char* on_gpu;
    const char* on_cpu;
  };
  const Row rows[] = {
      {conv_node(Op::kConv, 1, 1, 0, 24, 96),
       {1, 30, 40, 24},
       {1, 30, 40, 96},
       "gemm_nc",
       "gemm_subgroup"},
      {conv_node(Op::kConv, 1, 2, 0, 24, 96),
       {1, 30, 40, 24},
       {1, 15, 20, 96},
       "conv_nc",
       "conv_subgroup"},
      {conv_node(Op::kConv, 3, 1, 1, 96, 24),
       {1, 30, 40, 96},
       {1, 30, 40, 24},
       "conv_nc",
       "conv_subgroup"},
      {conv_node(Op::kDepthwise, 5, 2, 2, 24, 24),
       {1, 30, 40, 24},
       {1, 15, 20, 24},
       "depthwise_line",
       "depthwise"},
      {node_of(Op::kDeconv, {2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 24, 1}),
       {1, 30, 40, 24},
       {1, 60, 80, 1},
       "deconv_nc",
       "deconv_subgroup"},
  };
  for (const Row& row : rows) {
    for (const auto& [traits, kernel] :
         {std::pair{gpu(), row.on_gpu}, std::pair{cpu(), row.on_cpu}}) {
      auto lowered = lower_node({row.node, {row.in}, row.out, traits});
      REQUIRE(lowered.ok());
      REQUIRE(lowered->dispatches.size() == 1);
      CHECK(lowered->dispatches[0].kernel == kernel);
      CHECK(lowered->dispatches[0].buffers.size() == 6);
      check_limits(*lowered, traits);
    }
  }
}

TEST_CASE("a subgroup kernel is never chosen for another subgroup size") {
  for (std::uint32_t size : {1u, 4u, 16u, 32u}) {
    DeviceTraits t = cpu();
    t.subgroup_size = size;
    auto lowered =
        lower_node({conv_node(Op::kConv, 1, 1, 0, 8, 8), {{1, 3, 3, 8}}, {1, 3, 3, 8}, t});
    REQUIRE(lowered.ok());
    CHECK(lowered->dispatches[0].kernel == "gemm_reg");
  }
}

TEST_CASE("the global mean is two dispatches with scratch for the partial sums") {
  auto lowered =
      lower_node({node_of(Op::kGlobalMean, {}), {{2, 60, 61, 96}}, {2, 1, 1, 96}, gpu()});
  REQUIRE(lowered.ok());
  REQUIRE(lowered->dispatches.size() == 2);
  REQUIRE(lowered->scratch_bytes.size() == 1);
  CHECK(lowered->scratch_bytes[0] >= 2 * 24 * 16);
  check_limits(*lowered, gpu());
}

TEST_CASE("a gate that does not fit the fused kernel is two matrix products") {
  const auto count = [](std::int32_t c, model::Activation middle) {
    const auto width = static_cast<std::uint32_t>(c);
    auto r = lower_node({node_of(Op::kSqueezeExcite, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, c, c, 4,
                                                      static_cast<std::int32_t>(middle)}),
                         {{2, 1, 1, width}},
                         {2, 1, 1, width},
                         gpu()});
    REQUIRE(r.ok());
    check_limits(*r, gpu());
    return r->dispatches.size();
  };
  CHECK(count(1024, model::Activation::kRelu) == 1);
  CHECK(count(1025, model::Activation::kRelu) == 2);
  CHECK(count(16, model::Activation::kSwish) == 2);
}

TEST_CASE("K is split where a matrix has few tiles, and only then") {
  const auto layers = [](const Dims& x, std::uint32_t cout, const DeviceTraits& t) {
    auto r = lower_node({conv_node(Op::kConv, 1, 1, 0, static_cast<std::int32_t>(x.c),
                                   static_cast<std::int32_t>(cout)),
                         {x},
                         {x.n, x.h, x.w, cout},
                         t});
    REQUIRE(r.ok());
    check_limits(*r, t);
    return r->dispatches[0].local_size[2];
  };
  CHECK(layers({1, 1, 40, 480}, 120, gpu()) == 4);
  CHECK(layers({1, 480, 480, 96}, 96, gpu()) == 1);
  CHECK(layers({1, 1, 40, 16}, 120, gpu()) == 1);
  CHECK(layers({1, 1, 400, 480}, 120, DeviceTraits{}) == 1);  // does not fit
}

TEST_CASE("the least device that Vulkan allows is never asked for more") {
  const DeviceTraits least;  // 128 invocations, 16 KiB
  const Dims x{2, 13, 17, 120}, row{2, 1, 40, 360};
  const std::pair<model::Node, std::pair<std::vector<Dims>, Dims>> all[] = {
      {conv_node(Op::kConv, 1, 1, 0, 120, 480), {{x}, {2, 13, 17, 480}}},
      {conv_node(Op::kConv, 3, 1, 1, 120, 8), {{x}, {2, 13, 17, 8}}},
      {conv_node(Op::kDepthwise, 3, 1, 1, 120, 120), {{x}, x}},
      {node_of(Op::kMaxPool, {2, 2, 1, 1, 0, 0, 1, 1}), {{x}, x}},
      {node_of(Op::kGlobalMean, {}), {{x}, {2, 1, 1, 120}}},
      {node_of(Op::kBinary, {2}), {{x, {2, 1, 1, 120}}, x}},
      {node_of(Op::kAffine, {}), {{x}, x}},
      {node_of(Op::kResize, {2, 2}), {{x}, {2, 26, 34, 120}}},
      {node_of(Op::kConcat, {2}), {{x, x}, {2, 13, 17, 240}}},
      {node_of(Op::kLayerNorm, {}), {{x}, x}},
      {node_of(Op::kSoftmax, {}), {{x}, x}},
      {node_of(Op::kAttention, {8, 15}), {{row}, {2, 1, 40, 120}}},
  };
  for (const auto& [node, shapes] : all) {
    auto lowered = lower_node({node, shapes.first, shapes.second, least});
    INFO((lowered.ok() ? "" : lowered.error().message));
    REQUIRE(lowered.ok());
    check_limits(*lowered, least);
  }
}

TEST_CASE("jobs beyond a device's workgroup counts are folded over another axis") {
  DeviceTraits t = gpu();
  for (auto& count : t.max_group_count) count = 100;
  const Dims x{1, 300, 300, 16};
  for (const auto& [node, out] :
       {std::pair{node_of(Op::kAffine, {}), x}, std::pair{conv_node(Op::kConv, 1, 1, 0, 16, 16), x},
        std::pair{node_of(Op::kResize, {1, 1}), x}}) {
    auto lowered = lower_node({node, {x}, out, t});
    REQUIRE(lowered.ok());
    check_limits(*lowered, t);
    const Dispatch& d = lowered->dispatches[0];
    std::uint64_t invocations = 1;
    for (int i = 0; i < 3; i++) invocations *= std::uint64_t{d.groups[i]} * d.local_size[i];
    CHECK(invocations * 32 >= x.vectors());  // no form gives an invocation more than 32 vectors
  }
}

TEST_CASE("padding at the end alone keeps the concatenation aligned") {
  const auto aligned = [](std::vector<Dims> inputs) {
    std::uint32_t c = 0;
    for (const Dims& d : inputs) c += d.c;
    const auto count = static_cast<std::int32_t>(inputs.size());
    auto r = lower_node({node_of(Op::kConcat, {count}), std::move(inputs), {1, 2, 2, c}, gpu()});
    REQUIRE(r.ok());
    for (const SpecChoice& s : r->dispatches[0].specs) {
      if (s.name == "aligned") return true;
    }
    return false;
  };
  CHECK(aligned({{1, 2, 2, 4}, {1, 2, 2, 7}}));
  CHECK_FALSE(aligned({{1, 2, 2, 7}, {1, 2, 2, 4}}));
}

TEST_CASE("a device of eight storage buffers gets no dispatch that binds more") {
  DeviceTraits few = gpu();
  few.max_storage_buffers = 8;
  for (std::int32_t count = 1; count <= 8; count++) {
    std::vector<Dims> inputs(static_cast<std::size_t>(count), {1, 5, 7, 6});
    const Dims out{1, 5, 7, static_cast<std::uint32_t>(6 * count)};
    const model::Node node = node_of(Op::kConcat, {count});
    auto wide = lower_node({node, inputs, out, gpu()});
    auto narrow = lower_node({node, inputs, out, few});
    REQUIRE(wide.ok());
    REQUIRE(narrow.ok());
    CHECK(wide->dispatches.size() == 1);
    // Four at once, and each further pass takes three more.
    CHECK(narrow->dispatches.size() == (count <= 4 ? 1u : count <= 7 ? 2u : 3u));
    CHECK(narrow->scratch_bytes.size() + 1 == narrow->dispatches.size());
    check_limits(*wide, gpu());
    check_limits(*narrow, few);
  }
  model::Node gate = node_of(Op::kSqueezeExcite, {});
  gate.i[10] = gate.i[11] = 16;
  gate.i[12] = 4;
  gate.i[13] = static_cast<std::int32_t>(model::Activation::kRelu);
  for (const auto& [traits, dispatches] : {std::pair{gpu(), 1u}, std::pair{few, 2u}}) {
    auto lowered = lower_node({gate, {{1, 1, 1, 16}}, {1, 1, 1, 16}, traits});
    REQUIRE(lowered.ok());
    CHECK(lowered->dispatches.size() == dispatches);
    check_limits(*lowered, traits);
  }
}

TEST_CASE("what no kernel can take is refused with operator, shapes and reason") {
  const Dims x{1, 8, 8, 16};
  std::string text = refusal(conv_node(Op::kConv, 3, 1, 1, 12, 16), {x}, x);
  CHECK(contains(text, "conv (1x8x8x16 -> 1x8x8x16): channel counts disagree"));
  CHECK(contains(refusal(conv_node(Op::kConv, 3, 1, 0, 16, 16), {x}, x), "does not follow"));
  CHECK(contains(refusal(conv_node(Op::kConv, 3, 0, 1, 16, 16), {x}, x), "out of range"));
  CHECK(contains(refusal(conv_node(Op::kConv, 3, 1, -1, 16, 16), {x}, x), "padding out of range"));
  CHECK(contains(refusal(conv_node(Op::kConv, 3, 1, 1, 16, 16), {x, x}, x), "2 inputs where 1"));
  CHECK(contains(refusal(conv_node(Op::kDeconv, 2, 2, 0, 16, 16), {x}, x), "times the kernel"));
  CHECK(contains(refusal(node_of(Op::kBinary, {0}), {x, {1, 8, 1, 16}}, x), "does not spread"));
  CHECK(contains(refusal(node_of(Op::kBinary, {4}), {x, x}, x), "unknown operation"));
  CHECK(contains(refusal(node_of(Op::kConcat, {9}), {x}, x), "more than eight"));
  CHECK(contains(refusal(node_of(Op::kConcat, {2}), {x, x}, x), "sum of the inputs"));
  CHECK(contains(refusal(node_of(Op::kResize, {2, 2}), {x}, x), "whole multiple"));
  CHECK(contains(refusal(node_of(Op::kAttention, {8, 15}), {x}, x), "shapes are not"));
  CHECK(contains(refusal(node_of(Op::kSoftmax, {}), {{1, 0, 8, 16}}, {1, 0, 8, 16}), "empty"));
  const Dims huge{1, 65536, 65536, 4};
  CHECK(contains(refusal(node_of(Op::kSoftmax, {}), {huge}, huge), "2^31"));
  CHECK(contains(refusal(node_of(static_cast<Op>(99), {}), {x}, x), "operator number 99"));
  model::Node unknown_act = node_of(Op::kSoftmax, {});
  unknown_act.epilogue.act = static_cast<model::Activation>(50);
  CHECK(contains(refusal(unknown_act, {x}, x), "unknown activation"));
  model::Node residual = node_of(Op::kSoftmax, {});
  residual.flags = model::kHasResidual;
  CHECK(contains(refusal(residual, {x, {1, 8, 8, 4}}, x), "residual's shape"));
}

TEST_CASE("pictures and results") {
  const float one[4] = {1, 1, 1, 1};
  auto in = lower_input({2, 48, 320, 3}, one, one, gpu());
  REQUIRE(in.ok());
  REQUIRE(in->dispatches.size() == 1);
  CHECK(in->dispatches[0].push_words == 9);
  check_limits(*in, gpu());
  CHECK_FALSE(lower_input({1, 8, 8, 4}, one, one, gpu()).ok());
  CHECK_FALSE(lower_input({0, 8, 8, 3}, one, one, gpu()).ok());
  auto out = lower_output({1, 40, 1, 6625}, gpu());
  REQUIRE(out.ok());
  check_limits(*out, gpu());
  CHECK_FALSE(lower_output({1, 40000, 40000, 6625}, gpu()).ok());
}

TEST_CASE("workgroups that share what they load are as large as fits the device", "[lowering]") {
  const float one[4] = {1, 1, 1, 1};
  DeviceTraits t = gpu();
  t.max_group_size[0] = 128;  // of the tuning's number
  const auto stem = [&](std::uint32_t shared_bytes) {
    t.shared_bytes = shared_bytes;
    return lower_stem({conv_node(Op::kConv, 3, 2, 1, 3, 16), {{1, 64, 64, 3}}, {1, 32, 32, 16}, t},
                      one, one);
  };
  // 9 taps of three colours and four vectors are 1728 bytes; a pixel's four vectors lie in five.
  REQUIRE(stem(1728 + 128 * 80).ok());
  CHECK(stem(1728 + 128 * 80)->dispatches[0].local_size[0] == 128);
  REQUIRE(stem(1728 + 128 * 80 - 1).ok());
  CHECK(stem(1728 + 128 * 80 - 1)->dispatches[0].local_size[0] == 64);
  REQUIRE(stem(1728 + 80).ok());
  CHECK(stem(1728 + 80)->dispatches[0].local_size[0] == 1);
  check_limits(*stem(1728 + 80), t);
  CHECK_FALSE(stem(1728 + 79).ok());

  const auto head = [&](std::uint32_t shared_bytes) {
    t.shared_bytes = shared_bytes;
    return lower_head({node_of(Op::kDeconv, {2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 24, 1}),
                       {{1, 32, 32, 24}},
                       {1, 64, 64, 1},
                       t});
  };
  // Four taps of six vectors, five floats a pixel, and a word for the bytes.
  REQUIRE(head(384 + 128 * 20 + 16).ok());
  CHECK(head(384 + 128 * 20 + 16)->dispatches[0].local_size[0] == 128);
  REQUIRE(head(384 + 128 * 20 + 15).ok());
  CHECK(head(384 + 128 * 20 + 15)->dispatches[0].local_size[0] == 64);
  CHECK_FALSE(head(384).ok());
}

TEST_CASE("products by cooperative matrices: tiles that fit the device and cover the result",
          "[lowering]") {
  for (const std::uint32_t shared : {16384u, 32768u, 49152u}) {
    for (const auto& [m, n, k, value] : {std::tuple{16u, 8u, 16u, "16081632"},
                                         {16u, 16u, 16u, "16161632"},
                                         {8u, 16u, 16u, "8161632"}}) {
      DeviceTraits t = gpu();
      t.shared_bytes = shared;
      t.max_invocations = shared == 16384 ? 128 : 1024;
      t.subgroup_size = 32;
      t.matrix_m = m;
      t.matrix_n = n;
      t.matrix_k = k;
      t.matrix = value;
      for (const std::uint32_t pixels : {1u, 40u, 64u, 65u, 480u, 3600u, 57600u, 230400u}) {
        for (const std::uint32_t inputs : {12u, 24u, 48u, 120u, 480u, 2880u}) {
          for (const std::uint32_t outputs : {1u, 16u, 24u, 60u, 96u, 384u, 6625u}) {
            INFO(value << ", " << pixels << " x " << inputs << " x " << outputs << ", " << shared);
            const auto lowered = lower_node(
                {node_of(Op::kConv, {1, 1, 1, 1, 0, 0, 0, 0, 1, 1, static_cast<int>(inputs),
                                     static_cast<int>(outputs)}),
                 {{1, 1, pixels, inputs}},
                 {1, 1, pixels, outputs},
                 t});
            REQUIRE(lowered.ok());
            const Dispatch& d = lowered->dispatches.at(0);
            check_limits(*lowered, t);
            if (d.kernel != "gemm_coopmat") {
              CHECK(d.kernel == "gemm_nc");
              CHECK((outputs < 21 || inputs * outputs < 1000));
              continue;
            }
            std::map<std::string_view, std::uint32_t> spec;
            for (const SpecChoice& s : d.specs) spec[s.name] = s.bits;
            CHECK(d.local_size[0] ==
                  spec["groups_k"] * spec["groups_m"] * spec["groups_n"] * t.subgroup_size);
            // Each share of K is whole matrices.
            CHECK(spec["tile_k4"] % (spec["groups_k"] * k / 4) == 0);
            const std::uint64_t block_m = spec["groups_m"] * spec["matrices_m"] * m;
            const std::uint64_t columns = spec["groups_n"] * spec["matrices_n"] * n;
            CHECK(block_m * d.groups[1] * d.groups[2] >= pixels);
            CHECK(columns * d.groups[0] >= outputs);
            // Arrays as in gemm_coopmat.comp: halves for the tiles, floats for the sums.
            const std::uint64_t own = spec["matrices_n"] * n / 4;
            const std::uint64_t bytes =
                8 * (block_m * (spec["tile_k4"] + 2) + spec["tile_k4"] * 4 * (columns / 4 + 2)) +
                16 * d.local_size[0] / t.subgroup_size * m * (own + 1);
            CHECK(bytes <= shared);
          }
        }
      }
    }
  }
}

}  // namespace spirkiln
