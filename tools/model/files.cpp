// SPDX-License-Identifier: Apache-2.0
#include "input_file.hpp"
#include "model.hpp"
#include "pack_check.hpp"

namespace spirkiln::packer {

Result<std::vector<std::uint8_t>> read_pack(const std::string& path) {
  return read_input(path, {model::kMaxPackBytes, sizeof(model::ModelHeader), check_pack_head});
}

}  // namespace spirkiln::packer
