// SPDX-License-Identifier: Apache-2.0
// Modules of a table, from their coded form back to words. table_format.hpp describes the form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln {

// The shapes and globals that all coded modules of a table share.
class CodingDictionary {
 public:
  // Errors: kCorrupt, without the table's name. Memory stays below 16 times the bytes of `coded`.
  static Result<CodingDictionary> parse(std::span<const std::byte> coded);

  // Fills all of `words`. Errors: kCorrupt, also where the module has another length.
  Status decode(std::span<const std::byte> coded, std::span<std::uint32_t> words) const;

 private:
  struct Shape {
    std::uint16_t opcode;
    std::uint16_t operands;  // words behind the first
    std::uint32_t first_kind;
  };
  struct Global {
    std::uint32_t shape;
    std::uint32_t first_value;  // one for each operand; ids as numbers of globals
  };
  friend class ModuleDecoder;

  std::vector<Shape> shapes_;
  std::vector<std::uint8_t> kinds_;  // table::OperandKind
  std::vector<Global> globals_;
  std::vector<std::uint32_t> values_;
};

}  // namespace spirkiln
