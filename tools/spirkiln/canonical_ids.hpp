// SPDX-License-Identifier: Apache-2.0
// Stage 9: ids that depend on what they stand for, so that like modules compress together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace spirkiln::gen {

// Nothing where the remapper does not understand the module; its ids then stay as they are.
// `words` still have their names, from which ids are derived as well.
std::optional<std::vector<std::uint32_t>> canonical_ids(const std::vector<std::uint32_t>& words);

}  // namespace spirkiln::gen
