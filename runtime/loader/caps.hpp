// SPDX-License-Identifier: Apache-2.0
// What a device can do, as plain numbers: selection and planning read this and never call Vulkan,
// so that both can be tested against devices that are not there.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace spirkiln {

inline constexpr std::uint32_t make_version(std::uint32_t major, std::uint32_t minor) {
  return (major << 22) | (minor << 12);  // VK_MAKE_API_VERSION
}

// The newest version that instances are made for: no device is seen to speak a newer one.
inline constexpr std::uint32_t kNewestApi = make_version(1, 3);

// The newest module version that a device takes, as in a module's second word.
inline constexpr std::uint32_t newest_spirv(std::uint32_t api_version, bool spirv_1_4) {
  if (api_version >= make_version(1, 3)) return 0x00010600;
  if (api_version >= make_version(1, 2)) return 0x00010500;
  if (api_version >= make_version(1, 1)) return spirv_1_4 ? 0x00010400 : 0x00010300;
  return 0x00010000;
}

// A product that the cooperative matrices of one subgroup may compute:
// result (m x n) = a (m x k) * b (k x n) + c (m x n). Types as VkComponentTypeKHR.
struct MatrixShape {
  std::uint32_t m = 0, n = 0, k = 0;
  std::uint32_t a = 0, b = 0, c = 0, result = 0;
  bool saturating = false;
  bool operator==(const MatrixShape&) const = default;
};
inline constexpr std::uint32_t kMatrixHalf = 0, kMatrixFloat = 1;

// What a module may ask for floats of one width (VK_KHR_shader_float_controls).
struct FloatControls {
  bool signed_zero_inf_nan_preserve = false;
  bool denorm_preserve = false, denorm_flush_to_zero = false;
  bool rounding_rte = false, rounding_rtz = false;  // to the nearest even, toward zero
  bool operator==(const FloatControls&) const = default;
};

// Between which widths a module's requests may differ, as VkShaderFloatControlsIndependence.
enum class FloatIndependence : std::uint32_t { kFloat32Only = 0, kAll = 1, kNone = 2 };

struct MemoryHeap {
  std::uint64_t bytes = 0;
  bool device_local = false;
  bool operator==(const MemoryHeap&) const = default;
};

struct DeviceCaps {
  std::string name;
  std::string driver;  // name and version text
  std::uint32_t driver_id = 0;  // VkDriverId; 0: unknown
  std::string type = "other";  // "discrete", "integrated", "virtual", "cpu", "other"
  std::uint32_t vendor_id = 0, device_id = 0, driver_version = 0;
  std::array<std::uint8_t, 16> pipeline_cache_uuid{}, device_uuid{}, driver_uuid{};

  // What both the instance and the device speak.
  std::uint32_t api_version = make_version(1, 0);
  // Newest module version that the device takes, as in a module's second word.
  std::uint32_t spirv_version = 0x00010000;

  // Features; a capability of a blob needs one of them (table/select.cpp holds the map).
  bool int16 = false, int64 = false, float64 = false, float16 = false, int8 = false;
  bool storage16 = false, uniform_storage16 = false, push_constant16 = false;
  bool storage8 = false, uniform_storage8 = false, push_constant8 = false;
  bool variable_pointers_storage = false, variable_pointers = false;
  bool vulkan_memory_model = false, vulkan_memory_model_device_scope = false;
  bool integer_dot_product = false;
  bool cooperative_matrix = false;
  bool image_extended_formats = false;
  bool image_read_without_format = false, image_write_without_format = false;
  std::vector<MatrixShape> matrix_shapes;  // empty without cooperative_matrix
  // VkSubgroupFeatureFlagBits that compute shaders may use.
  std::uint32_t subgroup_operations = 0;
  std::uint32_t subgroup_size = 0;  // 0: unknown (Vulkan 1.0)
  // Where sizes may differ between pipelines (VK_EXT_subgroup_size_control), else 0.
  std::uint32_t min_subgroup_size = 0, max_subgroup_size = 0;
  std::uint32_t max_group_subgroups = 0;  // of one workgroup
  bool subgroup_size_control = false;     // the feature
  bool full_subgroups = false;            // computeFullSubgroups
  bool pins_subgroup_size = false;        // a compute pipeline may require one size

  // With VK_KHR_shader_float_controls: of 16, 32 and 64 bits.
  std::array<FloatControls, 3> float_controls;
  FloatIndependence denorm_independence = FloatIndependence::kNone;
  FloatIndependence rounding_independence = FloatIndependence::kNone;

  // Device extensions by their Vulkan names.
  std::set<std::string, std::less<>> extensions;

  // Limits; the defaults are what Vulkan guarantees.
  std::uint32_t max_push_bytes = 128;
  std::uint32_t max_shared_bytes = 16384;
  std::uint32_t max_invocations = 128;
  std::array<std::uint32_t, 3> max_group_size{128, 128, 64};
  std::array<std::uint32_t, 3> max_group_count{65535, 65535, 65535};
  std::uint32_t max_storage_buffers = 4;   // of one stage
  std::uint32_t max_uniform_buffers = 12;
  std::uint32_t max_storage_images = 4;
  std::uint32_t max_sampled_images = 16;
  std::uint32_t max_bound_sets = 4;
  std::uint64_t max_storage_range = 1u << 27;
  std::uint32_t max_image_size = 4096;  // texels of a 2D image along an axis
  std::uint64_t max_buffer_bytes = ~std::uint64_t{0};  // of one buffer, where the driver says
  std::uint64_t storage_alignment = 256;
  std::uint64_t device_local_bytes = 0;
  bool unified_memory = false;  // every heap is device-local
  std::vector<MemoryHeap> heaps;

  bool operator==(const DeviceCaps&) const = default;
};

// Sets the heaps, and what follows from them.
void set_heaps(DeviceCaps* caps, std::vector<MemoryHeap> heaps);

// The sizes that a compute pipeline may require for its subgroups; none where it may not.
std::vector<std::uint32_t> pinned_subgroup_sizes(const DeviceCaps& caps);

}  // namespace spirkiln
