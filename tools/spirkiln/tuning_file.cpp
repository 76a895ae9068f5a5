// SPDX-License-Identifier: Apache-2.0
#include "tuning_file.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

#include "manifest_errors.hpp"
#include "manifest_values.hpp"
#include "table/nearest_name.hpp"
#include "toml_depth.hpp"
#include "tuning_keys.hpp"

namespace spirkiln::gen {
namespace {

using tuning::Fact;
using tuning::Family;
using tuning::Rule;

constexpr std::string_view kRootKeys[] = {
    "number",       "product",     "tiled_shape", "tiled_split",    "matrix_tile",
    "matrix_split", "matrix_lite", "window_tile", "separable_tile", "gate_group"};
constexpr std::string_view kNumberKeys[] = {"name", "gpu", "software", "all", "reason", "measured"};
constexpr std::string_view kConditionKeys[] = {"from", "to", "multiple_of"};
constexpr std::string_view kWidthKeys[] = {"n8", "n16"};
constexpr std::size_t kMaxRules = 1000;

class Parser {
 public:
  explicit Parser(const SourceFile& file) : file_(file), errors_(file.path.string()) {}

  Result<TuningFile> parse() {
    if (const auto deep = tool::find_deep_key(file_.text)) {
      errors_.fail(Diagnostic{Severity::kError, file_.path.string(), deep->line, deep->column,
                              fmt::format("a key of more than {} parts", tool::kMaxKeyParts)});
      return result();
    }
    toml::table root;
    try {
      root = toml::parse(file_.text, file_.path.string());
    } catch (const toml::parse_error& e) {
      errors_.fail(e.source(), std::string(e.description()));
      return result();
    }
    for (const auto& [key, node] : root) {
      if (std::find(std::begin(kRootKeys), std::end(kRootKeys), key.str()) == std::end(kRootKeys)) {
        unknown_key(key, "a tuning file", kRootKeys, errors_);
      }
    }
    read_numbers(root);
    read_rules(root, "product", kProductFacts, true, out_.product);
    read_rules(root, "tiled_shape", kShapeFacts, true, out_.tiled_shape);
    read_rules(root, "tiled_split", kShapeSplitFacts, false, out_.tiled_split);
    read_rules(root, "matrix_tile", kTileFacts, true, out_.matrix_tile);
    read_rules(root, "matrix_split", kTileSplitFacts, false, out_.matrix_split);
    read_rules(root, "matrix_lite", kLiteFacts, true, out_.matrix_lite);
    read_rules(root, "window_tile", kWindowFacts, true, out_.window_tile);
    read_rules(root, "separable_tile", kSeparableFacts, false, out_.separable_tile);
    read_rules(root, "gate_group", kGateFacts, true, out_.gate_group);
    return result();
  }

 private:
  Result<TuningFile> result() {
    if (!errors_.empty()) return Error{ErrorCode::kInvalidArgument, errors_.message()};
    return std::move(out_);
  }

  // Of [[name]], in the file's order.
  std::vector<const toml::table*> tables(const toml::table& root, std::string_view name) {
    std::vector<const toml::table*> all;
    const toml::node* node = root.get(name);
    if (node == nullptr) return all;
    const toml::array* list = node->as_array();
    if (list == nullptr || !list->is_array_of_tables()) {
      errors_.fail(node->source(), fmt::format("'{0}' must be written as [[{0}]]", name));
    } else if (list->size() > kMaxRules) {
      errors_.fail(node->source(), fmt::format("more than {} of [[{}]]", kMaxRules, name));
    } else {
      for (const toml::node& entry : *list) all.push_back(entry.as_table());
    }
    return all;
  }

  // Why, which every number and rule says, and what was measured, which not all can say.
  void check_texts(const toml::table& table, std::string_view what) {
    for (const std::string_view key : {"reason", "measured"}) {
      const toml::node* node = table.get(key);
      if (node == nullptr) {
        if (key == "reason") errors_.fail(table.source(), fmt::format("{} without 'reason'", what));
        continue;
      }
      const auto* text = node->as_string();
      if (text == nullptr || text->get().empty()) {
        errors_.fail(node->source(), fmt::format("'{}' must be a text", key));
      }
    }
  }

