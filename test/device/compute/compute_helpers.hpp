// SPDX-License-Identifier: Apache-2.0
// What the tests of single kernels share.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "spirkiln/compile.hpp"
#include "spirkiln/compute.hpp"

namespace spirkiln::test {

// Opened with validation and all features; null where there is none.
const Device* device();
// Messages of every validation layer that these tests have switched on.
std::uint64_t validation_messages();
void count_validation_message(const char* text);

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// The value, or a failed test with the error.
template <typename T>
T must(Result<T> result) {
  if (!result) FAIL(result.error().message);
  return *std::move(result);
}

inline std::vector<std::uint32_t> compile(const std::string& text, const Option& given = {}) {
  Option option = given;
  std::string said;
  option.message = [&](Severity, std::string_view m) { said += std::string(m) + "\n"; };
  std::vector<std::uint32_t> words;
  if (compile_spirv_module(text.c_str(), option, words) != 0) FAIL(said);
  return words;
}

inline Option fp32() {
  Option option;
  option.use_fp16_packed = option.use_fp16_storage = option.use_fp16_arithmetic = false;
  return option;
}

template <typename T>
compute::Buffer buffer_with(const Device& on, const std::vector<T>& values,
                            compute::Memory memory = compute::Memory::kDevice) {
  auto buffer = must(compute::Buffer::create(on, values.size() * sizeof(T), memory));
  must(buffer.write(std::as_bytes(std::span(values))));
  return buffer;
}

template <typename T>
std::vector<T> contents(const compute::Buffer& buffer) {
  std::vector<T> values(buffer.bytes() / sizeof(T));
  must(buffer.read(std::as_writable_bytes(std::span(values))));
  return values;
}

// Whole numbers from -100 to 100: what the tests compute of them is exact in 16 bits.
inline std::vector<float> small_numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 37 % 201) - 100;
  return values;
}

}  // namespace spirkiln::test
