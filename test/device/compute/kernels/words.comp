#version 450
// For the C program: b = a * scale + add.
layout(constant_id = 0) const float scale = 1.0;
layout(push_constant) uniform parameter { float add; uint count; } p;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };

void main() {
  const uint i = gl_GlobalInvocationID.x;
  if (i < p.count) b[i] = a[i] * scale + p.add;
}
