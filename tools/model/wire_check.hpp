// SPDX-License-Identifier: Apache-2.0
// A walk over the wire form of an ONNX file before protobuf sees it. Protobuf allocates some
// hundred bytes for a message that takes two in the file, so a small file could ask for a lot of
// memory; this counts first.
#pragma once

#include <string>
#include <string_view>

namespace spirkiln::packer {

// An empty string, or what is wrong with the bytes.
std::string check_onnx_wire(std::string_view bytes);

}  // namespace spirkiln::packer
