// SPDX-License-Identifier: Apache-2.0
// Prints which Vulkan library is opened, or the error; for check-loading.
#include <cstdio>

#include "loader/library.hpp"

int main() {
  using namespace spirkiln;
  const auto library = VulkanLibrary::open(vulkan_library_names());
  std::printf("%s\n", library ? (*library)->name().c_str() : library.error().message.c_str());
  return library ? 0 : 1;
}
