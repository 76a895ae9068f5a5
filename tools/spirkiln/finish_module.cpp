// SPDX-License-Identifier: Apache-2.0
#include "finish_module.hpp"

#include <fmt/format.h>

#include "canonical_ids.hpp"
#include "reflect.hpp"
#include "spirv_tools.hpp"

namespace spirkiln::gen {
namespace {

Error failed(std::string_view stage, const Error& error) {
  return Error{error.code, fmt::format("{}: {}", stage, error.message)};
}

}  // namespace

Result<FinishedModule> finish_module(const std::vector<std::uint32_t>& words,
                                     const FinishOptions& options, const Target& target,
                                     const SecondCompiler* second) {
  FinishedModule out;
  auto now = second != nullptr ? second->optimise(words, options.optimise, target)
                               : optimise(words, options.optimise, target);
  if (!now.ok()) {
    if (options.optimise_required) return failed("optimising failed", now.error());
    out.not_optimised = now.error().message;
    now = words;
  }
  out.constant_names = spec_names(*now);
  if (!options.keep_names) {
    now = second != nullptr ? second->strip(*now, target) : strip(*now, target);
    if (!now.ok()) return failed("stripping failed", now.error());
  }
  auto canonical = canonical_ids(*now);
  out.words = canonical ? *std::move(canonical) : std::move(now).value();
  const Status valid =
      second != nullptr ? second->validate(out.words, target) : validate(out.words, target);
  if (!valid.ok()) return failed("the module is not valid", valid.error());
  return out;
}

}  // namespace spirkiln::gen
