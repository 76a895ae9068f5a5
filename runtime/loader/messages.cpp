// SPDX-License-Identifier: Apache-2.0
#include "loader/messages.hpp"

#include <new>
#include <utility>

namespace spirkiln {
namespace {

thread_local MessageScope* scope_of_thread = nullptr;

}  // namespace

MessageScope::MessageScope() : outermost_(scope_of_thread == nullptr) {
  if (outermost_) scope_of_thread = this;
}

MessageScope::~MessageScope() {
  if (!outermost_) return;
  // What the listener calls has a scope of its own.
  scope_of_thread = nullptr;
  for (const Kept& k : kept_) {
    try {
      (*k.to)(k.severity, k.text);
    } catch (...) {  // callbacks must not throw, and no exception leaves the library
    }
  }
}

MessageScope* MessageScope::current() { return scope_of_thread; }

void MessageScope::keep(std::shared_ptr<const MessageCallback> to, Severity severity,
                        std::string_view text) {
  const std::lock_guard lock(mutex_);
  kept_.push_back({std::move(to), severity, std::string(text)});
}

WorkerMessages::WorkerMessages(MessageScope* scope)
    : before_(std::exchange(scope_of_thread, scope)) {}

WorkerMessages::~WorkerMessages() { scope_of_thread = before_; }

MessageCallback kept_messages(const MessageCallback& message) {
  if (!message) return {};
  return [to = std::make_shared<const MessageCallback>(message)](Severity severity,
                                                                 std::string_view text) {
    MessageScope* const scope = MessageScope::current();
    if (scope == nullptr) return (*to)(severity, text);
    try {
      scope->keep(to, severity, text);
    } catch (const std::bad_alloc&) {  // a driver's callback may be below: lost, not thrown
    }
  };
}

}  // namespace spirkiln
