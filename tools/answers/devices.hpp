// SPDX-License-Identifier: Apache-2.0
// Devices in terms of which lowering chooses each kernel. All have the least limits that Vulkan
// allows, so that every device can run what comes out; and small workgroups where a workgroup may
// have any size, so that small shapes have several.
#pragma once

#include "graph/dispatch.hpp"

namespace spirkiln::answers {

DeviceTraits gpu();
DeviceTraits small_groups();
DeviceTraits plain_cpu();
DeviceTraits subgroups_of_eight();

struct Matrix {
  std::string_view value;
  std::uint32_t m, n, k, subgroup;
};
constexpr Matrix kMatrices[] = {{"16081632", 16, 8, 16, 32},  {"16161632", 16, 16, 16, 32},
                                {"16161664", 16, 16, 16, 64}, {"8161616", 8, 16, 16, 16},
                                {"8161632", 8, 16, 16, 32},   {"8080808", 8, 8, 8, 8}};
DeviceTraits matrices(const Matrix& m);
// With room for subgroups that share K: 32 KB of workgroup memory, which every device with matrices
// has, and workgroups of eight subgroups. A device that has no such workgroups is not asked.
DeviceTraits deep_matrices(const Matrix& m);
// The shape of lavapipe has no variant of transformer_coopmat (variants/kernels/matrix.toml).
inline bool has_transformer(const Matrix& m) { return m.subgroup > 8; }

}  // namespace spirkiln::answers
