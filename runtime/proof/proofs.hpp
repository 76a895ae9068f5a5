// SPDX-License-Identifier: Apache-2.0
// What is known of modules on one device: proved once, remembered in memory and on disk.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "proof/paths.hpp"
#include "proof/tries.hpp"
#include "proof/verdicts.hpp"

namespace spirkiln {

// Of one device; what Device::State::proofs is. Thread-safe.
class Proofs {
 public:
  struct Judgement {
    std::uint32_t variant = 0;
    Finding finding;
  };
  struct Stats {
    // Paths through modules, where not every path was asked for.
    std::uint32_t proved = 0;      // modules that were run
    std::uint32_t remembered = 0;  // modules whose verdict was on disk
    double ms = 0;                 // of all that was run
  };

  // What is known of the table's variants on these paths after those that are unknown were run;
  // they stay unproven where nothing may be run. One judgement a request, in order: another path
  // through the same module has a verdict of its own. Errors: those of prove(), and kVulkan, with
  // the name, where a module did not end: its verdict is kept, and the device is lost.
  Result<std::vector<Judgement>> judge(const std::shared_ptr<Device::State>& device,
                                       const Table& table, std::span<const ProofRequest> requests,
                                       bool may_run = true);
  // The same for every path that there is an answer for. One judgement a variant.
  Result<std::vector<Judgement>> judge(const std::shared_ptr<Device::State>& device,
                                       const Table& table, std::span<const std::uint32_t> variants,
                                       bool may_run = true);
  // True for the first caller with this name in the device's life: users are told once.
  bool tell_once(const std::string& name);
  Stats stats() const;

 private:
  // The answers of the table, and what is on disk.
  Status load(const Device::State& device, const Table& table);
  Status load_answers(const Table& table);
  void load_verdicts(const Device::State& device);
  // One judgement a task, in order. A module whose proof was left once is run by itself, so that it
  // alone is blamed the next time.
  Result<std::vector<Judgement>> judge_tasks(const std::shared_ptr<Device::State>& device,
                                             const Table& table, std::vector<ProofTask> all,
                                             bool may_run);
  // Of tasks and their keys, in order: to known_.
  Status run(const std::shared_ptr<Device::State>& device, const Table& table,
             std::span<const ProofTask> tasks, std::span<const VerdictKey> keys);
  void save(const Device::State& device, std::span<const StoredVerdict> fresh);

  mutable std::mutex mutex_;
  // Of the table that was asked about last; nearly always there is one.
  std::optional<Table> table_;
  std::span<const std::byte> stored_answers_;  // the table's
  DecodedAnswers answers_;
  bool loaded_ = false;
  std::string path_;
  std::map<VerdictKey, Finding> known_;
  std::set<VerdictKey> from_disk_;
  std::map<VerdictKey, LeftTries> left_;  // without an end, by earlier processes
  std::set<std::string> told_;
  Stats stats_;
};

// "kernel gemm_nc_fp16s gives wrong results on <device> (<driver>): 12 of 300 values, the worst 3.1
// in place of 1.5 at index 17".
std::string wrong_text(const Device::State& device, std::string_view variant, const Finding& f);

}  // namespace spirkiln
