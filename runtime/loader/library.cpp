// SPDX-License-Identifier: Apache-2.0
#include "loader/library.hpp"

#include <cstdlib>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace spirkiln {
namespace {

#ifdef _WIN32
constexpr char kSeparator = ';';
void* open_library(const std::string& name) {
  return reinterpret_cast<void*>(LoadLibraryA(name.c_str()));
}
void close_library(void* handle) { FreeLibrary(static_cast<HMODULE>(handle)); }
void* find_symbol(void* handle, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle), name));
}
std::string last_error() { return "error " + std::to_string(GetLastError()); }
#else
constexpr char kSeparator = ':';
void* open_library(const std::string& name) { return dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); }
void close_library(void* handle) { dlclose(handle); }
void* find_symbol(void* handle, const char* name) { return dlsym(handle, name); }
std::string last_error() {
  const char* text = dlerror();
  return text != nullptr ? text : "unknown error";
}
#endif

}  // namespace

std::vector<std::string> split_library_names(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    std::size_t end = text.find(kSeparator, begin);
    if (end == std::string::npos) end = text.size();
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string folder_of_library(const void* object) {
#ifdef _WIN32
  HMODULE module = nullptr;
  char path[MAX_PATH];
  const DWORD flags =
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (!GetModuleHandleExA(flags, static_cast<LPCSTR>(object), &module)) return {};
  const DWORD length = GetModuleFileNameA(module, path, sizeof path);
  const std::string file(path, length < sizeof path ? length : 0);
  const std::size_t end = file.find_last_of("\\/");
#else
  Dl_info info{};
  if (dladdr(object, &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string file = info.dli_fname;
  const std::size_t end = file.rfind('/');
#endif
  return end == std::string::npos ? std::string() : file.substr(0, end);
}

Result<OpenLibrary> OpenLibrary::open(const std::string& name) {
  if (void* handle = open_library(name); handle != nullptr) return OpenLibrary(handle);
  return Error{ErrorCode::kIo, last_error()};
}
void* OpenLibrary::symbol(const char* name) const { return find_symbol(handle_, name); }
void OpenLibrary::close() {
  close_library(handle_);
  handle_ = nullptr;
}

std::vector<std::string> vulkan_library_names_on(System system) {
  switch (system) {
    case System::kWindows:
      return {"vulkan-1.dll"};
    case System::kMac:
      // The dynamic linker does not look where Homebrew installs.
      return {"libvulkan.1.dylib",
              "libvulkan.dylib",
              "libMoltenVK.dylib",
              "/opt/homebrew/lib/libvulkan.1.dylib",
              "/usr/local/lib/libvulkan.1.dylib",
              "/opt/homebrew/lib/libMoltenVK.dylib",
              "/usr/local/lib/libMoltenVK.dylib"};
    case System::kAndroid:
      return {"libvulkan.so"};
    case System::kLinux:
      break;
  }
  // The second is what a machine with only the developer's link has.
  return {"libvulkan.so.1", "libvulkan.so"};
}

std::vector<std::string> vulkan_library_names() {
  if (const char* override_names = std::getenv("SPIRKILN_VULKAN_LIBRARY");
      override_names != nullptr && *override_names != '\0') {
    return split_library_names(override_names);
  }
#if defined(_WIN32)
  return vulkan_library_names_on(System::kWindows);
#elif defined(__APPLE__)
  return vulkan_library_names_on(System::kMac);
#elif defined(__ANDROID__)
  return vulkan_library_names_on(System::kAndroid);
#else
  return vulkan_library_names_on(System::kLinux);
#endif
}

Result<std::shared_ptr<VulkanLibrary>> VulkanLibrary::open(const std::vector<std::string>& names) {
  std::string tried;
  for (const std::string& name : names) {
    std::string why;
    if (void* handle = open_library(name); handle != nullptr) {
      auto entry =
          reinterpret_cast<PFN_vkGetInstanceProcAddr>(find_symbol(handle, "vkGetInstanceProcAddr"));
      std::shared_ptr<VulkanLibrary> library(new VulkanLibrary());
      library->name_ = name;
      GlobalFunctions& f = library->functions_;
      f.vkGetInstanceProcAddr = entry;
      bool complete = entry != nullptr;
      if (complete) {
#define SPIRKILN_LOAD(fn)                                        \
  f.fn = reinterpret_cast<PFN_##fn>(entry(VK_NULL_HANDLE, #fn)); \
  complete = complete && f.fn != nullptr;
        SPIRKILN_VK_GLOBAL(SPIRKILN_LOAD)
#undef SPIRKILN_LOAD
        f.vkEnumerateInstanceVersion = reinterpret_cast<PFN_vkEnumerateInstanceVersion>(
            entry(VK_NULL_HANDLE, "vkEnumerateInstanceVersion"));
      }
      if (complete) return library;
      why = "is no Vulkan loader (vkGetInstanceProcAddr gives no vkCreateInstance)";
      close_library(handle);
    } else {
      why = last_error();
    }
    tried.append("\n  ").append(name).append(": ").append(why);
  }
  if (tried.empty()) tried = " none (the list of names is empty)";
  return Error{ErrorCode::kNoVulkan,
               "no Vulkan library could be opened. Install a Vulkan loader and driver "
               "(libvulkan1 and mesa-vulkan-drivers on Debian). Tried:" +
                   tried};
}

}  // namespace spirkiln
