// SPDX-License-Identifier: Apache-2.0
#include "proof/program_proof.hpp"

#include <algorithm>

#include "proof/proofs.hpp"

namespace spirkiln {
namespace {

std::string_view name_of(const Table& table, std::uint32_t variant) {
  return table.string(table.variants()[variant].name);
}

std::vector<ProofRequest> requests_of(const Table& table, const Program& program) {
  std::vector<ProofRequest> requests;
  for (const Step& step : program.steps) {
    const table::VariantEntry* v = table.find_variant(step.pipeline.kernel);
    if (v == nullptr) continue;
    ProofRequest r{static_cast<std::uint32_t>(v - table.variants().data()), step.pipeline.specs};
    if (std::find(requests.begin(), requests.end(), r) == requests.end()) {
      requests.push_back(std::move(r));
    }
  }
  return requests;
}

// "; using gemm_nc_fp16p instead".
std::string instead(const Table& table, std::uint32_t variant, const Program* program) {
  if (program == nullptr) return "; no other variant is left";
  for (const Step& step : program->steps) {
    const table::VariantEntry* v = table.find_variant(step.pipeline.kernel);
    if (v == nullptr || v->kernel != table.variants()[variant].kernel) continue;
    return "; using " + std::string(step.pipeline.kernel) + " instead";
  }
  return "; other kernels do its work";
}

}  // namespace

Result<std::vector<WrongKernel>> wrong_kernels(const Device& device, const Table& table,
                                               const Program& program,
                                               const std::function<bool()>& needs_subnormals,
                                               const MessageCallback& message) {
  const auto& state = device.state();
  Proofs& proofs = *state->proofs;
  const auto judged = proofs.judge(state, table, requests_of(table, program));
  if (!judged) return judged.error();
  std::vector<WrongKernel> wrong;
  for (const Proofs::Judgement& j : *judged) {
    // One path that is wrong is enough.
    const auto same = [&](const WrongKernel& w) { return w.variant == j.variant; };
    if (std::any_of(wrong.begin(), wrong.end(), same)) continue;
    const std::string name(name_of(table, j.variant));
    if (j.finding.verdict == Verdict::kWrong) {
      wrong.push_back({j.variant, wrong_text(*state, name, j.finding)});
    }
    if (j.finding.verdict != Verdict::kFlushes) continue;
    const std::string flushes = "kernel " + name + " counts subnormals of 16 bits as 0 on " +
                                state->info.name + " (" + state->caps.driver + ")";
    if (needs_subnormals()) {
      wrong.push_back({j.variant, flushes + ", which this graph's weights need"});
    } else if (message && proofs.tell_once("subnormals")) {
      message(Severity::kInfo, flushes +
                                   "; weights are scaled so that no graph needs them, and "
                                   "activations below 6.1e-5 are lost");
    }
  }
  return wrong;
}

void tell_wrong(const Device& device, const Table& table, std::span<const WrongKernel> wrong,
                const Program* program, const MessageCallback& message) {
  for (const WrongKernel& w : wrong) {
    if (!device.state()->proofs->tell_once(std::string(name_of(table, w.variant))) || !message) {
      continue;
    }
    message(Severity::kWarning, w.text + instead(table, w.variant, program));
  }
}

}  // namespace spirkiln
