// SPDX-License-Identifier: Apache-2.0
// Quirks of drivers and the choice of a backend, from TOML (variants/README.md is its reference)
// into a table's attachment.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "diagnostics.hpp"
#include "files.hpp"
#include "pack.hpp"
#include "spirkiln/result.hpp"

namespace spirkiln::gen {

struct QuirkSpec {
  std::vector<std::string> kernels;  // none: any
  std::string axis, value;           // of those kernels; both or none
  std::uint32_t forms = 0;           // bits as in table::QuirkEntry; 0: any
  std::uint32_t vendor_id = 0, driver_id = 0;  // 0: any
  std::uint32_t first_device = 0, last_device = ~0u;
  std::uint32_t first_driver = 0, last_driver = ~0u;
  std::string reason, source;
  // Their texts are empty.
  std::vector<Diagnostic> kernel_positions;
  Diagnostic axis_position;
};

struct BackendSpec {
  std::uint32_t types = ~0u;  // bits by VkPhysicalDeviceType
  bool cpu = false;
  std::string reason;
};

struct QuirkFile {
  std::vector<QuirkSpec> quirks;
  std::vector<BackendSpec> backends;
};

// An Error's message is one or more lines "file:line:column: error: ...".
Result<QuirkFile> parse_quirks(const SourceFile& file);

// Reads, parses and encodes. Nothing where `path` is none.
Result<Attachments> quirks_attachment(const std::optional<std::filesystem::path>& path,
                                      SourceStore& sources, const std::vector<PackKernel>& kernels,
                                      bool all_kernels);

// The attachment, named table::kQuirksName. Where `all_kernels`, a quirk of a kernel that is not
// there is an error at its place; so is one of an axis or value that its kernels have not. (Kernels
// without variants are there: their compiler is not.)
Result<std::string> encode_quirks(const QuirkFile& file, const std::vector<PackKernel>& kernels,
                                  bool all_kernels);

}  // namespace spirkiln::gen