  // Nothing after an error.
  std::optional<std::uint64_t> integer(const toml::node& node, std::string_view what,
                                       std::uint64_t least, std::uint64_t most) {
    const auto* i = node.as_integer();
    if (i != nullptr && i->get() >= 0 && static_cast<std::uint64_t>(i->get()) >= least &&
        static_cast<std::uint64_t>(i->get()) <= most) {
      return static_cast<std::uint64_t>(i->get());
    }
    errors_.fail(node.source(),
                 fmt::format("'{}' must be a whole number from {} to {}", what, least, most));
    return std::nullopt;
  }

  void read_number_value(const toml::node& node, const NumberKey& key, tuning::Numbers& out) {
    if (const auto* flag = std::get_if<bool tuning::Numbers::*>(&key.member)) {
      const auto* value = node.as_boolean();
      if (value == nullptr) {
        errors_.fail(node.source(), fmt::format("'{}' is true or false", key.name));
      } else {
        out.*(*flag) = value->get();
      }
      return;
    }
    const auto value = integer(node, key.name, key.least, key.most);
    if (!value) return;
    if (key.power_of_two && !std::has_single_bit(*value)) {
      errors_.fail(node.source(), fmt::format("'{}' must be a power of two", key.name));
    }
    if (const auto* wide = std::get_if<std::uint64_t tuning::Numbers::*>(&key.member)) {
      out.*(*wide) = *value;
    } else {
      out.*std::get<std::uint32_t tuning::Numbers::*>(key.member) =
          static_cast<std::uint32_t>(*value);
    }
  }

  void read_number(const toml::table& table, std::set<std::string_view>& seen) {
    check_texts(table, "[[number]]");
    for (const auto& [key, node] : table) {
      if (std::find(std::begin(kNumberKeys), std::end(kNumberKeys), key.str()) ==
          std::end(kNumberKeys)) {
        unknown_key(key, "[[number]]", kNumberKeys, errors_);
      }
    }
    const toml::node* name = table.get("name");
    if (name == nullptr || !name->is_string()) {
      errors_.fail(table.source(), "[[number]] without a 'name', a string");
      return;
    }
    const std::string& wanted = name->as_string()->get();
    const auto keys = number_keys();
    const auto key = std::find_if(keys.begin(), keys.end(),
                                  [&](const NumberKey& k) { return k.name == wanted; });
    if (key == keys.end()) {
      std::vector<std::string_view> known;
      for (const NumberKey& k : keys) known.push_back(k.name);
      errors_.fail(name->source(), fmt::format("no number '{}'; the nearest is '{}'", shown(wanted),
                                               nearest_name(wanted, known)));
      return;
    }
    if (!seen.insert(key->name).second) {
      errors_.fail(name->source(), fmt::format("'{}' stands twice", key->name));
    }
    const toml::node* all = table.get("all");
    const toml::node* gpu = table.get("gpu");
    const toml::node* software = table.get("software");
    if ((all != nullptr) == (gpu != nullptr && software != nullptr) ||
        (all != nullptr && (gpu != nullptr || software != nullptr))) {
      errors_.fail(table.source(),
                   fmt::format("'{}' needs 'gpu' and 'software', or 'all'", key->name));
      return;
    }
    read_number_value(all != nullptr ? *all : *gpu, *key, out_.gpu);
    if (all != nullptr) {
      std::visit([&](auto m) { out_.software.*m = out_.gpu.*m; }, key->member);
    } else {
      read_number_value(*software, *key, out_.software);
    }
  }

  void read_numbers(const toml::table& root) {
    std::set<std::string_view> seen;
    for (const toml::table* table : tables(root, "number")) read_number(*table, seen);
    for (const NumberKey& key : number_keys()) {
      if (!seen.contains(key.name)) {
        errors_.fail(root.source(), fmt::format("no [[number]] '{}'", key.name));
      }
    }
  }

  bool read_device(const toml::node& node, tuning::Condition& c) {
    const auto* text = node.as_string();
    if (text != nullptr && (text->get() == "gpu" || text->get() == "software")) {
      c.from = c.to = text->get() == "software" ? 1 : 0;
      return true;
    }
    errors_.fail(node.source(), "'device' must be \"gpu\" or \"software\"");
    return false;
  }

