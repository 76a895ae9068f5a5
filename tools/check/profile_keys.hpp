// SPDX-License-Identifier: Apache-2.0
// Every key of a profile and what of DeviceCaps it sets. This is the one list: the parser, its
// messages and the tests read it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "loader/caps.hpp"

namespace spirkiln::check {

struct FeatureKey {
  std::string_view name;
  bool DeviceCaps::* member;
  // The loader sees the feature from this version on, or with this extension; 0: never in the core.
  std::uint32_t core = make_version(1, 0);
  std::string_view extension = {};
};
std::span<const FeatureKey> feature_keys();

// A limit, or one of two whose smaller counts: a stage's and a descriptor set's.
struct LimitKey {
  std::string_view name;
  // What Vulkan guarantees: the least value of a maximum, the greatest of a minimum.
  std::uint64_t guaranteed;
  std::uint64_t guaranteed_z = guaranteed;  // of a triple's third number
  std::uint32_t DeviceCaps::* u32 = nullptr;
  std::uint64_t DeviceCaps::* u64 = nullptr;
  std::array<std::uint32_t, 3> DeviceCaps::* triple = nullptr;
  std::string_view partner = {};  // must be given where this one is
  std::uint32_t core = make_version(1, 0);  // the version that has it
  bool alignment = false;  // a power of two of at most `guaranteed`
};
std::span<const LimitKey> limit_keys();

struct SubgroupOperation {
  std::string_view name;  // SUBGROUP_FEATURE_..._BIT
  std::uint32_t bit;
};
std::span<const SubgroupOperation> subgroup_operations();

// A member of [floatControls], with "16", "32" or "64" behind the name.
struct FloatControlKey {
  std::string_view name;
  bool FloatControls::* member;
};
std::span<const FloatControlKey> float_control_keys();
inline constexpr std::string_view kFloatWidths[] = {"16", "32", "64"};

// A value of one of Vulkan's enumerations.
struct ValueName {
  std::string_view name;
  std::uint32_t value;
};
std::span<const ValueName> driver_ids();  // DRIVER_ID_...
std::span<const ValueName> independences();  // SHADER_FLOAT_CONTROLS_INDEPENDENCE_...
std::span<const ValueName> component_types();  // COMPONENT_TYPE_..._KHR

// Sizes of [[cooperativeMatrix]], and its types.
struct MatrixKey {
  std::string_view name;
  std::uint32_t MatrixShape::* member;
  bool is_type;
};
std::span<const MatrixKey> matrix_keys();

struct DeviceTypeName {
  std::string_view vulkan;  // PHYSICAL_DEVICE_TYPE_...
  std::string_view caps;
};
std::span<const DeviceTypeName> device_types();

}  // namespace spirkiln::check
