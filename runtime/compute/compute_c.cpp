// SPDX-License-Identifier: Apache-2.0
// The C interface of single kernels over the C++ one.
#include <cstddef>

#include "c_handles.hpp"
#include "compute/kernel.hpp"
#include "loader/guard.hpp"
#include "spirkiln/vulkan.h"
#include "spirkiln/vulkan.hpp"

struct spirkiln_kernel_table {
  spirkiln::KernelTable table;
};
struct spirkiln_kernel {
  spirkiln::compute::Kernel kernel;
};
struct spirkiln_buffer {
  spirkiln::compute::Buffer buffer;
};
struct spirkiln_image {
  spirkiln::compute::Image image;
};
struct spirkiln_sequence {
  spirkiln::compute::Sequence sequence;
};

namespace {

using namespace spirkiln::c;
using spirkiln::Error;
using spirkiln::ErrorCode;
using spirkiln::guarded;
using spirkiln::Ok;
using spirkiln::Result;
using spirkiln::Status;
namespace compute = spirkiln::compute;

Error wrong(std::string text) { return Error{ErrorCode::kInvalidArgument, std::move(text)}; }

compute::Extent extent(const uint32_t (&from)[3]) { return {from[0], from[1], from[2]}; }

compute::ImageShape shape_of(const spirkiln_image_shape& s) {
  return {s.dimensions, extent(s.size), static_cast<compute::ImageFormat>(number(s.format))};
}

Result<compute::Constant> constant_of(const spirkiln_constant& c, const char* function) {
  const auto with = [&](auto value) {
    return c.name != nullptr ? compute::Constant(std::string(c.name), value)
                             : compute::Constant(c.id, value);
  };
  switch (number(c.type)) {
    case SPIRKILN_INT:
      return with(c.value.i);
    case SPIRKILN_UINT:
      return with(c.value.u);
    case SPIRKILN_FLOAT:
      return with(c.value.f);
    case SPIRKILN_BOOL:
      return with(c.value.u != 0);
  }
  return wrong(std::string(function) + ": a constant of the type " +
               std::to_string(number(c.type)) + ", known are 0 to 3");
}

Result<compute::KernelOptions> kernel_options(const spirkiln_kernel_options* from,
                                              const char* function) {
  const auto all =
      read_options(from, SPIRKILN_KERNEL_OPTIONS_INIT, sizeof(spirkiln_kernel_options), function);
  if (!all) return all.error();
  if (all->constants == nullptr && all->constant_count > 0) {
    return wrong(std::string(function) + ": constants is NULL");
  }
  compute::KernelOptions options;
  options.local_size = extent(all->local_size);
  options.optimal_for = extent(all->optimal_for);
  if (all->name != nullptr) options.name = all->name;
  for (uint32_t i = 0; i < all->constant_count; ++i) {
    auto constant = constant_of(all->constants[i], function);
    if (!constant) return std::move(constant).error();
    options.constants.push_back(*std::move(constant));
  }
  return options;
}

Result<compute::KernelRequest> kernel_request(const spirkiln_kernel_request* from,
                                              const char* function) {
  const auto all = read_options(from, SPIRKILN_KERNEL_REQUEST_INIT,
                                offsetof(spirkiln_kernel_request, avoid), function);
  if (!all) return all.error();
  for (const Needed& n : {given("kernel", all->kernel), given("forms", all->forms, all->form_count),
                          given("axes", all->axes, all->axis_count)}) {
    if (n.fault != nullptr) {
      return wrong(std::string(function) + ": " + n.name + " of the request " + n.fault);
    }
  }
  compute::KernelRequest request;
  request.kernel = all->kernel;
  request.avoid = text_or_empty(all->avoid);
  for (uint32_t i = 0; i < all->form_count; ++i) {
    request.forms.push_back(text_or_empty(all->forms[i]));
  }
  for (uint32_t i = 0; i < all->axis_count; ++i) {
    request.axes.emplace_back(text_or_empty(all->axes[i].axis), text_or_empty(all->axes[i].value));
  }
  return request;
}

Result<compute::Dispatch> dispatch_of(const spirkiln_dispatch* from, const char* function) {
  if (from == nullptr) return wrong(std::string(function) + ": dispatch is NULL");
  const auto all = read_options(from, SPIRKILN_DISPATCH_INIT, sizeof(spirkiln_dispatch), function);
  if (!all) return all.error();
  for (const Needed& n : {given("bindings", all->bindings, all->binding_count),
                          given("push", all->push, all->push_bytes)}) {
    if (n.fault != nullptr) {
      return wrong(std::string(function) + ": " + n.name + " of the dispatch " + n.fault);
    }
  }
  compute::Dispatch dispatch;
  dispatch.push = {static_cast<const std::byte*>(all->push), all->push_bytes};
  dispatch.groups = extent(all->groups);
  dispatch.invocations = extent(all->invocations);
  for (uint32_t i = 0; i < all->binding_count; ++i) {
    const spirkiln_binding& b = all->bindings[i];
    const bool buffer = valid(b.buffer), image = valid(b.image);
    if (buffer == image || (b.buffer != nullptr) != buffer || (b.image != nullptr) != image) {
      return wrong(std::string(function) + ": binding " + std::to_string(b.binding) +
                   " has not exactly one of buffer and image, or a handle of another kind");
    }
    if (buffer) {
      dispatch.bindings.emplace_back(
          b.binding, compute::BufferRange(b.buffer->buffer, b.offset, b.bytes), b.set);
    } else {
      dispatch.bindings.emplace_back(b.binding, b.image->image, b.set);
    }
  }
  return dispatch;
}

}  // namespace

