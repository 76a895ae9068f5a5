// SPDX-License-Identifier: Apache-2.0
// A module as instructions with their types, results and source lines; read only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln::access {

struct ParsedInstruction {
  std::uint16_t op = 0;
  std::uint32_t type = 0, result = 0;       // ids; 0: none
  std::span<const std::uint32_t> operands;  // all words behind the first, type and result too
  std::string_view file;                    // of the OpLine in force; empty: none
  std::uint32_t line = 0, file_id = 0;      // 0: none
  bool function = false;  // stands in one
};

struct ScalarType {
  std::uint32_t width = 0;  // 0: no number
  bool is_signed = false, is_float = false;
};

struct MatrixType {
  std::uint32_t rows = 0, columns = 0, element_bytes = 0;
};

class ParsedModule {
 public:
  // Errors: kUnsupported for instructions that nobody here knows.
  static Result<ParsedModule> parse(std::vector<std::uint32_t> words);
  ParsedModule(ParsedModule&&) = default;

  std::vector<std::uint32_t> words;
  std::vector<ParsedInstruction> instructions;

  std::uint32_t version() const { return words[1]; }
  std::uint32_t bound() const { return words[3]; }
  const ParsedInstruction* definition(std::uint32_t id) const;
  std::uint32_t type_of(std::uint32_t id) const;  // 0: none
  bool has_capability(std::uint32_t capability) const;

  // The first literal of a decoration, or nothing: -1.
  std::int64_t decoration(std::uint32_t id, std::uint32_t decoration) const;
  std::int64_t member_decoration(std::uint32_t id, std::uint32_t member,
                                 std::uint32_t decoration) const;
  std::string name(std::uint32_t id) const;
  std::string member_name(std::uint32_t id, std::uint32_t member) const;

  // Of a scalar, or of the elements of a vector or matrix.
  ScalarType scalar_of(std::uint32_t type) const;
  // Nothing for what is no cooperative matrix, or one whose sizes constants still decide.
  std::optional<MatrixType> matrix_of(std::uint32_t type) const;
  std::uint32_t lanes_of(std::uint32_t type) const;    // 1 for a scalar; of a matrix, all
  std::uint32_t element_of(std::uint32_t type) const;  // of a vector; a scalar's own type
  std::uint32_t float_lanes(std::uint32_t type) const;  // 0 where it is no float
  // The value of an integer constant that no specialization changes; -1: none.
  std::int64_t constant(std::uint32_t id) const;
  // One behind the largest descriptor set.
  std::uint32_t sets() const;

 private:
  ParsedModule() = default;
  std::unordered_map<std::uint32_t, std::size_t> definitions_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> decorations_;
  std::map<std::array<std::uint32_t, 3>, std::int64_t> member_decorations_;
  std::unordered_map<std::uint32_t, std::string> names_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> member_names_;
  std::map<std::uint32_t, std::string> strings_;  // stable: instructions view them
};

}  // namespace spirkiln::access
