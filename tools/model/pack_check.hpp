// SPDX-License-Identifier: Apache-2.0
// A pack's sections, checked and typed. Used to check what was written, and by "dump". Shares no
// code with the runtime's own reader but the arithmetic of ranges.
#pragma once

#include <spirkiln/model_format.hpp>
#include <spirkiln/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spirkiln::packer {

// Copies of the small sections and a view of the rest; `bytes` must outlive it.
struct PackContents {
  model::ModelHeader header{};
  std::vector<char> strings;
  std::vector<model::Expr> exprs;
  std::vector<model::Constraint> constraints;
  std::vector<model::Tensor> tensors;
  std::vector<model::Node> nodes;
  std::vector<std::uint32_t> refs;
  std::vector<model::Const> consts;
  std::vector<std::uint32_t> outputs;
  std::span<const std::uint8_t> bytes;

  std::string string(std::uint32_t offset) const { return &strings[offset]; }
};

// Whether a file of `size` bytes that begins with `head` (a whole header, or all of the file) may
// be a pack, before the rest of it is read. Errors: kCorrupt, kUnsupported.
Status check_pack_head(std::span<const std::uint8_t> head, std::uint64_t size);

// Error kCorrupt says what is wrong.
Result<PackContents> open_pack(std::span<const std::uint8_t> bytes);

const char* op_name(model::Op op);
const char* activation_name(model::Activation activation);

}  // namespace spirkiln::packer
