#version 450
// SPDX-License-Identifier: Apache-2.0
// A block of a transformer in one step, over lines of `len` rows of C channels:
//   y = x + attention(layer_norm(x) * qkv) * projection
//   out = y + act(layer_norm(y) * up) * down, or a third layer norm of that
// A workgroup makes 16 rows of the output: a subgroup of SUBGROUP invocations for each head, of 16 channels.
// Keys and values of the whole line are computed by each of a line's workgroups for itself, and stay in the
// registers of their head's subgroup as matrices; nothing between x and out is ever in memory. Products are by
// cooperative matrices of SIZE_M x SIZE_N x SIZE_K (halves, sums in single precision); sums, softmax, norms and y
// are in single precision.
// "Block" below is 16 rows or columns. Where C is no whole number of blocks (it is one of halves of a block), the
// last block begins 16 before the end, and the left operand has zeros for what the block before has already.

#include "matrix_shape.glsl"
#extension GL_KHR_shader_subgroup_arithmetic : require

layout(local_size_x_id = 233, local_size_y_id = 234, local_size_z_id = 235) in;

#include "activation.glsl"
#include "tensor.glsl"

TENSOR_IN(0, x_data);
layout(binding = 1) readonly buffer gamma_blob { vec4 gamma_data[]; };
layout(binding = 2) readonly buffer beta_blob { vec4 beta_data[]; };
layout(binding = 3) readonly buffer qkv_blob { uvec4 qkv_data[]; };
layout(binding = 4) readonly buffer qkv_scale_blob { vec4 qkv_scale_data[]; };
layout(binding = 5) readonly buffer qkv_bias_blob { vec4 qkv_bias_data[]; };
layout(binding = 6) readonly buffer projection_blob { uvec4 projection_data[]; };
layout(binding = 7) readonly buffer projection_scale_blob { vec4 projection_scale_data[]; };
layout(binding = 8) readonly buffer projection_bias_blob { vec4 projection_bias_data[]; };
layout(binding = 9) readonly buffer gamma2_blob { vec4 gamma2_data[]; };
layout(binding = 10) readonly buffer beta2_blob { vec4 beta2_data[]; };
layout(binding = 11) readonly buffer up_blob { uvec4 up_data[]; };
layout(binding = 12) readonly buffer up_scale_blob { vec4 up_scale_data[]; };
layout(binding = 13) readonly buffer up_bias_blob { vec4 up_bias_data[]; };
layout(binding = 14) readonly buffer down_blob { uvec4 down_data[]; };
layout(binding = 15) readonly buffer down_scale_blob { vec4 down_scale_data[]; };
layout(binding = 16) readonly buffer down_bias_blob { vec4 down_bias_data[]; };
TENSOR_OUT(17, out_data);
layout(binding = 18) readonly buffer gamma3_blob { vec4 gamma3_data[]; };
layout(binding = 19) readonly buffer beta3_blob { vec4 beta3_data[]; };

// All of these size arrays or loops that have to be unrolled.
layout(constant_id = 1) const uint heads = 8;
layout(constant_id = 2) const uint c4 = 8;       // C in vectors, even
layout(constant_id = 3) const uint hidden4 = 8;  // columns of `up` in vectors, even
layout(constant_id = 4) const uint blocks = 1;   // of rows in a line

layout(push_constant) uniform parameter {
  Epilogue e;  // of `up`
  uint len;
  float factor;  // of scores
  float epsilon;
  float epsilon2;
  float epsilon3;
  uint last_norm;  // not 0: there is a third norm
} p;

