/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function of spirkiln.h from C, with NULL, short buffers and wrong numbers: a status and a
 * text, never a crash, and no out parameter left as it was. With a pack as argument also those
 * calls that need a device and a graph; "default" pictures for it are 1 x 48 x 192.
 */
#include <spirkiln/spirkiln.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static int failures;

#define EXPECT(condition)                                                             \
  do {                                                                                \
    if (!(condition)) {                                                               \
      ++failures;                                                                     \
      fprintf(stderr, "c_interface.c:%d: error: not so: %s\n", __LINE__, #condition); \
    }                                                                                 \
  } while (0)

static char error[512];

/* Whether `call` gave INVALID_ARGUMENT and said why. */
#define EXPECT_REFUSED(call)                                 \
  do {                                                       \
    strcpy(error, "stale");                                  \
    EXPECT((call) == SPIRKILN_INVALID_ARGUMENT);             \
    EXPECT(error[0] != '\0' && strcmp(error, "stale") != 0); \
  } while (0)

static int is_zero(const void* bytes, size_t size) {
  const unsigned char* p = bytes;
  size_t i;
  for (i = 0; i < size; ++i) {
    if (p[i] != 0) return 0;
  }
  return 1;
}

/* What an out parameter held before the call; never followed. */
#define JUNK(type) ((type*)(void*)&failures)

static void check_names(void) {
  int i;
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", SPIRKILN_VERSION_MAJOR, SPIRKILN_VERSION_MINOR,
           SPIRKILN_VERSION_PATCH);
  EXPECT(strcmp(spirkiln_version(), version) == 0);
  EXPECT(spirkiln_version_number() == SPIRKILN_VERSION_NUMBER);
  EXPECT(strcmp(spirkiln_status_name(SPIRKILN_OK), "ok") == 0);
  for (i = 0; i <= SPIRKILN_NOT_FINITE; ++i) {
    EXPECT(strcmp(spirkiln_status_name((spirkiln_status)i), "unknown status") != 0);
  }
  EXPECT(strcmp(spirkiln_status_name((spirkiln_status)(SPIRKILN_NOT_FINITE + 1)),
                "unknown status") == 0);
  EXPECT(strcmp(spirkiln_status_name((spirkiln_status)-1), "unknown status") == 0);
}

