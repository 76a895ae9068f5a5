// SPDX-License-Identifier: Apache-2.0
// The C interface over the C++ one.
#include "spirkiln/spirkiln.h"

#include "c_handles.hpp"
#include "loader/guard.hpp"

struct spirkiln_model {
  spirkiln::Model model;
};
struct spirkiln_graph {
  spirkiln::Graph graph;
};
// Of one of the two kinds.
struct spirkiln_outputs {
  explicit spirkiln_outputs(std::vector<spirkiln::TensorF32> all) : floats(std::move(all)) {}
  explicit spirkiln_outputs(std::vector<spirkiln::TensorU8> all) : bytes(std::move(all)) {}
  std::vector<spirkiln::TensorF32> floats;
  std::vector<spirkiln::TensorU8> bytes;
};

namespace {

using namespace spirkiln::c;
using spirkiln::Result;

void put_info(const spirkiln::DeviceInfo& from, spirkiln_device_info* to) {
  *to = {};
  to->index = from.index;
  put_text(to->name, sizeof to->name, from.name);
  put_text(to->driver, sizeof to->driver, from.driver);
  put_text(to->type, sizeof to->type, from.type);
  to->api_version = from.api_version;
  to->vendor_id = from.vendor_id;
  to->device_id = from.device_id;
  to->subgroup_size = from.subgroup_size;
  to->device_local_bytes = from.device_local_bytes;
  to->storage16 = from.storage16;
  to->float16 = from.float16;
  to->uniform_storage16 = from.uniform_storage16;
  to->int16 = from.int16;
  to->int64 = from.int64;
  put_text(to->backend, sizeof to->backend, from.backend);
}

// A run of either kind: `member` is Graph::run or run_bytes.
template <typename Tensor>
spirkiln_status run_graph(const char* function,
                          Result<std::vector<Tensor>> (spirkiln::Graph::*member)(
                              const spirkiln::Pictures&, spirkiln::RunTimings*),
                          spirkiln_graph* graph, const spirkiln::Pictures& pictures,
                          spirkiln_outputs** outputs, spirkiln_timings* timings,
                          const ErrorText& text) {
  clear(timings);
  clear(outputs);
  if (refused(function, {given("outputs", outputs)}, text)) return SPIRKILN_INVALID_ARGUMENT;
  if (refused(function,
              {open_handle("graph", graph),
               given("pixels", pictures.bytes.data(), pictures.bytes.size())},
              text))
    return SPIRKILN_INVALID_ARGUMENT;
  spirkiln::RunTimings t;
  const spirkiln_status status = give((graph->graph.*member)(pictures, &t), outputs, text);
  if (status == SPIRKILN_OK && timings != nullptr) {
    *timings = {t.plan_ms, t.upload_ms, t.gpu_ms, t.download_ms, t.dispatches};
  }
  return status;
}

template <typename Tensor, typename Out>
spirkiln_status get_output(const std::vector<Tensor>& all, uint32_t index, Out* tensor) {
  if (index >= all.size()) return SPIRKILN_INVALID_ARGUMENT;
  const Tensor& t = all[index];
  *tensor = {t.n, t.h, t.w, t.c, t.values.data(), t.values.size()};
  return SPIRKILN_OK;
}

}  // namespace

const char* spirkiln_version(void) { return SPIRKILN_VERSION; }

uint32_t spirkiln_version_number(void) { return SPIRKILN_VERSION_NUMBER; }

const char* spirkiln_status_name(spirkiln_status status) {
  static constexpr const char* kNames[] = {
      "ok",        "invalid argument", "input or output", "corrupt data", "unsupported",
      "no Vulkan", "no variant",       "out of memory",   "Vulkan error", "not finite"};
  const auto i = static_cast<std::size_t>(number(status));
  return i < std::size(kNames) ? kNames[i] : "unknown status";
}

spirkiln_status spirkiln_list_devices(spirkiln_device_info* infos, uint32_t capacity,
                                      uint32_t* count, char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(count);
  if (infos != nullptr) std::fill_n(infos, capacity, spirkiln_device_info{});
  if (refused("spirkiln_list_devices", {given("count", count), given("infos", infos, capacity)},
              text))
    return SPIRKILN_INVALID_ARGUMENT;
  auto list = spirkiln::list_devices();
  if (!list) return fail(list.error(), text);
  *count = static_cast<uint32_t>(list->size());
  for (uint32_t i = 0; i < std::min(capacity, *count); ++i) put_info((*list)[i], &infos[i]);
  return SPIRKILN_OK;
}

