// SPDX-License-Identifier: Apache-2.0
// Around every function of the public interface: no exception leaves the library (what the standard
// library throws becomes an Error here), and messages are said when all locks are released.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "loader/messages.hpp"
#include "spirkiln/result.hpp"

namespace spirkiln {

template <typename Function>
auto guarded(Function&& function) -> decltype(function()) {
  const MessageScope messages;
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, "the host has no memory left"};
  } catch (const std::exception& e) {
    return Error{ErrorCode::kUnsupported, std::string("unexpected: ") + e.what()};
  }
}

}  // namespace spirkiln
