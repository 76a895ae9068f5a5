// SPDX-License-Identifier: Apache-2.0
#include "graph/step_times.hpp"

#include <algorithm>
#include <set>

namespace spirkiln {
namespace {

// Each buffer once, however many bindings it has: what is bound to fill a place (a residual that a
// node does not have) moves nothing more.
std::uint64_t bytes_of(const Program& program, const Step& step, bool Use::* direction) {
  std::set<std::uint32_t> buffers;
  for (const Use& use : step.uses) {
    if (use.*direction) buffers.insert(use.buffer);
  }
  std::uint64_t bytes = 0;
  for (const std::uint32_t b : buffers) bytes += program.buffers[b].bytes;
  return bytes;
}

std::string kernel_of(const Table& table, const table::VariantEntry* variant) {
  for (const table::KernelEntry& k : table.kernels()) {
    const auto variants = table.variants_of(k);
    if (variant >= variants.data() && variant < variants.data() + variants.size()) {
      return std::string(table.string(k.name));
    }
  }
  return {};
}

}  // namespace

std::vector<StepTime> step_times(const Table& table, const Program& program,
                                 std::span<const double> ms) {
  std::vector<StepTime> times;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& s = program.steps[i];
    StepTime t;
    t.node = s.node.starts_with("node ") ? s.node.substr(5) : s.node;
    t.variant = s.pipeline.kernel;
    t.kernel = kernel_of(table, table.find_variant(s.pipeline.kernel));
    t.groups = s.groups;
    t.bytes_read = bytes_of(program, s, &Use::reads);
    t.bytes_written = bytes_of(program, s, &Use::writes);
    t.flop = s.flops;
    t.us = i < ms.size() ? ms[i] * 1e3 : 0;
    times.push_back(std::move(t));
  }
  return times;
}

std::string profile_line(const Program& program, const Step& step, const StepTime& time) {
  std::string text = "profile " + std::to_string(time.us) + " us " + time.variant + " groups " +
                     std::to_string(time.groups[0]) + " " + std::to_string(time.groups[1]) + " " +
                     std::to_string(time.groups[2]) + " bytes " +
                     std::to_string(time.bytes_read + time.bytes_written) + " flops " +
                     std::to_string(time.flop);
  for (const Use& use : step.uses) {
    if (use.writes) text += " -> " + program.buffers[use.buffer].name;
  }
  return text;
}

}  // namespace spirkiln
