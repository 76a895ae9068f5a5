// SPDX-License-Identifier: Apache-2.0
// The extended GLSL, profile ncnn-2023: everything a kernel may use besides plain GLSL.
// `spirkiln bake` puts this file behind a kernel's #version line by itself; an #include of it in a
// kernel is legal and changes nothing. See ../README.md.
#ifndef SPIRKILN_DIALECT
#define SPIRKILN_DIALECT

#include "extensions.glsl"
#include "storage.glsl"
#include "arithmetic.glsl"
#include "local.glsl"
#include "convert.glsl"
#include "buffer.glsl"
#include "psc.glsl"

#endif
