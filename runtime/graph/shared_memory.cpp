// SPDX-License-Identifier: Apache-2.0
#include "graph/shared_memory.hpp"

#include "table/module_reader.hpp"

namespace spirkiln {

Status check_shared_memory(std::span<const std::uint32_t> words,
                           const std::vector<SpecValue>& specs, const DeviceCaps& caps,
                           const std::string& kernel) {
  std::vector<ModuleValue> values;
  for (const SpecValue& s : specs) values.push_back({s.id, s.bits});
  const auto module = read_module(words, values);
  if (!module || !module->shared_bytes || *module->shared_bytes <= caps.max_shared_bytes) {
    return Ok{};
  }
  return Error{ErrorCode::kUnsupported, kernel + ": with these constants it needs " +
                                            std::to_string(*module->shared_bytes) +
                                            " bytes of shared memory, " + caps.name + " has " +
                                            std::to_string(caps.max_shared_bytes)};
}

}  // namespace spirkiln
