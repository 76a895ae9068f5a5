// SPDX-License-Identifier: Apache-2.0
// The extended GLSL: everything a kernel may use besides plain GLSL. Profile ncnn-2023, or
// ncnn-2026 where SPIRKILN_profile is 2026.
// The generator puts this file behind a kernel's #version line by itself; an #include of it in a
// kernel is legal and changes nothing. See ../README.md.
#ifndef SPIRKILN_DIALECT
#define SPIRKILN_DIALECT

#include "extensions.glsl"
#if SPIRKILN_profile == 2026
#include "ncnn_2026/types.glsl"
#include "arithmetic.glsl"
#include "ncnn_2026/convert.glsl"
#include "ncnn_2026/buffer.glsl"
#include "ncnn_2026/integer.glsl"
#else
#include "storage.glsl"
#include "arithmetic.glsl"
#include "local.glsl"
#include "convert.glsl"
#include "buffer.glsl"
#include "image.glsl"
#endif
#include "psc.glsl"

#endif
