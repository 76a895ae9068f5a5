/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single kernels in C: compute.hpp has the same in C++ and explains each part. Handles, errors,
 * threads and versions are as in spirkiln.h. What is made of another handle keeps that alive, so
 * handles may be closed in any order.
 *
 *   spirkiln_kernel_options options = SPIRKILN_KERNEL_OPTIONS_INIT;
 *   options.local_size[0] = 64, options.local_size[1] = options.local_size[2] = 1;
 *   spirkiln_kernel_from_words(device, words, word_count, &options, &kernel, error, sizeof error);
 *   spirkiln_binding bindings[] = {{0, 0, a, 0, 0, NULL}, {0, 1, b, 0, 0, NULL}};
 *   spirkiln_dispatch dispatch = SPIRKILN_DISPATCH_INIT;
 *   dispatch.bindings = bindings, dispatch.binding_count = 2;
 *   dispatch.invocations[0] = count, dispatch.invocations[1] = dispatch.invocations[2] = 1;
 *   spirkiln_kernel_run(kernel, &dispatch, error, sizeof error);
 */
#ifndef SPIRKILN_COMPUTE_H
#define SPIRKILN_COMPUTE_H

#include "spirkiln/spirkiln.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spirkiln_kernel_table spirkiln_kernel_table;
typedef struct spirkiln_kernel spirkiln_kernel;
typedef struct spirkiln_buffer spirkiln_buffer;
typedef struct spirkiln_image spirkiln_image;
typedef struct spirkiln_sequence spirkiln_sequence;

/* ---- Tables and devices ---------------------------------------------------------------------- */

/* A NAME_table.bin. */
SPIRKILN_API spirkiln_status spirkiln_kernel_table_open(const char* path,
                                                        spirkiln_kernel_table** table, char* error,
                                                        size_t error_bytes);
/* `bytes` are not copied: they must outlive the table and be aligned to 8 bytes. `name` is what
 * messages call it; NULL: "table". */
SPIRKILN_API spirkiln_status spirkiln_kernel_table_from_memory(const void* bytes, size_t size,
                                                               const char* name,
                                                               spirkiln_kernel_table** table,
                                                               char* error, size_t error_bytes);
SPIRKILN_API void spirkiln_kernel_table_close(spirkiln_kernel_table* table);

/* A Vulkan device with what the kernels of `tables` may ask for, beside the built-in ones; without
 * tables, with all that a kernel may ask for. `options` and `tables` may be NULL. */
SPIRKILN_API spirkiln_status spirkiln_compute_device_open(const spirkiln_device_options* options,
                                                          spirkiln_kernel_table* const* tables,
                                                          uint32_t table_count,
                                                          spirkiln_device** device, char* error,
                                                          size_t error_bytes);

/* ---- Memory ---------------------------------------------------------------------------------- */

typedef enum spirkiln_memory {
  SPIRKILN_MEMORY_DEVICE = 0, /* the fastest for kernels; the host reads and writes by copies */
  SPIRKILN_MEMORY_UPLOAD = 1, /* the host writes it directly */
  SPIRKILN_MEMORY_DOWNLOAD = 2 /* the host reads it directly */
} spirkiln_memory;

SPIRKILN_API spirkiln_status spirkiln_buffer_create(spirkiln_device* device, uint64_t bytes,
                                                    spirkiln_memory memory,
                                                    spirkiln_buffer** buffer, char* error,
                                                    size_t error_bytes);
SPIRKILN_API void spirkiln_buffer_close(spirkiln_buffer* buffer);
SPIRKILN_API uint64_t spirkiln_buffer_bytes(const spirkiln_buffer* buffer);
/* Both return when the bytes are there. */
SPIRKILN_API spirkiln_status spirkiln_buffer_write(spirkiln_buffer* buffer, uint64_t offset,
                                                   const void* bytes, size_t size, char* error,
                                                   size_t error_bytes);
SPIRKILN_API spirkiln_status spirkiln_buffer_read(const spirkiln_buffer* buffer, uint64_t offset,
                                                  void* bytes, size_t size, char* error,
                                                  size_t error_bytes);

typedef enum spirkiln_image_format {
  SPIRKILN_R16F = 0,
  SPIRKILN_R32F = 1,
  SPIRKILN_RGBA16F = 2,
  SPIRKILN_RGBA32F = 3,
  SPIRKILN_RGBA8 = 4 /* 0 to 255 is read as 0 to 1 */
} spirkiln_image_format;

typedef struct spirkiln_image_shape {
  uint32_t dimensions; /* 1, 2 or 3 */
  uint32_t size[3]; /* 1 along each further axis */
  spirkiln_image_format format;
} spirkiln_image_shape;

SPIRKILN_API spirkiln_status spirkiln_image_create(spirkiln_device* device,
                                                   const spirkiln_image_shape* shape,
                                                   spirkiln_image** image, char* error,
                                                   size_t error_bytes);
SPIRKILN_API void spirkiln_image_close(spirkiln_image* image);
SPIRKILN_API uint64_t spirkiln_image_bytes(const spirkiln_image* image);
/* All texels, tight: `size` is spirkiln_image_bytes. */
SPIRKILN_API spirkiln_status spirkiln_image_write(spirkiln_image* image, const void* texels,
                                                  size_t size, char* error, size_t error_bytes);
SPIRKILN_API spirkiln_status spirkiln_image_read(const spirkiln_image* image, void* texels,
                                                 size_t size, char* error, size_t error_bytes);

/* ---- Kernels --------------------------------------------------------------------------------- */

