// SPDX-License-Identifier: Apache-2.0
// Proofs that are running, on disk: a driver that hangs, or ends the process, leaves no verdict,
// and would do the same at every start.
//
// A try is one file beside the verdicts: a header with length and checksum, who tries since when,
// and the keys. Its process holds a lock on it, which ends with the process whatever ends that, so
// that a try that is under way is told from one that was left behind, in another container, too.
// Where the system has no such locks nothing is recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "proof/verdicts.hpp"

namespace spirkiln {

// So many tries without an end, and the module counts as failed.
inline constexpr std::uint32_t kMaxTries = 2;

class Try {
 public:
  // Beside the verdicts in `path`; one that records nothing where that is empty or cannot be
  // written.
  Try(const std::string& path, std::span<const VerdictKey> keys);
  // Leaves the file, as the end of the process would, unless ended() was called.
  ~Try();
  Try(const Try&) = delete;
  Try& operator=(const Try&) = delete;
  void ended();

 private:
  std::string file_;
  int lock_ = -1;
};

struct LeftTries {
  std::uint32_t count = 0;
  std::string last;  // "process 4711, 2026-12-01 03:04:05 UTC"
};

// Tries beside the verdicts in `path` that nobody is at any more, by module. Those with nothing but
// modules in `known` are removed: these have had their verdict since.
std::map<VerdictKey, LeftTries> left_tries(const std::string& path,
                                           const std::function<bool(const VerdictKey&)>& known);

// The files of tries, for users: "FOLDER/DEVICE-*.try".
std::string try_files(const std::string& path);

}  // namespace spirkiln
