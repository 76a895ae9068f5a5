// SPDX-License-Identifier: Apache-2.0
#include "loader/user_rules.hpp"

#include <utility>
#include <vector>

#include "loader/environment.hpp"
#include "table/device_rules.hpp"

namespace spirkiln {

Result<SelectRules> user_rules(const Device::State& device, const Table& table,
                               const UserWishes& wishes) {
  const auto text = [&](const std::string& option, const char* name, const char* variable) {
    if (!option.empty()) return WishText{option, std::string(wishes.options) + "::" + name};
    const char* value = environment(variable);
    return WishText{value != nullptr ? value : "", variable};
  };
  const WishTexts texts{text(wishes.axes, "axes", "SPIRKILN_AXES"),
                        text(wishes.kernels, "kernels", "SPIRKILN_KERNELS"),
                        text(wishes.avoid, "avoid", "SPIRKILN_AVOID")};
  std::vector<Table> others;
  if (!texts.axes.text.empty() || !texts.kernels.text.empty() || !texts.avoid.text.empty()) {
    others = device.tables;
    if (auto built_in = open_table()) others.push_back(*std::move(built_in));
  }
  auto parsed = parse_wishes(table, texts, others);
  if (!parsed) return std::move(parsed).error();
  return select_rules(table, device.caps, *std::move(parsed));
}

}  // namespace spirkiln
