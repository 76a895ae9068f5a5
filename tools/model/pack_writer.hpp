// SPDX-License-Identifier: Apache-2.0
// A fused graph as the bytes of a pack.
#pragma once

#include "ir.hpp"
#include "model.hpp"

namespace spirkiln::packer {

// Throws PackError.
std::vector<std::uint8_t> write_pack(const Graph& graph, const PackOptions& options);

}  // namespace spirkiln::packer
