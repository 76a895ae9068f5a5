#version 450
// SPDX-License-Identifier: Apache-2.0
// softmax(factor * q k') v: `parts` invocations a head and position, all heads of `queries`
// positions in a workgroup. Each part takes its share of the keys, in blocks of `block`, whose loads
// overlap; the softmax is corrected from block to block, so that memory does not grow with the
// length, and at the end from part to part. A head begins at any channel
// (15 channels are not a whole number of vectors): vectors are shifted into place in registers.
// Results pass through workgroup memory, since one vector of the output may hold channels of
// several heads.

#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "epilogue.glsl"
#include "tensor.glsl"

TENSOR_IN(0, qkv_data);
TENSOR_IN(1, residual_data);
TENSOR_OUT(2, out_data);

// These size arrays, so they are constants and nothing else. local_size_x = heads * queries * parts.
layout(constant_id = 2) const uint heads = 8;
layout(constant_id = 3) const uint dim4 = 4;  // vectors of a head
layout(constant_id = 4) const uint queries = 8;
layout(constant_id = 5) const uint block = 1;
layout(constant_id = 6) const uint dim = 0;
layout(constant_id = 7) const uint len = 0;
layout(constant_id = 8) const uint parts = 1;

layout(push_constant) uniform parameter {
  Epilogue e;
  uint dim;
  uint len;
  float factor;
} p;

// Rows of an odd number of vectors: invocations that write or read their rows together then meet in
// no bank of workgroup memory (four vectors a row took four steps a request).
const uint result_row = dim4 | 1;
shared vec4 result_local[queries * heads * parts * result_row];
shared vec2 softmax_local[queries * heads * parts];  // of each part: its maximum and its sum

// Four channels from lane `shift` of a on, b being the vector behind a.
// Selections only: heads begin at different lanes, and branches would run one after the other.
afpvec4 shifted(afpvec4 a, afpvec4 b, uint shift) {
  bvec4 two = bvec4((shift & 2) != 0);
  afpvec4 t = mix(a, afpvec4(a.zw, b.xy), two);
  afp next = (shift & 2) != 0 ? b.z : b.x;
  return mix(t, afpvec4(t.yzw, next), bvec4((shift & 1) != 0));
}

void main() {
  uint l = gl_LocalInvocationID.x;
  uint channels = heads * psc(dim);
  uint qkv4 = (3 * channels + 3) / 4;
  uint out4 = (channels + 3) / 4;
  uint base = gl_WorkGroupID.y * psc(len);
  uint query0 = gl_WorkGroupID.x * queries;
  uint part = l % parts;
  uint slot = l / (parts * heads);
  uint head = l / parts - slot * heads;
  uint last = qkv4 - 1;  // of a row: behind the last head's channels nothing need be read

  uint c = head * psc(dim);
  uint row = (base + min(query0 + slot, psc(len) - 1)) * qkv4;
  afpvec4 q[dim4];
  vec4 result[dim4];
  afpvec4 a = tensor_ld4(qkv_data, row + c / 4);
  [[unroll]] for (uint d = 0; d < dim4; d++) {
    afpvec4 b = tensor_ld4(qkv_data, row + min(c / 4 + d + 1, last));
    // Zeros behind the head's last channel make what keys have there count nothing.
    bvec4 real = lessThan(uvec4(d * 4) + uvec4(0, 1, 2, 3), uvec4(psc(dim)));
    q[d] = mix(afpvec4(0.0), shifted(a, b, c % 4), real);
    result[d] = vec4(0.0);
    a = b;
  }

  float top = -3.0e38;
  float sum = 0.0;
  uint ck = channels + c;
  uint cv = 2 * channels + c;
  for (uint key0 = part * block; key0 < psc(len); key0 += parts * block) {
    float score[block];
    float new_top = top;
    [[unroll]] for (uint k = 0; k < block; k++) {
      row = (base + min(key0 + k, psc(len) - 1)) * qkv4;
      vec4 products = vec4(0.0);
      a = tensor_ld4(qkv_data, row + ck / 4);
      [[unroll]] for (uint d = 0; d < dim4; d++) {
        afpvec4 b = tensor_ld4(qkv_data, row + min(ck / 4 + d + 1, last));
        products += vec4(q[d] * shifted(a, b, ck % 4));
        a = b;
      }
      score[k] = (products.x + products.y + products.z + products.w) * p.factor;
      if (key0 + k >= psc(len)) score[k] = -3.0e38;  // weighs nothing
      new_top = max(new_top, score[k]);
    }
    float correction = exp(top - new_top);
    top = new_top;
    sum *= correction;
    [[unroll]] for (uint d = 0; d < dim4; d++) result[d] *= correction;
    [[unroll]] for (uint k = 0; k < block; k++) {
      row = (base + min(key0 + k, psc(len) - 1)) * qkv4;
      float weight = exp(score[k] - top);
      sum += weight;
      a = tensor_ld4(qkv_data, row + cv / 4);
      [[unroll]] for (uint d = 0; d < dim4; d++) {
        afpvec4 b = tensor_ld4(qkv_data, row + min(cv / 4 + d + 1, last));
        result[d] += vec4(afp(weight) * shifted(a, b, cv % 4));
        a = b;
      }
    }
  }

  float weight = 1.0 / sum;
  if (parts > 1) {
    softmax_local[l] = vec2(top, sum);
    barrier();
    uint first = l - part;
    float all_top = top;
    for (uint i = 0; i < parts; i++) all_top = max(all_top, softmax_local[first + i].x);
    float all_sum = 0.0;
    for (uint i = 0; i < parts; i++) {
      vec2 other = softmax_local[first + i];
      all_sum += other.y * exp(other.x - all_top);
    }
    weight = exp(top - all_top) / all_sum;
  }
  [[unroll]] for (uint d = 0; d < dim4; d++) result_local[l * result_row + d] = result[d] * weight;
  barrier();
  for (uint i = l; i < queries * out4; i += gl_WorkGroupSize.x) {
    uint r = i / out4;
    if (query0 + r >= psc(len)) break;
    uint first = (i - r * out4) * 4;
    vec4 v = vec4(0.0);
    for (uint lane = 0; lane < 4; lane++) {
      uint h = (first + lane) / psc(dim);
      uint d = first + lane - h * psc(dim);
      if (h >= heads) break;
      for (uint i = 0; i < parts; i++) {
        v[lane] += result_local[((r * heads + h) * parts + i) * result_row + d / 4][d % 4];
      }
    }
    uint o = (base + query0 + r) * out4 + first / 4;
    afpvec4 residual_value = load_residual(residual_data, o);
    tensor_st4(out_data, o, epilogue(afpvec4(v), residual_value, p.e));
  }
}
