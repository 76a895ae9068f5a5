// SPDX-License-Identifier: Apache-2.0
// Damaged files, ONNX and packs: an error or a whole result, never a crash or a hang.
#include "half.hpp"
#include "pack_helpers.hpp"
#include "rich_graph.hpp"

#include <cmath>
#include <cstring>

#include "table/checksum.hpp"

using namespace spirkiln::test;
using namespace spirkiln::packer;
using spirkiln::ErrorCode;

TEST_CASE("an ONNX file cut anywhere is an error", "[damage]") {
  const std::string whole = rich_graph().bytes();
  REQUIRE(pack_onnx_bytes(whole, "test", {}).ok());
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const auto result = pack_onnx_bytes(std::string_view(whole).substr(0, n), "test", {});
    CAPTURE(n);
    // A cut between two top-level fields leaves well-formed protobuf; then the graph or the
    // operator set is missing, or nothing but a trailing field is.
    if (!result.ok()) {
      CHECK(contains(result.error().message, "test: "));
    } else {
      CHECK(n + 16 > whole.size());
    }
  }
}

TEST_CASE("flipped bits in an ONNX file never crash the packer", "[damage]") {
  const std::string whole = rich_graph().bytes();
  Numbers r(99);
  int refusals = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string bytes = whole;
    const int flips = 1 + static_cast<int>(r.next() % 3);
    for (int f = 0; f < flips; ++f) {
      bytes[r.next() % bytes.size()] ^= static_cast<char>(1u << (r.next() % 8));
    }
    const auto result = pack_onnx_bytes(bytes, "test", {});
    if (result.ok()) {
      REQUIRE(validate_pack(result->bytes).ok());
    } else {
      ++refusals;
      REQUIRE_FALSE(result.error().message.empty());
    }
  }
  CHECK(refusals > 1000);  // most bytes are weights, where a flip changes a number only
}

TEST_CASE("files that are something else", "[damage]") {
  CHECK(contains(pack_onnx_bytes("", "t", {}).error().message, "empty"));
  CHECK(
      contains(pack_onnx_bytes("\x89PNG\r\n\x1a\n then pixels", "t", {}).error().message, "ONNX"));
  const std::string noise(100000, '\x0a');
  CHECK_FALSE(pack_onnx_bytes(noise, "t", {}).ok());
  // Two bytes a message: the wire check must refuse before protobuf makes objects of them.
  std::string bomb;
  for (int i = 0; i < 3'000'000; ++i) bomb += std::string("\x0a\x00", 2);
  std::string model = "\x3a";
  for (std::size_t n = bomb.size();; n >>= 7) {
    if (n < 128) {
      model += static_cast<char>(n);
      break;
    }
    model += static_cast<char>(n | 128);
  }
  CHECK(contains(pack_onnx_bytes(model + bomb, "t", {}).error().message, "too many parts"));
  // Nested far deeper than any graph.
  std::string deep;
  for (int i = 0; i < 2000; ++i) {
    std::string length;
    for (std::size_t n = deep.size();; n >>= 7) {
      if (n < 128) {
        length += static_cast<char>(n);
        break;
      }
      length += static_cast<char>(n | 128);
    }
    deep = std::string(i % 3 == 0 ? "\x0a" : i % 3 == 1 ? "\x2a" : "\x32") + length + deep;
  }
  CHECK_FALSE(pack_onnx_bytes(deep, "t", {}).ok());
  CHECK(pack_onnx_file("/nonexistent/model.onnx", {}).error().code == ErrorCode::kIo);
  CHECK_FALSE(pack_onnx_file("/", {}).ok());
}

TEST_CASE("a damaged pack is refused", "[damage]") {
  const auto packed = pack_onnx_bytes(rich_graph().bytes(), "test", {});
  REQUIRE(packed.ok());
  const auto& whole = packed->bytes;
  REQUIRE(validate_pack(whole).ok());
  for (std::size_t n = 0; n < whole.size(); n += n < 512 ? 1 : 37) {
    CHECK_FALSE(
        validate_pack({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)}).ok());
  }
  Numbers r(3);
  for (int round = 0; round < 3000; ++round) {
    auto bytes = whole;
    bytes[r.next() % bytes.size()] ^= static_cast<std::uint8_t>(1u << (r.next() % 8));
    // Every bit is under the checksum, those of the header too.
    CHECK_FALSE(validate_pack(bytes).ok());
  }
}

TEST_CASE("a pack with a right checksum but wrong structure is refused, too", "[damage]") {
  const auto packed = pack_onnx_bytes(rich_graph().bytes(), "test", {});
  REQUIRE(packed.ok());
  using spirkiln::model::ModelHeader;
  auto bytes = packed->bytes;
  const auto set = [&](std::size_t at, std::uint32_t value) {
    std::memcpy(bytes.data() + at, &value, 4);
    const std::uint64_t sum = spirkiln::file_checksum<ModelHeader>(std::as_bytes(std::span(bytes)));
    std::memcpy(bytes.data() + offsetof(ModelHeader, checksum), &sum, 8);
  };
  set(offsetof(ModelHeader, input_tensor), 100000);
  CHECK_FALSE(validate_pack(bytes).ok());
  bytes = packed->bytes;
  set(offsetof(ModelHeader, nodes) + offsetof(spirkiln::model::Section, count), 0x7fffffff);
  CHECK_FALSE(validate_pack(bytes).ok());
  bytes = packed->bytes;
  set(offsetof(ModelHeader, tensors) + offsetof(spirkiln::model::Section, stride), 24);
  CHECK_FALSE(validate_pack(bytes).ok());
  bytes = packed->bytes;
  set(offsetof(ModelHeader, version), spirkiln::model::kVersion + 1);
  CHECK(validate_pack(bytes).error().code == ErrorCode::kUnsupported);
}

