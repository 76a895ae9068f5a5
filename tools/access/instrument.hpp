// SPDX-License-Identifier: Apache-2.0
// A pass over a module that makes each access to memory write a record first.
//
// Before every load, store, copy, atomic and texel that is rooted in a storage or uniform buffer,
// in workgroup memory or in an image, the byte offset is computed from the chain of indices and the
// module's own layout, and a function of the pass appends it to a buffer in a descriptor set behind
// the kernel's. The kernel computes what it did before.
#pragma once

#include <cstdint>
#include <vector>

#include "spirkiln/result.hpp"
#include "trace.hpp"

namespace spirkiln::access {

struct Instrumented {
  std::vector<std::uint32_t> words;  // valid for the target that the module was made for
  std::vector<Site> sites;  // Record::site() is an index
  std::vector<Untraced> untraced;
  std::uint32_t trace_set = 0;  // binding 0 of it is the trace buffer (TraceHeader, Record...)
};

// `words`: a module of one compute entry point, with lines (Symbols::kLines) where sites shall have
// them. Cooperative matrices are of KHR's extension. Errors: kUnsupported for instructions that
// nobody here knows and for more than 65,535 sites; kCorrupt.
Result<Instrumented> instrument(const std::vector<std::uint32_t>& words);

}  // namespace spirkiln::access
