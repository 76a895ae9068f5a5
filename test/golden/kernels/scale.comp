#version 450
// SPDX-License-Identifier: Apache-2.0
layout(local_size_x_id = 233, local_size_y = 2) in;
layout(constant_id = 0) const uint n = 0;
layout(push_constant) uniform parameter { uint n; float factor; } p;
layout(binding = 0) readonly buffer A { sfpvec4 a[]; };
layout(binding = 1) writeonly buffer B { sfpvec4 b[]; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= psc(n)) return;
  afpvec4 v = buffer_ld4(a, i) * afp(p.factor);
#if TWICE
  v += v;
#endif
  buffer_st4(b, i, v);
}
