// SPDX-License-Identifier: Apache-2.0
// Compiled kernels in a file (.spko), between the two phases.
//
//   header:  magic, then numbers of 32 bits: version, 0; the XXH3_64bits of all that follows
//   content: tool_versions(); number of blobs, each as blob_codec.hpp has it; number of kernels,
//   each:
//            name, source hash, number of named constants, each: name, id; number of variants,
//            each: name, four bytes (storage, arithmetic, resource, int8), number of axis values,
//            each: axis, value, whether it is interchangeable (0 or 1); index of its blob; number
//            of parts of attachments, each: name, bytes as a string
//
// Little-endian; a string is its length and its bytes. Equal blobs are stored once. Nothing in it
// depends on where or when it was made, nor on the number of threads or the cache.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pack.hpp"

namespace spirkiln::gen {

// `kernels` sorted by name; of a kernel, every variant may have been left out.
std::string encode_object(const std::vector<PackKernel>& kernels);

// Checks everything: what decodes is as good as what this program compiles itself. Errors
// (kCorrupt, kUnsupported for another version's) begin with `path`.
Result<std::vector<PackKernel>> decode_object(std::string_view bytes, const std::string& path);

}  // namespace spirkiln::gen