TEST_CASE("packing twice gives the same bytes", "[damage]") {
  const auto a = pack_onnx_bytes(rich_graph().bytes(), "test", {});
  const auto b = pack_onnx_bytes(rich_graph().bytes(), "test", {});
  REQUIRE(a.ok());
  CHECK(a->bytes == b->bytes);
}

TEST_CASE("half conversion is exact where it can be and nearest elsewhere", "[half]") {
  for (int h = 0; h < 0x7c00; ++h) {
    const auto bits = static_cast<std::uint16_t>(h);
    const double v = double_from_half(bits);
    REQUIRE(half_from_double(v) == bits);
    REQUIRE(half_from_double(-v) == (bits | 0x8000));
    // Half way to the next one goes to the even neighbour, a little beyond it upwards.
    const double next = h == 0x7bff ? 65536 : double_from_half(static_cast<std::uint16_t>(h + 1));
    const double middle = (v + next) / 2;
    REQUIRE(half_from_double(middle) == (h % 2 == 0 ? h : h + 1));
    REQUIRE(half_from_double(std::nextafter(middle, 1e9)) == h + 1);
    REQUIRE(half_from_double(std::nextafter(middle, 0)) == h);
  }
  CHECK(double_from_half(0x3c00) == 1);
  CHECK(double_from_half(0x0001) == std::ldexp(1, -24));
  CHECK(half_from_double(1e300) == 0x7c00);
}

TEST_CASE("padding lanes of weights, scales and biases are zero", "[pack]") {
  OnnxBuilder g;
  g.floats("w", {5, 3, 3, 3}, Numbers(1).floats(135, 1, 2));
  g.floats("b", {5}, {1, 1, 1, 1, 1});
  g.node("Conv", {"x", "w", "b"}, "y");
  g.output("y");
  const auto pack = packed(g);
  const auto consts = pack.constants(pack.nodes()[0], RefWeights::kFull);
  REQUIRE(consts[0].size() == 9 * 4 * 8);
  for (std::size_t i = 0; i < consts[0].size(); ++i) {
    const bool padding = i % 8 >= 5 || (i / 8) % 4 == 3;
    REQUIRE((consts[0][i] == 0) == padding);
  }
  for (std::size_t k = 1; k < 3; ++k) {
    REQUIRE(consts[k].size() == 8);
    for (std::size_t i = 0; i < 8; ++i) CHECK((consts[k][i] == 0) == (i >= 5));
  }
}

TEST_CASE("small graphs that ask for a lot are refused in time", "[damage]") {
  SECTION("a large constant, again and again") {
    OnnxBuilder g;
    g.floats("a", {4096, 1}, std::vector<float>(4096, 1));
    g.floats("b", {1, 4096}, std::vector<float>(4096, 1));
    g.node("Add", {"a", "b"}, "c0");
    for (int i = 0; i < 100; ++i) {
      g.node("Identity", {"c" + std::to_string(i)}, "c" + std::to_string(i + 1));
    }
    g.node("Relu", {"x"}, "y");
    g.output("y");
    CHECK(contains(refused(g).message, "512 MiB"));
  }
  SECTION("shape arithmetic that doubles at every step") {
    OnnxBuilder g;
    g.node("Shape", {"x"}, "s0");
    g.ints("flip", {3, 2, 1, 0});
    for (int i = 0; i < 200; ++i) {
      const std::string s = "s" + std::to_string(i), t = "t" + std::to_string(i);
      g.node("Gather", {s, "flip"}, t);
      g.node(i % 2 == 0 ? "Min" : "Max", {s, t}, "m" + std::to_string(i));
      g.node("Add", {"m" + std::to_string(i), s}, "s" + std::to_string(i + 1));
    }
    g.node("Relu", {"x"}, "y");
    g.output("y");
    CHECK(contains(refused(g).message, "shape expression"));
  }
  SECTION("products that grow without bound") {
    OnnxBuilder g;
    g.node("Shape", {"x"}, "s0");
    for (int i = 0; i < 40; ++i) {
      const std::string s = "s" + std::to_string(i);
      g.node("Mul", {s, s}, "s" + std::to_string(i + 1));
    }
    g.node("Relu", {"x"}, "y");
    g.output("y");
    CHECK(contains(refused(g).message, "too complex"));
  }
  SECTION("a long chain of affine nodes that are all read twice") {
    OnnxBuilder g;
    g.floats("k", {}, {1.01F});
    std::string last = "x";
    for (int i = 0; i < 1500; ++i) {
      const std::string n = std::to_string(i);
      g.node("Mul", {last, "k"}, "a" + n);
      g.node("Mul", {"a" + n, last}, "b" + n);
      last = "a" + n;
    }
    g.node("Relu", {last}, "y");
    g.output("y");
    CHECK(packed(g).nodes().size() == 1);
  }
  SECTION("more nodes than any graph has") {
    OnnxBuilder g;
    for (int i = 0; i < 10001; ++i) g.node("Relu", {"x"}, "r" + std::to_string(i));
    g.output("r0");
    CHECK(contains(refused(g).message, "10001 nodes"));
  }
}
