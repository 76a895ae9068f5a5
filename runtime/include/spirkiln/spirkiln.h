/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C interface of libspirkiln: a device, a packed model, and a graph that runs one on the other.
 *
 * Handles are opaque; one of another kind, or a closed one whose address no new one has, is refused
 * like NULL. Each has a _close function that takes NULL, and may be closed in any order: a graph
 * keeps its device and model alive. Functions may be called from any thread; runs of one graph are
 * serialised inside.
 *
 * Errors. A function that can fail gives a spirkiln_status and writes English text (what failed,
 * what was expected, what to do) into `error`, cut to `error_bytes` and always ended by a NUL byte.
 * `error` may be NULL with `error_bytes` 0; it is "" where nothing failed. Where a function fails,
 * its out parameters are NULL or zero. A graph stays usable after an error.
 *
 *   char error[512];
 *   spirkiln_device *device;
 *   if (spirkiln_device_open(NULL, &device, error, sizeof error) != SPIRKILN_OK) {
 *     fprintf(stderr, "%s\n", error);
 *   }
 */
#ifndef SPIRKILN_H
#define SPIRKILN_H

#include <stddef.h>
#include <stdint.h>

#include "spirkiln/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum spirkiln_status {
  SPIRKILN_OK = 0,
  SPIRKILN_INVALID_ARGUMENT = 1, /* the caller passed something that can never work */
  SPIRKILN_IO = 2,               /* a file could not be read or written */
  SPIRKILN_CORRUPT = 3,          /* a table, model or cache file fails its own checks */
  SPIRKILN_UNSUPPORTED = 4,      /* well-formed, but this build or device cannot do it */
  SPIRKILN_NO_VULKAN = 5,        /* no loader or no device */
  SPIRKILN_NO_VARIANT = 6,       /* no blob of a kernel may run on the device */
  SPIRKILN_OUT_OF_MEMORY = 7,    /* host or device memory */
  SPIRKILN_VULKAN = 8,           /* a Vulkan call failed; the text names call and code */
  SPIRKILN_NOT_FINITE = 9        /* NaN or infinity where none may be */
} spirkiln_status;

typedef struct spirkiln_device spirkiln_device;
typedef struct spirkiln_model spirkiln_model;
typedef struct spirkiln_graph spirkiln_graph;
typedef struct spirkiln_outputs spirkiln_outputs;

/* Of this header. Within one major version (the number in the library's file name) functions and
 * the structs that the library fills stay as they are; structs that it reads begin with
 * struct_bytes and may get further fields, which a caller of an older header does not have. */
#define SPIRKILN_VERSION_MAJOR 0
#define SPIRKILN_VERSION_MINOR 1
#define SPIRKILN_VERSION_PATCH 0
#define SPIRKILN_VERSION_NUMBER \
  (SPIRKILN_VERSION_MAJOR * 10000 + SPIRKILN_VERSION_MINOR * 100 + SPIRKILN_VERSION_PATCH)

/* Of the library: "0.1.0", static storage; and as SPIRKILN_VERSION_NUMBER. */
SPIRKILN_API const char* spirkiln_version(void);
SPIRKILN_API uint32_t spirkiln_version_number(void);
/* "out of memory" and so on; "unknown status" for other numbers. Static storage. */
SPIRKILN_API const char* spirkiln_status_name(spirkiln_status status);

/* severity: 0 info, 1 warning, 2 error. `text` lives until the function returns. Called on the
 * thread that called the library, when that call is about to return and nothing is locked: it may
 * call the library, on any handle, or wait for a thread that does. Validation layers alone may
 * speak from threads of their own; from there it must not call Vulkan, or the library. */
typedef void (*spirkiln_message_fn)(int severity, const char* text, void* user);

/* ---- Devices --------------------------------------------------------------------------------- */

typedef struct spirkiln_device_info {
  uint32_t index; /* what spirkiln_device_options takes */
  char name[256];
  char driver[512]; /* name and version */
  char type[16]; /* "discrete", "integrated", "virtual", "cpu", "other" */
  uint32_t api_version; /* as VK_MAKE_API_VERSION */
  uint32_t vendor_id;
  uint32_t device_id;
  uint32_t subgroup_size; /* 0: unknown */
  uint64_t device_local_bytes;
  uint8_t storage16, float16, uniform_storage16, int16, int64; /* 0 or 1 */
  char backend[16]; /* "vulkan" or "cpu" */
} spirkiln_device_info;

