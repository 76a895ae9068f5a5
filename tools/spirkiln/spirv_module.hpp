// SPDX-License-Identifier: Apache-2.0
// The global part of a SPIR-V module as lists: types, constants, variables, decorations, names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln::gen {

class SpirvModule {
 public:
  struct Instruction {
    std::uint16_t op = 0;
    std::span<const std::uint32_t> operands;  // all words behind the first
  };
  struct Decoration {
    std::uint32_t decoration;
    std::uint32_t value;  // first literal, 0 without one
  };

  // Keeps a reference to `words`.
  static Result<SpirvModule> parse(const std::vector<std::uint32_t>& words);

  std::uint32_t version() const { return version_; }
  const std::vector<Instruction>& instructions() const { return instructions_; }
  // The instruction that defines a type, constant or global variable; null for other ids.
  const Instruction* definition(std::uint32_t id) const;
  std::optional<std::uint32_t> decoration(std::uint32_t id, std::uint32_t decoration) const;
  std::optional<std::uint32_t> member_decoration(std::uint32_t id, std::uint32_t member,
                                                 std::uint32_t decoration) const;
  const std::string* name(std::uint32_t id) const;

  // A 32-bit integer or boolean constant at the default specialization values.
  std::optional<std::uint32_t> evaluate(std::uint32_t id, unsigned depth = 0) const;
  // Bytes that a value takes in memory. `workgroup` packs by size and natural alignment, else
  // offsets and strides are read from decorations.
  std::optional<std::uint64_t> size_of(std::uint32_t type, bool workgroup,
                                       unsigned depth = 0) const;

 private:
  std::optional<std::uint32_t> evaluate_operation(const Instruction& inst, unsigned depth) const;

  std::uint32_t version_ = 0;
  std::vector<Instruction> instructions_;
  std::unordered_map<std::uint32_t, std::size_t> definitions_;
  std::unordered_map<std::uint32_t, std::vector<Decoration>> decorations_;
  std::unordered_map<std::uint64_t, std::vector<Decoration>> member_decorations_;
  std::unordered_map<std::uint32_t, std::string> names_;
};

// A literal string of a module, from `words`.
std::string spirv_string(std::span<const std::uint32_t> words);

}  // namespace spirkiln::gen
