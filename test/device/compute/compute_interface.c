/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function of compute.h and vulkan.h from C, through the shared library:
 *   compute_interface WORDS TABLE
 * WORDS is words.comp in fp32, TABLE has the kernel affine. Wrong calls give a status and a text,
 * never a crash, and no out parameter is left as it was.
 */
#include <spirkiln/vulkan.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define EXPECT(condition)                                                                   \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      ++failures;                                                                           \
      fprintf(stderr, "compute_interface.c:%d: error: not so: %s\n", __LINE__, #condition); \
    }                                                                                       \
  } while (0)

static char error[1024];

#define EXPECT_OK(call)                                                 \
  do {                                                                  \
    strcpy(error, "stale");                                             \
    EXPECT((call) == SPIRKILN_OK);                                      \
    if (error[0] != '\0') fprintf(stderr, "%d: %s\n", __LINE__, error); \
  } while (0)

#define EXPECT_STATUS(status, call)                          \
  do {                                                       \
    strcpy(error, "stale");                                  \
    EXPECT((call) == (status));                              \
    EXPECT(error[0] != '\0' && strcmp(error, "stale") != 0); \
  } while (0)
#define EXPECT_REFUSED(call) EXPECT_STATUS(SPIRKILN_INVALID_ARGUMENT, call)

/* What an out parameter held before the call; never followed. */
#define JUNK(type) ((type*)(void*)&failures)

enum { kCount = 1000 };
struct push {
  float add;
  uint32_t count;
};

static uint32_t* read_words(const char* path, size_t* count) {
  FILE* file = fopen(path, "rb");
  uint32_t* words = malloc(1u << 20);
  if (file == NULL || words == NULL) exit(2);
  *count = fread(words, 4, (1u << 20) / 4, file);
  fclose(file);
  return words;
}