// Matrices of a block of 16 x 16.
const uint IN_M = 16 / SIZE_M;
const uint IN_N = 16 / SIZE_N;
const uint IN_K = 16 / SIZE_K;
const uint OF_SUMS = IN_M * IN_N;
const uint C_BLOCKS = (c4 + 3) / 4;
const uint H_BLOCKS = (hidden4 + 3) / 4;
// Blocks of columns that a subgroup computes.
const uint C_TURNS = (C_BLOCKS + heads - 1) / heads;
const uint H_TURNS = (H_BLOCKS + heads - 1) / heads;
const uint ROW_LOADS = (c4 + SUBGROUP - 1) / SUBGROUP;  // vectors of a row that an invocation has
const uint LINE_ROWS = (blocks * 16 + heads - 1) / heads;  // rows of a subgroup: of the line, and of a block
const uint ROWS_SIZE = LINE_ROWS * ROW_LOADS;
const uint OWN_ROWS = (16 + heads - 1) / heads;
const uint OF_LANE = 64 / SUBGROUP;  // vectors of a block that an invocation has

const uint LOADS = (32 + SUBGROUP - 1) / SUBGROUP;  // of a block of weights: 32 times eight halves

// Workgroup memory, in 16 bytes: eight halves or four floats. Rows begin an odd number of them apart.
const uint X_STRIDE = C_BLOCKS * 2 + 1;  // halves
const uint O_STRIDE = heads * 2 + 1;     // halves
const uint H_STRIDE = H_BLOCKS * 2 + 1;  // halves
const uint W_STRIDE = 3;                 // halves: a block of weights
const uint W_SIZE = 16 * W_STRIDE;
const uint PAIR_STRIDE = 9;  // floats: a block of keys, then one of values
const uint PAIR_HALVES = 5;  // the same as halves
const uint SUM_STRIDE = 5;   // floats: a block
const uint SUM_HALVES = 3;
const uint SHARES = SUBGROUP > 16 ? SUBGROUP / 16 : 1;  // invocations that share a row of scores
const uint S_STRIDE = blocks * 4 + (SHARES + 1) / 2;    // floats, then a maximum and a sum of each
// What is a subgroup's own: weights on their way, sums.
const uint OWN_SIZE = 16 * PAIR_STRIDE;
const uint STAGED = OWN_SIZE / W_SIZE;  // blocks of weights at a time
// First: the normalised line, and what is each subgroup's own. Then scores, over both.
const uint X_SIZE = blocks * 16 * X_STRIDE;
const uint S_SIZE = 16 * S_STRIDE > OWN_SIZE ? 16 * S_STRIDE : OWN_SIZE;
// Behind attention: each subgroup's own, y (floats), its norm (halves), what `up` makes.
const uint Y_AT = heads * OWN_SIZE;
const uint N_AT = Y_AT + 16 * c4;
const uint H_AT = N_AT + 16 * X_STRIDE;
const uint END_2 = H_AT + 16 * H_STRIDE;
// What attention makes is read while y is written.
const uint FIRST = X_SIZE + heads * OWN_SIZE;
const uint SCORES = heads * S_SIZE;
const uint LARGER = FIRST > SCORES ? FIRST : SCORES;
const uint O_AT = LARGER > N_AT ? LARGER : N_AT;
const uint END_1 = O_AT + 16 * O_STRIDE;
shared uvec4 mem[END_1 > END_2 ? END_1 : END_2];

vec4 floats_at(uint i) { return uintBitsToFloat(mem[i]); }
// Vector c of a row of halves.
void put_halves(uint row, uint c, vec4 v) {
  mem[row + c / 2][c % 2 * 2] = packHalf2x16(v.xy);
  mem[row + c / 2][c % 2 * 2 + 1] = packHalf2x16(v.zw);
}

// Where vector c of n4 stands in a left operand, and the row of the right one where block k begins.
uint place(uint c, uint n4) { return c < (n4 + 3) / 4 * 4 - 4 ? c : c + (n4 + 3) / 4 * 4 - n4; }
uint block_at(uint k, uint n4) { return min(k * 4, n4 - 4) * 4; }
// Zeros of a row's last block: eight halves, where there are some.
void put_zeros(uint row, uint n4, uint lane) {
  if (n4 % 4 != 0 && lane == 0) mem[row + (n4 + 3) / 4 * 2 - 2] = uvec4(0);
}

