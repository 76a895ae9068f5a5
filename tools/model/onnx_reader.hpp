// SPDX-License-Identifier: Apache-2.0
// Reads an ONNX file. The only file of the packer, with its .cpp, that knows protobuf.
#pragma once

#include "onnx_graph.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace spirkiln::packer {

// Both throw PackError, which names `origin`.
OnnxGraph read_onnx_file(const std::string& path);
OnnxGraph read_onnx_bytes(std::string_view bytes, const std::string& origin);

}  // namespace spirkiln::packer
