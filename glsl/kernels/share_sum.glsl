// SPDX-License-Identifier: Apache-2.0
// Sums that the invocations of a workgroup share out, for squeeze and excite: `width` of them stand side by side,
// and each of `shares` rows of these has a part of every sum. THREADS invocations, defined by who includes this.
shared vec4 share_local[THREADS];

// The whole sum, in the invocations with share = 0. All of the workgroup has to come here with the same shares.
vec4 shared_sum(vec4 sum, uint l, uint width, uint share, uint shares) {
  if (shares <= 1) return sum;
  barrier();
  if (share < shares) share_local[l] = sum;
  barrier();
  if (share == 0) {
    for (uint i = 1; i < shares; i++) sum += share_local[i * width + l];
  }
  return sum;
}

// A vector of four inputs times its four rows of weights, of `stride` vectors each, from vector b on.
#define times_rows(a, weights, b, stride)                                                        \
  ((a).x * vec4(buffer_ld4(weights, b)) + (a).y * vec4(buffer_ld4(weights, (b) + (stride))) +     \
   (a).z * vec4(buffer_ld4(weights, (b) + 2 * (stride))) +                                        \
   (a).w * vec4(buffer_ld4(weights, (b) + 3 * (stride))))
