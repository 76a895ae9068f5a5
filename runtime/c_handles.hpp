// SPDX-License-Identifier: Apache-2.0
// What the functions of the C interface share: handles, error texts, options of any version.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "spirkiln/spirkiln.h"
#include "spirkiln/spirkiln.hpp"

// Each handle begins with a tag of its kind, so that one of another kind is refused.
struct spirkiln_device {
  static constexpr std::uint32_t kTag = 0x53504b44;
  std::uint32_t tag;
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

inline spirkiln_status finish(const Status& status, const ErrorText& out) {
  return status ? SPIRKILN_OK : fail(status.error(), out);
}

// Moves the value into a new handle.
template <typename Handle, typename T>
spirkiln_status give(Result<T> result, Handle** handle, const ErrorText& out) {
  if (!result) return fail(result.error(), out);
  *handle = new (std::nothrow) Handle{Handle::kTag, *std::move(result)};
  if (*handle != nullptr) return SPIRKILN_OK;
  return fail(Error{ErrorCode::kOutOfMemory, "the host has no memory left"}, out);
}

template <typename Handle>
bool valid(const Handle* handle) {
  if (handle == nullptr) return false;
  std::uint32_t tag;
  std::memcpy(&tag, handle, sizeof tag);
  return tag == Handle::kTag;
}

template <typename Handle>
void close(Handle* handle) {
  if (valid(handle)) delete handle;
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

// What both ways to open a device take. Errors: kInvalidArgument.
Result<DeviceOptions> device_options(const spirkiln_device_options* options, const char* function);

}  // namespace spirkiln::c