/* All Vulkan devices of all drivers. Writes at most `capacity` entries; `count` gets how many there
 * are. `infos` may be NULL with capacity 0. */
SPIRKILN_API spirkiln_status spirkiln_list_devices(spirkiln_device_info* infos, uint32_t capacity,
                                                   uint32_t* count, char* error,
                                                   size_t error_bytes);

typedef struct spirkiln_device_options {
  size_t struct_bytes; /* sizeof(spirkiln_device_options) */
  int32_t index; /* -1: by name, else by $SPIRKILN_DEVICE, else the best */
  const char* name; /* part of a device's name; NULL or "": any */
  int validation; /* not 0: with VK_LAYER_KHRONOS_validation; also $SPIRKILN_VALIDATION=1 */
  spirkiln_message_fn message; /* may be NULL */
  void* message_user;
  /* "auto", "vulkan" or "cpu"; NULL or "": $SPIRKILN_BACKEND, else "auto", which is explained at
   * DeviceOptions::backend in spirkiln.hpp. */
  const char* backend;
  int no_cache; /* not 0: read and write no cache files; also $SPIRKILN_NO_CACHE=1 */
} spirkiln_device_options;
#define SPIRKILN_DEVICE_OPTIONS_INIT \
  {sizeof(spirkiln_device_options), -1, NULL, 0, NULL, NULL, NULL, 0}

/* `options` may be NULL. */
SPIRKILN_API spirkiln_status spirkiln_device_open(const spirkiln_device_options* options,
                                                  spirkiln_device** device, char* error,
                                                  size_t error_bytes);
SPIRKILN_API void spirkiln_device_close(spirkiln_device* device);
SPIRKILN_API spirkiln_status spirkiln_device_get_info(const spirkiln_device* device,
                                                      spirkiln_device_info* info);
/* Validation messages of warning or error severity so far; 0 without validation. */
SPIRKILN_API uint64_t spirkiln_device_validation_messages(const spirkiln_device* device);

/* ---- Models ---------------------------------------------------------------------------------- */

/* A pack that "spirkiln model" made. */
SPIRKILN_API spirkiln_status spirkiln_model_open(const char* path, spirkiln_model** model,
                                                 char* error, size_t error_bytes);
/* Copies `bytes`. `name` is what messages call the model; NULL: "model". */
SPIRKILN_API spirkiln_status spirkiln_model_from_memory(const void* bytes, size_t size,
                                                        const char* name, spirkiln_model** model,
                                                        char* error, size_t error_bytes);
SPIRKILN_API void spirkiln_model_close(spirkiln_model* model);

/* ---- Graphs ---------------------------------------------------------------------------------- */

typedef struct spirkiln_graph_options {
  size_t struct_bytes; /* sizeof(spirkiln_graph_options) */
  /* "fp32", "fp16p", "fp16pa", "fp16s", "fp16sa", or the same as "image", "image_fp16p" and so on
     with tensors in images: only this form of each kernel. NULL or "":
   * $SPIRKILN_VARIANT, else the best that the device may run. */
  const char* variant;
  uint32_t max_plans; /* shapes kept ready, least recently used go first; 0: 32 */
  uint32_t threads; /* of the CPU backend; 0: $SPIRKILN_THREADS, else all cores */
  /* For bisecting, as GraphOptions in spirkiln.hpp explains; NULL or "": the environment's. */
  const char* axes; /* "DIRECT=1,..."; $SPIRKILN_AXES */
  const char* kernels; /* "gemm_nc=fp16p,..."; $SPIRKILN_KERNELS */
  const char* avoid; /* "gemm_coopmat,..."; $SPIRKILN_AVOID */
  int no_proof; /* not 0: use kernels without trying their known answers; $SPIRKILN_NO_PROOF=1 */
  int unused; /* never read: where an older header may have padding, which may hold anything */
  /* Not 0: of each pixel of the outputs only the best channel (of equal ones the first) and its
   * value, n x h x w x 2. */
  int best_class;
  /* Not 0: outputs leave the device as bytes, 255 times each value cut to 0 ... 1, rounded:
   * spirkiln_graph_run_bytes gives them, spirkiln_graph_run 1/255 of each. Not with best_class. */
  int bytes;
} spirkiln_graph_options;
#define SPIRKILN_GRAPH_OPTIONS_INIT \
  {sizeof(spirkiln_graph_options), NULL, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0}

