// SPDX-License-Identifier: Apache-2.0
#include "devices.hpp"

#include <algorithm>

namespace spirkiln::answers {

DeviceTraits gpu() {
  DeviceTraits t;
  t.max_storage_buffers = 16;
  return t;
}
DeviceTraits small_groups() {
  DeviceTraits t = gpu();
  t.max_group_size[0] = 32;
  return t;
}
DeviceTraits plain_cpu() {
  DeviceTraits t = gpu();
  t.software = true;
  t.subgroup_size = 1;
  t.max_group_size[0] = 16;
  return t;
}
DeviceTraits subgroups_of_eight() {
  DeviceTraits t = gpu();
  t.software = true;
  t.subgroup_size = 8;
  return t;
}

DeviceTraits matrices(const Matrix& m) {
  DeviceTraits t = gpu();
  t.subgroup_size = m.subgroup;
  t.max_invocations = std::max(128u, 4 * m.subgroup);  // what conv_coopmat has at least
  t.max_group_size[0] = t.max_invocations;
  t.matrix_m = m.m;
  t.matrix_n = m.n;
  t.matrix_k = m.k;
  t.matrix = m.value;
  return t;
}
DeviceTraits deep_matrices(const Matrix& m) {
  DeviceTraits t = matrices(m);
  t.max_invocations = 8 * m.subgroup;
  t.max_group_size[0] = t.max_invocations;
  t.shared_bytes = 32768;
  return t;
}

}  // namespace spirkiln::answers