spirkiln_status spirkiln_kernel_table_open(const char* path, spirkiln_kernel_table** table,
                                           char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(table);
  if (refused("spirkiln_kernel_table_open", {given("path", path), given("table", table)}, text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(guarded([&] { return spirkiln::KernelTable::open(path); }), table, text);
}

spirkiln_status spirkiln_kernel_table_from_memory(const void* bytes, size_t size, const char* name,
                                                  spirkiln_kernel_table** table, char* error,
                                                  size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(table);
  if (refused("spirkiln_kernel_table_from_memory",
              {given("table", table), given("bytes", bytes, size)}, text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(guarded([&] {
                return spirkiln::KernelTable::from_memory(
                    {static_cast<const unsigned char*>(bytes), size},
                    name != nullptr ? name : "table");
              }),
              table, text);
}

void spirkiln_kernel_table_close(spirkiln_kernel_table* table) { close(table); }

spirkiln_status spirkiln_compute_device_open(const spirkiln_device_options* options,
                                             spirkiln_kernel_table* const* tables,
                                             uint32_t table_count, spirkiln_device** device,
                                             char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(device);
  if (refused("spirkiln_compute_device_open",
              {given("device", device), given("tables", tables, table_count)}, text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(guarded([&]() -> Result<spirkiln::Device> {
                const auto o = device_options(options, "spirkiln_compute_device_open");
                if (!o) return o.error();
                std::vector<spirkiln::KernelTable> list;
                for (uint32_t i = 0; i < table_count; ++i) {
                  if (!valid(tables[i])) {
                    return wrong("spirkiln_compute_device_open: table " + std::to_string(i) +
                                 " is NULL, of another kind or closed");
                  }
                  list.push_back(tables[i]->table);
                }
                return compute::open_device(*o, list);
              }),
              device, text);
}

spirkiln_status spirkiln_buffer_create(spirkiln_device* device, uint64_t bytes,
                                       spirkiln_memory memory, spirkiln_buffer** buffer,
                                       char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(buffer);
  if (refused("spirkiln_buffer_create", {given("buffer", buffer), open_handle("device", device)},
              text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(
      compute::Buffer::create(device->device, bytes, static_cast<compute::Memory>(number(memory))),
      buffer, text);
}

void spirkiln_buffer_close(spirkiln_buffer* buffer) { close(buffer); }

uint64_t spirkiln_buffer_bytes(const spirkiln_buffer* buffer) {
  return valid(buffer) ? buffer->buffer.bytes() : 0;
}

spirkiln_status spirkiln_buffer_write(spirkiln_buffer* buffer, uint64_t offset, const void* bytes,
                                      size_t size, char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  if (refused("spirkiln_buffer_write", {open_handle("buffer", buffer), given("bytes", bytes, size)},
              text))
    return SPIRKILN_INVALID_ARGUMENT;
  return finish(buffer->buffer.write({static_cast<const std::byte*>(bytes), size}, offset), text);
}

spirkiln_status spirkiln_buffer_read(const spirkiln_buffer* buffer, uint64_t offset, void* bytes,
                                     size_t size, char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  if (refused("spirkiln_buffer_read", {open_handle("buffer", buffer), given("bytes", bytes, size)},
              text))
    return SPIRKILN_INVALID_ARGUMENT;
  return finish(buffer->buffer.read({static_cast<std::byte*>(bytes), size}, offset), text);
}

spirkiln_status spirkiln_image_create(spirkiln_device* device, const spirkiln_image_shape* shape,
                                      spirkiln_image** image, char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(image);
  if (refused("spirkiln_image_create",
              {given("image", image), given("shape", shape), open_handle("device", device)}, text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(compute::Image::create(device->device, shape_of(*shape)), image, text);
}

void spirkiln_image_close(spirkiln_image* image) { close(image); }

uint64_t spirkiln_image_bytes(const spirkiln_image* image) {
  return valid(image) ? image->image.bytes() : 0;
}

spirkiln_status spirkiln_image_write(spirkiln_image* image, const void* texels, size_t size,
                                     char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  if (refused("spirkiln_image_write", {open_handle("image", image), given("texels", texels, size)},
              text))
    return SPIRKILN_INVALID_ARGUMENT;
  return finish(image->image.write({static_cast<const std::byte*>(texels), size}), text);
}

spirkiln_status spirkiln_image_read(const spirkiln_image* image, void* texels, size_t size,
                                    char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  if (refused("spirkiln_image_read", {open_handle("image", image), given("texels", texels, size)},
              text))
    return SPIRKILN_INVALID_ARGUMENT;
  return finish(image->image.read({static_cast<std::byte*>(texels), size}), text);
}

spirkiln_status spirkiln_kernel_from_table(spirkiln_device* device, spirkiln_kernel_table* table,
                                           const spirkiln_kernel_request* request,
                                           const spirkiln_kernel_options* options,
                                           spirkiln_kernel** kernel, char* error,
                                           size_t error_bytes) {
  static constexpr const char* kName = "spirkiln_kernel_from_table";
  const ErrorText text{error, error_bytes};
  clear(kernel);
  if (refused("spirkiln_kernel_from_table",
              {given("kernel", kernel), given("request", request), open_handle("device", device),
               open_handle("table", table)},
              text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(guarded([&]() -> Result<compute::Kernel> {
                const auto r = kernel_request(request, kName);
                if (!r) return r.error();
                const auto o = kernel_options(options, kName);
                if (!o) return o.error();
                return compute::Kernel::create(device->device, table->table, *r, *o);
              }),
              kernel, text);
}

spirkiln_status spirkiln_kernel_from_words(spirkiln_device* device, const uint32_t* words,
                                           size_t word_count,
                                           const spirkiln_kernel_options* options,
                                           spirkiln_kernel** kernel, char* error,
                                           size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(kernel);
  if (refused("spirkiln_kernel_from_words",
              {given("kernel", kernel), given("words", words, word_count),
               open_handle("device", device)},
              text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(guarded([&]() -> Result<compute::Kernel> {
                const auto o = kernel_options(options, "spirkiln_kernel_from_words");
                if (!o) return o.error();
                return compute::Kernel::create(device->device, std::span(words, word_count), *o);
              }),
              kernel, text);
}

void spirkiln_kernel_close(spirkiln_kernel* kernel) { close(kernel); }

spirkiln_status spirkiln_kernel_get_info(const spirkiln_kernel* kernel,
                                         spirkiln_kernel_info* info) {
  clear(info);
  if (!valid(kernel) || info == nullptr) return SPIRKILN_INVALID_ARGUMENT;
  const compute::Kernel& k = kernel->kernel;
  put_text(info->name, sizeof info->name, k.name());
  put_text(info->form, sizeof info->form, k.form());
  const compute::Extent size = k.local_size();
  info->local_size[0] = size.x;
  info->local_size[1] = size.y;
  info->local_size[2] = size.z;
  info->push_bytes = k.push_bytes();
  info->binding_count = static_cast<uint32_t>(k.bindings().size());
  info->constant_count = static_cast<uint32_t>(k.constants().size());
  return SPIRKILN_OK;
}

spirkiln_status spirkiln_kernel_get_binding(const spirkiln_kernel* kernel, uint32_t index,
                                            spirkiln_binding_info* info) {
  clear(info);
  if (!valid(kernel) || info == nullptr || index >= kernel->kernel.bindings().size()) {
    return SPIRKILN_INVALID_ARGUMENT;
  }
  const compute::BindingInfo& b = kernel->kernel.bindings()[index];
  info->set = b.set;
  info->binding = b.binding;
  info->kind = static_cast<uint32_t>(b.kind);
  info->reads = b.reads;
  info->writes = b.writes;
  info->min_bytes = b.min_bytes;
  info->dimensions = b.dimensions;
  put_text(info->name, sizeof info->name, b.name);
  return SPIRKILN_OK;
}

spirkiln_status spirkiln_kernel_run(spirkiln_kernel* kernel, const spirkiln_dispatch* dispatch,
                                    char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  if (refused("spirkiln_kernel_run", {open_handle("kernel", kernel)}, text))
    return SPIRKILN_INVALID_ARGUMENT;
  return finish(guarded([&]() -> Status {
                  const auto d = dispatch_of(dispatch, "spirkiln_kernel_run");
                  if (!d) return d.error();
                  return compute::run(kernel->kernel, *d);
                }),
                text);
}

spirkiln_status spirkiln_sequence_create(spirkiln_device* device, spirkiln_sequence** sequence,
                                         char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(sequence);
  if (refused("spirkiln_sequence_create",
              {given("sequence", sequence), open_handle("device", device)}, text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(compute::Sequence::create(device->device), sequence, text);
}

void spirkiln_sequence_close(spirkiln_sequence* sequence) { close(sequence); }

spirkiln_status spirkiln_sequence_add(spirkiln_sequence* sequence, spirkiln_kernel* kernel,
                                      const spirkiln_dispatch* dispatch, char* error,
                                      size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  if (refused("spirkiln_sequence_add",
              {open_handle("sequence", sequence), open_handle("kernel", kernel)}, text))
    return SPIRKILN_INVALID_ARGUMENT;
  return finish(guarded([&]() -> Status {
                  const auto d = dispatch_of(dispatch, "spirkiln_sequence_add");
                  if (!d) return d.error();
                  return sequence->sequence.add(kernel->kernel, *d);
                }),
                text);
}

spirkiln_status spirkiln_sequence_run(spirkiln_sequence* sequence, char* error,
                                      size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  if (refused("spirkiln_sequence_run", {open_handle("sequence", sequence)}, text))
    return SPIRKILN_INVALID_ARGUMENT;
  return finish(sequence->sequence.run(), text);
}

spirkiln_status spirkiln_device_from_vulkan(const spirkiln_external_device* external,
                                            spirkiln_device** device, char* error,
                                            size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(device);
  if (refused("spirkiln_device_from_vulkan", {given("device", device), given("external", external)},
              text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(guarded([&]() -> Result<spirkiln::Device> {
                const auto all =
                    read_options(external, spirkiln_external_device{},
                                 sizeof(spirkiln_external_device), "spirkiln_device_from_vulkan");
                if (!all) return all.error();
                spirkiln::ExternalDevice e;
                e.get_instance_proc_addr = all->get_instance_proc_addr;
                e.instance = all->instance;
                e.api_version = all->api_version;
                e.physical = all->physical;
                e.device = all->device;
                e.made_with = all->made_with;
                e.queue_family = all->queue_family;
                e.queue_index = all->queue_index;
                const auto hook = [user = all->lock_user](void (*call)(void*)) {
                  return call == nullptr ? std::function<void()>() : [call, user] { call(user); };
                };
                e.lock_queue = hook(all->lock_queue);
                e.unlock_queue = hook(all->unlock_queue);
                e.no_cache = all->no_cache != 0;
                e.message = callback(all->message, all->message_user);
                return spirkiln::open_external_device(e);
              }),
              device, text);
}

spirkiln_status spirkiln_buffer_wrap(spirkiln_device* device, VkBuffer buffer, uint64_t bytes,
                                     spirkiln_buffer** wrapped, char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(wrapped);
  if (refused("spirkiln_buffer_wrap", {given("wrapped", wrapped), open_handle("device", device)},
              text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(compute::wrap(device->device, buffer, bytes), wrapped, text);
}

spirkiln_status spirkiln_image_wrap(spirkiln_device* device, VkImage image, VkImageView view,
                                    const spirkiln_image_shape* shape, spirkiln_image** wrapped,
                                    char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(wrapped);
  if (refused("spirkiln_image_wrap",
              {given("wrapped", wrapped), given("shape", shape), open_handle("device", device)},
              text))
    return SPIRKILN_INVALID_ARGUMENT;
  return give(compute::wrap(device->device, image, view, shape_of(*shape)), wrapped, text);
}

spirkiln_status spirkiln_sequence_record(spirkiln_sequence* sequence, VkCommandBuffer commands,
                                         char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  if (refused("spirkiln_sequence_record", {open_handle("sequence", sequence)}, text))
    return SPIRKILN_INVALID_ARGUMENT;
  return finish(compute::record(sequence->sequence, commands), text);
}
