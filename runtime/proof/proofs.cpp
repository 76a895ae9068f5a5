// SPDX-License-Identifier: Apache-2.0
#include "proof/proofs.hpp"

#include <xxhash.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "loader/messages.hpp"

namespace spirkiln {
namespace {

StoredVerdict stored(const VerdictKey& key, const Finding& f) {
  return {key,  f.unended.empty() ? f.verdict : kUnended, f.wrong, f.values, f.at, f.expected,
          f.got};
}

// " (remove FILES to try it again)".
std::string to_try_again(const std::string& files) {
  return files.empty() ? "" : " (remove " + files + " to try it again)";
}

Finding finding_of(const StoredVerdict& v, const std::string& path) {
  if (v.verdict == kUnended) {
    Finding f;
    f.verdict = Verdict::kWrong;
    f.unended = "did not end in time at an earlier start" + to_try_again(path);
    return f;
  }
  return {v.verdict, v.wrong, v.values, v.at, v.expected, v.got, {}, {}};
}

std::uint64_t hash_of(const DecodedAnswers& all, std::span<const std::uint32_t> answers) {
  std::vector<std::uint64_t> hashes;
  for (const std::uint32_t a : answers) hashes.push_back(all.hashes[a]);
  return XXH3_64bits(hashes.data(), hashes.size() * sizeof(std::uint64_t));
}

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", v);
  return text;
}

}  // namespace

Status Proofs::load(const Device::State& device, const Table& table) {
  if (auto s = load_answers(table); !s) return s;
  load_verdicts(device);
  return Ok{};
}

Status Proofs::load_answers(const Table& table) {
  const auto bytes = table.attachment(kAnswersAttachment);
  if (!bytes) return bytes.error();
  // The table is held, so that no other one can lie at this place.
  if (table_ && bytes->data() == stored_answers_.data()) return Ok{};
  auto decoded = decode_answers(*bytes);
  if (!decoded) return Error{ErrorCode::kCorrupt, table.origin() + ": " + decoded.error().message};
  answers_ = *std::move(decoded);
  stored_answers_ = *bytes;
  table_ = table;
  return Ok{};
}

void Proofs::load_verdicts(const Device::State& device) {
  if (std::exchange(loaded_, true)) return;
  path_ = verdict_path(device.cache_folder, device.caps);
  if (path_.empty()) return;
  bool damaged = false;
  for (const StoredVerdict& v : read_verdicts(path_, &damaged)) {
    known_[v.key] = finding_of(v, path_);
    from_disk_.insert(v.key);
  }
  left_ = left_tries(path_, [this](const VerdictKey& key) { return known_.contains(key); });
  if (damaged) {
    device.say(Severity::kInfo, "the verdicts " + path_ + " are damaged and are ignored");
  }
}

void Proofs::save(const Device::State& device, std::span<const StoredVerdict> fresh) {
  if (path_.empty() || fresh.empty()) return;
  if (auto s = add_verdicts(path_, fresh); !s) {
    device.say(Severity::kInfo, "verdicts are not kept: " + s.error().message);
  }
}

Status Proofs::run(const std::shared_ptr<Device::State>& device, const Table& table,
                   std::span<const ProofTask> tasks, std::span<const VerdictKey> keys) {
  const auto begin = std::chrono::steady_clock::now();
  Try attempt(path_, keys);
  auto found = prove(device, table, answers_, tasks);
  // A device that was lost is one that is lost at the next start, too; where a finding says who did
  // not end, nobody else is to blame.
  if (found || !device->lost.load(std::memory_order_relaxed)) attempt.ended();
  if (!found) return std::move(found).error();
  std::vector<StoredVerdict> fresh;
  std::string unended;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Finding& f = (*found)[i];
    known_[keys[i]] = f;
    if (!f.unended.empty()) {
      unended = "kernel " + std::string(table.string(table.variants()[tasks[i].variant].name)) +
                " " + f.unended + " on " + device->info.name + " (" + device->caps.driver +
                "), in its proof. This process does not use the device again";
      if (!path_.empty()) {
        unended += "; later starts do without the kernel" + to_try_again(path_);
      }
    }
    // What a driver refused may be another matter tomorrow, what it computed is not.
    const bool keeps = f.failure.empty() || !f.unended.empty();
    if (f.verdict != Verdict::kUnproven && keeps) fresh.push_back(stored(keys[i], f));
  }
  stats_.proved += static_cast<std::uint32_t>(tasks.size());
  stats_.ms +=
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  save(*device, fresh);
  if (!unended.empty()) return Error{ErrorCode::kVulkan, unended};
  return Ok{};
}

