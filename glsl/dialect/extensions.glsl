// SPDX-License-Identifier: Apache-2.0
// Language extensions that a variant needs. No other place of the dialect asks for one.
#if NCNN_fp16_storage && NCNN_fp16_packed
#error NCNN_fp16_storage and NCNN_fp16_packed exclude each other
#endif
#if NCNN_fp16_arithmetic && !NCNN_fp16_storage && !NCNN_fp16_packed
#error NCNN_fp16_arithmetic needs NCNN_fp16_storage or NCNN_fp16_packed
#endif
#if NCNN_int8_storage && NCNN_int8_packed
#error NCNN_int8_storage and NCNN_int8_packed exclude each other
#endif
#if NCNN_int16_storage && NCNN_int16_packed
#error NCNN_int16_storage and NCNN_int16_packed exclude each other
#endif

#if NCNN_bf16_storage
#extension GL_EXT_bfloat16 : require
#endif
#if NCNN_fp16_storage || NCNN_bf16_storage || NCNN_int16_storage || \
    (NCNN_bf16_packed && ncnn_storageBuffer16BitAccess)
#extension GL_EXT_shader_16bit_storage : require
#endif
#if NCNN_fp16_arithmetic
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#endif
#if NCNN_int8_storage
#extension GL_EXT_shader_8bit_storage : require
// Vulkan 1.0 modules keep storage buffers in the Uniform storage class, where bytes need a feature
// that fewer devices have. The extension behind this comes with 8-bit storage.
#pragma use_storage_buffer
#endif
#if NCNN_int8_arithmetic
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#endif
#if (NCNN_int16_storage || NCNN_int16_packed) && ncnn_shaderInt16
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#endif
