// SPDX-License-Identifier: Apache-2.0
// The one error type of the libraries, and the value-or-error that carries it.
#pragma once

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error "Spirkiln's C++ headers need C++20 (-std=c++20); its C headers do not"
#endif

#include <cassert>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace spirkiln {

enum class ErrorCode : std::uint32_t {
  kInvalidArgument = 1,  // the caller passed something that can never work
  kIo = 2,               // a file could not be read or written
  kCorrupt = 3,          // a table, model or cache file fails its own checks
  kUnsupported = 4,      // well-formed, but this build or device cannot do it
  kNoVulkan = 5,         // no loader or no device
  kNoVariant = 6,        // no blob of a kernel may run on the device
  kOutOfMemory = 7,      // host or device memory
  kVulkan = 8,           // a Vulkan call failed; the text names call and code
  kNotFinite = 9,        // NaN or infinity where none may be
};

// `message` is complete English, without trailing newline: what failed, what was expected, what to
// do.
struct Error {
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string message;
};

// Either a T or an Error. Converts implicitly from both, so functions `return value;` or
// `return Error{...};`.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    assert(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    assert(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    assert(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    assert(!ok());
    return std::get<1>(state_);
  }
  Error&& error() && {
    assert(!ok());
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

struct Ok {};
using Status = Result<Ok>;

enum class Severity { kInfo, kWarning, kError };

// Receives everything a library wants to say besides its return value. May be empty; must not
// throw.
//
// Called on the thread that called the library, when the call is about to return and nothing is
// locked: it may itself call the library, on any object, or wait for another thread that does. What
// a call says comes in order; calls on several threads speak at the same time. Only validation
// layers may have threads of their own: what they say there comes at once, on those threads, from
// inside a Vulkan call, and must not lead to another one.
using MessageCallback = std::function<void(Severity, std::string_view)>;

}  // namespace spirkiln
