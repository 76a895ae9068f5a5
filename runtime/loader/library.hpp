// SPDX-License-Identifier: Apache-2.0
// The Vulkan loader, opened by name at run time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loader/vulkan.hpp"

namespace spirkiln {

// The names that are tried, in order. $SPIRKILN_VULKAN_LIBRARY (names separated by ':', ';' on
// Windows) replaces them.
std::vector<std::string> vulkan_library_names();

class VulkanLibrary {
 public:
  // Errors: kNoVulkan; the text names every library that was tried and why it did not work.
  static Result<std::shared_ptr<VulkanLibrary>> open(const std::vector<std::string>& names);
  // A loader stays open until the process ends: drivers leave threads and thread-local destructors
  // behind, which would run in unmapped code after dlclose.
  VulkanLibrary(const VulkanLibrary&) = delete;
  VulkanLibrary& operator=(const VulkanLibrary&) = delete;

  const GlobalFunctions& functions() const { return functions_; }
  const std::string& name() const { return name_; }

 private:
  VulkanLibrary() = default;
  std::string name_;
  GlobalFunctions functions_;
};

}  // namespace spirkiln