vec4 gamma[ROW_LOADS];  // of the norm that is next, this invocation's
vec4 beta[ROW_LOADS];
// A macro, because GLSL passes no buffer to a function.
#define LOAD_NORM(from_gamma, from_beta)                   \
  [[unroll]] for (uint j = 0; j < ROW_LOADS; j++) {        \
    uint c = min(lane + j * SUBGROUP, c4 - 1);             \
    gamma[j] = from_gamma[c];                              \
    beta[j] = from_beta[c];                                \
  }

// Norms of `rows` rows, each spread over the subgroup, without gamma and beta. All rows take each step together: one
// row behind the other, each would wait for its own sums.
void normalise(inout vec4 v[ROWS_SIZE], uint rows, uint lane, float epsilon) {
  float sums[LINE_ROWS];
  [[unroll]] for (uint i = 0; i < rows; i++) {
    sums[i] = 0.0;
    [[unroll]] for (uint j = 0; j < ROW_LOADS; j++) {
      if (lane + j * SUBGROUP < c4) sums[i] += dot(v[i * ROW_LOADS + j], vec4(1.0));
    }
  }
  [[unroll]] for (uint i = 0; i < rows; i++) sums[i] = subgroupAdd(sums[i]);
  [[unroll]] for (uint i = 0; i < rows; i++) {
    float mean = sums[i] / float(c4 * 4);
    sums[i] = 0.0;
    [[unroll]] for (uint j = 0; j < ROW_LOADS; j++) {
      v[i * ROW_LOADS + j] -= mean;
      if (lane + j * SUBGROUP < c4) sums[i] += dot(v[i * ROW_LOADS + j], v[i * ROW_LOADS + j]);
    }
  }
  [[unroll]] for (uint i = 0; i < rows; i++) sums[i] = subgroupAdd(sums[i]);
  [[unroll]] for (uint i = 0; i < rows; i++) {
    float factor = inversesqrt(sums[i] / float(c4 * 4) + epsilon);
    [[unroll]] for (uint j = 0; j < ROW_LOADS; j++) v[i * ROW_LOADS + j] *= factor;
  }
}

// The same rows of y.
void own_rows(inout vec4 v[ROWS_SIZE], uint head, uint lane) {
  [[unroll]] for (uint j = 0; j < ROW_LOADS; j++) {
    uint c = min(lane + j * SUBGROUP, c4 - 1);
    [[unroll]] for (uint i = 0; i < OWN_ROWS; i++) {
      v[i * ROW_LOADS + j] = floats_at(Y_AT + min(head + i * heads, 15) * c4 + c);
    }
  }
}

// Rows `head`, `head + heads` and so on of a norm to `at`, as a left operand.
void put_rows(inout vec4 v[ROWS_SIZE], uint rows, uint end, uint at, uint head, uint lane) {
  [[unroll]] for (uint i = 0; i < rows; i++) {
    uint r = head + i * heads;
    if (r >= end) continue;
    [[unroll]] for (uint j = 0; j < ROW_LOADS; j++) {
      uint c = lane + j * SUBGROUP;
      if (c < c4) put_halves(at + r * X_STRIDE, place(c, c4), v[i * ROW_LOADS + j] * gamma[j] + beta[j]);
    }
    put_zeros(at + r * X_STRIDE, c4, lane);
  }
}

