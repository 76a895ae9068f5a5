// SPDX-License-Identifier: Apache-2.0
// Messages are said when nothing is locked any more, so that who hears them may call the library.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln {

// One stands around each call of the public interface (guarded()), outside of all locks. What is
// said on its thread meanwhile is kept and said at its end. Within another one it does nothing.
class MessageScope {
 public:
  MessageScope();
  ~MessageScope();
  MessageScope(const MessageScope&) = delete;
  MessageScope& operator=(const MessageScope&) = delete;

  // The one that this thread's messages go to; null where there is none.
  static MessageScope* current();
  // Throws std::bad_alloc. Thread-safe.
  void keep(std::shared_ptr<const MessageCallback> to, Severity severity, std::string_view text);

 private:
  struct Kept {
    std::shared_ptr<const MessageCallback> to;
    Severity severity;
    std::string text;
  };
  bool outermost_;
  std::mutex mutex_;  // workers of the call say something, too
  std::vector<Kept> kept_;
};

// Around what a thread does for a call of another one, whose scope this is. The call waits for it.
class WorkerMessages {
 public:
  explicit WorkerMessages(MessageScope* scope);
  ~WorkerMessages();
  WorkerMessages(const WorkerMessages&) = delete;
  WorkerMessages& operator=(const WorkerMessages&) = delete;

 private:
  MessageScope* before_;
};

// What the library uses in place of a caller's callback: keeps messages for the scope's end, or
// says them at once where there is no scope. Empty for an empty one.
MessageCallback kept_messages(const MessageCallback& message);

}  // namespace spirkiln
