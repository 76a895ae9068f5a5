// SPDX-License-Identifier: Apache-2.0
// Runs known answers on a device and compares.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loader/device.hpp"
#include "table/answers.hpp"
#include "table/table.hpp"

namespace spirkiln {

enum class Verdict : std::uint32_t {
  kRight = 0,
  kFlushes = 1,   // right but for subnormals of 16 bits, which count as 0
  kWrong = 2,
  kUnproven = 3,  // no answer that may run on this device
};

struct Finding {
  Verdict verdict = Verdict::kUnproven;
  std::uint32_t wrong = 0, values = 0;  // of all its answers
  // The value that is furthest off, counted in its tolerance.
  std::uint32_t at = 0;
  float expected = 0, got = 0;
  std::string failure;  // why there are no values: what the driver said
  std::string unended;  // "did not end ...", now or at an earlier start
};

// A variant of the table, and those of the answers that are for it.
struct ProofTask {
  std::uint32_t variant = 0;
  std::vector<std::uint32_t> answers;
};

// Answers that are for the variant on a device with these subgroups.
std::vector<std::uint32_t> answers_for(const Table& table, std::uint32_t variant,
                                       const DecodedAnswers& all, std::uint32_t subgroup_size);

// Variants that a graph on such a device may come to run: what they need is there, and where they
// are for one size of subgroups or one shape of matrices, it is the device's.
std::vector<std::uint32_t> variants_for(const Table& table, const DeviceCaps& caps);

// One finding a task, in order. All tasks of one form go to the device together, their pipelines
// made on all cores. Errors: as Executor's; what one variant alone fails at is its finding. So is
// that it does not end: then the device is abandoned, and of the others nothing is known.
Result<std::vector<Finding>> prove(const std::shared_ptr<Device::State>& device, const Table& table,
                                   const DecodedAnswers& all, std::span<const ProofTask> tasks);

// Compares what a variant wrote with an answer, and adds it to the finding. `got`: as many values
// as the answer has.
void compare(const Answer& answer, AnswerClass c, std::span<const float> got, Finding* finding);

}  // namespace spirkiln
