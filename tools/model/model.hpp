// SPDX-License-Identifier: Apache-2.0
// The library behind spirkiln-model: an ONNX graph in, a pack (model_format.hpp) out.
#pragma once

#include <spirkiln/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spirkiln::packer {

struct PackOptions {
  // Of the picture, in units of 0 to 1, for the channels in the order in which the caller stores
  // them (BGR): value = (byte / 255 - mean) / std.
  std::array<double, 3> mean{0, 0, 0};
  std::array<double, 3> std{1, 1, 1};
  std::string name;  // of the model; the ONNX graph's own name where empty
};

struct PackReport {
  std::size_t onnx_nodes = 0;
  std::size_t nodes = 0;
  std::size_t tensors = 0;
  std::size_t constants = 0;
  std::size_t constraints = 0;
  std::size_t expressions = 0;
  std::size_t bytes = 0;
};

struct Packed {
  std::vector<std::uint8_t> bytes;
  PackReport report;
};

// Error codes: kIo (cannot be read), kCorrupt (no whole ONNX file), kUnsupported (names the node,
// the operator, the attribute and its value), kNotFinite, kOutOfMemory, kInvalidArgument.
Result<Packed> pack_onnx_file(const std::string& path, const PackOptions& options);
Result<Packed> pack_onnx_bytes(std::string_view bytes, const std::string& origin,
                               const PackOptions& options);

// Checks a pack as strictly as any reader has to: bounds, order, checksum, numbers.
Status validate_pack(const std::vector<std::uint8_t>& bytes);

// What a pack holds, for people and as JSON. `bytes` is validated first. Error kUnsupported for a
// text of more than 128 MiB.
Result<std::string> dump_text(const std::vector<std::uint8_t>& bytes);
Result<std::string> dump_json(const std::vector<std::uint8_t>& bytes);

// The bytes of a pack's file, as far as its header is one. Errors name the file: kIo, kCorrupt,
// kUnsupported.
Result<std::vector<std::uint8_t>> read_pack(const std::string& path);

}  // namespace spirkiln::packer