// Softmax of a subgroup's 16 rows of scores, in place, as halves.
void softmax(uint at, uint lane) {
  uint share = lane % SHARES;
  [[unroll]] for (uint r = 0; r < 16; r += SUBGROUP / SHARES) {
    uint row = at + (r + lane / SHARES) * S_STRIDE;
    vec4 v[blocks * 4 / SHARES];
    float top = -3.0e38;
    [[unroll]] for (uint i = 0; i < blocks * 4 / SHARES; i++) {
      uint c = share + i * SHARES;
      // What is behind the line's end weighs nothing.
      v[i] = mix(vec4(-3.0e38), floats_at(row + c) * p.factor,
                 lessThan(uvec4(c * 4) + uvec4(0, 1, 2, 3), uvec4(p.len)));
      top = max(top, max(max(v[i].x, v[i].y), max(v[i].z, v[i].w)));
    }
    uint both = row + blocks * 4;
    if (SHARES > 1) {
      mem[both + share / 2][share % 2 * 2] = floatBitsToUint(top);
      subgroup_wait();
      [[unroll]] for (uint i = 0; i < SHARES; i++) top = max(top, uintBitsToFloat(mem[both + i / 2][i % 2 * 2]));
    }
    float sum = 0.0;
    [[unroll]] for (uint i = 0; i < blocks * 4 / SHARES; i++) {
      v[i] = exp(v[i] - top);
      sum += dot(v[i], vec4(1.0));
    }
    if (SHARES > 1) {
      mem[both + share / 2][share % 2 * 2 + 1] = floatBitsToUint(sum);
      subgroup_wait();
      sum = 0.0;
      [[unroll]] for (uint i = 0; i < SHARES; i++) sum += uintBitsToFloat(mem[both + i / 2][i % 2 * 2 + 1]);
    }
    [[unroll]] for (uint i = 0; i < blocks * 4 / SHARES; i++) put_halves(row, share + i * SHARES, v[i] / sum);
  }
}

// The right operand of this subgroup's blocks of columns, rows of k4 vectors and columns of n4: on its way from
// memory, and then as matrices by way of what is this subgroup's own.
// Macros, because GLSL passes neither buffers nor arrays of matrices to a function.
#define FETCH(w, data, k4, n4, turns)                                                                         \
  [[unroll]] for (uint i = 0; i < turns; i++) {                                                               \
    uint column = block_at(min(head + i * heads, ((n4) + 3) / 4 - 1), n4) / 8;                                \
    [[unroll]] for (uint k = 0; k < ((k4) + 3) / 4; k++) {                                                    \
      [[unroll]] for (uint s = 0; s < LOADS; s++) {                                                           \
        uint j = (lane + s * SUBGROUP) % 32;                                                                  \
        w[(i * (((k4) + 3) / 4) + k) * LOADS + s] = data[(block_at(k, k4) + j / 2) * ((n4) / 2) + column + j % 2]; \
      }                                                                                                       \
    }                                                                                                         \
  }
#define STAGE(b, w, k4, turns, at)                                                                     \
  [[unroll]] for (uint first = 0; first < turns * (((k4) + 3) / 4); first += STAGED) {                 \
    [[unroll]] for (uint t = 0; t < STAGED; t++) {                                                     \
      if (first + t >= turns * (((k4) + 3) / 4)) continue;                                             \
      [[unroll]] for (uint s = 0; s < LOADS; s++) {                                                    \
        uint j = lane + s * SUBGROUP;                                                                  \
        if (j < 32) mem[(at) + t * W_SIZE + j / 2 * W_STRIDE + j % 2] = w[(first + t) * LOADS + s];    \
      }                                                                                                \
    }                                                                                                  \
    subgroup_wait();                                                                                   \
    [[unroll]] for (uint t = 0; t < STAGED; t++) {                                                     \
      if (first + t >= turns * (((k4) + 3) / 4)) continue;                                             \
      [[unroll]] for (uint k = 0; k < IN_K; k++) {                                                     \
        [[unroll]] for (uint n = 0; n < IN_N; n++) {                                                   \
          coopMatLoad(b[((first + t) * IN_K + k) * IN_N + n], mem,                                     \
                      (at) + t * W_SIZE + k * SIZE_K * W_STRIDE + n * (SIZE_N / 8), W_STRIDE,          \
                      gl_CooperativeMatrixLayoutRowMajor);                                             \
        }                                                                                              \
      }                                                                                                \
    }                                                                                                  \
    subgroup_wait();                                                                                   \
  }