static void check_words(spirkiln_device* device, const uint32_t* words, size_t word_count) {
  static float values[kCount], results[kCount];
  spirkiln_kernel_options options = SPIRKILN_KERNEL_OPTIONS_INIT;
  spirkiln_constant scale = {"scale", 0, SPIRKILN_FLOAT, {0}};
  spirkiln_kernel* kernel = NULL;
  spirkiln_buffer *a = NULL, *b = NULL;
  spirkiln_sequence* sequence = NULL;
  spirkiln_kernel_info info;
  spirkiln_binding_info binding;
  spirkiln_binding bindings[2], back[2];
  spirkiln_dispatch dispatch = SPIRKILN_DISPATCH_INIT;
  struct push push = {3.0f, kCount};
  int i;
  for (i = 0; i < kCount; ++i) values[i] = (float)(i % 100);

  options.local_size[0] = 64;
  options.local_size[1] = options.local_size[2] = 1;
  scale.value.f = 2.0f;
  options.constants = &scale;
  options.constant_count = 1;
  options.name = "words";
  EXPECT_OK(spirkiln_kernel_from_words(device, words, word_count, &options, &kernel, error,
                                       sizeof error));
  EXPECT(spirkiln_kernel_get_info(kernel, &info) == SPIRKILN_OK);
  EXPECT(strcmp(info.name, "words") == 0 && info.form[0] == '\0');
  EXPECT(info.local_size[0] == 64 && info.local_size[1] == 1 && info.push_bytes == 8);
  EXPECT(info.binding_count == 2 && info.constant_count == 1);
  EXPECT(spirkiln_kernel_get_binding(kernel, 1, &binding) == SPIRKILN_OK);
  EXPECT(binding.binding == 1 && binding.kind == 0 && !binding.reads && binding.writes);
  EXPECT(spirkiln_kernel_get_binding(kernel, 2, &binding) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(binding.binding == 0 && binding.writes == 0);

  EXPECT_OK(spirkiln_buffer_create(device, sizeof values, SPIRKILN_MEMORY_DEVICE, &a, error,
                                   sizeof error));
  EXPECT_OK(spirkiln_buffer_create(device, sizeof values, SPIRKILN_MEMORY_DOWNLOAD, &b, error,
                                   sizeof error));
  EXPECT(spirkiln_buffer_bytes(a) == sizeof values);
  EXPECT_OK(spirkiln_buffer_write(a, 0, values, sizeof values, error, sizeof error));
  memset(bindings, 0, sizeof bindings);
  bindings[0].buffer = a;
  bindings[1].binding = 1;
  bindings[1].buffer = b;
  dispatch.bindings = bindings;
  dispatch.binding_count = 2;
  dispatch.push = &push;
  dispatch.push_bytes = sizeof push;
  dispatch.invocations[0] = kCount;
  dispatch.invocations[1] = dispatch.invocations[2] = 1;
  EXPECT_OK(spirkiln_kernel_run(kernel, &dispatch, error, sizeof error));
  EXPECT_OK(spirkiln_buffer_read(b, 0, results, sizeof results, error, sizeof error));
  for (i = 0; i < kCount; ++i) {
    if (results[i] != values[i] * 2.0f + 3.0f) break;
  }
  EXPECT(i == kCount);

  /* There and back in one sequence. */
  memcpy(back, bindings, sizeof back);
  back[0].buffer = b;
  back[1].buffer = a;
  EXPECT_OK(spirkiln_sequence_create(device, &sequence, error, sizeof error));
  EXPECT_OK(spirkiln_sequence_add(sequence, kernel, &dispatch, error, sizeof error));
  dispatch.bindings = back;
  EXPECT_OK(spirkiln_sequence_add(sequence, kernel, &dispatch, error, sizeof error));
  EXPECT_OK(spirkiln_sequence_run(sequence, error, sizeof error));
  EXPECT_OK(spirkiln_buffer_read(a, 0, results, sizeof results, error, sizeof error));
  for (i = 0; i < kCount; ++i) {
    if (results[i] != (values[i] * 2.0f + 3.0f) * 2.0f + 3.0f) break;
  }
  EXPECT(i == kCount);

  /* Wrong dispatches. */
  EXPECT_REFUSED(spirkiln_sequence_add(sequence, kernel, &dispatch, error, sizeof error));
  EXPECT_REFUSED(spirkiln_kernel_run(kernel, NULL, error, sizeof error));
  EXPECT_REFUSED(spirkiln_kernel_run(NULL, &dispatch, error, sizeof error));
  EXPECT_REFUSED(spirkiln_kernel_run((void*)a, &dispatch, error, sizeof error));
  dispatch.struct_bytes = 4;
  EXPECT_REFUSED(spirkiln_kernel_run(kernel, &dispatch, error, sizeof error));
  dispatch.struct_bytes = sizeof dispatch;
  dispatch.push_bytes = 4;
  EXPECT_REFUSED(spirkiln_kernel_run(kernel, &dispatch, error, sizeof error));
  dispatch.push = NULL;
  EXPECT_REFUSED(spirkiln_kernel_run(kernel, &dispatch, error, sizeof error));
  dispatch.push = &push;
  dispatch.push_bytes = sizeof push;
  dispatch.binding_count = 1;
  EXPECT_REFUSED(spirkiln_kernel_run(kernel, &dispatch, error, sizeof error));
  EXPECT(strstr(error, "binding 1") != NULL);
  dispatch.binding_count = 2;
  back[1].buffer = NULL;
  EXPECT_REFUSED(spirkiln_kernel_run(kernel, &dispatch, error, sizeof error));
  back[1].buffer = (void*)kernel;
  EXPECT_REFUSED(spirkiln_kernel_run(kernel, &dispatch, error, sizeof error));
  back[1].buffer = a;
  back[1].image = (void*)kernel;
  EXPECT_REFUSED(spirkiln_kernel_run(kernel, &dispatch, error, sizeof error));
  back[1].image = NULL;
  back[1].offset = sizeof values;
  EXPECT_REFUSED(spirkiln_kernel_run(kernel, &dispatch, error, sizeof error));
  dispatch.bindings = NULL;
  EXPECT_REFUSED(spirkiln_kernel_run(kernel, &dispatch, error, sizeof error));

  /* Wrong kernels. */
  spirkiln_kernel_close(kernel);
  kernel = JUNK(spirkiln_kernel);
  scale.name = "scal";
  EXPECT_REFUSED(spirkiln_kernel_from_words(device, words, word_count, &options, &kernel, error,
                                            sizeof error));
  EXPECT(kernel == NULL && strstr(error, "scale") != NULL);
  scale.name = NULL;
  scale.type = (spirkiln_constant_type)9;
  EXPECT_REFUSED(spirkiln_kernel_from_words(device, words, word_count, &options, &kernel, error,
                                            sizeof error));
  options.constants = NULL;
  EXPECT_REFUSED(spirkiln_kernel_from_words(device, words, word_count, &options, &kernel, error,
                                            sizeof error));
  options.constant_count = 0;
  options.struct_bytes = 1;
  EXPECT_REFUSED(spirkiln_kernel_from_words(device, words, word_count, &options, &kernel, error,
                                            sizeof error));
  options.struct_bytes = sizeof options;
  options.local_size[0] = 0x7fffffff;
  EXPECT_STATUS(SPIRKILN_UNSUPPORTED,
                spirkiln_kernel_from_words(device, words, word_count, &options, &kernel, error,
                                           sizeof error));
  EXPECT_STATUS(SPIRKILN_CORRUPT,
                spirkiln_kernel_from_words(device, words, 3, NULL, &kernel, error, sizeof error));
  EXPECT_REFUSED(spirkiln_kernel_from_words(device, NULL, 3, NULL, &kernel, error, sizeof error));
  EXPECT_REFUSED(
      spirkiln_kernel_from_words(NULL, words, word_count, NULL, &kernel, error, sizeof error));
  EXPECT_REFUSED(
      spirkiln_kernel_from_words((void*)a, words, word_count, NULL, &kernel, error, sizeof error));
  EXPECT_REFUSED(
      spirkiln_kernel_from_words(device, words, word_count, NULL, NULL, error, sizeof error));
  EXPECT(spirkiln_kernel_get_info(NULL, &info) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(info.name[0] == '\0' && info.push_bytes == 0);
  /* Closing as another kind does nothing. */
  spirkiln_kernel_close((void*)a);
  EXPECT(spirkiln_buffer_bytes(a) == sizeof values);
  spirkiln_buffer_close(a);
  spirkiln_buffer_close(b);
  spirkiln_sequence_close(sequence);
}

static void check_table(spirkiln_device* device, spirkiln_kernel_table* table) {
  enum { kSide = 8, kLanes = kSide * kSide * 4 };
  static float texels[kLanes], results[kLanes];
  const char* forms[] = {"image"};
  const spirkiln_axis axis = {"TILE", "4"};
  spirkiln_buffer* a_buffer = NULL;
  const uint32_t size[2] = {kSide, kSide};
  spirkiln_kernel_request request = SPIRKILN_KERNEL_REQUEST_INIT;
  spirkiln_kernel_options options = SPIRKILN_KERNEL_OPTIONS_INIT;
  spirkiln_constant add = {NULL, 1, SPIRKILN_UINT, {0}};
  spirkiln_image_shape shape = {2, {kSide, kSide, 1}, SPIRKILN_RGBA32F};
  spirkiln_image *a = NULL, *b = NULL;
  spirkiln_kernel* kernel = NULL;
  spirkiln_kernel_info info;
  spirkiln_binding bindings[2];
  spirkiln_dispatch dispatch = SPIRKILN_DISPATCH_INIT;
  int i;
  for (i = 0; i < kLanes; ++i) texels[i] = (float)i;
  request.kernel = "affine";
  request.forms = forms;
  request.form_count = 1;
  add.value.u = 5;
  options.constants = &add;
  options.constant_count = 1;
  options.optimal_for[0] = options.optimal_for[1] = kSide;
  options.optimal_for[2] = 1;
  EXPECT_OK(
      spirkiln_kernel_from_table(device, table, &request, &options, &kernel, error, sizeof error));
  EXPECT(spirkiln_kernel_get_info(kernel, &info) == SPIRKILN_OK);
  EXPECT(strcmp(info.form, "image") == 0 && strcmp(info.name, "affine_image") == 0);
  EXPECT(info.local_size[0] == 8 && info.local_size[1] == 8);
  EXPECT_OK(spirkiln_image_create(device, &shape, &a, error, sizeof error));
  EXPECT_OK(spirkiln_image_create(device, &shape, &b, error, sizeof error));
  EXPECT(spirkiln_image_bytes(a) == sizeof texels);
  EXPECT_OK(spirkiln_image_write(a, texels, sizeof texels, error, sizeof error));
  EXPECT_REFUSED(spirkiln_image_write(a, texels, 4, error, sizeof error));
  memset(bindings, 0, sizeof bindings);
  bindings[0].image = a;
  bindings[1].binding = 1;
  bindings[1].image = b;
  dispatch.bindings = bindings;
  dispatch.binding_count = 2;
  dispatch.push = size;
  dispatch.push_bytes = sizeof size;
  dispatch.groups[0] = dispatch.groups[1] = dispatch.groups[2] = 1;
  EXPECT_OK(spirkiln_kernel_run(kernel, &dispatch, error, sizeof error));
  EXPECT_OK(spirkiln_image_read(b, results, sizeof results, error, sizeof error));
  for (i = 0; i < kLanes; ++i) {
    if (results[i] != texels[i] + 5.0f) break;
  }
  EXPECT(i == kLanes);
  spirkiln_kernel_close(kernel);

  kernel = JUNK(spirkiln_kernel);
  request.axes = &axis;
  request.axis_count = 1;
  EXPECT_STATUS(SPIRKILN_NO_VARIANT, spirkiln_kernel_from_table(device, table, &request, NULL,
                                                                &kernel, error, sizeof error));
  EXPECT(kernel == NULL && strstr(error, "affine_image") != NULL);

  /* What an older header's request lacks is not read, and messages name what is missing. */
  request.axis_count = 0;
  request.avoid = "affine_image";
  EXPECT_STATUS(SPIRKILN_NO_VARIANT, spirkiln_kernel_from_table(device, table, &request, NULL,
                                                                &kernel, error, sizeof error));
  EXPECT(strstr(error, "the user avoids affine_image") != NULL);
  request.struct_bytes = offsetof(spirkiln_kernel_request, avoid);
  EXPECT_OK(
      spirkiln_kernel_from_table(device, table, &request, NULL, &kernel, error, sizeof error));
  spirkiln_kernel_close(kernel);
  request.struct_bytes = sizeof request;
  request.axis_count = 1;
  EXPECT_REFUSED(
      spirkiln_kernel_from_table(device, NULL, &request, NULL, &kernel, error, sizeof error));
  EXPECT(strcmp(error, "spirkiln_kernel_from_table: table is NULL") == 0);
  EXPECT_REFUSED(
      spirkiln_kernel_from_table(device, table, NULL, NULL, &kernel, error, sizeof error));
  EXPECT(strcmp(error, "spirkiln_kernel_from_table: request is NULL") == 0);
  EXPECT_REFUSED(spirkiln_buffer_create(JUNK(spirkiln_device), 4, SPIRKILN_MEMORY_DEVICE, &a_buffer,
                                        error, sizeof error));
  EXPECT(strcmp(error, "spirkiln_buffer_create: device is closed or of another kind") == 0);
  request.kernel = NULL;
  EXPECT_REFUSED(
      spirkiln_kernel_from_table(device, table, &request, NULL, &kernel, error, sizeof error));
  EXPECT_REFUSED(
      spirkiln_kernel_from_table(device, table, NULL, NULL, &kernel, error, sizeof error));
  EXPECT_REFUSED(
      spirkiln_kernel_from_table(device, (void*)a, &request, NULL, &kernel, error, sizeof error));
  shape.dimensions = 5;
  EXPECT_REFUSED(spirkiln_image_create(device, &shape, &b, error, sizeof error));
  EXPECT(b == NULL);
  EXPECT_REFUSED(spirkiln_image_create(device, NULL, &b, error, sizeof error));
  EXPECT_REFUSED(spirkiln_image_read(NULL, results, sizeof results, error, sizeof error));
  spirkiln_image_close(a);
}

/* What needs no device. */
static void check_nothing(void) {
  spirkiln_external_device external;
  spirkiln_kernel_table* table = JUNK(spirkiln_kernel_table);
  spirkiln_device* device = JUNK(spirkiln_device);
  spirkiln_buffer* buffer = JUNK(spirkiln_buffer);
  spirkiln_image* image = JUNK(spirkiln_image);
  spirkiln_sequence* sequence = JUNK(spirkiln_sequence);
  const spirkiln_image_shape shape = {2, {4, 4, 1}, SPIRKILN_RGBA32F};
  char byte = 0;
  EXPECT_STATUS(SPIRKILN_IO,
                spirkiln_kernel_table_open("/nonexistent/t", &table, error, sizeof error));
  EXPECT(table == NULL);
  EXPECT_REFUSED(spirkiln_kernel_table_open(NULL, &table, error, sizeof error));
  EXPECT_REFUSED(spirkiln_kernel_table_from_memory(NULL, 4, NULL, &table, error, sizeof error));
  EXPECT_STATUS(SPIRKILN_CORRUPT,
                spirkiln_kernel_table_from_memory(&byte, 1, "x", &table, error, sizeof error));
  EXPECT_REFUSED(spirkiln_compute_device_open(NULL, NULL, 2, &device, error, sizeof error));
  EXPECT(device == NULL);
  EXPECT_REFUSED(spirkiln_compute_device_open(NULL, &table, 1, &device, error, sizeof error));
  EXPECT_REFUSED(spirkiln_compute_device_open(NULL, NULL, 0, NULL, error, sizeof error));
  EXPECT_REFUSED(
      spirkiln_buffer_create(NULL, 4, SPIRKILN_MEMORY_DEVICE, &buffer, error, sizeof error));
  EXPECT(buffer == NULL && spirkiln_buffer_bytes(NULL) == 0 && spirkiln_image_bytes(NULL) == 0);
  EXPECT_REFUSED(spirkiln_buffer_write(NULL, 0, &byte, 1, error, sizeof error));
  EXPECT_REFUSED(spirkiln_buffer_read(NULL, 0, &byte, 1, error, sizeof error));
  EXPECT_REFUSED(spirkiln_sequence_create(NULL, &sequence, error, sizeof error));
  EXPECT(sequence == NULL);
  EXPECT_REFUSED(spirkiln_sequence_add(NULL, NULL, NULL, error, sizeof error));
  EXPECT_REFUSED(spirkiln_sequence_run(NULL, error, sizeof error));
  EXPECT_REFUSED(spirkiln_sequence_record(NULL, NULL, error, sizeof error));
  EXPECT_REFUSED(spirkiln_buffer_wrap(NULL, (VkBuffer)0, 4, &buffer, error, sizeof error));
  EXPECT_REFUSED(
      spirkiln_image_wrap(NULL, (VkImage)0, (VkImageView)0, &shape, &image, error, sizeof error));
  EXPECT(image == NULL);
  memset(&external, 0, sizeof external);
  device = JUNK(spirkiln_device);
  EXPECT_REFUSED(spirkiln_device_from_vulkan(&external, &device, error, sizeof error));
  EXPECT(device == NULL && strstr(error, "struct_bytes") != NULL);
  external.struct_bytes = sizeof external;
  EXPECT_REFUSED(spirkiln_device_from_vulkan(&external, &device, error, sizeof error));
  EXPECT(strstr(error, "get_instance_proc_addr") != NULL);
  EXPECT_REFUSED(spirkiln_device_from_vulkan(NULL, &device, error, sizeof error));
  spirkiln_kernel_table_close(NULL);
  spirkiln_kernel_close(NULL);
  spirkiln_buffer_close(NULL);
  spirkiln_image_close(NULL);
  spirkiln_sequence_close(NULL);
}

int main(int argc, char** argv) {
  spirkiln_device_options options = SPIRKILN_DEVICE_OPTIONS_INIT;
  spirkiln_kernel_table* table = NULL;
  spirkiln_device* device = NULL;
  size_t word_count = 0;
  uint32_t* words;
  if (argc != 3) return 2;
  words = read_words(argv[1], &word_count);
  check_nothing();
  EXPECT_OK(spirkiln_kernel_table_open(argv[2], &table, error, sizeof error));
  options.validation = getenv("SPIRKILN_TEST_NO_VALIDATION") == NULL;
  if (spirkiln_compute_device_open(&options, &table, 1, &device, error, sizeof error) !=
      SPIRKILN_OK) {
    fprintf(stderr, "skipped: %s\n", error);
    return 77; /* what Meson counts as skipped */
  }
  check_words(device, words, word_count);
  check_table(device, table);
  EXPECT(spirkiln_device_validation_messages(device) == 0);
  spirkiln_kernel_table_close(table);
  spirkiln_device_close(device);
  free(words);
  return failures == 0 ? 0 : 1;
}
