#version 450
// SPDX-License-Identifier: Apache-2.0
// The tiled transpose as it goes round in tutorials; kept to show what is wrong with it. The value at
// (gx, gy) of the tile's mirror goes to the mirrored place, so each tile is turned twice, that is not
// at all, and only the tiles change places. The store is strided as well: the tile bought nothing.
// transpose_tiled.comp does both right.

#define TILE_SIZE 16
layout(local_size_x = TILE_SIZE, local_size_y = TILE_SIZE) in;
layout(binding = 0) readonly buffer in_blob { sfp in_data[]; };
layout(binding = 1) writeonly buffer out_blob { sfp out_data[]; };
layout(push_constant) uniform parameter { uint width; uint height; } p;

shared float tile[TILE_SIZE][TILE_SIZE];

void main() {
  uint lx = gl_LocalInvocationID.x;
  uint ly = gl_LocalInvocationID.y;
  uint gx = gl_GlobalInvocationID.x;
  uint gy = gl_GlobalInvocationID.y;
  tile[lx][ly] = float(buffer_ld1(in_data, gx + gy * p.width));
  barrier();
  float transposed = tile[ly][lx];
  barrier();
  buffer_st1(out_data, gy + gx * p.height, afp(transposed));
}
