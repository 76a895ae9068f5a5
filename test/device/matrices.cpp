// SPDX-License-Identifier: Apache-2.0
#include "matrices.hpp"

#include <catch2/catch_test_macros.hpp>

#include "graph/program.hpp"

namespace spirkiln::test {

DeviceTraits matrix_traits() {
  DeviceTraits t = gpu_traits();
  const DeviceTraits has = traits_of(device()->state()->caps, table(), {kFp16p, kFp16s});
  t.matrix_m = has.matrix_m;
  t.matrix_n = has.matrix_n;
  t.matrix_k = has.matrix_k;
  t.matrix = has.matrix;
  return t;
}

DeviceTraits nvidia_matrices() {
  DeviceTraits t = gpu_traits();
  t.max_invocations = t.max_group_size[0] = 1024;
  t.shared_bytes = 49152;
  t.max_storage_buffers = 32;
  t.subgroup_size = 32;
  t.matrix_m = 16;
  t.matrix_n = 8;
  t.matrix_k = 16;
  t.matrix = "16081632";
  return t;
}

void need_matrices() {
  if (!device()) SKIP("no Vulkan device");
  if (table().find("gemm_coopmat") == nullptr) {
    SKIP("the table was made without a second compiler (scripts/fetch-glslc.sh)");
  }
  if (matrix_traits().matrix_m == 0) {
    SKIP(device()->info().name +
         " multiplies no matrices of halves into floats in a shape that "
         "there are kernels for");
  }
}

}  // namespace spirkiln::test
