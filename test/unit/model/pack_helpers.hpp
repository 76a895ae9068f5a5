// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model.hpp"
#include "numbers.hpp"
#include "onnx_builder.hpp"
#include "reference_graph.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace spirkiln::test {

inline RefTensor random_input(std::uint32_t seed, int n, int h, int w) {
  RefTensor x(n, h, w, 3);
  Numbers numbers(seed);
  for (double& v : x.v) v = numbers(-2, 2);
  return x;
}

inline ReferenceGraph packed(OnnxBuilder& b, const packer::PackOptions& options = {}) {
  auto result = packer::pack_onnx_bytes(b.bytes(), "test", options);
  INFO((result.ok() ? std::string() : result.error().message));
  REQUIRE(result.ok());
  return ReferenceGraph(std::move(result->bytes));
}

// The message of the error that packing must end in.
inline Error refused(OnnxBuilder& b) {
  auto result = packer::pack_onnx_bytes(b.bytes(), "test", {});
  REQUIRE_FALSE(result.ok());
  return result.error();
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace spirkiln::test
