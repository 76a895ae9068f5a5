// SPDX-License-Identifier: Apache-2.0
// The operands of C[M][N] = A[M][K] * B[K][N] on their way into a workgroup's tiles; 0 outside of a
// matrix. Each invocation loads THREADS apart: its load i is element l + i * THREADS of the tile.
//   tile of A: [pixel][k], tile_k4 vectors a row
//   tile of B: [k][column], COLUMNS vectors a row
// WINDOW 1: the rows of A are the windows that a convolution sees (K runs over taps and then input
// channels; nothing of it is ever stored).
// The includer defines tile_k4, COLUMNS, THREADS, LOADS_A, the buffers and the push constants.

#if WINDOW
// First line of the picture of each own row of A, and the corner of its window.
uint own_picture[LOADS_A];
uint own_y[LOADS_A];
uint own_x[LOADS_A];

void place_windows(uint l, uint m0) {
  [[unroll]] for (uint i = 0; i < LOADS_A; i++) {
    uint m = min(m0 + (l + i * THREADS) / tile_k4, psc(rows) - 1);
    uint line = m / p.outw;
    uint n = line / p.outh;
    own_x[i] = (m - line * p.outw) * p.stride_w - p.pad_left;
    own_y[i] = (line - n * p.outh) * p.stride_h - p.pad_top;
    own_picture[i] = n * p.h;
  }
}

lfpvec4 fetch_a(uint l, uint i, uint m0, uint k0) {
  uint m = m0 + (l + i * THREADS) / tile_k4;
  uint k = k0 + (l + i * THREADS) % tile_k4;
  uint tap = k / p.in4;
  uint ky = tap / p.kw;
  // Unsigned: left of and above the picture wrap around to large numbers.
  uint y = own_y[i] + ky * p.dilation_h;
  uint x = own_x[i] + (tap - ky * p.kw) * p.dilation_w;
  if (m >= psc(rows) || k >= psc(k4) || y >= p.h || x >= p.w) return lfpvec4(0);
  return tensor_local4(x_data, ((own_picture[i] + y) * p.w + x) * p.in4 + k - tap * p.in4);
}
#else
lfpvec4 fetch_a(uint l, uint i, uint m0, uint k0) {
  uint m = m0 + (l + i * THREADS) / tile_k4;
  uint k = k0 + (l + i * THREADS) % tile_k4;
  if (m >= psc(rows) || k >= psc(k4)) return lfpvec4(0);
  return tensor_local4(x_data, m * psc(k4) + k);
}
#endif

lfpvec4 fetch_b(uint j, uint n0, uint k0) {
  uint n = n0 + j % COLUMNS;
  uint k = k0 * 4 + j / COLUMNS;
  if (n >= psc(n4) || k >= psc(k4) * 4) return lfpvec4(0);
  return sfp2lfpvec4(weight_data[k * psc(n4) + n]);
}
