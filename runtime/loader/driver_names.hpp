// SPDX-License-Identifier: Apache-2.0
// VkDriverId by name, as device profiles and quirks write it, without VK_DRIVER_ID_.
#pragma once

#include <cstdint>
#include <string_view>

namespace spirkiln {

struct DriverName {
  std::string_view name;
  std::uint32_t value;
};
inline constexpr DriverName kDriverNames[] = {
    {"AMD_PROPRIETARY", 1},
    {"AMD_OPEN_SOURCE", 2},
    {"MESA_RADV", 3},
    {"NVIDIA_PROPRIETARY", 4},
    {"INTEL_PROPRIETARY_WINDOWS", 5},
    {"INTEL_OPEN_SOURCE_MESA", 6},
    {"IMAGINATION_PROPRIETARY", 7},
    {"QUALCOMM_PROPRIETARY", 8},
    {"ARM_PROPRIETARY", 9},
    {"GOOGLE_SWIFTSHADER", 10},
    {"GGP_PROPRIETARY", 11},
    {"BROADCOM_PROPRIETARY", 12},
    {"MESA_LLVMPIPE", 13},
    {"MOLTENVK", 14},
    {"COREAVI_PROPRIETARY", 15},
    {"JUICE_PROPRIETARY", 16},
    {"VERISILICON_PROPRIETARY", 17},
    {"MESA_TURNIP", 18},
    {"MESA_V3DV", 19},
    {"MESA_PANVK", 20},
    {"SAMSUNG_PROPRIETARY", 21},
    {"MESA_VENUS", 22},
    {"MESA_DOZEN", 23},
    {"MESA_NVK", 24},
    {"IMAGINATION_OPEN_SOURCE_MESA", 25},
    {"MESA_HONEYKRISP", 26},
    {"VULKAN_SC_EMULATION_ON_VULKAN", 27},
};

// VkPhysicalDeviceType by its value, in Vulkan's words and in those of DeviceInfo::type.
struct DeviceTypeWord {
  std::string_view vulkan;
  std::string_view type;
};
inline constexpr DeviceTypeWord kDeviceTypeWords[] = {{"OTHER", "other"},
                                                      {"INTEGRATED_GPU", "integrated"},
                                                      {"DISCRETE_GPU", "discrete"},
                                                      {"VIRTUAL_GPU", "virtual"},
                                                      {"CPU", "cpu"}};

}  // namespace spirkiln
