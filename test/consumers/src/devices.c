/* SPDX-License-Identifier: Apache-2.0 */
/* A user of the C interface: names the devices, and shows what a wrong file leads to. With the pack
 * of the orientation model as argument it also runs that graph on a grey picture. */
#include <math.h>
#include <spirkiln/spirkiln.h>
#include <stdio.h>
#include <string.h>

static int run(const char* path) {
  enum { kHeight = 48, kWidth = 192 };
  static uint8_t pixels[kHeight * kWidth * 4];
  char error[512];
  spirkiln_device* device = NULL;
  spirkiln_model* model = NULL;
  spirkiln_graph* graph = NULL;
  spirkiln_outputs* outputs = NULL;
  spirkiln_tensor tensor;
  int failed = 1;
  memset(pixels, 128, sizeof pixels);
  if (spirkiln_device_open(NULL, &device, error, sizeof error) == SPIRKILN_OK &&
      spirkiln_model_open(path, &model, error, sizeof error) == SPIRKILN_OK &&
      spirkiln_graph_create(device, model, NULL, &graph, error, sizeof error) == SPIRKILN_OK &&
      spirkiln_graph_run(graph, 1, kHeight, kWidth, pixels, sizeof pixels, &outputs, NULL, error,
                         sizeof error) == SPIRKILN_OK) {
    /* Two probabilities: the right way up, and upside down. */
    if (spirkiln_outputs_get(outputs, 0, &tensor) == SPIRKILN_OK && tensor.count == 2 &&
        fabsf(tensor.values[0] + tensor.values[1] - 1.0f) < 1e-2f) {
      failed = 0;
    } else {
      fprintf(stderr, "devices-c: error: the outputs are not two probabilities\n");
    }
  } else {
    fprintf(stderr, "devices-c: error: %s\n", error);
  }
  spirkiln_outputs_close(outputs);
  /* In the order of their making on purpose: a graph keeps what it needs. */
  spirkiln_device_close(device);
  spirkiln_model_close(model);
  spirkiln_graph_close(graph);
  return failed;
}

int main(int argc, char** argv) {
  char error[512];
  spirkiln_device_info infos[16];
  spirkiln_model* model = NULL;
  uint32_t count = 0;
  uint32_t i;
  if (spirkiln_list_devices(infos, 16, &count, error, sizeof error) != SPIRKILN_OK) {
    fprintf(stderr, "devices-c: error: %s\n", error);
    return 1;
  }
  for (i = 0; i < count && i < 16; ++i) printf("%u %s\n", infos[i].index, infos[i].name);

  if (spirkiln_model_open("/nonexistent/det.spkm", &model, error, sizeof error) != SPIRKILN_IO ||
      model != NULL || strstr(error, "/nonexistent/det.spkm") == NULL) {
    fprintf(stderr, "devices-c: error: a missing model must be an error that names it\n");
    return 1;
  }
  if (count == 0) return 1;
  return argc > 1 ? run(argv[1]) : 0;
}
