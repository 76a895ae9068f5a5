// SPDX-License-Identifier: Apache-2.0
// What the functions of the C interface share: handles, error texts, options of any version.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "spirkiln/spirkiln.h"
#include "spirkiln/spirkiln.hpp"

struct spirkiln_device {
  spirkiln::Device device;
};

namespace spirkiln::c {

inline void put_text(char* out, std::size_t bytes, std::string_view text) {
  if (out == nullptr || bytes == 0) return;
  std::size_t n = std::min(text.size(), bytes - 1);
  if (n < text.size()) {  // not half of a character
    while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) --n;
  }
  text.copy(out, n);
  out[n] = '\0';
}

// Empty until something fails: a text of an earlier call is no answer to this one.
struct ErrorText {
  ErrorText(char* out, std::size_t size) : text(out), bytes(size) { put_text(text, bytes, {}); }
  char* text;
  std::size_t bytes;
};

// Out parameters are cleared before anything is checked, so that no failure leaves one as it was.
template <typename T>
void clear(T* out) {
  if (out != nullptr) *out = {};
}

inline spirkiln_status fail(const Error& error, const ErrorText& out) {
  put_text(out.text, out.bytes, error.message);
  return static_cast<spirkiln_status>(error.code);
}

inline spirkiln_status fail(const char* message, const ErrorText& out) {
  put_text(out.text, out.bytes, message);
  return SPIRKILN_INVALID_ARGUMENT;
}

// The number of an enum that C gave. It may be none of its values, and to load such a one as the
// enum has no meaning in C++.
template <typename Enum>
std::uint32_t number(const Enum& given) {
  std::uint32_t value = 0;
  static_assert(sizeof value == sizeof given);
  std::memcpy(&value, &given, sizeof value);
  return value;
}

// An argument that must be there.
struct Needed {
  const char* name;
  const char* fault;  // null where there is none
};
// A pointer to `count` of something, or to one.
inline Needed given(const char* name, const void* pointer, std::size_t count = 1) {
  return {name, pointer == nullptr && count > 0 ? "is NULL" : nullptr};
}

// True, with the first that is missing by its name, where one is.
inline bool refused(const char* function, std::initializer_list<Needed> all, const ErrorText& out) {
  for (const Needed& n : all) {
    if (n.fault == nullptr) continue;
    char message[160];
    std::snprintf(message, sizeof message, "%s: %s %s", function, n.name, n.fault);
    put_text(out.text, out.bytes, message);
    return true;
  }
  return false;
}

inline spirkiln_status finish(const Status& status, const ErrorText& out) {
  return status ? SPIRKILN_OK : fail(status.error(), out);
}

// The handles of one kind that are open. A pointer is looked up before anybody follows it, so that
// one of another kind or one that was closed is refused. (Not where a new handle of the same kind
// has the closed one's address by then.)
template <typename Handle>
class Open {
 public:
  static bool has(const Handle* handle) {
    const std::lock_guard lock(state().mutex);
    return state().handles.contains(handle);
  }
  // Null, and nothing is left behind, where there is no memory.
  static Handle* add(Handle* handle) noexcept {
    if (handle == nullptr) return nullptr;
    try {
      const std::lock_guard lock(state().mutex);
      state().handles.insert(handle);
      return handle;
    } catch (...) {
      delete handle;
      return nullptr;
    }
  }
  static void close(Handle* handle) {
    {
      const std::lock_guard lock(state().mutex);
      if (state().handles.erase(handle) == 0) return;
    }
    delete handle;
  }

 private:
  struct State {
    std::mutex mutex;
    std::unordered_set<const Handle*> handles;
  };
  // Never destroyed: handles may be closed as late as a process likes.
  static State& state() {
    static State* const state = new State;
    return *state;
  }
};

template <typename Handle>
bool valid(const Handle* handle) {
  return handle != nullptr && Open<Handle>::has(handle);
}

template <typename Handle>
Needed open_handle(const char* name, const Handle* handle) {
  if (handle == nullptr) return {name, "is NULL"};
  return {name, valid(handle) ? nullptr : "is closed or of another kind"};
}

template <typename Handle>
void close(Handle* handle) {
  Open<Handle>::close(handle);
}

// Moves the values into a new handle.
template <typename Handle, typename... Values>
spirkiln_status make_handle(Handle** handle, const ErrorText& out, Values&&... values) {
  *handle = Open<Handle>::add(new (std::nothrow) Handle{std::forward<Values>(values)...});
  if (*handle != nullptr) return SPIRKILN_OK;
  return fail(Error{ErrorCode::kOutOfMemory, "the host has no memory left"}, out);
}

template <typename Handle, typename T>
spirkiln_status give(Result<T> result, Handle** handle, const ErrorText& out) {
  return result ? make_handle(handle, out, *std::move(result)) : fail(result.error(), out);
}

// The options as this library knows them; what a caller of an older header lacks keeps its default.
// `least` is the size that they had first.
template <typename Options>
Result<Options> read_options(const Options* from, const Options& defaults, std::size_t least,
                             const char* function) {
  Options options = defaults;
  if (from == nullptr) return options;
  std::size_t bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  if (bytes < least || bytes > sizeof options) {
    return Error{ErrorCode::kInvalidArgument,
                 std::string(function) + ": struct_bytes of the options is " +
                     std::to_string(bytes) + ", this library knows " + std::to_string(least) +
                     " to " + std::to_string(sizeof options) +
                     "; begin with the _INIT of the header that comes with the library"};
  }
  std::memcpy(static_cast<void*>(&options), from, bytes);
  return options;
}

inline std::string text_or_empty(const char* text) { return text != nullptr ? text : ""; }

inline MessageCallback callback(spirkiln_message_fn call, void* user) {
  if (call == nullptr) return {};
  return [call, user](Severity s, std::string_view m) {
    call(static_cast<int>(s), std::string(m).c_str(), user);
  };
}

inline Result<DeviceOptions> device_options(const spirkiln_device_options* options,
                                            const char* function) {
  const auto all = read_options(options, SPIRKILN_DEVICE_OPTIONS_INIT,
                                offsetof(spirkiln_device_options, backend), function);
  if (!all) return all.error();
  DeviceOptions o;
  if (all->index >= 0) o.index = static_cast<std::uint32_t>(all->index);
  o.name = text_or_empty(all->name);
  o.backend = text_or_empty(all->backend);
  o.validation = all->validation != 0;
  o.no_cache = all->no_cache != 0;
  o.message = callback(all->message, all->message_user);
  return o;
}

inline Result<GraphOptions> graph_options(const spirkiln_graph_options* options,
                                          const char* function) {
  const auto all = read_options(options, SPIRKILN_GRAPH_OPTIONS_INIT,
                                offsetof(spirkiln_graph_options, axes), function);
  if (!all) return all.error();
  GraphOptions o;
  o.variant = text_or_empty(all->variant);
  if (all->max_plans != 0) o.max_plans = all->max_plans;
  o.threads = all->threads;
  o.axes = text_or_empty(all->axes);
  o.kernels = text_or_empty(all->kernels);
  o.avoid = text_or_empty(all->avoid);
  o.no_proof = all->no_proof != 0;
  o.best_class = all->best_class != 0;
  o.bytes = all->bytes != 0;
  return o;
}

}  // namespace spirkiln::c