spirkiln_status spirkiln_device_open(const spirkiln_device_options* options,
                                     spirkiln_device** device, char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(device);
  if (refused("spirkiln_device_open", {given("device", device)}, text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(spirkiln::guarded([&]() -> Result<spirkiln::Device> {
                const auto o = device_options(options, "spirkiln_device_open");
                if (!o) return o.error();
                return spirkiln::Device::open(*o);
              }),
              device, text);
}

void spirkiln_device_close(spirkiln_device* device) { close(device); }

spirkiln_status spirkiln_device_get_info(const spirkiln_device* device,
                                         spirkiln_device_info* info) {
  clear(info);
  if (!valid(device) || info == nullptr) return SPIRKILN_INVALID_ARGUMENT;
  put_info(device->device.info(), info);
  return SPIRKILN_OK;
}

uint64_t spirkiln_device_validation_messages(const spirkiln_device* device) {
  return valid(device) ? device->device.validation_message_count() : 0;
}

spirkiln_status spirkiln_model_open(const char* path, spirkiln_model** model, char* error,
                                    size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(model);
  if (refused("spirkiln_model_open", {given("path", path), given("model", model)}, text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(spirkiln::guarded([&] { return spirkiln::Model::open(path); }), model, text);
}

spirkiln_status spirkiln_model_from_memory(const void* bytes, size_t size, const char* name,
                                           spirkiln_model** model, char* error,
                                           size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(model);
  if (refused("spirkiln_model_from_memory", {given("model", model), given("bytes", bytes, size)},
              text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(spirkiln::guarded([&] {
                const auto* begin = static_cast<const std::byte*>(bytes);
                return spirkiln::Model::from_bytes(std::vector<std::byte>(begin, begin + size),
                                                   name != nullptr ? name : "model");
              }),
              model, text);
}

void spirkiln_model_close(spirkiln_model* model) { close(model); }

spirkiln_status spirkiln_graph_create(spirkiln_device* device, spirkiln_model* model,
                                      const spirkiln_graph_options* options, spirkiln_graph** graph,
                                      char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(graph);
  if (refused("spirkiln_graph_create", {given("graph", graph)}, text))
    return SPIRKILN_INVALID_ARGUMENT;
  if (refused("spirkiln_graph_create", {open_handle("device", device), open_handle("model", model)},
              text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(spirkiln::guarded([&]() -> Result<spirkiln::Graph> {
                const auto o = graph_options(options, "spirkiln_graph_create");
                if (!o) return o.error();
                return spirkiln::Graph::create(device->device, model->model, *o);
              }),
              graph, text);
}

void spirkiln_graph_close(spirkiln_graph* graph) { close(graph); }

spirkiln_status spirkiln_graph_prepare(spirkiln_graph* graph, uint32_t n, uint32_t h, uint32_t w,
                                       char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  if (refused("spirkiln_graph_prepare", {open_handle("graph", graph)}, text))
    return SPIRKILN_INVALID_ARGUMENT;
  const auto status = graph->graph.prepare(n, h, w);
  return status ? SPIRKILN_OK : fail(status.error(), text);
}

uint64_t spirkiln_graph_device_bytes(const spirkiln_graph* graph) {
  return valid(graph) ? graph->graph.device_bytes() : 0;
}

spirkiln_status spirkiln_graph_run(spirkiln_graph* graph, uint32_t n, uint32_t h, uint32_t w,
                                   const uint8_t* pixels, size_t size, spirkiln_outputs** outputs,
                                   spirkiln_timings* timings, char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  return run_graph("spirkiln_graph_run", &spirkiln::Graph::run, graph, {n, h, w, {pixels, size}},
                   outputs, timings, text);
}

spirkiln_status spirkiln_graph_run_bytes(spirkiln_graph* graph, uint32_t n, uint32_t h, uint32_t w,
                                         const uint8_t* pixels, size_t size,
                                         spirkiln_outputs** outputs, spirkiln_timings* timings,
                                         char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  return run_graph("spirkiln_graph_run_bytes", &spirkiln::Graph::run_bytes, graph,
                   {n, h, w, {pixels, size}}, outputs, timings, text);
}

uint32_t spirkiln_outputs_count(const spirkiln_outputs* outputs) {
  // One of the two is empty.
  return valid(outputs) ? static_cast<uint32_t>(outputs->floats.size() + outputs->bytes.size()) : 0;
}

spirkiln_status spirkiln_outputs_get(const spirkiln_outputs* outputs, uint32_t index,
                                     spirkiln_tensor* tensor) {
  clear(tensor);
  if (tensor == nullptr || !valid(outputs)) return SPIRKILN_INVALID_ARGUMENT;
  return get_output(outputs->floats, index, tensor);
}

spirkiln_status spirkiln_outputs_get_bytes(const spirkiln_outputs* outputs, uint32_t index,
                                           spirkiln_tensor_u8* tensor) {
  clear(tensor);
  if (tensor == nullptr || !valid(outputs)) return SPIRKILN_INVALID_ARGUMENT;
  return get_output(outputs->bytes, index, tensor);
}

void spirkiln_outputs_close(spirkiln_outputs* outputs) { close(outputs); }
