// SPDX-License-Identifier: Apache-2.0
// For tests of kernels by cooperative matrices.
#pragma once

#include "harness.hpp"

namespace spirkiln::test {

// As a graph would have it on this device; matrix_m is 0 where it has none that there are kernels
// for.
DeviceTraits matrix_traits();
// Of an NVIDIA GPU, whatever device is here: for what lowering alone decides.
DeviceTraits nvidia_matrices();
// Skips the test where the device or the table has none.
void need_matrices();

}  // namespace spirkiln::test
