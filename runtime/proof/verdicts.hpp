// SPDX-License-Identifier: Apache-2.0
// Verdicts on disk: which modules gave their known answers on a device with a driver.
//
// One file a (device, driver), in the cache folder's verdicts/. It holds plain numbers, behind a
// header with their length and checksum. Writing merges with what is there, so that several
// processes add to each other; what two write in the same moment may be lost, and is proved again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "loader/caps.hpp"
#include "proof/prove.hpp"

namespace spirkiln {

// One module, under the answers that it was held against: those of one path, or of all of them.
struct VerdictKey {
  std::uint64_t blob = 0;     // hash of its words
  std::uint64_t answers = 0;  // of the answers, as they are stored
  auto operator<=>(const VerdictKey&) const = default;
};

// As in memory, and that the proof did not end, which is kWrong there.
inline constexpr Verdict kUnended{4};

struct StoredVerdict {
  VerdictKey key;
  Verdict verdict = Verdict::kUnproven;
  std::uint32_t wrong = 0, values = 0, at = 0;
  float expected = 0, got = 0;
};
static_assert(sizeof(StoredVerdict) == 40);

// More than any program's tables have; the oldest go first.
inline constexpr std::size_t kMaxVerdicts = 1u << 14;

// The file for this device and driver in `folder` (the cache's), or empty where that is.
std::string verdict_path(const std::string& folder, const DeviceCaps& caps);

// Nothing for anything that is not whole; `damaged` says that there was something.
std::vector<StoredVerdict> read_verdicts(const std::string& path, bool* damaged);

// Adds to the file; newer ones win. Errors: kIo.
Status add_verdicts(const std::string& path, std::span<const StoredVerdict> fresh);

}  // namespace spirkiln
