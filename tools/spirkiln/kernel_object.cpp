// SPDX-License-Identifier: Apache-2.0
#include "kernel_object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "blob_codec.hpp"
#include "files.hpp"
#include "kernel_compiler.hpp"
#include "macro_check.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::string_view kMagic = "SPKOBJEC";
constexpr std::uint32_t kVersion = 4;
constexpr std::size_t kHeaderBytes = 24;
constexpr std::size_t kMaxNameBytes = 4096;

// Names become identifiers of C++ in a table's header.
bool is_name(std::string_view s) {
  return !s.empty() && s.size() <= kMaxNameBytes && s[0] >= 'a' && s[0] <= 'z' &&
         std::all_of(s.begin(), s.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

// What a table's strings may hold.
bool is_text(std::string_view s) {
  return s.size() <= kMaxNameBytes &&
         std::all_of(s.begin(), s.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

template <typename Enum>
bool take_enum(std::string_view bytes, std::size_t index, Enum last, Enum* value) {
  const auto number = static_cast<unsigned char>(bytes[index]);
  *value = static_cast<Enum>(number);
  return number <= static_cast<unsigned char>(last);
}

// The blobs of an object, each with its index.
std::map<const Blob*, std::uint32_t> index_blobs(const std::vector<PackKernel>& kernels,
                                                 std::vector<const Blob*>& blobs) {
  std::map<std::string, std::uint32_t> by_content;
  std::map<const Blob*, std::uint32_t> indices;
  for (const PackKernel& kernel : kernels) {
    for (const auto& blob : kernel.blobs) {
      if (indices.contains(blob.get())) continue;
      std::string content;
      put_blob(content, *blob);
      const auto [it, is_new] =
          by_content.try_emplace(std::move(content), static_cast<std::uint32_t>(blobs.size()));
      if (is_new) blobs.push_back(blob.get());
      indices.emplace(blob.get(), it->second);
    }
  }
  return indices;
}

using Blobs = std::vector<std::shared_ptr<const Blob>>;

// Empty texts where all is well, else what is wrong.
std::string take_variant(ByteReader& in, const std::string& kernel, const Blobs& blobs,
                         PackKernel& out) {
  Variant& variant = out.variants.emplace_back();
  variant.name = in.string();
  const std::string_view kinds = in.take(4);
  if (!in.ok()) return "it ends too early";
  if (!is_name(variant.name) || !variant.name.starts_with(kernel)) {
    return "the name of a variant does not begin with the kernel's";
  }
  if (!take_enum(kinds, 0, table::Storage::kBf16, &variant.storage) ||
      !take_enum(kinds, 1, table::Arithmetic::kFp16, &variant.arithmetic) ||
      !take_enum(kinds, 2, table::Resource::kImage, &variant.resource) ||
      !take_enum(kinds, 3, table::Int8::kStorage, &variant.int8)) {
    return fmt::format("'{}' is of no kind that a table knows", variant.name);
  }
  const std::uint32_t values = in.number();
  if (values > in.left() / 12) return "it ends too early";
  for (std::uint32_t i = 0; i < values; ++i) {
    std::string axis(in.string());
    std::string value(in.string());
    const bool sorted = i == 0 || variant.axis_values.back().first < axis;
    if (!sorted || axis.empty() || !is_text(axis) || !is_text(value)) {
      return fmt::format("the axes of '{}' are no sorted names with values", variant.name);
    }
    const std::uint32_t any = in.number();
    if (any > 1) return fmt::format("the axes of '{}' have unknown flags", variant.name);
    if (any == 1) variant.interchangeable.push_back(axis);
    variant.axis_values.emplace_back(std::move(axis), std::move(value));
  }
  const std::uint32_t blob = in.number();
  if (!in.ok()) return "it ends too early";
  if (blob >= blobs.size()) return fmt::format("'{}' has no module", variant.name);
  out.blobs.push_back(blobs[blob]);
  return {};
}

// Their names become identifiers of C++ as well.
std::string take_constants(ByteReader& in, PackKernel& kernel) {
  const std::uint32_t count = in.number();
  if (count > in.left() / 8) return "it ends too early";
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name(in.string());
    const std::uint32_t id = in.number();
    if (!in.ok()) return "it ends too early";
    const bool sorted = kernel.constants.empty() || kernel.constants.back().first < name;
    if (!sorted || name.size() > kMaxNameBytes || bad_macro_name(name)) {
      return "the constants of a kernel are no sorted names";
    }
    kernel.constants.emplace_back(std::move(name), id);
  }
  return {};
}

std::string take_parts(ByteReader& in, PackKernel& kernel) {
  const std::uint32_t count = in.number();
  if (count > in.left() / 8) return "it ends too early";
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name(in.string());
    std::string bytes(in.string());
    if (!in.ok()) return "it ends too early";
    const bool sorted = kernel.parts.empty() || kernel.parts.rbegin()->first < name;
    if (!sorted || name.empty() || !is_text(name)) {
      return "the attachments of a kernel are no sorted names with bytes";
    }
    kernel.parts.emplace_hint(kernel.parts.end(), std::move(name), std::move(bytes));
  }
  return {};
}

std::string take_kernel(ByteReader& in, const Blobs& blobs, std::vector<PackKernel>& out) {
  PackKernel kernel;
  kernel.name = in.string();
  kernel.source_hash = in.number();
  if (auto fault = take_constants(in, kernel); !fault.empty()) return fault;
  const std::uint32_t variants = in.number();
  if (!in.ok()) return "it ends too early";
  if (!is_name(kernel.name)) return "a kernel's name is not one";
  if (!out.empty() && kernel.name <= out.back().name) return "its kernels are not sorted by name";
  if (variants > kMaxVariants) {
    return fmt::format("'{}' has {} variants, at most {} are known", kernel.name, variants,
                       kMaxVariants);
  }
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < variants; ++i) {
    if (auto fault = take_variant(in, kernel.name, blobs, kernel); !fault.empty()) return fault;
    if (!names.insert(kernel.variants.back().name).second) {
      return fmt::format("'{}' is there twice", kernel.variants.back().name);
    }
  }
  if (auto fault = take_parts(in, kernel); !fault.empty()) return fault;
  out.push_back(std::move(kernel));
  return {};
}

// Of the content, behind the versions.
std::string take_kernels(ByteReader& in, std::vector<PackKernel>& out) {
  const std::uint32_t blob_count = in.number();
  if (blob_count > in.left() / 12) return "it ends too early";
  Blobs blobs;
  for (std::uint32_t i = 0; i < blob_count; ++i) {
    blobs.push_back(take_blob(in));
    if (blobs.back() == nullptr) return fmt::format("module {} is not valid", i);
  }
  const std::uint32_t kernel_count = in.number();
  if (kernel_count > in.left() / 12) return "it ends too early";
  for (std::uint32_t i = 0; i < kernel_count; ++i) {
    if (auto fault = take_kernel(in, blobs, out); !fault.empty()) return fault;
  }
  if (kernel_count == 0) return "it has no kernels";
  return in.at_end() ? "" : "bytes follow its end";
}

}  // namespace

