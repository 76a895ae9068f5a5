#version 450
#include "factor.glsl"
layout(local_size_x_id = 233) in;
layout(push_constant) uniform parameter { uint n; } p;
layout(binding = 0) readonly buffer A { sfpvec4 a[]; };
layout(binding = 1) writeonly buffer B { sfpvec4 b[]; };

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i >= p.n) return;
  buffer_st4(b, i, buffer_ld4(a, i) * afp(FACTOR));
}
