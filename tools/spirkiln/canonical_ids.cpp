// SPDX-License-Identifier: Apache-2.0
#include "canonical_ids.hpp"

#include <glslang/SPIRV/SPVRemapper.h>

#include <stdexcept>
#include <string>

namespace spirkiln::gen {

namespace {

bool remap(std::vector<std::uint32_t>& words) {
  try {
    spv::spirvbin_t(0).remap(words, spv::spirvbin_base_t::MAP_ALL);
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

bool prepare() {
  // The remapper's own handler ends the process; throwing also leaves it before it reads on.
  spv::spirvbin_t::registerErrorHandler(
      [](const std::string& text) { throw std::runtime_error(text); });
  spv::spirvbin_t::registerLogHandler([](const std::string&) {});
  // Its first use fills tables of instructions without a lock: two first uses at once crash.
  std::vector<std::uint32_t> empty = {0x07230203, 0x00010000, 0, 1, 0};
  (void)remap(empty);
  return true;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> canonical_ids(const std::vector<std::uint32_t>& words) {
  static const bool prepared = prepare();
  (void)prepared;
  std::vector<std::uint32_t> out = words;
  if (!remap(out)) return std::nullopt;
  return out;
}

}  // namespace spirkiln::gen
