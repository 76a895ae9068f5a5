// SPDX-License-Identifier: Apache-2.0
// Files that are read: packs and ONNX graphs.
#pragma once

#include <spirkiln/result.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace spirkiln::packer {

struct InputLimits {
  std::uint64_t max_bytes = 0;
  // Where set: asked about the first `head_bytes` (or all, where there are fewer) and the file's
  // size, before memory for the rest is taken.
  std::size_t head_bytes = 0;
  std::function<Status(std::span<const std::uint8_t> head, std::uint64_t size)> check_head = {};
};

// The bytes of a regular file; a pipe or a device may never end. Errors name the file: kIo,
// kUnsupported for one that is too large, and those of `check_head`.
Result<std::vector<std::uint8_t>> read_input(const std::string& path, const InputLimits& limits);

}  // namespace spirkiln::packer
