#version 450
// The mean of each value and its neighbours.
layout(local_size_x_id = 0) in;
layout(push_constant) uniform parameter { int count; } p;
layout(binding = 0) readonly buffer A { sfpvec4 a[]; };
layout(binding = 1) writeonly buffer B { sfpvec4 b[]; };

void main() {
  const int i = int(gl_GlobalInvocationID.x);
  if (i >= p.count) return;
  const afpvec4 before = buffer_ld4(a, max(i - 1, 0));
  const afpvec4 behind = buffer_ld4(a, min(i + 1, p.count - 1));
  buffer_st4(b, i, before * afp(0.25) + buffer_ld4(a, i) * afp(0.5) + behind * afp(0.25));
}
