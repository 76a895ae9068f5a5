// SPDX-License-Identifier: Apache-2.0
// The exception that carries an error up to the library's entry points, which turn it into a
// Result. It never leaves the library.
#pragma once

#include <spirkiln/result.hpp>

#include <exception>
#include <string>
#include <utility>

namespace spirkiln::packer {

class PackError : public std::exception {
 public:
  PackError(ErrorCode code, std::string message) : error_{code, std::move(message)} {}
  const char* what() const noexcept override { return error_.message.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

[[noreturn]] inline void fail_corrupt(std::string message) {
  throw PackError(ErrorCode::kCorrupt, std::move(message));
}
[[noreturn]] inline void fail_unsupported(std::string message) {
  throw PackError(ErrorCode::kUnsupported, std::move(message));
}
[[noreturn]] inline void fail_io(std::string message) {
  throw PackError(ErrorCode::kIo, std::move(message));
}

}  // namespace spirkiln::packer
