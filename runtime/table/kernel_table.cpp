// SPDX-License-Identifier: Apache-2.0
// The public face of a Table.
#include "table/kernel_table.hpp"

#include <utility>

namespace spirkiln {

Result<KernelTable> KernelTable::open(const std::string& path) {
  KernelTable out;
  auto table = Table::from_file(path);
  if (!table) return table.error();
  out.state_ = std::make_shared<State>(State{*std::move(table)});
  return out;
}

Result<KernelTable> KernelTable::from_memory(std::span<const unsigned char> bytes,
                                             std::string name) {
  KernelTable out;
  auto table = Table::from_static(std::as_bytes(bytes), std::move(name));
  if (!table) return table.error();
  out.state_ = std::make_shared<State>(State{*std::move(table)});
  return out;
}

std::vector<std::string_view> KernelTable::kernels() const {
  std::vector<std::string_view> names;
  for (const auto& kernel : state_->table.kernels()) {
    names.push_back(state_->table.string(kernel.name));
  }
  return names;
}

std::vector<std::string_view> KernelTable::variants(std::string_view kernel) const {
  std::vector<std::string_view> names;
  const auto* entry = state_->table.find(kernel);
  if (entry == nullptr) return names;
  for (const auto& variant : state_->table.variants_of(*entry)) {
    names.push_back(state_->table.string(variant.name));
  }
  return names;
}

Result<std::span<const std::uint32_t>> KernelTable::words(std::string_view variant) const {
  for (const auto& entry : state_->table.variants()) {
    if (state_->table.string(entry.name) == variant) return state_->table.words(entry.blob);
  }
  return Error{ErrorCode::kNoVariant,
               state_->table.origin() + " has no variant '" + std::string(variant) + "'"};
}

}  // namespace spirkiln
