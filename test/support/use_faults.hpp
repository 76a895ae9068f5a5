// SPDX-License-Identifier: Apache-2.0
// The loader of vulkan_faults, as the runtime under test opens it.
#pragma once

#include <dlfcn.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "support/vulkan_faults.hpp"

namespace spirkiln::test {

inline VulkanFaults& faults() {
  static VulkanFaults* all = [] {
    const char* name = std::getenv("SPIRKILN_VULKAN_LIBRARY");
    void* library = name != nullptr ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (library == nullptr) FAIL("SPIRKILN_VULKAN_LIBRARY is not libvulkan-faults");
    return reinterpret_cast<VulkanFaultsEntry>(dlsym(library, "vulkan_faults"))();
  }();
  return *all;
}

}  // namespace spirkiln::test
