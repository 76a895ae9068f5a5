#version 450
// SPDX-License-Identifier: Apache-2.0
#if NEW
#extension GL_NV_cooperative_vector : require
#endif
layout(binding = 0) buffer B { sfp b[]; };
void main() {
#if SAME > 0
  buffer_st1(b, TILE, buffer_ld1(b, 0));
#endif
}
