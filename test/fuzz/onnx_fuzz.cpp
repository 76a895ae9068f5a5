// SPDX-License-Identifier: Apache-2.0
// ONNX graphs: an error, or a pack that passes the check of a stranger's.
#include <cstdlib>

#include "input.hpp"
#include "model.hpp"

using namespace spirkiln;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto packed = packer::pack_onnx_bytes(test::text_of(data, size), "fuzz", {});
  if (packed && !packer::validate_pack(packed->bytes)) std::abort();
  return 0;
}
