// SPDX-License-Identifier: Apache-2.0
#include "proof/paths.hpp"

#include <algorithm>
#include <string_view>

namespace spirkiln {
namespace {

bool is_share(std::string_view constant) { return constant == "groups_k" || constant == "parts"; }

std::uint32_t bits_in(const Answer& a, std::string_view constant, std::uint32_t otherwise) {
  for (const auto& [name, bits] : a.constants) {
    if (name == constant) return bits;
  }
  return otherwise;
}

std::uint32_t bits_in(const ProofRequest& r, std::uint32_t id, std::uint32_t otherwise) {
  for (const SpecValue& s : r.specs) {
    if (s.id == id) return s.bits;
  }
  return otherwise;
}

}  // namespace

std::vector<std::uint32_t> answers_on_path(const Table& table, const ProofRequest& request,
                                           const DecodedAnswers& all,
                                           std::span<const std::uint32_t> own) {
  const table::BlobEntry& blob = table.blobs()[table.variants()[request.variant].blob];
  std::vector<std::uint32_t> on_path, subnormal;
  for (const std::uint32_t a : own) (all.answers[a].subnormal ? subnormal : on_path).push_back(a);
  const std::vector<std::uint32_t> every_path = on_path;

  // Leaves those that have the request's value; `value_of` an answer.
  const auto keep = [&](std::uint32_t wanted, const auto& value_of) {
    const bool differ = std::any_of(every_path.begin(), every_path.end(), [&](std::uint32_t a) {
      return value_of(all.answers[a]) != value_of(all.answers[every_path.front()]);
    });
    if (!differ) return;
    std::erase_if(on_path, [&](std::uint32_t a) { return value_of(all.answers[a]) != wanted; });
  };
  for (const table::SpecEntry& s : table.specs_of(blob)) {
    const std::string_view name = table.string(s.name);
    const bool share = is_share(name);
    if (!share && s.default_bits != 0) continue;
    const auto counted = [&](std::uint32_t bits) { return share ? std::uint32_t{bits > 1} : bits; };
    keep(counted(bits_in(request, s.id, s.default_bits)),
         [&](const Answer& a) { return counted(bits_in(a, name, s.default_bits)); });
  }
  const std::uint32_t own_z = blob.local_size[2];
  keep(bits_in(request, blob.local_size_id[2], own_z) > 1, [&](const Answer& a) {
    return std::uint32_t{(a.local_size[2] == 0 ? own_z : a.local_size[2]) > 1};
  });

  if (on_path.empty()) return {own.begin(), own.end()};
  on_path.insert(on_path.end(), subnormal.begin(), subnormal.end());
  return on_path;
}

}  // namespace spirkiln
