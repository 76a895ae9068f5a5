#version 450
// SPDX-License-Identifier: Apache-2.0
// softmax(factor * q k') v for all heads of QUERIES positions in a workgroup; one invocation a head
// and position. Keys and values pass through workgroup memory in blocks of KEYS, and the softmax is
// corrected block by block, so that memory does not grow with the length. Rows of a head begin at
// any channel (a head of 15 is not a whole number of vectors), therefore workgroup memory holds
// single values in the order of the channels.

#include "epilogue.glsl"

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

layout(binding = 0) readonly buffer qkv_blob { sfpvec4 qkv_data[]; };
layout(binding = 1) readonly buffer residual_blob { sfpvec4 residual_data[]; };
layout(binding = 2) writeonly buffer out_blob { sfpvec4 out_data[]; };

// These size arrays, so they are constants and nothing else. local_size_x = heads * queries.
layout(constant_id = 2) const uint heads = 8;
layout(constant_id = 3) const uint dim = 15;
layout(constant_id = 4) const uint queries = 8;
layout(constant_id = 5) const uint keys = 8;
layout(constant_id = 6) const uint len = 0;

layout(push_constant) uniform parameter {
  Epilogue e;
  uint len;
  float factor;
} p;

const uint CHANNELS = heads * dim;

shared lfp query_local[queries * CHANNELS];  // later the result
shared lfp key_local[keys * CHANNELS];
shared lfp value_local[keys * CHANNELS];

// Copies channels [first, first + CHANNELS) of `rows` positions from `row0` on into workgroup memory.
#define LOAD_ROWS(dst, first, row0, rows)                                        \
  {                                                                              \
    uint v0 = (first) / 4;                                                       \
    uint vectors = ((first) + CHANNELS + 3) / 4 - v0;                            \
    for (uint i = gl_LocalInvocationID.x; i < (rows) * vectors;                  \
         i += gl_WorkGroupSize.x) {                                              \
      uint row = i / vectors;                                                    \
      uint v = v0 + i - row * vectors;                                           \
      if ((row0) + row < psc(len)) {                                             \
        afpvec4 x = buffer_ld4(qkv_data, (base + (row0) + row) * QKV4 + v);      \
        uint c = v * 4 - (first);                                                \
        uint o = row * CHANNELS + c;                                             \
        if (c < CHANNELS) dst[o] = afp2lfp(x.x);                                 \
        if (c + 1 < CHANNELS) dst[o + 1] = afp2lfp(x.y);                         \
        if (c + 2 < CHANNELS) dst[o + 2] = afp2lfp(x.z);                         \
        if (c + 3 < CHANNELS) dst[o + 3] = afp2lfp(x.w);                         \
      }                                                                          \
    }                                                                            \
  }

const uint QKV4 = (3 * CHANNELS + 3) / 4;
const uint OUT4 = (CHANNELS + 3) / 4;

void main() {
  uint base = gl_WorkGroupID.y * psc(len);
  uint query0 = gl_WorkGroupID.x * queries;
  uint slot = gl_LocalInvocationID.x / heads;
  uint head = gl_LocalInvocationID.x - slot * heads;
  uint own = slot * CHANNELS + head * dim;

  LOAD_ROWS(query_local, 0, query0, queries)
  barrier();
  afp q[dim];
  float result[dim];
  for (uint d = 0; d < dim; d++) {
    q[d] = lfp2afp(query_local[own + d]);
    result[d] = 0.0;
  }
  float top = -3.0e38;
  float sum = 0.0;

  for (uint key0 = 0; key0 < psc(len); key0 += keys) {
    barrier();
    LOAD_ROWS(key_local, CHANNELS, key0, keys)
    LOAD_ROWS(value_local, 2 * CHANNELS, key0, keys)
    barrier();
    uint present = min(keys, psc(len) - key0);
    float score[keys];
    float block_top = top;
    for (uint k = 0; k < present; k++) {
      float s = 0.0;
      for (uint d = 0; d < dim; d++) {
        s += float(q[d] * lfp2afp(key_local[k * CHANNELS + head * dim + d]));
      }
      score[k] = s * p.factor;
      block_top = max(block_top, score[k]);
    }
    float correction = exp(top - block_top);
    top = block_top;
    sum *= correction;
    for (uint d = 0; d < dim; d++) result[d] *= correction;
    for (uint k = 0; k < present; k++) {
      float weight = exp(score[k] - top);
      sum += weight;
      for (uint d = 0; d < dim; d++) {
        result[d] += float(afp(weight) * lfp2afp(value_local[k * CHANNELS + head * dim + d]));
      }
    }
  }

  // Own slots only: nobody else reads them since the first barrier.
  for (uint d = 0; d < dim; d++) query_local[own + d] = afp2lfp(afp(result[d] / sum));
  barrier();
  for (uint i = gl_LocalInvocationID.x; i < queries * OUT4; i += gl_WorkGroupSize.x) {
    uint row = i / OUT4;
    if (query0 + row >= psc(len)) break;
    uint c = (i - row * OUT4) * 4;
    uint s = row * CHANNELS + c;
    afpvec4 v = afpvec4(0.0);
    v.x = lfp2afp(query_local[s]);
    if (c + 1 < CHANNELS) v.y = lfp2afp(query_local[s + 1]);
    if (c + 2 < CHANNELS) v.z = lfp2afp(query_local[s + 2]);
    if (c + 3 < CHANNELS) v.w = lfp2afp(query_local[s + 3]);
    uint o = (base + query0 + row) * OUT4 + c / 4;
    afpvec4 r = load_residual(residual_data, o);
    buffer_st4(out_data, o, epilogue(v, r, p.e));
  }
}