/* `options` may be NULL. */
SPIRKILN_API spirkiln_status spirkiln_graph_create(spirkiln_device* device, spirkiln_model* model,
                                                   const spirkiln_graph_options* options,
                                                   spirkiln_graph** graph, char* error,
                                                   size_t error_bytes);
SPIRKILN_API void spirkiln_graph_close(spirkiln_graph* graph);
/* Makes all that a run of this shape needs (pipelines first of all) without running it. */
SPIRKILN_API spirkiln_status spirkiln_graph_prepare(spirkiln_graph* graph, uint32_t n, uint32_t h,
                                                    uint32_t w, char* error, size_t error_bytes);
/* Bytes of device memory held now: weights and plans. */
SPIRKILN_API uint64_t spirkiln_graph_device_bytes(const spirkiln_graph* graph);

typedef struct spirkiln_timings {
  double plan_ms; /* 0 when the shape was ready */
  double upload_ms, gpu_ms, download_ms;
  uint32_t dispatches;
} spirkiln_timings;

/* Runs n pictures of h x w pixels, four bytes each: B, G, R, validity (0: the pixel counts as
 * padding). Rows are tight, so `size` is n * h * w * 4. `timings` may be NULL. Close the outputs
 * with spirkiln_outputs_close. */
SPIRKILN_API spirkiln_status spirkiln_graph_run(spirkiln_graph* graph, uint32_t n, uint32_t h,
                                                uint32_t w, const uint8_t* pixels, size_t size,
                                                spirkiln_outputs** outputs,
                                                spirkiln_timings* timings, char* error,
                                                size_t error_bytes);

/* The same as bytes, of a graph that was made with spirkiln_graph_options.bytes;
 * SPIRKILN_INVALID_ARGUMENT of another one. spirkiln_outputs_get_bytes gives them. */
SPIRKILN_API spirkiln_status spirkiln_graph_run_bytes(spirkiln_graph* graph, uint32_t n, uint32_t h,
                                                      uint32_t w, const uint8_t* pixels,
                                                      size_t size, spirkiln_outputs** outputs,
                                                      spirkiln_timings* timings, char* error,
                                                      size_t error_bytes);

/* ---- Outputs --------------------------------------------------------------------------------- */

/* Tight floats, n x h x w x c, channels innermost. `values` belongs to the outputs. */
typedef struct spirkiln_tensor {
  uint32_t n, h, w, c;
  const float* values;
  size_t count; /* n * h * w * c */
} spirkiln_tensor;

SPIRKILN_API uint32_t spirkiln_outputs_count(const spirkiln_outputs* outputs);
/* In the model's order. SPIRKILN_INVALID_ARGUMENT when there is no such output, or bytes only. */
SPIRKILN_API spirkiln_status spirkiln_outputs_get(const spirkiln_outputs* outputs, uint32_t index,
                                                  spirkiln_tensor* tensor);

/* As spirkiln_tensor. */
typedef struct spirkiln_tensor_u8 {
  uint32_t n, h, w, c;
  const uint8_t* values;
  size_t count; /* n * h * w * c */
} spirkiln_tensor_u8;

/* Of spirkiln_graph_run_bytes. SPIRKILN_INVALID_ARGUMENT when there is no such output, or floats
 * only. */
SPIRKILN_API spirkiln_status spirkiln_outputs_get_bytes(const spirkiln_outputs* outputs,
                                                        uint32_t index, spirkiln_tensor_u8* tensor);
SPIRKILN_API void spirkiln_outputs_close(spirkiln_outputs* outputs);

#ifdef __cplusplus
}
#endif

#endif
