// SPDX-License-Identifier: Apache-2.0
#include "loader/backends.hpp"

#include <algorithm>

#include "loader/environment.hpp"
#include "loader/guard.hpp"
#include "loader/library.hpp"
#include "table/printable.hpp"

namespace spirkiln {
namespace {

// Any object of this library, to find its file by.
const char kHere = 0;

Result<const CpuBackend*> open_first(const std::vector<std::string>& names) {
  std::string tried;
  for (const std::string& name : names) {
    auto library = OpenLibrary::open(name);
    std::string why;
    if (library) {
      const auto entry = reinterpret_cast<CpuBackendEntry>(library->symbol(kCpuBackendEntry));
      const CpuBackend* backend = entry != nullptr ? entry(SPIRKILN_VERSION) : nullptr;
      if (backend != nullptr) return backend;
      why = entry == nullptr ? "is no CPU backend (it has no spirkiln_cpu_backend)"
                             : "is the CPU backend of another version than " SPIRKILN_VERSION;
      library->close();
    } else {
      why = library.error().message;
    }
    tried.append("\n  ").append(name).append(": ").append(why);
  }
  return Error{
      ErrorCode::kUnsupported,
      "the CPU backend, libspirkiln-cpu, could not be opened. It is built where oneDNN and "
      "OpenMP are (libdnnl-dev on Debian), and installed beside libspirkiln. Tried:" +
          tried};
}

}  // namespace

std::vector<std::string> cpu_library_names() {
  if (const char* names = environment("SPIRKILN_CPU_LIBRARY")) return split_library_names(names);
#if defined(_WIN32)
  const std::string name = "spirkiln-cpu-0.dll";
#elif defined(__APPLE__)
  const std::string name = "libspirkiln-cpu.0.dylib";
#else
  const std::string name = "libspirkiln-cpu.so.0";
#endif
  std::vector<std::string> names;
  if (const std::string folder = folder_of_library(&kHere); !folder.empty()) {
    names.push_back(folder + "/" + name);
  }
  names.push_back(name);
  return names;
}

Result<const CpuBackend*> open_cpu_backend() {
  return guarded([]() -> Result<const CpuBackend*> {
    // A second opening of a library that is open gives the same one.
    return open_first(cpu_library_names());
  });
}

std::vector<std::string> backend_names() { return {"auto", "vulkan", "cpu"}; }

Result<std::string> wanted_backend(const DeviceOptions& options) {
  std::string wanted = options.backend, origin = "the backend";
  if (wanted.empty()) {
    if (const char* text = environment("SPIRKILN_BACKEND")) {
      wanted = text;
      origin = "SPIRKILN_BACKEND";
    }
  }
  if (wanted.empty()) return std::string("auto");
  const auto names = backend_names();
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return wanted;
  return Error{ErrorCode::kInvalidArgument,
               origin + " is '" + printable(wanted) + "'; expected auto, vulkan or cpu"};
}

bool names_device(const DeviceOptions& options) {
  return options.index || !options.name.empty() || environment("SPIRKILN_DEVICE") != nullptr;
}

bool asks_for_kernels(const DeviceOptions& options) {
  return options.validation || validation_in_environment() ||
         environment("SPIRKILN_VARIANT") != nullptr || environment("SPIRKILN_TABLE") != nullptr ||
         environment("SPIRKILN_AXES") != nullptr || environment("SPIRKILN_KERNELS") != nullptr;
}

bool asks_for_kernels(const GraphOptions& options) {
  return !options.variant.empty() || !options.axes.empty() || !options.kernels.empty();
}

}  // namespace spirkiln
