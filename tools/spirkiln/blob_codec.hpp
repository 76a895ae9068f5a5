// SPDX-License-Identifier: Apache-2.0
// The stored form of a blob, in cache entries and in objects: its Vulkan version, the second
// compiler's where that made it, its words, and the names of its specialization constants. The rest
// of the reflection is read from the words again.
#pragma once

#include <memory>
#include <string>

#include "blob.hpp"
#include "byte_reader.hpp"

namespace spirkiln::gen {

void put_blob(std::string& out, const Blob& blob);

// Null where no compilation can have stored it: SPIRV-Tools' validator has to accept the words for
// that version, unless a second compiler made them, and reflection has to find as many constants as
// there are names.
std::shared_ptr<const Blob> take_blob(ByteReader& bytes);

}  // namespace spirkiln::gen
