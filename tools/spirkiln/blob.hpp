// SPDX-License-Identifier: Apache-2.0
// One finished module and what is known of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reflect.hpp"

namespace spirkiln::gen {

struct Blob {
  std::vector<std::uint32_t> words;  // stripped, canonical, validated
  std::uint32_t vulkan_version = 0;
  std::string compiler;  // the second one's version, where it compiled this; else empty
  bool unoptimised = false;  // the optimiser failed, and the manifest allows that
  Reflection reflection;
};

// A variant on its way into a table.
struct BakedVariant {
  std::size_t kernel = 0;   // index into the baked kernels
  std::size_t variant = 0;  // index into the kernel's expansion
  std::shared_ptr<const Blob> blob;
};

}  // namespace spirkiln::gen
