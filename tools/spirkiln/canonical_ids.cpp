// SPDX-License-Identifier: Apache-2.0
#include "canonical_ids.hpp"

#include <glslang/SPIRV/SPVRemapper.h>

#include <stdexcept>
#include <string>

namespace spirkiln::gen {

std::optional<std::vector<std::uint32_t>> canonical_ids(const std::vector<std::uint32_t>& words) {
  // The remapper's own handler ends the process; throwing also leaves it before it reads on.
  static const bool registered = [] {
    spv::spirvbin_t::registerErrorHandler(
        [](const std::string& text) { throw std::runtime_error(text); });
    spv::spirvbin_t::registerLogHandler([](const std::string&) {});
    return true;
  }();
  (void)registered;
  std::vector<std::uint32_t> out = words;
  try {
    spv::spirvbin_t(0).remap(out, spv::spirvbin_base_t::MAP_ALL);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return out;
}

}  // namespace spirkiln::gen