// 16 rows at `at` times block `i` of b, into this subgroup's sums at `sums`.
#define MULTIPLY(b, i, k4, at, stride, sums)                                                         \
  [[unroll]] for (uint m = 0; m < IN_M; m++) {                                                       \
    MATRIX_C acc[IN_N];                                                                              \
    [[unroll]] for (uint n = 0; n < IN_N; n++) acc[n] = MATRIX_C(0.0);                               \
    [[unroll]] for (uint k = 0; k < ((k4) + 3) / 4 * IN_K; k++) {                                    \
      MATRIX_A a;                                                                                    \
      coopMatLoad(a, mem, (at) + m * SIZE_M * (stride) + k * (SIZE_K / 8), stride,                   \
                  gl_CooperativeMatrixLayoutRowMajor);                                               \
      [[unroll]] for (uint n = 0; n < IN_N; n++) {                                                   \
        acc[n] = coopMatMulAdd(a, b[((i) * (((k4) + 3) / 4 * IN_K) + k) * IN_N + n], acc[n]);        \
      }                                                                                              \
    }                                                                                                \
    [[unroll]] for (uint n = 0; n < IN_N; n++) {                                                     \
      coopMatStore(acc[n], mem, (sums) + m * SIZE_M * SUM_STRIDE + n * (SIZE_N / 4), SUM_STRIDE,     \
                   gl_CooperativeMatrixLayoutRowMajor);                                              \
    }                                                                                                \
  }

