// SPDX-License-Identifier: Apache-2.0
// The index of a table under construction: strings and the sections of structs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "blob.hpp"
#include "expand.hpp"
#include "frames.hpp"
#include "spirkiln/table_format.hpp"

namespace spirkiln::gen {

class TableIndex {
 public:
  TableIndex(const std::string& name, const std::string& tool_version);

  void add_blob(const Blob& blob, const Placement& placement, std::uint32_t coded_bytes, bool raw);
  // Of `kernel`, which variants that are added after it belong to.
  void add_kernel(const std::string& name, std::uint32_t source_hash);
  void add_variant(const Variant& variant, std::uint32_t blob);
  void add_frame(const table::FrameEntry& frame) { frames_.push_back(frame); }
  // In the order of their names.
  void add_attachment(const std::string& name, const table::FrameEntry& frame) {
    attachments_.push_back({string(name), frame});
  }

  // Decoded, as the table's index frame holds it.
  std::string bytes() const;

 private:
  std::uint32_t string(const std::string& text);

  std::string strings_ = std::string(1, '\0');
  std::map<std::string, std::uint32_t> offsets_ = {{"", 0}};
  std::uint32_t name_;
  std::uint32_t tool_version_;
  std::vector<table::KernelEntry> kernels_;
  std::vector<table::VariantEntry> variants_;
  std::vector<table::AxisValue> axis_values_;
  std::vector<table::BlobEntry> blobs_;
  std::vector<table::FrameEntry> frames_;
  std::vector<std::uint32_t> capabilities_;
  std::vector<std::uint32_t> extensions_;
  std::vector<table::BindingEntry> bindings_;
  std::vector<table::SpecEntry> specs_;
  std::vector<table::AttachmentEntry> attachments_;
};

}  // namespace spirkiln::gen
