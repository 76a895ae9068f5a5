// SPDX-License-Identifier: Apache-2.0
// A file's bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln::ocr {

// All bytes of a file. Folders, pipes and devices are refused: the last two may never end.
// `expected` says in messages what was looked for ("a picture"). Errors: kIo; kOutOfMemory for more
// than `max_bytes`.
Result<std::vector<std::uint8_t>> read_file(const std::string& path, std::uint64_t max_bytes,
                                            const std::string& expected);

}  // namespace spirkiln::ocr
