// SPDX-License-Identifier: Apache-2.0
// Every kernel that a device may run against its known answers, and what that costs.
#pragma once

#include <string>
#include <vector>

#include "proof/prove.hpp"
#include "spirkiln/spirkiln.hpp"

namespace spirkiln::bench {

struct ProvedVariant {
  std::string name;
  Finding finding;
};

struct ProveReport {
  DeviceInfo device;
  std::vector<ProvedVariant> variants;
  std::uint32_t modules = 0;  // that were run; several variants may be one
  double first_ms = 0;   // with empty caches of ours: pipelines, dispatches, comparing
  double second_ms = 0;  // in a second start: what was kept is read
};

// In a cache folder of its own, which is gone afterwards. Errors: as Device::open and
// Proofs::judge.
Result<ProveReport> bench_proofs(const DeviceOptions& options);

std::string prove_text(const ProveReport& report);
std::string prove_json(const ProveReport& report);

}  // namespace spirkiln::bench
