// SPDX-License-Identifier: Apache-2.0
// Reads a table file for `list` and `dump`, trusting nothing in it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirkiln/result.hpp"
#include "spirkiln/table_format.hpp"

namespace spirkiln::gen {

class TableView {
 public:
  // Checks every offset, count and index, and the checksum. Errors: kIo, kCorrupt.
  static Result<TableView> open(const std::filesystem::path& path);
  static Result<TableView> parse(std::string bytes);

  const table::TableHeader& header() const { return header_; }
  std::string_view string(std::uint32_t offset) const;
  const std::vector<table::KernelEntry>& kernels() const { return kernels_; }
  const std::vector<table::VariantEntry>& variants() const { return variants_; }
  const std::vector<table::AxisValue>& axis_values() const { return axis_values_; }
  const std::vector<table::BlobEntry>& blobs() const { return blobs_; }
  const std::vector<table::FrameEntry>& frames() const { return frames_; }
  std::span<const std::uint32_t> capabilities(const table::BlobEntry& blob) const;
  std::span<const std::uint32_t> extensions(const table::BlobEntry& blob) const;
  std::span<const table::BindingEntry> bindings(const table::BlobEntry& blob) const;
  std::span<const table::SpecEntry> specs(const table::BlobEntry& blob) const;
  // Null when there is none of that name.
  const table::VariantEntry* find_variant(std::string_view name) const;

  // Decodes the frame of a blob. Errors: kCorrupt.
  Result<std::vector<std::uint32_t>> words(const table::BlobEntry& blob) const;

 private:
  Status check_strings() const;
  Status check_kernels() const;
  Status check_frames() const;
  Status check_blobs() const;
  bool is_string(std::uint32_t offset) const;

  table::TableHeader header_{};
  std::string bytes_;
  std::vector<table::KernelEntry> kernels_;
  std::vector<table::VariantEntry> variants_;
  std::vector<table::AxisValue> axis_values_;
  std::vector<table::BlobEntry> blobs_;
  std::vector<table::FrameEntry> frames_;
  std::vector<std::uint32_t> capabilities_;
  std::vector<std::uint32_t> extensions_;
  std::vector<table::BindingEntry> bindings_;
  std::vector<table::SpecEntry> specs_;
};

}  // namespace spirkiln::gen