void main() {
  uint head = gl_LocalInvocationID.x / SUBGROUP;
  uint lane = gl_LocalInvocationID.x % SUBGROUP;
  uint base = gl_WorkGroupID.y * p.len;  // the line's first row
  uint own = gl_WorkGroupID.x * 16;      // first of the rows that are made here

  vec4 rows_v[ROWS_SIZE];
  [[unroll]] for (uint j = 0; j < ROW_LOADS; j++) {
    uint c = min(lane + j * SUBGROUP, c4 - 1);
    // Behind the line's end stands its last row, once more.
    [[unroll]] for (uint i = 0; i < LINE_ROWS; i++) {
      rows_v[i * ROW_LOADS + j] = vec4(tensor_ld4(x_data, (base + min(head + i * heads, p.len - 1)) * c4 + c));
    }
  }
  LOAD_NORM(gamma_data, beta_data)
  uvec4 qkv_w[3 * C_BLOCKS * LOADS];  // this head's columns of queries, keys, values
  FETCH(qkv_w, qkv_data, c4, heads * 12, 3)
  normalise(rows_v, LINE_ROWS, lane, p.epsilon);
  put_rows(rows_v, LINE_ROWS, blocks * 16, 0, head, lane);
  uint own_at = X_SIZE + head * OWN_SIZE;
  MATRIX_B qkv_b[3 * C_BLOCKS * IN_K * IN_N];
  STAGE(qkv_b, qkv_w, c4, 3, own_at)
  barrier();

  // Keys and values of the line: right operands of scores and results.
  MATRIX_B key_b[blocks * IN_K * IN_N];    // [channel][row]
  MATRIX_B value_b[blocks * IN_K * IN_N];  // [row][channel]
  uint pair = ((1 + lane % 8 / 4) * heads + head) * 4 + lane % 4;
  vec4 pair_scale = qkv_scale_data[pair];
  vec4 pair_bias = qkv_bias_data[pair];
  [[unroll]] for (uint t = 0; t < blocks; t++) {
    [[unroll]] for (uint m = 0; m < IN_M; m++) {
      MATRIX_C acc[2 * IN_N];
      [[unroll]] for (uint n = 0; n < 2 * IN_N; n++) acc[n] = MATRIX_C(0.0);
      [[unroll]] for (uint k = 0; k < C_BLOCKS * IN_K; k++) {
        MATRIX_A a;
        coopMatLoad(a, mem, (t * 16 + m * SIZE_M) * X_STRIDE + k * (SIZE_K / 8), X_STRIDE,
                    gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint n = 0; n < 2 * IN_N; n++) {
          uint part = 1 + n / IN_N;
          acc[n] = coopMatMulAdd(a, qkv_b[(part * C_BLOCKS * IN_K + k) * IN_N + n % IN_N], acc[n]);
        }
      }
      [[unroll]] for (uint n = 0; n < 2 * IN_N; n++) {
        coopMatStore(acc[n], mem, own_at + m * SIZE_M * PAIR_STRIDE + n * (SIZE_N / 4), PAIR_STRIDE,
                     gl_CooperativeMatrixLayoutRowMajor);
      }
    }
    subgroup_wait();
    vec4 finished[128 / SUBGROUP];
    [[unroll]] for (uint i = 0; i < 128 / SUBGROUP; i++) {
      uint j = lane + i * SUBGROUP;
      finished[i] = floats_at(own_at + j / 8 * PAIR_STRIDE + j % 8) * pair_scale + pair_bias;
    }
    subgroup_wait();
    [[unroll]] for (uint i = 0; i < 128 / SUBGROUP; i++) {
      uint j = lane + i * SUBGROUP;
      put_halves(own_at + j / 8 * PAIR_HALVES, j % 8, finished[i]);
    }
    subgroup_wait();
    [[unroll]] for (uint k = 0; k < IN_K; k++) {
      [[unroll]] for (uint n = 0; n < IN_N; n++) {
        coopMatLoad(key_b[(t * IN_K + k) * IN_N + n], mem,
                    own_at + n * SIZE_N * PAIR_HALVES + k * (SIZE_K / 8), PAIR_HALVES,
                    gl_CooperativeMatrixLayoutColumnMajor);
        coopMatLoad(value_b[(t * IN_K + k) * IN_N + n], mem,
                    own_at + k * SIZE_K * PAIR_HALVES + 2 + n * (SIZE_N / 8), PAIR_HALVES,
                    gl_CooperativeMatrixLayoutRowMajor);
      }
    }
    subgroup_wait();
  }

  // Queries of the own rows: a left operand.
  MATRIX_A query_a[IN_M * IN_K];
  MULTIPLY(qkv_b, 0, c4, own * X_STRIDE, X_STRIDE, own_at)
  subgroup_wait();
  vec4 query[OF_LANE];
  [[unroll]] for (uint i = 0; i < OF_LANE; i++) {
    uint j = lane + i * SUBGROUP;
    uint n = head * 4 + j % 4;
    query[i] = floats_at(own_at + j / 4 * SUM_STRIDE + j % 4) * qkv_scale_data[n] + qkv_bias_data[n];
  }
  subgroup_wait();
  [[unroll]] for (uint i = 0; i < OF_LANE; i++) {
    uint j = lane + i * SUBGROUP;
    put_halves(own_at + j / 4 * SUM_HALVES, j % 4, query[i]);
  }
  subgroup_wait();
  [[unroll]] for (uint m = 0; m < IN_M; m++) {
    [[unroll]] for (uint k = 0; k < IN_K; k++) {
      coopMatLoad(query_a[m * IN_K + k], mem, own_at + m * SIZE_M * SUM_HALVES + k * (SIZE_K / 8), SUM_HALVES,
                  gl_CooperativeMatrixLayoutRowMajor);
    }
  }
  barrier();  // scores go where the line was

  uint s_at = head * S_SIZE;
  [[unroll]] for (uint m = 0; m < IN_M; m++) {
    [[unroll]] for (uint n = 0; n < blocks * IN_N; n++) {
      MATRIX_C acc = MATRIX_C(0.0);
      [[unroll]] for (uint k = 0; k < IN_K; k++) {
        acc = coopMatMulAdd(query_a[m * IN_K + k], key_b[(n / IN_N * IN_K + k) * IN_N + n % IN_N], acc);
      }
      coopMatStore(acc, mem, s_at + m * SIZE_M * S_STRIDE + n * (SIZE_N / 4), S_STRIDE,
                   gl_CooperativeMatrixLayoutRowMajor);
    }
  }
  uvec4 projection_w[C_TURNS * heads * LOADS];
  FETCH(projection_w, projection_data, heads * 4, c4, C_TURNS)
  subgroup_wait();
  softmax(s_at, lane);
  subgroup_wait();
  MATRIX_C result[OF_SUMS];
  [[unroll]] for (uint m = 0; m < IN_M; m++) {
    [[unroll]] for (uint n = 0; n < IN_N; n++) result[m * IN_N + n] = MATRIX_C(0.0);
    [[unroll]] for (uint k = 0; k < blocks * IN_K; k++) {
      MATRIX_A a;
      coopMatLoad(a, mem, s_at + m * SIZE_M * S_STRIDE + k * (SIZE_K / 8), S_STRIDE,
                  gl_CooperativeMatrixLayoutRowMajor);
      [[unroll]] for (uint n = 0; n < IN_N; n++) {
        result[m * IN_N + n] = coopMatMulAdd(a, value_b[k * IN_N + n], result[m * IN_N + n]);
      }
    }
  }
  subgroup_wait();
  [[unroll]] for (uint i = 0; i < OF_SUMS; i++) {
    coopMatStore(result[i], mem, s_at + i / IN_N * SIZE_M * SUM_STRIDE + i % IN_N * (SIZE_N / 4), SUM_STRIDE,
                 gl_CooperativeMatrixLayoutRowMajor);
  }
  subgroup_wait();
  [[unroll]] for (uint i = 0; i < OF_LANE; i++) {
    uint j = lane + i * SUBGROUP;
    put_halves(O_AT + j / 4 * O_STRIDE, head * 4 + j % 4, floats_at(s_at + j / 4 * SUM_STRIDE + j % 4));
  }
  subgroup_wait();
  MATRIX_B projection_b[C_TURNS * heads * IN_K * IN_N];
  STAGE(projection_b, projection_w, heads * 4, C_TURNS, s_at)
  // What the projection's end reads is on its way, too.
  vec4 x_own[C_TURNS * OF_LANE];
  vec4 scale[C_TURNS];
  vec4 bias[C_TURNS];
  [[unroll]] for (uint i = 0; i < C_TURNS; i++) {
    uint n = block_at(min(head + i * heads, C_BLOCKS - 1), c4) / 4 + lane % 4;
    scale[i] = projection_scale_data[n];
    bias[i] = projection_bias_data[n];
    [[unroll]] for (uint s = 0; s < OF_LANE; s++) {
      uint row = min(own + (lane + s * SUBGROUP) / 4, p.len - 1);
      x_own[i * OF_LANE + s] = vec4(tensor_ld4(x_data, (base + row) * c4 + n));
    }
  }
  uvec4 up_w[H_TURNS * C_BLOCKS * LOADS];
  FETCH(up_w, up_data, c4, hidden4, H_TURNS)
  barrier();

  uint sums = head * OWN_SIZE;
  [[unroll]] for (uint i = 0; i < C_TURNS; i++) {
    uint tile = head + i * heads;
    uint n0 = block_at(min(tile, C_BLOCKS - 1), c4) / 4;
    MULTIPLY(projection_b, i, heads * 4, O_AT, O_STRIDE, sums)
    subgroup_wait();
    [[unroll]] for (uint s = 0; s < OF_LANE; s++) {
      uint j = lane + s * SUBGROUP;
      uint n = n0 + j % 4;
      if (tile >= C_BLOCKS || n < tile * 4) continue;  // another subgroup's
      vec4 v = floats_at(sums + j / 4 * SUM_STRIDE + j % 4) * scale[i] + bias[i] + x_own[i * OF_LANE + s];
      mem[Y_AT + j / 4 * c4 + n] = floatBitsToUint(v);
    }
    subgroup_wait();
  }
  MATRIX_B up_b[H_TURNS * C_BLOCKS * IN_K * IN_N];
  STAGE(up_b, up_w, c4, H_TURNS, sums)
  uvec4 down_w[C_TURNS * H_BLOCKS * LOADS];
  FETCH(down_w, down_data, hidden4, c4, C_TURNS)
  LOAD_NORM(gamma2_data, beta2_data)
  barrier();

  own_rows(rows_v, head, lane);
  normalise(rows_v, OWN_ROWS, lane, p.epsilon2);
  put_rows(rows_v, OWN_ROWS, 16, N_AT, head, lane);
  barrier();

  [[unroll]] for (uint i = 0; i < H_TURNS; i++) {
    uint tile = head + i * heads;
    uint n0 = block_at(min(tile, H_BLOCKS - 1), hidden4) / 4;
    vec4 up_scale = up_scale_data[n0 + lane % 4];
    vec4 up_bias = up_bias_data[n0 + lane % 4];
    MULTIPLY(up_b, i, c4, N_AT, X_STRIDE, sums)
    subgroup_wait();
    [[unroll]] for (uint s = 0; s < OF_LANE; s++) {
      uint j = lane + s * SUBGROUP;
      uint n = n0 + j % 4;
      if (tile >= H_BLOCKS || n < tile * 4) continue;
      vec4 v = floats_at(sums + j / 4 * SUM_STRIDE + j % 4) * up_scale + up_bias;
      v = vec4(activate(afpvec4(v), p.e)) * p.e.post_scale + p.e.post_bias;
      put_halves(H_AT + j / 4 * H_STRIDE, place(n, hidden4), v);
    }
    subgroup_wait();
  }
  for (uint r = head; r < 16; r += heads) put_zeros(H_AT + r * H_STRIDE, hidden4, lane);
  MATRIX_B down_b[C_TURNS * H_BLOCKS * IN_K * IN_N];
  STAGE(down_b, down_w, hidden4, C_TURNS, sums)
  barrier();

  [[unroll]] for (uint i = 0; i < C_TURNS; i++) {
    uint tile = head + i * heads;
    uint n0 = block_at(min(tile, C_BLOCKS - 1), c4) / 4;
    vec4 down_scale = down_scale_data[n0 + lane % 4];
    vec4 down_bias = down_bias_data[n0 + lane % 4];
    MULTIPLY(down_b, i, hidden4, H_AT, H_STRIDE, sums)
    subgroup_wait();
    [[unroll]] for (uint s = 0; s < OF_LANE; s++) {
      uint j = lane + s * SUBGROUP;
      uint n = n0 + j % 4;
      uint row = own + j / 4;
      if (tile >= C_BLOCKS || n < tile * 4 || row >= p.len) continue;
      vec4 v = floats_at(sums + j / 4 * SUM_STRIDE + j % 4) * down_scale + down_bias;
      v += floats_at(Y_AT + j / 4 * c4 + n);
      if (p.last_norm != 0) {
        mem[Y_AT + j / 4 * c4 + n] = floatBitsToUint(v);
      } else {
        tensor_st4(out_data, (base + row) * c4 + n, afpvec4(v));
      }
    }
    subgroup_wait();
  }
  if (p.last_norm == 0) return;

  LOAD_NORM(gamma3_data, beta3_data)
  barrier();
  own_rows(rows_v, head, lane);
  normalise(rows_v, OWN_ROWS, lane, p.epsilon3);
  [[unroll]] for (uint i = 0; i < OWN_ROWS; i++) {
    uint r = head + i * heads;
    if (r >= 16 || own + r >= p.len) continue;
    [[unroll]] for (uint j = 0; j < ROW_LOADS; j++) {
      uint c = lane + j * SUBGROUP;
      vec4 v = rows_v[i * ROW_LOADS + j] * gamma[j] + beta[j];
      if (c < c4) tensor_st4(out_data, (base + own + r) * c4 + c, afpvec4(v));
    }
  }
}