std::string encode_object(const std::vector<PackKernel>& kernels) {
  std::vector<const Blob*> blobs;
  const auto indices = index_blobs(kernels, blobs);
  std::string content;
  put_string(content, tool_versions());
  put_number(content, static_cast<std::uint32_t>(blobs.size()));
  for (const Blob* blob : blobs) put_blob(content, *blob);
  put_number(content, static_cast<std::uint32_t>(kernels.size()));
  for (const PackKernel& kernel : kernels) {
    put_string(content, kernel.name);
    put_number(content, kernel.source_hash);
    put_number(content, static_cast<std::uint32_t>(kernel.constants.size()));
    for (const auto& [name, id] : kernel.constants) {
      put_string(content, name);
      put_number(content, id);
    }
    put_number(content, static_cast<std::uint32_t>(kernel.variants.size()));
    for (std::size_t v = 0; v < kernel.variants.size(); ++v) {
      const Variant& variant = kernel.variants[v];
      put_string(content, variant.name);
      content += static_cast<char>(variant.storage);
      content += static_cast<char>(variant.arithmetic);
      content += static_cast<char>(variant.resource);
      content += static_cast<char>(variant.int8);
      put_number(content, static_cast<std::uint32_t>(variant.axis_values.size()));
      for (const auto& [axis, value] : variant.axis_values) {
        const auto& any = variant.interchangeable;
        put_string(content, axis);
        put_string(content, value);
        put_number(content, std::find(any.begin(), any.end(), axis) != any.end() ? 1 : 0);
      }
      put_number(content, indices.at(kernel.blobs[v].get()));
    }
    put_number(content, static_cast<std::uint32_t>(kernel.parts.size()));
    for (const auto& [name, bytes] : kernel.parts) {
      put_string(content, name);
      put_string(content, bytes);
    }
  }
  std::string out(kMagic);
  put_number(out, kVersion);
  put_number(out, 0);
  const std::uint64_t sum = hash_bytes(content);
  out.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return out + content;
}

Result<std::vector<PackKernel>> decode_object(std::string_view bytes, const std::string& path) {
  const auto refuse = [&](ErrorCode code, std::string_view why) {
    return Error{code, fmt::format("cannot link '{}': {}", path, why)};
  };
  if (!bytes.starts_with(kMagic)) {
    return refuse(ErrorCode::kCorrupt, "it is no object of 'spirkiln compile'");
  }
  ByteReader header(bytes.substr(kMagic.size()));
  const std::uint32_t version = header.number();
  if (header.ok() && version != kVersion) {
    return refuse(ErrorCode::kUnsupported,
                  fmt::format("its format is version {}, this spirkiln reads {}; compile it again",
                              version, kVersion));
  }
  (void)header.number();
  const std::string_view sum_bytes = header.take(sizeof(std::uint64_t));
  std::uint64_t sum = 0;
  if (!header.ok()) return refuse(ErrorCode::kCorrupt, "it ends too early; compile it again");
  std::memcpy(&sum, sum_bytes.data(), sizeof sum);
  const std::string_view content = bytes.substr(kHeaderBytes);
  if (hash_bytes(content) != sum) {
    return refuse(ErrorCode::kCorrupt, "its checksum does not match; compile it again");
  }
  ByteReader in(content);
  if (const std::string_view made_by = in.string(); made_by != tool_versions()) {
    return refuse(ErrorCode::kUnsupported,
                  fmt::format("it was made by '{}', this is '{}'; compile it again",
                              is_text(made_by) ? made_by : "?", tool_versions()));
  }
  std::vector<PackKernel> kernels;
  if (const std::string fault = take_kernels(in, kernels); !fault.empty()) {
    return refuse(ErrorCode::kCorrupt, fault + "; compile it again");
  }
  return kernels;
}

}  // namespace spirkiln::gen
