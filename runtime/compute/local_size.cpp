// SPDX-License-Identifier: Apache-2.0
#include "compute/local_size.hpp"

#include <algorithm>
#include <bit>

#include "compute/kernel.hpp"
#include "graph/lower/tuning.hpp"

namespace spirkiln::compute {
namespace {

using Axes = std::array<std::uint32_t, 3>;

Axes axes(const Extent& e) { return {e.x, e.y, e.z}; }
Extent extent(const Axes& a) { return {a[0], a[1], a[2]}; }
constexpr const char* kAxisNames[3] = {"x", "y", "z"};

// What the module has with the constants that are set so far.
Axes present(const ModuleInfo& module, const std::vector<SpecValue>& specs) {
  Axes size = module.local_size;
  for (int i = 0; i < 3; ++i) {
    for (const SpecValue& s : specs) {
      if (s.id == module.local_size_id[i]) size[i] = s.bits;
    }
  }
  return size;
}

Status check(const Axes& size, const DeviceCaps& caps, const std::string& name) {
  std::uint64_t invocations = 1;
  for (int i = 0; i < 3; ++i) {
    if (size[i] == 0 || size[i] > caps.max_group_size[i]) {
      return Error{ErrorCode::kUnsupported, name + ": a local size of " + std::to_string(size[i]) +
                                                " along " + kAxisNames[i] + ", " + caps.name +
                                                " allows 1 to " +
                                                std::to_string(caps.max_group_size[i])};
    }
    invocations *= size[i];
  }
  if (invocations <= caps.max_invocations) return Ok{};
  return Error{ErrorCode::kUnsupported, name + ": a local size of " + text_of(extent(size)) +
                                            " is " + std::to_string(invocations) +
                                            " invocations, " + caps.name + " allows " +
                                            std::to_string(caps.max_invocations)};
}

}  // namespace

Extent optimal_for(const DeviceCaps& caps, const Extent& invocations, const Extent& fixed) {
  Axes size = {1, 1, 1};
  const Axes wanted = axes(invocations), given = axes(fixed);
  std::uint64_t jobs = 1, product = 1;
  for (int i = 0; i < 3; ++i) {
    jobs *= std::max(wanted[i], 1u);
    jobs = std::min<std::uint64_t>(jobs, std::uint64_t{1} << 32);
    if (given[i] != 0) size[i] = given[i];
    product *= size[i];
  }
  const tuning::Numbers& t = tuning::built_in().gpu;
  const std::uint64_t most = std::min<std::uint64_t>(
      jobs >= t.linear_group_wide_from ? t.linear_group_wide : t.linear_group,
      caps.max_invocations);
  for (int i = 0; i < 3; ++i) {
    if (given[i] != 0) continue;
    while (size[i] < wanted[i] && size[i] * 2 <= caps.max_group_size[i] && product * 2 <= most) {
      size[i] *= 2;
      product *= 2;
    }
  }
  return extent(size);
}

Result<LocalSize> choose_local_size(const ModuleInfo& module, const KernelOptions& options,
                                    const DeviceCaps& caps, const std::string& name,
                                    std::vector<SpecValue>* specs) {
  const bool wished = is_size(options.local_size), optimal = is_size(options.optimal_for);
  if (wished && optimal) {
    return Error{ErrorCode::kInvalidArgument,
                 name + ": local_size and optimal_for are both given; one of them decides"};
  }
  const Axes has = present(module, *specs);
  // Who says nothing has 1 x 1 x 1, and nothing in such a module knows.
  const bool says_nothing = module.local_size_word != 0 && has == Axes{1, 1, 1};
  Axes size = has;
  if (wished) size = axes(options.local_size);
  if (optimal) {
    Axes fixed = {0, 0, 0};
    for (int i = 0; i < 3; ++i) {
      const bool set = std::any_of(specs->begin(), specs->end(), [&](const SpecValue& s) {
        return s.id == module.local_size_id[i];
      });
      if (!says_nothing && (module.local_size_id[i] == table::kNone || set)) fixed[i] = has[i];
    }
    size = axes(optimal_for(caps, options.optimal_for, extent(fixed)));
  }
  if (auto s = check(size, caps, name); !s) return std::move(s).error();
  LocalSize out{extent(size), false};
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t id = module.local_size_id[i];
    if (size[i] == has[i]) continue;
    if (says_nothing) {
      out.rewrite = true;
      continue;
    }
    if (id == table::kNone) {
      return Error{ErrorCode::kInvalidArgument,
                   name + ": the local size along " + kAxisNames[i] + " is fixed to " +
                       std::to_string(has[i]) + ", asked for is " + std::to_string(size[i]) +
                       "; write layout(local_size_" + kAxisNames[i] + "_id = ...) in the kernel"};
    }
    if (std::any_of(specs->begin(), specs->end(), [&](const SpecValue& s) { return s.id == id; })) {
      return Error{ErrorCode::kInvalidArgument,
                   name + ": the constant " + std::to_string(id) + " is the local size along " +
                       kAxisNames[i] + " and is given twice, as " + std::to_string(has[i]) +
                       " and as " + std::to_string(size[i])};
    }
    specs->push_back({id, size[i]});
  }
  return out;
}

}  // namespace spirkiln::compute
