// SPDX-License-Identifier: Apache-2.0
// One step of an inner product: the product in the arithmetic type, the sum in the accumulator's.
#if NCNN_fp16_arithmetic
#define mac(acc, a, b) acc += acpvec4((a) * (b))
#else
#define mac(acc, a, b) acc = fma(acpvec4(a), b, acc)
#endif

// acc += a * [b0 b1 b2 b3]: four input channels into four output channels.
#define mac4(acc, a, b0, b1, b2, b3) \
  mac(acc, a.x, b0);                 \
  mac(acc, a.y, b1);                 \
  mac(acc, a.z, b2);                 \
  mac(acc, a.w, b3)
