// SPDX-License-Identifier: Apache-2.0
// A graph's values as bytes for the caller: 255 times what is cut to 0 ... 1, rounded; four a word, the first
// in the lowest bits. Behind all of these words stands one for each workgroup, not 0 where one of its values was
// no number, which a byte cannot say. BYTES_OUT is the binding; defined by who includes this.

layout(binding = BYTES_OUT) writeonly buffer out_blob { uint out_data[]; };

shared uint not_finite_local;  // 0, and a barrier behind that, before the first byte_of()

uint byte_of(float v) {
  if ((floatBitsToUint(v) & 0x7f800000u) == 0x7f800000u) {
    atomicOr(not_finite_local, 1u);
    return 0;
  }
  return uint(clamp(v, 0.0, 1.0) * 255.0 + 0.5);
}