typedef enum spirkiln_constant_type {
  SPIRKILN_INT = 0,
  SPIRKILN_UINT = 1,
  SPIRKILN_FLOAT = 2,
  SPIRKILN_BOOL = 3 /* `u` is 0 or 1 */
} spirkiln_constant_type;

typedef struct spirkiln_constant {
  const char* name; /* NULL: by id */
  uint32_t id;
  spirkiln_constant_type type;
  union {
    int32_t i;
    uint32_t u;
    float f;
  } value;
} spirkiln_constant;

typedef struct spirkiln_kernel_options {
  size_t struct_bytes; /* sizeof(spirkiln_kernel_options) */
  uint32_t local_size[3]; /* at most one of the two; all 0: the module's own */
  uint32_t optimal_for[3];
  const spirkiln_constant* constants;
  uint32_t constant_count;
  const char* name; /* what messages call words; NULL: "kernel" */
} spirkiln_kernel_options;
#define SPIRKILN_KERNEL_OPTIONS_INIT \
  {sizeof(spirkiln_kernel_options), {0, 0, 0}, {0, 0, 0}, NULL, 0, NULL}

typedef struct spirkiln_axis {
  const char* axis;
  const char* value;
} spirkiln_axis;

typedef struct spirkiln_kernel_request {
  size_t struct_bytes; /* sizeof(spirkiln_kernel_request) */
  const char* kernel;
  const char* const* forms; /* acceptable ones, best first; none: all on buffers */
  uint32_t form_count;
  const spirkiln_axis* axes; /* that must have this value */
  uint32_t axis_count;
  const char* avoid; /* as in spirkiln_graph_options; NULL or "": $SPIRKILN_AVOID */
} spirkiln_kernel_request;
#define SPIRKILN_KERNEL_REQUEST_INIT {sizeof(spirkiln_kernel_request), NULL, NULL, 0, NULL, 0, NULL}

/* `options` may be NULL in both. Words are copied. */
SPIRKILN_API spirkiln_status spirkiln_kernel_from_table(spirkiln_device* device,
                                                        spirkiln_kernel_table* table,
                                                        const spirkiln_kernel_request* request,
                                                        const spirkiln_kernel_options* options,
                                                        spirkiln_kernel** kernel, char* error,
                                                        size_t error_bytes);
SPIRKILN_API spirkiln_status spirkiln_kernel_from_words(spirkiln_device* device,
                                                        const uint32_t* words, size_t word_count,
                                                        const spirkiln_kernel_options* options,
                                                        spirkiln_kernel** kernel, char* error,
                                                        size_t error_bytes);
SPIRKILN_API void spirkiln_kernel_close(spirkiln_kernel* kernel);

typedef struct spirkiln_kernel_info {
  char name[256]; /* of the variant */
  char form[32]; /* "fp16s"; "" for words */
  uint32_t local_size[3];
  uint32_t push_bytes;
  uint32_t binding_count;
  uint32_t constant_count;
} spirkiln_kernel_info;
SPIRKILN_API spirkiln_status spirkiln_kernel_get_info(const spirkiln_kernel* kernel,
                                                      spirkiln_kernel_info* info);

typedef struct spirkiln_binding_info {
  uint32_t set, binding;
  uint32_t kind; /* 0 storage buffer, 1 uniform buffer, 2 storage image, 3 sampled image */
  uint8_t reads, writes; /* 0 or 1 */
  uint64_t min_bytes; /* of a buffer */
  uint32_t dimensions; /* of an image */
  char name[128];
} spirkiln_binding_info;
SPIRKILN_API spirkiln_status spirkiln_kernel_get_binding(const spirkiln_kernel* kernel,
                                                         uint32_t index,
                                                         spirkiln_binding_info* info);

/* ---- Dispatches ------------------------------------------------------------------------------ */

/* One of `buffer` and `image`. `bytes` 0: all from `offset` on. */
typedef struct spirkiln_binding {
  uint32_t set, binding;
  spirkiln_buffer* buffer;
  uint64_t offset, bytes;
  spirkiln_image* image;
} spirkiln_binding;

typedef struct spirkiln_dispatch {
  size_t struct_bytes; /* sizeof(spirkiln_dispatch) */
  const spirkiln_binding* bindings;
  uint32_t binding_count;
  const void* push; /* copied */
  size_t push_bytes;
  uint32_t groups[3]; /* one of the two; the other is all 0 */
  uint32_t invocations[3];
} spirkiln_dispatch;
#define SPIRKILN_DISPATCH_INIT {sizeof(spirkiln_dispatch), NULL, 0, NULL, 0, {0, 0, 0}, {0, 0, 0}}

/* One dispatch, submitted and waited for. */
SPIRKILN_API spirkiln_status spirkiln_kernel_run(spirkiln_kernel* kernel,
                                                 const spirkiln_dispatch* dispatch, char* error,
                                                 size_t error_bytes);

SPIRKILN_API spirkiln_status spirkiln_sequence_create(spirkiln_device* device,
                                                      spirkiln_sequence** sequence, char* error,
                                                      size_t error_bytes);
SPIRKILN_API void spirkiln_sequence_close(spirkiln_sequence* sequence);
SPIRKILN_API spirkiln_status spirkiln_sequence_add(spirkiln_sequence* sequence,
                                                   spirkiln_kernel* kernel,
                                                   const spirkiln_dispatch* dispatch, char* error,
                                                   size_t error_bytes);
/* Submits all of it and waits. May be repeated. */
SPIRKILN_API spirkiln_status spirkiln_sequence_run(spirkiln_sequence* sequence, char* error,
                                                   size_t error_bytes);

#ifdef __cplusplus
}
#endif

#endif
