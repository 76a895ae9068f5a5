// SPDX-License-Identifier: Apache-2.0
// Single dispatches over given operands, timed on the device: through the same selection, recording
// and submission as a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/executor.hpp"
#include "spirkiln/spirkiln.hpp"

namespace spirkiln::bench {

// What BufferRef names: kInput and kConst by index, kOutput.
struct Operands {
  std::vector<std::vector<std::byte>> inputs, consts;
  // 0: the dispatch works in place, on input 0, and that is the result.
  std::uint64_t output_bytes = 0;
};

class DispatchTimer {
 public:
  // The operands go to the device once. Errors: kUnsupported on the CPU backend; as Executor.
  static Result<std::unique_ptr<DispatchTimer>> create(const Device& device, const Table& table,
                                                       Operands operands);
  // A dispatch in the best variant of this form that the device may run. Gives its number. Errors:
  // as ProgramBuilder; the timer is as before then.
  Result<std::size_t> add(const Dispatch& dispatch, Form form);
  std::string_view variant(std::size_t i) const {
    return ways_[i].program.steps.at(0).pipeline.kernel;
  }
  // Makes ready what was added since the last time, pipelines on all cores; a run then does the
  // dispatch `repeats` times, each behind a barrier.
  Status prepare(std::uint32_t repeats);
  // Microseconds of one repeat. Errors: kUnsupported on a device without timestamps.
  Result<double> run(std::size_t i);
  // Of the last run, whichever it was: valid until the next.
  std::span<const std::byte> result() const;

 private:
  DispatchTimer(Device device, Table table, Operands operands);
  Result<Program> build(const Dispatch& dispatch, Form form) const;

  struct Way {
    Program program;
    std::unique_ptr<Recording> recording;
  };
  Device device_;
  Table table_;
  Operands operands_;
  std::vector<std::uint64_t> offsets_;  // of inputs, then of constants, in the block of weights
  std::uint64_t fixed_bytes_ = 0;
  std::unique_ptr<Executor> executor_;
  std::vector<Way> ways_;
  std::uint64_t result_offset_ = 0, result_bytes_ = 0;
};

// The least of `runs` runs, microseconds.
Result<double> least_us(DispatchTimer& timer, std::size_t i, std::uint32_t runs);

}  // namespace spirkiln::bench
