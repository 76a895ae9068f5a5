// SPDX-License-Identifier: Apache-2.0
// A module with words put in between: declarations, instructions before others, functions at the
// end.
#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "parsed_module.hpp"

namespace spirkiln::access {

class ModuleEditor {
 public:
  explicit ModuleEditor(const ParsedModule& module) : module_(module), bound_(module.bound()) {}

  std::uint32_t new_id() { return bound_++; }

  // Where emit() and add() write from now on: before an instruction of the module, or at its end.
  void at(std::size_t instruction) { out_ = &before_[instruction]; }
  void at_end() { out_ = &end_; }
  // An instruction with a result. `type` 0: none of its own (OpLabel).
  std::uint32_t emit(std::uint32_t op, std::uint32_t type,
                     std::initializer_list<std::uint32_t> operands);
  void add(std::uint32_t op, std::initializer_list<std::uint32_t> operands);
  void emit_as(std::uint32_t result, std::uint32_t op, std::uint32_t type,
               std::initializer_list<std::uint32_t> operands);

  // Declarations, behind all of the module's own.
  std::uint32_t declare(std::uint32_t op, std::uint32_t type,
                        std::initializer_list<std::uint32_t> operands);
  void annotate(std::uint32_t op, std::initializer_list<std::uint32_t> operands);
  // The module's own type of these operands, or a new one: SPIR-V allows one of each.
  std::uint32_t unique_type(std::uint32_t op, std::initializer_list<std::uint32_t> operands);
  std::uint32_t uint_type() { return unique_type(spv::OpTypeInt, {32, 0}); }
  std::uint32_t constant(std::uint32_t value);
  // The module's own variable of that builtin, or a new one.
  std::uint32_t builtin(std::uint32_t builtin, std::uint32_t type);
  void need_capability(std::uint32_t capability) { capabilities_.insert(capability); }
  // A variable that the entry point has to name from SPIR-V 1.4 on.
  void add_to_interface(std::uint32_t variable, bool always);

  // `entry`: what the entry point starts instead of its function.
  std::vector<std::uint32_t> finish(std::uint32_t entry) const;

 private:
  static void put(std::vector<std::uint32_t>* to, std::uint32_t op, std::uint32_t type,
                  std::uint32_t result, std::span<const std::uint32_t> operands);

  const ParsedModule& module_;
  std::uint32_t bound_;
  std::map<std::size_t, std::vector<std::uint32_t>> before_;
  std::vector<std::uint32_t> end_, globals_, annotations_, interface_;
  std::vector<std::uint32_t>* out_ = &end_;
  std::set<std::uint32_t> capabilities_;  // wanted
  std::map<std::uint32_t, std::uint32_t> builtins_;  // variables that were not there
  std::map<std::vector<std::uint32_t>, std::uint32_t> types_;
  std::map<std::uint32_t, std::uint32_t> constants_;
};

}  // namespace spirkiln::access