  // 4, or { from = 4, to = 8, multiple_of = 2 }.
  bool read_condition(const toml::key& key, const toml::node& node, tuning::Condition& c) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
    if (c.fact == Fact::kSoftware) return read_device(node, c);
    const toml::table* parts = node.as_table();
    if (parts == nullptr) {
      const auto value = integer(node, key.str(), 0, kMost);
      if (value) c.from = c.to = *value;
      return value.has_value();
    }
    if (parts->empty()) errors_.fail(node.source(), fmt::format("'{}' says nothing", key.str()));
    for (const auto& [name, part] : *parts) {
      const bool multiple = name.str() == "multiple_of";
      if (!multiple && name.str() != "from" && name.str() != "to") {
        unknown_key(name, fmt::format("'{}'", key.str()), kConditionKeys, errors_);
        continue;
      }
      const auto value = integer(part, name.str(), multiple ? 2 : 0, multiple ? 1u << 16 : kMost);
      if (!value) continue;
      if (multiple) c.multiple_of = static_cast<std::uint32_t>(*value);
      if (name.str() == "from") c.from = *value;
      if (name.str() == "to") c.to = *value;
    }
    if (c.from > c.to) {
      errors_.fail(node.source(), fmt::format("'{}' ends before it begins", key.str()));
    }
    return true;
  }

  void read_choice(const toml::node& node, Family& out) {
    const auto* text = node.as_string();
    std::vector<std::string_view> names;
    for (const FamilyKey& key : family_keys()) {
      names.push_back(key.name);
      if (text == nullptr || text->get() != key.name) continue;
      out = key.family;
      return;
    }
    errors_.fail(node.source(),
                 fmt::format("'use' must be one of \"{}\"", fmt::join(names, "\", \"")));
  }

  template <typename Choice>
  void read_choice(const toml::node& node, Choice& out) {
    const toml::table* parts = node.as_table();
    std::vector<std::string_view> known;
    for (const auto& key : choice_keys<Choice>()) known.push_back(key.name);
    if (parts == nullptr) {
      errors_.fail(node.source(),
                   fmt::format("'use' must be a table of {}", fmt::join(known, ", ")));
      return;
    }
    const std::size_t before = errors_.count();
    for (const auto& [key, part] : *parts) {
      if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
        unknown_key(key, "'use'", known, errors_);
      }
    }
    for (const auto& key : choice_keys<Choice>()) {
      const toml::node* part = parts->get(key.name);
      if (part == nullptr) {
        errors_.fail(node.source(), fmt::format("'use' without '{}'", key.name));
      } else {
        read_part(*part, key, out);
      }
    }
    if (errors_.count() == before) check_choice(node, out);
  }

  template <typename Choice>
  void read_part(const toml::node& part, const ChoiceKey<Choice>& key, Choice& out) {
    if constexpr (requires { &Choice::matrices_n8; }) {
      if (key.member == &Choice::matrices_n8) {
        read_matrices(part, key, out);
        return;
      }
    }
    const auto value = integer(part, key.name, key.least, key.most);
    if (!value) return;
    if (key.power_of_two && !std::has_single_bit(*value)) {
      errors_.fail(part.source(), fmt::format("'{}' must be a power of two", key.name));
    }
    out.*key.member = static_cast<std::uint32_t>(*value);
  }

  // One number, or one for matrices of 8 columns and one for those of 16.
  template <typename Choice>
  void read_matrices(const toml::node& part, const ChoiceKey<Choice>& key, Choice& out) {
    const toml::table* widths = part.as_table();
    const toml::node* n8 = widths == nullptr ? &part : widths->get("n8");
    const toml::node* n16 = widths == nullptr ? &part : widths->get("n16");
    if (n8 == nullptr || n16 == nullptr || (widths != nullptr && widths->size() != 2)) {
      errors_.fail(part.source(), fmt::format("'{}' must be a number, or a table of {}", key.name,
                                              fmt::join(kWidthKeys, ", ")));
      return;
    }
    const auto first = integer(*n8, key.name, key.least, key.most);
    if (first) out.matrices_n8 = static_cast<std::uint32_t>(*first);
    if (widths == nullptr) {
      out.matrices_n16 = out.matrices_n8;
      return;
    }
    const auto second = integer(*n16, key.name, key.least, key.most);
    if (second) out.matrices_n16 = static_cast<std::uint32_t>(*second);
  }

