// SPDX-License-Identifier: Apache-2.0
// Where an invocation stands. A kernel declares its local size (specialization constants 233, 234
// and 235) above this include: before that, gl_WorkGroupSize silently means 1.

// Number of this invocation in a one-dimensional job that the host may fold over y, because
// a device may allow only 65535 workgroups along an axis.
uint grid_linear() {
  return (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x +
         gl_LocalInvocationID.x;
}

// Row (picture and line) in a job with one row for each workgroup along y, folded over z.
uint grid_row() { return gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y; }
