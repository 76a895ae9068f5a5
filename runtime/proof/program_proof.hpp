// SPDX-License-Identifier: Apache-2.0
// Which kernels of a planned program a graph must do without on this device.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/program.hpp"
#include "loader/device.hpp"

namespace spirkiln {

struct WrongKernel {
  std::uint32_t variant = 0;
  std::string text;  // what is wrong with it, for the user
};

// Proves what is unknown of the paths that the program takes through its modules.
// `needs_subnormals` is asked where a kernel flushes those of 16 bits; where the graph does not
// need them, that is told once and nothing more. Errors: those of Proofs::judge.
Result<std::vector<WrongKernel>> wrong_kernels(const Device& device, const Table& table,
                                               const Program& program,
                                               const std::function<bool()>& needs_subnormals,
                                               const MessageCallback& message);

// Tells of each kernel once in the device's life, with what runs in its place. `program`: null
// where nothing does.
void tell_wrong(const Device& device, const Table& table, std::span<const WrongKernel> wrong,
                const Program* program, const MessageCallback& message);

}  // namespace spirkiln
