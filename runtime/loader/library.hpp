// SPDX-License-Identifier: Apache-2.0
// Libraries opened by name at run time; the Vulkan loader first of all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loader/vulkan.hpp"

namespace spirkiln {

enum class System { kLinux, kAndroid, kWindows, kMac };
// The names that the Vulkan loader has on a system, in the order in which they are tried.
std::vector<std::string> vulkan_library_names_on(System system);

// The names that are tried, in order. $SPIRKILN_VULKAN_LIBRARY (names separated by ':', ';' on
// Windows) replaces them.
std::vector<std::string> vulkan_library_names();

// Names separated as in $SPIRKILN_VULKAN_LIBRARY.
std::vector<std::string> split_library_names(const std::string& text);
// The folder of the library or program that `object` lies in; empty where that is unknown.
std::string folder_of_library(const void* object);

// Stays open unless it is closed: see VulkanLibrary.
class OpenLibrary {
 public:
  // Errors: kIo with the system's reason.
  static Result<OpenLibrary> open(const std::string& name);
  void* symbol(const char* name) const;  // null where there is none
  void close();

 private:
  explicit OpenLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

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