static void check_devices(void) {
  spirkiln_device_info infos[2];
  spirkiln_device_options options = SPIRKILN_DEVICE_OPTIONS_INIT;
  spirkiln_device* device = JUNK(spirkiln_device);
  uint32_t count = 77;
  EXPECT_REFUSED(spirkiln_list_devices(NULL, 5, &count, error, sizeof error));
  EXPECT(count == 0);
  memset(infos, 0x5a, sizeof infos);
  EXPECT_REFUSED(spirkiln_list_devices(infos, 2, NULL, error, sizeof error));
  EXPECT(is_zero(infos, sizeof infos));
  EXPECT_REFUSED(spirkiln_list_devices(NULL, 0, NULL, error, sizeof error));

  EXPECT_REFUSED(spirkiln_device_open(NULL, NULL, error, sizeof error));
  options.struct_bytes = 3;
  EXPECT_REFUSED(spirkiln_device_open(&options, &device, error, sizeof error));
  EXPECT(device == NULL && strstr(error, "struct_bytes") != NULL);
  options.struct_bytes = sizeof options + sizeof(void*); /* of a header that is newer */
  device = JUNK(spirkiln_device);
  EXPECT_REFUSED(spirkiln_device_open(&options, &device, error, sizeof error));
  EXPECT(device == NULL);
  /* Of one that knows no backends: what lies behind its end is not read. */
  options.struct_bytes = offsetof(spirkiln_device_options, backend);
  options.backend = "no backend has this name";
  options.name = "no device has this name";
  device = JUNK(spirkiln_device);
  EXPECT(spirkiln_device_open(&options, &device, error, sizeof error) != SPIRKILN_OK);
  EXPECT(device == NULL && strstr(error, "no backend") == NULL);
  options.struct_bytes = sizeof options;
  device = JUNK(spirkiln_device);
  EXPECT_REFUSED(spirkiln_device_open(&options, &device, error, sizeof error));
  EXPECT(device == NULL && strstr(error, "no backend") != NULL);
  options.backend = NULL;
  device = JUNK(spirkiln_device);
  EXPECT(spirkiln_device_open(&options, &device, error, sizeof error) != SPIRKILN_OK);
  EXPECT(device == NULL && error[0] != '\0');

  memset(infos, 0x5a, sizeof infos);
  EXPECT(spirkiln_device_get_info(NULL, infos) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(is_zero(infos, sizeof infos[0]));
  EXPECT(spirkiln_device_get_info(NULL, NULL) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(spirkiln_device_validation_messages(NULL) == 0);
  spirkiln_device_close(NULL);
}

static void check_models(void) {
  static const unsigned char noise[100] = {1, 2, 3};
  spirkiln_model* model = JUNK(spirkiln_model);
  EXPECT_REFUSED(spirkiln_model_open(NULL, &model, error, sizeof error));
  EXPECT(model == NULL);
  EXPECT_REFUSED(spirkiln_model_open("x", NULL, error, sizeof error));
  model = JUNK(spirkiln_model);
  EXPECT(spirkiln_model_open("/nonexistent/x", &model, error, sizeof error) == SPIRKILN_IO);
  EXPECT(model == NULL && strstr(error, "/nonexistent/x") != NULL);
  model = JUNK(spirkiln_model);
  EXPECT(spirkiln_model_open("", &model, error, sizeof error) == SPIRKILN_IO);
  EXPECT(model == NULL);

  model = JUNK(spirkiln_model);
  EXPECT_REFUSED(spirkiln_model_from_memory(NULL, 5, "x", &model, error, sizeof error));
  EXPECT(model == NULL);
  EXPECT_REFUSED(spirkiln_model_from_memory(noise, 5, "x", NULL, error, sizeof error));
  model = JUNK(spirkiln_model);
  EXPECT(spirkiln_model_from_memory(NULL, 0, NULL, &model, error, sizeof error) ==
         SPIRKILN_CORRUPT);
  EXPECT(model == NULL);
  model = JUNK(spirkiln_model);
  EXPECT(spirkiln_model_from_memory(noise, sizeof noise, "noise", &model, error, sizeof error) ==
         SPIRKILN_CORRUPT);
  EXPECT(model == NULL && strstr(error, "noise") != NULL);
  spirkiln_model_close(NULL);
}

static void check_graphs(void) {
  spirkiln_graph_options options = SPIRKILN_GRAPH_OPTIONS_INIT;
  spirkiln_graph* graph = JUNK(spirkiln_graph);
  spirkiln_outputs* outputs = JUNK(spirkiln_outputs);
  spirkiln_timings timings;
  spirkiln_tensor tensor;
  spirkiln_tensor_u8 bytes;
  const uint8_t pixels[4] = {0};
  EXPECT_REFUSED(spirkiln_graph_create(NULL, NULL, NULL, &graph, error, sizeof error));
  EXPECT(graph == NULL);
  EXPECT_REFUSED(spirkiln_graph_create(NULL, NULL, &options, NULL, error, sizeof error));
  EXPECT_REFUSED(spirkiln_graph_prepare(NULL, 1, 1, 1, error, sizeof error));
  EXPECT(spirkiln_graph_device_bytes(NULL) == 0);

  memset(&timings, 0x5a, sizeof timings);
  EXPECT_REFUSED(spirkiln_graph_run(NULL, 1, 1, 1, pixels, sizeof pixels, &outputs, &timings, error,
                                    sizeof error));
  EXPECT(outputs == NULL && timings.plan_ms == 0 && timings.gpu_ms == 0 && timings.dispatches == 0);
  memset(&timings, 0x5a, sizeof timings);
  EXPECT_REFUSED(spirkiln_graph_run(NULL, 1, 1, 1, pixels, sizeof pixels, NULL, &timings, error,
                                    sizeof error));
  EXPECT(timings.download_ms == 0 && timings.dispatches == 0);
  outputs = JUNK(spirkiln_outputs);
  EXPECT_REFUSED(spirkiln_graph_run(NULL, 1, 1, 1, NULL, 4, &outputs, NULL, error, sizeof error));
  EXPECT(outputs == NULL);
  memset(&timings, 0x5a, sizeof timings);
  outputs = JUNK(spirkiln_outputs);
  EXPECT_REFUSED(spirkiln_graph_run_bytes(NULL, 1, 1, 1, pixels, sizeof pixels, &outputs, &timings,
                                          error, sizeof error));
  EXPECT(outputs == NULL && timings.plan_ms == 0 && timings.gpu_ms == 0 && timings.dispatches == 0);
  EXPECT_REFUSED(spirkiln_graph_run_bytes(NULL, 1, 1, 1, pixels, sizeof pixels, NULL, &timings,
                                          error, sizeof error));
  outputs = JUNK(spirkiln_outputs);
  EXPECT_REFUSED(
      spirkiln_graph_run_bytes(NULL, 1, 1, 1, NULL, 4, &outputs, NULL, error, sizeof error));
  EXPECT(outputs == NULL);
  spirkiln_graph_close(NULL);

  memset(&bytes, 0x5a, sizeof bytes);
  EXPECT(spirkiln_outputs_get_bytes(NULL, 0, &bytes) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(bytes.values == NULL && bytes.count == 0 && bytes.n == 0 && bytes.c == 0);
  EXPECT(spirkiln_outputs_get_bytes(NULL, 0, NULL) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(spirkiln_outputs_count(NULL) == 0);
  memset(&tensor, 0x5a, sizeof tensor);
  EXPECT(spirkiln_outputs_get(NULL, 0, &tensor) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(tensor.values == NULL && tensor.count == 0 && tensor.n == 0 && tensor.c == 0);
  EXPECT(spirkiln_outputs_get(NULL, 0, NULL) == SPIRKILN_INVALID_ARGUMENT);
  spirkiln_outputs_close(NULL);
}

/* Texts of any room, and nothing beside them. */
static void check_error_buffers(void) {
  char memory[48];
  size_t size;
  spirkiln_model* model = NULL;
  for (size = 0; size <= 32; ++size) {
    memset(memory, '#', sizeof memory);
    EXPECT(spirkiln_model_open("/nonexistent/x", &model, memory + 8, size) == SPIRKILN_IO);
    EXPECT(memory[7] == '#' && memory[8 + size] == '#');
    EXPECT(size == 0 || memchr(memory + 8, 0, size) != NULL);
  }
  EXPECT(spirkiln_model_open("/nonexistent/x", &model, NULL, 0) == SPIRKILN_IO);
  EXPECT(spirkiln_model_open("/nonexistent/x", &model, NULL, 100) == SPIRKILN_IO);
  /* "cannot read " takes 12 bytes: a text that is cut within the character ends before it. */
  memset(memory, '#', sizeof memory);
  EXPECT(spirkiln_model_open("\xe5\x9b\xbe", &model, memory, 14) == SPIRKILN_IO);
  EXPECT(strcmp(memory, "cannot read ") == 0);
}

/* Handles of another kind are as good as NULL, and closing one as another does nothing. */
static void check_wrong_handles(spirkiln_device* device, spirkiln_model* model,
                                spirkiln_graph* graph) {
  spirkiln_device_info info;
  spirkiln_tensor tensor;
  spirkiln_tensor_u8 bytes;
  spirkiln_graph* made = JUNK(spirkiln_graph);
  spirkiln_outputs* outputs = JUNK(spirkiln_outputs);
  void *d = device, *m = model, *g = graph;
  const uint8_t pixel[4] = {0};
  EXPECT(spirkiln_device_get_info(m, &info) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(is_zero(&info, sizeof info));
  EXPECT(spirkiln_device_validation_messages(g) == 0);
  EXPECT_REFUSED(spirkiln_graph_create(m, d, NULL, &made, error, sizeof error));
  EXPECT(made == NULL);
  EXPECT_REFUSED(spirkiln_graph_create(d, g, NULL, &made, error, sizeof error));
  EXPECT_REFUSED(spirkiln_graph_prepare(m, 1, 48, 192, error, sizeof error));
  EXPECT_REFUSED(spirkiln_graph_run(d, 1, 1, 1, pixel, 4, &outputs, NULL, error, sizeof error));
  EXPECT(outputs == NULL);
  outputs = JUNK(spirkiln_outputs);
  EXPECT_REFUSED(
      spirkiln_graph_run_bytes(d, 1, 1, 1, pixel, 4, &outputs, NULL, error, sizeof error));
  EXPECT(outputs == NULL);
  EXPECT(spirkiln_outputs_get_bytes(g, 0, &bytes) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(bytes.values == NULL);
  EXPECT(spirkiln_graph_device_bytes(d) == 0);
  EXPECT(spirkiln_outputs_count(g) == 0);
  EXPECT(spirkiln_outputs_get(g, 0, &tensor) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(tensor.values == NULL);
  spirkiln_device_close(g);
  spirkiln_model_close(d);
  spirkiln_graph_close(m);
  spirkiln_outputs_close(d);
}

static uint8_t byte_of(float value) {
  const float scaled = value < 0 ? 0 : value > 1 ? 255 : 255 * value;
  return (uint8_t)(scaled + 0.5f);
}

/* The same run three ways: all values, as bytes, and of each pixel the best channel. */
static void check_ends(spirkiln_device* device, spirkiln_model* model, const uint8_t* pixels,
                       uint32_t height, uint32_t width) {
  const size_t size = (size_t)height * width * 4;
  spirkiln_graph_options options = SPIRKILN_GRAPH_OPTIONS_INIT;
  spirkiln_graph *plain = NULL, *graph = NULL;
  spirkiln_outputs *floats = NULL, *outputs = NULL;
  spirkiln_timings timings;
  spirkiln_tensor values, tensor;
  spirkiln_tensor_u8 bytes;
  size_t i;
  /* Of a header that knows neither: what lies behind its end is not read. Both would be refused. */
  options.best_class = options.bytes = 1;
  EXPECT(offsetof(spirkiln_graph_options, best_class) >=
         offsetof(spirkiln_graph_options, no_proof) + sizeof(void*));
  options.struct_bytes = offsetof(spirkiln_graph_options, best_class);
  EXPECT(spirkiln_graph_create(device, model, &options, &plain, error, sizeof error) ==
         SPIRKILN_OK);
  options.struct_bytes = sizeof options;
  graph = JUNK(spirkiln_graph);
  EXPECT_REFUSED(spirkiln_graph_create(device, model, &options, &graph, error, sizeof error));
  EXPECT(graph == NULL && strstr(error, "best_class and bytes") != NULL);
  options.best_class = 0;
  EXPECT(spirkiln_graph_create(device, model, &options, &graph, error, sizeof error) ==
         SPIRKILN_OK);
  if (plain == NULL || graph == NULL) return;
  EXPECT(spirkiln_graph_run(plain, 1, height, width, pixels, size, &floats, NULL, error,
                            sizeof error) == SPIRKILN_OK);
  EXPECT(spirkiln_outputs_get(floats, 0, &values) == SPIRKILN_OK && values.count >= 2);
  /* Neither kind gives the other. */
  EXPECT(spirkiln_outputs_get_bytes(floats, 0, &bytes) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(bytes.values == NULL && bytes.count == 0);
  outputs = JUNK(spirkiln_outputs);
  EXPECT_REFUSED(spirkiln_graph_run_bytes(plain, 1, height, width, pixels, size, &outputs, NULL,
                                          error, sizeof error));
  EXPECT(outputs == NULL && strstr(error, "bytes") != NULL);

  outputs = JUNK(spirkiln_outputs);
  EXPECT_REFUSED(spirkiln_graph_run_bytes(graph, 1, height, width, pixels, size - 1, &outputs, NULL,
                                          error, sizeof error));
  EXPECT(outputs == NULL);
  EXPECT_REFUSED(spirkiln_graph_run_bytes(graph, 1, height, width, NULL, size, &outputs, NULL,
                                          error, sizeof error));
  EXPECT_REFUSED(spirkiln_graph_run_bytes(graph, 1, height, width, pixels, size, NULL, NULL, error,
                                          sizeof error));
  EXPECT(spirkiln_graph_run_bytes(graph, 1, height, width, pixels, size, &outputs, &timings, error,
                                  sizeof error) == SPIRKILN_OK);
  EXPECT(error[0] == '\0' && timings.dispatches > 0);
  EXPECT(spirkiln_outputs_count(outputs) == 1);
  EXPECT(spirkiln_outputs_get(outputs, 0, &tensor) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(tensor.values == NULL);
  EXPECT(spirkiln_outputs_get_bytes(outputs, 1, &bytes) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(spirkiln_outputs_get_bytes(outputs, 0, NULL) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(spirkiln_outputs_get_bytes(outputs, 0, &bytes) == SPIRKILN_OK);
  EXPECT(bytes.count == values.count && bytes.n == values.n && bytes.c == values.c);
  for (i = 0; i < bytes.count && i < values.count; ++i) {
    const int wanted = byte_of(values.values[i]);
    EXPECT(bytes.values[i] + 1 >= wanted && bytes.values[i] <= wanted + 1);
  }
  spirkiln_outputs_close(outputs);
  EXPECT(spirkiln_outputs_get_bytes(outputs, 0, &bytes) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(spirkiln_graph_run(graph, 1, height, width, pixels, size, &outputs, NULL, error,
                            sizeof error) == SPIRKILN_OK);
  EXPECT(spirkiln_outputs_get(outputs, 0, &tensor) == SPIRKILN_OK && tensor.count == values.count);
  for (i = 0; i < tensor.count && i < values.count; ++i) {
    const float off = tensor.values[i] - values.values[i];
    EXPECT(off < 2 / 255.f && off > -2 / 255.f);
  }
  spirkiln_outputs_close(outputs);
  spirkiln_graph_close(graph);

  options.bytes = 0;
  options.best_class = 1;
  EXPECT(spirkiln_graph_create(device, model, &options, &graph, error, sizeof error) ==
         SPIRKILN_OK);
  EXPECT(spirkiln_graph_run(graph, 1, height, width, pixels, size, &outputs, NULL, error,
                            sizeof error) == SPIRKILN_OK);
  EXPECT(spirkiln_outputs_get(outputs, 0, &tensor) == SPIRKILN_OK && tensor.c == 2);
  if (tensor.count == 2 && values.count >= 2) {
    size_t best = 0;
    for (i = 1; i < values.count; ++i) best = values.values[i] > values.values[best] ? i : best;
    EXPECT(tensor.values[0] == (float)best);
    EXPECT(tensor.values[1] > values.values[best] - 0.01f &&
           tensor.values[1] < values.values[best] + 0.01f);
  } else {
    EXPECT(!"the model gives one pixel of several channels");
  }
  spirkiln_outputs_close(outputs);
  spirkiln_graph_close(graph);
  spirkiln_outputs_close(floats);
  spirkiln_graph_close(plain);
}

static void check_on_device(const char* pack) {
  enum { kHeight = 48, kWidth = 192, kBytes = kHeight * kWidth * 4 };
  static uint8_t pixels[kBytes];
  spirkiln_device_info info, other;
  spirkiln_device* device = NULL;
  spirkiln_model* model = NULL;
  spirkiln_graph* graph = NULL;
  spirkiln_graph_options options = SPIRKILN_GRAPH_OPTIONS_INIT;
  spirkiln_outputs* outputs = NULL;
  spirkiln_timings timings;
  spirkiln_tensor tensor;
  uint32_t count = 0, again = 0;
  strcpy(error, "stale");
  EXPECT(spirkiln_list_devices(NULL, 0, &count, error, sizeof error) == SPIRKILN_OK);
  EXPECT(count > 0 && error[0] == '\0');
  /* Room for fewer than there are is no error: the count says so. */
  EXPECT(spirkiln_list_devices(&info, 1, &again, error, sizeof error) == SPIRKILN_OK);
  EXPECT(again == count && info.name[0] != '\0');
  if (spirkiln_device_open(NULL, &device, error, sizeof error) != SPIRKILN_OK ||
      spirkiln_model_open(pack, &model, error, sizeof error) != SPIRKILN_OK) {
    fprintf(stderr, "c_interface.c: error: %s\n", error);
    ++failures;
    spirkiln_device_close(device);
    return;
  }
  EXPECT(spirkiln_device_get_info(device, &other) == SPIRKILN_OK && other.name[0] != '\0');
  EXPECT(spirkiln_device_get_info(device, NULL) == SPIRKILN_INVALID_ARGUMENT);

  graph = JUNK(spirkiln_graph);
  EXPECT_REFUSED(spirkiln_graph_create(device, NULL, NULL, &graph, error, sizeof error));
  EXPECT(graph == NULL);
  graph = JUNK(spirkiln_graph);
  EXPECT_REFUSED(spirkiln_graph_create(NULL, model, NULL, &graph, error, sizeof error));
  EXPECT(graph == NULL);
  EXPECT_REFUSED(spirkiln_graph_create(device, model, NULL, NULL, error, sizeof error));
  options.struct_bytes = 1;
  graph = JUNK(spirkiln_graph);
  EXPECT_REFUSED(spirkiln_graph_create(device, model, &options, &graph, error, sizeof error));
  EXPECT(graph == NULL);
  options.struct_bytes = sizeof options;
  options.variant = "fp8";
  graph = JUNK(spirkiln_graph);
  EXPECT_REFUSED(spirkiln_graph_create(device, model, &options, &graph, error, sizeof error));
  EXPECT(graph == NULL && strstr(error, "fp8") != NULL);
  options.variant = NULL;
  options.avoid = "no kernel has this name";
  if (strcmp(other.backend, "vulkan") == 0) {
    graph = JUNK(spirkiln_graph);
    EXPECT_REFUSED(spirkiln_graph_create(device, model, &options, &graph, error, sizeof error));
    EXPECT(graph == NULL && strstr(error, "no kernel has this name") != NULL);
  }
  /* Of a header that knows no wishes: what lies behind its end is not read. */
  options.struct_bytes = offsetof(spirkiln_graph_options, axes);
  EXPECT(spirkiln_graph_create(device, model, &options, &graph, error, sizeof error) ==
         SPIRKILN_OK);
  spirkiln_graph_close(graph);
  options.struct_bytes = sizeof options;
  options.avoid = NULL;
  options.no_proof = 1;
  EXPECT(spirkiln_graph_create(device, model, &options, &graph, error, sizeof error) ==
         SPIRKILN_OK);
  if (graph != NULL) check_wrong_handles(device, model, graph);
  memset(pixels, 200, sizeof pixels);
  check_ends(device, model, pixels, kHeight, kWidth);
  spirkiln_model_close(model);
  spirkiln_device_close(device);
  if (graph == NULL) return;

  EXPECT_REFUSED(spirkiln_graph_prepare(graph, 0, kHeight, kWidth, error, sizeof error));
  EXPECT_REFUSED(spirkiln_graph_prepare(graph, 1, UINT32_MAX, kWidth, error, sizeof error));
  outputs = JUNK(spirkiln_outputs);
  memset(&timings, 0x5a, sizeof timings);
  EXPECT_REFUSED(spirkiln_graph_run(graph, 1, kHeight, kWidth, pixels, kBytes - 1, &outputs,
                                    &timings, error, sizeof error));
  EXPECT(outputs == NULL && timings.dispatches == 0 && timings.gpu_ms == 0);
  outputs = JUNK(spirkiln_outputs);
  EXPECT_REFUSED(spirkiln_graph_run(graph, 1, kHeight, kWidth, NULL, kBytes, &outputs, NULL, error,
                                    sizeof error));
  EXPECT(outputs == NULL);
  outputs = JUNK(spirkiln_outputs);
  EXPECT_REFUSED(
      spirkiln_graph_run(graph, 1, kHeight, kWidth, NULL, 0, &outputs, NULL, error, sizeof error));
  EXPECT(outputs == NULL);
  /* Products of these sizes do not fit 64 bits. */
  EXPECT_REFUSED(spirkiln_graph_run(graph, UINT32_MAX, UINT32_MAX, UINT32_MAX, pixels, kBytes,
                                    &outputs, NULL, error, sizeof error));
  EXPECT_REFUSED(spirkiln_graph_run(graph, 1, kHeight, kWidth, pixels, kBytes, NULL, NULL, error,
                                    sizeof error));

  EXPECT(spirkiln_graph_run(graph, 1, kHeight, kWidth, pixels, kBytes, &outputs, &timings, error,
                            sizeof error) == SPIRKILN_OK);
  EXPECT(error[0] == '\0' && timings.dispatches > 0);
  EXPECT(spirkiln_outputs_count(outputs) == 1);
  EXPECT(spirkiln_outputs_get(outputs, 0, &tensor) == SPIRKILN_OK);
  EXPECT(tensor.values != NULL &&
         tensor.count == (size_t)tensor.n * tensor.h * tensor.w * tensor.c);
  EXPECT(spirkiln_outputs_get(outputs, 1, &tensor) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(tensor.values == NULL && tensor.count == 0);
  EXPECT(spirkiln_outputs_get(outputs, 0, NULL) == SPIRKILN_INVALID_ARGUMENT);
  spirkiln_outputs_close(outputs);
  spirkiln_graph_close(graph);

  /* What is closed is as good as NULL, also when it is closed again. */
  EXPECT(spirkiln_outputs_count(outputs) == 0);
  EXPECT(spirkiln_outputs_get(outputs, 0, &tensor) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT_REFUSED(spirkiln_graph_prepare(graph, 1, kHeight, kWidth, error, sizeof error));
  EXPECT(strstr(error, "closed") != NULL);
  EXPECT(spirkiln_graph_device_bytes(graph) == 0);
  EXPECT(spirkiln_device_get_info(device, &info) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT_REFUSED(spirkiln_graph_create(device, model, NULL, &graph, error, sizeof error));
  spirkiln_outputs_close(outputs);
  spirkiln_graph_close(graph);
  spirkiln_device_close(device);
  spirkiln_model_close(model);
}

int main(int argc, char** argv) {
  check_names();
  check_devices();
  check_models();
  check_graphs();
  check_error_buffers();
  if (argc > 1) check_on_device(argv[1]);
  return failures == 0 ? 0 : 1;
}