  // What a kernel could not compute with.
  void check_choice(const toml::node& node, const tuning::GemmShape& s) {
    if (s.z != 1 && s.z != 4) errors_.fail(node.source(), "'z' must be 1 or 4");
    if (s.tile_k4 % s.z != 0) errors_.fail(node.source(), "'tile_k4' must be a multiple of 'z'");
    if (s.z == 1 && s.x * s.y > tuning::kGemmInvocations) {
      errors_.fail(node.source(),
                   fmt::format("{} invocations; a shape that does not share K has {} at most",
                               s.x * s.y, tuning::kGemmInvocations));
    }
    if (const auto bytes = tuning::gemm_shared_bytes(s); bytes > tuning::kGemmSharedBytes) {
      errors_.fail(node.source(), fmt::format("{} bytes of workgroup memory in fp32; devices have "
                                              "no more than {} for sure",
                                              bytes, tuning::kGemmSharedBytes));
    }
  }
  void check_choice(const toml::node& node, const tuning::MatrixTileChoice& t) {
    if (t.tile_k4 % (4 * t.groups_k) != 0) {
      errors_.fail(node.source(),
                   "'tile_k4' must be a multiple of 4 times 'groups_k': whole matrices a subgroup");
    }
  }
  void check_choice(const toml::node& node, const tuning::SeparableTileChoice& t) {
    if (t.tile_k4 % 4 != 0) {
      errors_.fail(node.source(), "'tile_k4' must be a multiple of 4: whole matrices");
    }
  }
  template <typename Choice>
  void check_choice(const toml::node&, const Choice&) {}

  template <typename Choice>
  void read_rule(const toml::table& table, std::string_view name, std::span<const Fact> facts,
                 Rule<Choice>& rule) {
    const std::string what = fmt::format("[[{}]]", name);
    check_texts(table, what);
    std::vector<std::string_view> known = {"use", "reason", "measured"};
    for (const FactKey& key : fact_keys()) {
      if (std::find(facts.begin(), facts.end(), key.fact) != facts.end()) known.push_back(key.name);
    }
    for (const auto& [key, node] : table) {
      if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
        unknown_key(key, what, known, errors_);
        continue;
      }
      for (const FactKey& fact : fact_keys()) {
        if (fact.name != key.str()) continue;
        if (rule.count == tuning::kMaxConditions) {
          errors_.fail(table.source(), fmt::format("{} with more than {} conditions", what,
                                                   tuning::kMaxConditions));
          break;
        }
        tuning::Condition& c = rule.conditions[rule.count];
        c.fact = fact.fact;
        if (read_condition(key, node, c)) ++rule.count;
      }
    }
    if (const toml::node* use = table.get("use")) {
      read_choice(*use, rule.choice);
    } else {
      errors_.fail(table.source(), what + " without 'use'");
    }
  }

  // Where `complete`, the last rule holds always.
  template <typename Choice>
  void read_rules(const toml::table& root, std::string_view name, std::span<const Fact> facts,
                  bool complete, std::vector<Rule<Choice>>& out) {
    const auto list = tables(root, name);
    for (const toml::table* table : list) {
      Rule<Choice> rule{};
      const std::size_t before = errors_.count();
      read_rule(*table, name, facts, rule);
      if (rule.count == 0 && errors_.count() == before && table != list.back()) {
        errors_.fail(
            table->source(),
            fmt::format("a rule without a condition: no [[{}]] behind it is ever asked", name));
      }
      if (table == list.back() && complete && rule.count != 0) {
        errors_.fail(table->source(),
                     fmt::format("the last [[{}]] must have no condition: what nothing else holds "
                                 "for falls through to it",
                                 name));
      }
      if constexpr (std::is_same_v<Choice, Family>) {
        if (table == list.back() && errors_.count() == before && rule.choice != Family::kPlain) {
          errors_.fail(
              table->source(),
              fmt::format("the last [[{}]] must use \"plain\", which runs anywhere", name));
        }
      }
      // What nothing else is taken for has to run on each device that the family does.
      if constexpr (std::is_same_v<Choice, tuning::GemmShape>) {
        const std::uint32_t all = rule.choice.x * rule.choice.y * rule.choice.z;
        if (complete && errors_.count() == before && all > tuning::kGemmInvocations) {
          errors_.fail(table->get("use")->source(),
                       fmt::format("{} invocations; a shape of [[{}]] has {} at most, since no "
                                   "device is asked for more; larger ones are for [[tiled_split]]",
                                   all, name, tuning::kGemmInvocations));
        }
      }
      out.push_back(rule);
    }
    if (complete && root.get(name) == nullptr) {
      errors_.fail(root.source(), fmt::format("no [[{}]]", name));
    }
  }

  const SourceFile& file_;
  ManifestErrors errors_;
  TuningFile out_;
};

}  // namespace

Result<TuningFile> parse_tuning(const SourceFile& file) { return Parser(file).parse(); }

}  // namespace spirkiln::gen
