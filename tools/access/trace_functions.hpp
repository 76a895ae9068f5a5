// SPDX-License-Identifier: Apache-2.0
// The trace buffer of an instrumented module, and the functions that write into it.
//
// Drivers put a function's body wherever it is called, so what a call does is little: what an
// invocation knows of itself, and its sums, lie in variables of its own, which the entry point sets
// before the kernel and adds up behind it.
#pragma once

#include "module_editor.hpp"

namespace spirkiln::access {

class TraceFunctions {
 public:
  TraceFunctions(const ParsedModule& module, ModuleEditor& editor)
      : module_(module), editor_(editor) {}

  void declare(std::uint32_t set);
  // At the editor's place; a and b are ids of uint.
  void call_record(std::uint32_t site, std::uint32_t a, std::uint32_t b);
  void call_flops(std::uint32_t count);
  // Of all invocations of a subgroup together.
  void call_subgroup_flops(std::uint32_t count);
  // The functions' bodies, once all calls are known.
  void define();
  std::uint32_t entry() const { return entry_; }

 private:
  std::uint32_t word(std::uint32_t member);  // a pointer to a word of the header
  std::uint32_t load(std::uint32_t member);
  std::uint32_t own(std::uint32_t variable) { return editor_.emit(spv::OpLoad, uint_, {variable}); }
  void set_own(std::uint32_t variable, std::uint32_t value) {
    editor_.add(spv::OpStore, {variable, value});
  }
  void block() { editor_.emit(spv::OpLabel, 0, {}); }
  void begin(std::uint32_t label) { editor_.emit_as(label, spv::OpLabel, 0, {}); }
  void branch(std::uint32_t condition, std::uint32_t yes, std::uint32_t no, std::uint32_t merge);
  void define_record();
  void define_entry();
  std::uint32_t define_group();
  void add_long(std::uint32_t low, std::uint32_t high, std::uint32_t count);

  const ParsedModule& module_;
  ModuleEditor& editor_;
  std::uint32_t uint_ = 0, bool_ = 0, void_ = 0, vector_ = 0, record_type_ = 0;
  std::uint32_t buffer_ = 0, word_pointer_ = 0, record_pointer_ = 0;
  std::uint32_t group_id_ = 0, groups_ = 0, local_index_ = 0;  // builtins
  // Of an invocation: 0 not traced, 1 traced, 2 traced and the buffer is full; its local number
  // shifted; its group; what it lost; its arithmetic.
  std::uint32_t state_ = 0, local_ = 0, group_ = 0, lost_ = 0, flops_ = 0;
  std::uint32_t record_ = 0, main_ = 0, entry_ = 0;  // functions
  std::uint32_t scope_ = 0, relaxed_ = 0;
};

}  // namespace spirkiln::access