Result<std::vector<Proofs::Judgement>> Proofs::judge(const std::shared_ptr<Device::State>& device,
                                                     const Table& table,
                                                     std::span<const ProofRequest> requests,
                                                     bool may_run) {
  const MessageScope messages;  // said when the lock is released
  const std::lock_guard lock(mutex_);
  if (auto s = load(*device, table); !s) return std::move(s).error();
  std::vector<ProofTask> tasks;
  std::map<std::uint32_t, std::vector<std::uint32_t>> own;  // answers of variants
  for (const ProofRequest& r : requests) {
    const auto [it, is_new] = own.try_emplace(r.variant);
    if (is_new) it->second = answers_for(table, r.variant, answers_, device->caps.subgroup_size);
    tasks.push_back({r.variant, answers_on_path(table, r, answers_, it->second)});
  }
  return judge_tasks(device, table, std::move(tasks), may_run);
}

Result<std::vector<Proofs::Judgement>> Proofs::judge(const std::shared_ptr<Device::State>& device,
                                                     const Table& table,
                                                     std::span<const std::uint32_t> variants,
                                                     bool may_run) {
  const MessageScope messages;  // said when the lock is released
  const std::lock_guard lock(mutex_);
  if (auto s = load(*device, table); !s) return std::move(s).error();
  std::vector<ProofTask> tasks;
  for (const std::uint32_t v : variants) {
    tasks.push_back({v, answers_for(table, v, answers_, device->caps.subgroup_size)});
  }
  return judge_tasks(device, table, std::move(tasks), may_run);
}

Result<std::vector<Proofs::Judgement>> Proofs::judge_tasks(
    const std::shared_ptr<Device::State>& device, const Table& table, std::vector<ProofTask> all,
    bool may_run) {
  std::vector<Judgement> judgements;
  std::vector<VerdictKey> keys;
  std::vector<ProofTask> tasks, alone;
  std::vector<VerdictKey> task_keys, alone_keys;
  for (ProofTask& task : all) {
    judgements.push_back({task.variant, {}});
    const VerdictKey key{table.blobs()[table.variants()[task.variant].blob].hash,
                         hash_of(answers_, task.answers)};
    keys.push_back(key);
    if (from_disk_.erase(key) != 0) ++stats_.remembered;
    if (known_.contains(key) || !may_run) continue;
    known_[key] = {};  // so that a path that comes twice runs once
    if (task.answers.empty()) continue;
    if (const auto left = left_.find(key); left != left_.end()) {
      if (left->second.count >= kMaxTries) {
        known_[key].verdict = Verdict::kWrong;
        known_[key].unended = "did not end " + std::to_string(left->second.count) +
                              " times, the last of them that of " + left->second.last +
                              to_try_again(try_files(path_));
      } else {
        alone.push_back(std::move(task));
        alone_keys.push_back(key);
      }
      continue;
    }
    tasks.push_back(std::move(task));
    task_keys.push_back(key);
  }
  Status ran = Ok{};
  if (tasks.size() + alone.size() > 0 && device->lost.load(std::memory_order_relaxed)) {
    ran = device->lost_error();
  }
  if (ran && !tasks.empty()) ran = run(device, table, tasks, task_keys);
  for (std::size_t i = 0; ran && i < alone.size(); ++i) {
    ran = run(device, table, {&alone[i], 1}, {&alone_keys[i], 1});
  }
  if (!ran) {
    task_keys.insert(task_keys.end(), alone_keys.begin(), alone_keys.end());
    for (const VerdictKey& key : task_keys) {
      if (known_[key].verdict == Verdict::kUnproven) known_.erase(key);
    }
    return std::move(ran).error();
  }
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    if (const auto it = known_.find(keys[i]); it != known_.end())
      judgements[i].finding = it->second;
  }
  return judgements;
}

bool Proofs::tell_once(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return told_.insert(name).second;
}

Proofs::Stats Proofs::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

std::string wrong_text(const Device::State& device, std::string_view variant, const Finding& f) {
  if (!f.unended.empty()) {
    return "kernel " + std::string(variant) + " is not run on " + device.info.name + " (" +
           device.caps.driver + "): its proof " + f.unended;
  }
  std::string text = "kernel " + std::string(variant) + " gives wrong results on " +
                     device.info.name + " (" + device.caps.driver + "): ";
  if (f.wrong == 0) return text + f.failure;
  return text + std::to_string(f.wrong) + " of " + std::to_string(f.values) +
         " values, the worst " + number(double{f.got}) + " in place of " +
         number(double{f.expected}) + " at index " + std::to_string(f.at);
}

}  // namespace spirkiln
