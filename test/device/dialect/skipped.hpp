// SPDX-License-Identifier: Apache-2.0
// What this device or compiler cannot execute; listed behind the run, never passed over in silence.
#pragma once

#include <map>
#include <string>

namespace spirkiln::test {

inline std::map<std::string, std::string>& skipped() {
  static std::map<std::string, std::string> all;
  return all;
}

}  // namespace spirkiln::test
