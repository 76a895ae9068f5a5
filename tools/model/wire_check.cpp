// SPDX-License-Identifier: Apache-2.0
#include "wire_check.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

namespace spirkiln::packer {
namespace {

constexpr std::uint64_t kMaxMessages = 500'000;  // about 100 MB in memory at the worst
constexpr std::uint64_t kMaxVarints = 16'000'000;  // numbers that are not raw data

// The messages of onnx.proto that hold messages, as far as an inference graph has them.
enum class Kind {
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kValueInfo,
  kType,
  kTensorType,
  kShape,
  kLeaf
};

Kind child(Kind kind, std::uint32_t field, bool* is_message) {
  *is_message = true;
  switch (kind) {
    case Kind::kModel:
      if (field == 7) return Kind::kGraph;
      if (field == 8 || field == 14 || field == 20 || field == 25) return Kind::kLeaf;
      break;
    case Kind::kGraph:
      if (field == 1) return Kind::kNode;
      if (field == 11 || field == 12 || field == 13) return Kind::kValueInfo;
      if (field == 5 || field == 14 || field == 15) return Kind::kLeaf;
      break;
    case Kind::kNode:
      if (field == 5) return Kind::kAttribute;
      break;
    case Kind::kAttribute:
      if (field == 6 || field == 11) return Kind::kGraph;
      if (field == 14 || field == 15) return Kind::kType;
      if (field == 5 || field == 10 || field == 22 || field == 23) return Kind::kLeaf;
      break;
    case Kind::kValueInfo:
      if (field == 2) return Kind::kType;
      break;
    case Kind::kType:
      if (field == 1) return Kind::kTensorType;
      break;
    case Kind::kTensorType:
      if (field == 2) return Kind::kShape;
      break;
    case Kind::kShape:
      if (field == 1) return Kind::kLeaf;
      break;
    case Kind::kLeaf:
      break;
  }
  *is_message = false;
  return Kind::kLeaf;
}

class Walker {
 public:
  std::string error;

  void walk(std::string_view bytes, Kind kind, int depth) {
    if (depth > 32) return fail("messages nest too deeply");
    std::size_t at = 0;
    while (at < bytes.size() && error.empty()) {
      const auto key = varint(bytes, &at);
      if (!key) return;
      const auto field = static_cast<std::uint32_t>(*key >> 3);
      switch (*key & 7) {
        case 0:
          if (!varint(bytes, &at)) return;
          if (++numbers_ > kMaxVarints) return fail("it holds too many numbers");
          break;
        case 1:
          at += 8;
          break;
        case 5:
          at += 4;
          break;
        case 2: {
          const auto length = varint(bytes, &at);
          if (!length) return;
          if (*length > bytes.size() - at) return fail("it ends in the middle of a field");
          bool is_message = false;
          const Kind next = child(kind, field, &is_message);
          const std::string_view body = bytes.substr(at, *length);
          at += *length;
          // Strings and empty repeated entries cost memory as messages do.
          if (++messages_ > kMaxMessages) return fail("it holds too many parts");
          if (is_message) {
            walk(body, next, depth + 1);
          } else if (packed_numbers(kind, field)) {
            numbers_ += body.size();
            if (numbers_ > kMaxVarints) return fail("it holds too many numbers");
          }
          break;
        }
        default:
          return fail(fmt::format("it has a field of unknown wire type {}", *key & 7));
      }
      if (at > bytes.size()) return fail("it ends in the middle of a field");
    }
  }

 private:
  void fail(std::string text) {
    if (error.empty()) error = std::move(text);
  }

  // Packed integers grow eightfold in memory; 4-byte floats and raw bytes do not grow.
  static bool packed_numbers(Kind kind, std::uint32_t field) {
    if (kind == Kind::kAttribute) return field == 8;
    return kind == Kind::kLeaf && (field == 1 || field == 5 || field == 7 || field == 11);
  }

  std::optional<std::uint64_t> varint(std::string_view bytes, std::size_t* at) {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (*at >= bytes.size()) {
        fail("it ends in the middle of a field");
        return std::nullopt;
      }
      const auto byte = static_cast<std::uint8_t>(bytes[(*at)++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << (shift < 63 ? shift : 63);
      if ((byte & 0x80) == 0) return value;
    }
    fail("it has a number longer than ten bytes");
    return std::nullopt;
  }

  std::uint64_t messages_ = 0;
  std::uint64_t numbers_ = 0;
};

}  // namespace

std::string check_onnx_wire(std::string_view bytes) {
  Walker walker;
  walker.walk(bytes, Kind::kModel, 0);
  return walker.error;
}

}  // namespace spirkiln::packer
