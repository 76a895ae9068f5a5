// SPDX-License-Identifier: Apache-2.0
// Which blob of a kernel runs on a device: a pure function of table, request, capabilities and what
// else is known of the device or wished by the user.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loader/caps.hpp"
#include "table/table.hpp"

namespace spirkiln {

// What the dialect's variants differ in, named as they are: fp32, fp16p, fp16pa, fp16s, fp16sa, and
// image, image_fp16p ... where tensors are images.
struct Form {
  table::Storage storage = table::Storage::kFp32;
  table::Arithmetic arithmetic = table::Arithmetic::kFp32;
  table::Resource resource = table::Resource::kBuffer;
  bool is_image() const { return resource == table::Resource::kImage; }
  bool operator==(const Form&) const = default;
};
inline constexpr Form kFp32{table::Storage::kFp32, table::Arithmetic::kFp32};
inline constexpr Form kFp16p{table::Storage::kFp16Packed, table::Arithmetic::kFp32};
inline constexpr Form kFp16pa{table::Storage::kFp16Packed, table::Arithmetic::kFp16};
inline constexpr Form kFp16s{table::Storage::kFp16, table::Arithmetic::kFp32};
inline constexpr Form kFp16sa{table::Storage::kFp16, table::Arithmetic::kFp16};

inline constexpr Form image_of(Form form) {
  return {form.storage, form.arithmetic, table::Resource::kImage};
}
inline Form form_of(const table::VariantEntry& v) { return {v.storage, v.arithmetic, v.resource}; }

std::string form_name(Form form);
std::optional<Form> form_from_name(std::string_view name);
// Names of all forms that graphs may be asked for.
std::span<const std::string_view> form_names();
// Bytes of one stored vector of four lanes.
std::uint32_t vector_bytes(Form form);

struct AxisRequest {
  std::string_view axis, value;
};

struct SelectRequest {
  std::string_view kernel;
  // Acceptable forms, best first; a form that comes earlier wins whatever the table's order.
  std::span<const Form> forms;
  // The kernel's own axes that must have this value. The others have their defaults, which are the
  // values of the kernel's first variant in the table; of an axis whose values are interchangeable
  // another one does where the default's variant may not run, before the next form is taken.
  std::span<const AxisRequest> axes;
  // How bytes are read. Without a wish the first in the table that the device may run: all give the
  // same numbers.
  std::optional<table::Int8> int8 = std::nullopt;
};

struct Selection {
  std::uint32_t variant = 0;
  std::uint32_t blob = 0;
};

// What must not run on the device although its driver offers it: an empty field stands for any.
struct Quirk {
  std::string kernel = {};
  std::string axis = {}, value = {};  // an own axis of the kernel and its value; both or none
  std::vector<Form> forms = {};
  std::string reason = {}, source = {};  // for people
  bool operator==(const Quirk&) const = default;
};

// What the user wants otherwise than selection would have it, for bisecting.
struct Wishes {
  struct Axis {
    std::string axis, value;
    bool operator==(const Axis&) const = default;
  };
  struct KernelForm {
    std::string kernel;
    Form form;
    bool operator==(const KernelForm&) const = default;
  };
  std::vector<Axis> axes;  // this value alone, of every kernel that has the axis
  std::vector<KernelForm> forms;  // one kernel in a form of its own
  std::vector<std::string> avoid;  // kernels and variants that must not run
  bool operator==(const Wishes&) const = default;
};

// All that selection goes by beside what the table needs and the device has.
struct SelectRules {
  std::vector<Quirk> quirks;  // of this device
  Wishes wishes;
  std::set<std::uint64_t> failed;  // blobs, by hash, that gave a wrong known answer on this device
};

// Errors: kNoVariant; the text lists each variant of the kernel and the one thing that excluded it.
Result<Selection> select_blob(const Table& table, const SelectRequest& request,
                              const DeviceCaps& caps, const SelectRules& rules = {});

// That the table has no such kernel, and the nearest that it has.
std::string unknown_kernel(const Table& table, std::string_view kernel);

// Why a variant is not the one that runs, in the order in which it is asked.
enum class Exclusion : std::uint8_t {
  kNone,  // it is the one
  kForm,  // another one is asked for
  kAxis,  // another value of an axis, or of how bytes are read
  kRequirement,  // the device lacks something
  kWish,  // the user's
  kQuirk,
  kFailed,  // its known answer
  kLater,  // it may run, but another one comes first
};

// A variant of the kernel and the one thing that keeps it from being chosen; empty where nothing
// does.
struct Candidate {
  std::string variant;
  std::string excluded_by;  // "needs shaderFloat16 (SPIR-V capability Float16)", "is fp32", ...
  Exclusion exclusion = Exclusion::kNone;
  bool operator==(const Candidate&) const = default;
};
// Every variant of the kernel in the table's order, at most one of them chosen; none for a kernel
// that is not there.
std::vector<Candidate> candidates(const Table& table, const SelectRequest& request,
                                  const DeviceCaps& caps, const SelectRules& rules = {});

// What the device lacks to run the blob ("shaderFloat16 (SPIR-V capability Float16)"), or nothing.
std::optional<std::string> missing_requirement(const Table& table, const table::BlobEntry& blob,
                                               const DeviceCaps& caps);

// `caps` without the optional features that no blob of the table asks for: what a device is created
// with, since an enabled feature can cost speed and draws in extensions.
DeviceCaps only_used_features(const DeviceCaps& caps, const Table& table);

}  // namespace spirkiln
