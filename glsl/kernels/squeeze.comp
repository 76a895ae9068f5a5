#version 450
// SPDX-License-Identifier: Apache-2.0
// First half of squeeze-and-excite where pictures are not small: a workgroup adds up the pixels of a piece of a
// picture in X vectors of channels, and multiplies its sums by their rows of the first layer's weights. A layer is
// linear, so that excite has only to add up what the workgroups leave: no step waits for a mean. Sums and products
// are in single precision.

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "tensor.glsl"

TENSOR_IN(0, x_data);
layout(binding = 1) readonly buffer weight_blob { sfpvec4 weight_data[]; };
layout(binding = 2) writeonly buffer part_blob { vec4 part_data[]; };  // [picture][piece and slice][mid4]

layout(constant_id = 0) const uint in4 = 0;
layout(constant_id = 1) const uint mid4 = 0;

layout(push_constant) uniform parameter {
  uint in4;
  uint mid4;
  uint pixels;  // of a picture
  uint piece;   // of it, in pixels
} p;

const uint X = gl_WorkGroupSize.x;
const uint Y = gl_WorkGroupSize.y;
const uint THREADS = X * Y;

#include "share_sum.glsl"

void main() {
  uint l = gl_LocalInvocationID.y * X + gl_LocalInvocationID.x;
  uint c0 = gl_WorkGroupID.x * X;
  uint c = c0 + gl_LocalInvocationID.x;
  uint first = gl_WorkGroupID.y * p.piece;
  uint last = min(first + p.piece, p.pixels);
  vec4 sum = vec4(0.0);
  if (c < psc(in4)) {
    uint base = gl_WorkGroupID.z * p.pixels;
    uint i = first + gl_LocalInvocationID.y;
    for (; i + 3 * Y < last; i += 4 * Y) {  // loads that overlap
      vec4 a = vec4(tensor_ld4(x_data, (base + i) * psc(in4) + c));
      vec4 b = vec4(tensor_ld4(x_data, (base + i + Y) * psc(in4) + c));
      vec4 d = vec4(tensor_ld4(x_data, (base + i + 2 * Y) * psc(in4) + c));
      vec4 e = vec4(tensor_ld4(x_data, (base + i + 3 * Y) * psc(in4) + c));
      sum += (a + b) + (d + e);
    }
    for (; i < last; i += Y) sum += vec4(tensor_ld4(x_data, (base + i) * psc(in4) + c));
  }
  share_local[l] = sum;
  barrier();
  for (uint left = Y; left > 1;) {
    uint kept = (left + 1) / 2;
    if (gl_LocalInvocationID.y < left - kept) share_local[l] += share_local[l + kept * X];
    left = kept;
    barrier();
  }

  // Now invocations stand side by side on the vectors of the middle, and share the channels.
  uint vectors = min(X, psc(in4) - c0);
  uint part = ((gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x) *
              psc(mid4);
  for (uint m0 = 0; m0 < psc(mid4); m0 += X * Y) {
    uint width = min(psc(mid4) - m0, X * Y);
    uint shares = min(X * Y / width, vectors);
    uint share = l / width;
    uint m = m0 + l - share * width;
    sum = vec4(0.0);
    for (uint k = share; k < vectors && share < shares; k += shares) {
      vec4 a = share_local[k];
      uint b = (c0 + k) * 4 * psc(mid4) + m;
      sum += times_rows(a, weight_data, b, psc(mid4));
    }
    // This takes the place of the channels' sums, which only the last round does: where there are more, no sum of
    // those before is shared out.
    sum = shared_sum(sum, l, width, share, shares);
    if (share == 0) part_data[part + m] = sum;
  }
}
