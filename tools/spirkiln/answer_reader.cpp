// SPDX-License-Identifier: Apache-2.0
#include "answer_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "manifest_values.hpp"
#include "toml_depth.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::string_view kAnswerKeys[] = {"kernel",     "axes",   "subnormal", "subgroup",
                                            "local_size", "groups", "constants", "push",
                                            "buffers",    "result"};
constexpr std::string_view kBufferKeys[] = {"binding", "kind",  "values", "count", "seed",
                                            "steps",   "row",   "used",   "rows",  "used_rows",
                                            "centre",  "range", "rest"};
constexpr std::string_view kResultKeys[] = {"binding", "kind",      "values",
                                            "step",    "tolerance", "bound"};
// In order of their enums.
constexpr std::string_view kKinds[] = {"tensor", "float", "bytes"};
// Of the largest value, where no step is given: fine enough to tell single precision from anything
// coarser, and a fifth fewer bytes than 16 bits.
constexpr float kSteps = 4095;
constexpr std::string_view kClasses[] = {"fp32", "fp16", "fp16a"};

class Reader {
 public:
  Reader(const std::string& kernel, ManifestErrors& errors) : kernel_(kernel), errors_(errors) {}

  std::optional<PlacedAnswer> read(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      fail(node, "an answer is a table: [[kernel.answers]], or in a file of its own [[answer]]");
      return std::nullopt;
    }
    PlacedAnswer placed{{}, {}, {}, errors_.at(node.source())};
    Answer& a = placed.answer;
    a.kernel = kernel_;
    const toml::node* result = nullptr;
    for (const auto& [key, value] : *table) {
      const std::string_view name = key.str();
      if (name == "kernel" && kernel_.empty()) {
        a.kernel = string_value(key, value, errors_);
      } else if (name == "axes") {
        read_axes(value, &a);
      } else if (name == "subnormal") {
        const auto* b = value.as_boolean();
        if (b == nullptr) fail(value, "'subnormal' must be true or false");
        a.subnormal = b != nullptr && b->get();
      } else if (name == "subgroup") {
        a.subgroup = number(value, "subgroup", 0, 1024);
      } else if (name == "local_size" || name == "groups") {
        read_sizes(name, value, name == "groups" ? &a.groups : &a.local_size);
      } else if (name == "constants") {
        read_constants(value, &placed);
      } else if (name == "push") {
        read_push(value, &placed);
      } else if (name == "buffers") {
        read_buffers(value, &a);
      } else if (name == "result") {
        result = &value;
        read_result(value, &a.result);
      } else {
        unknown_key(key, "an answer", kAnswerKeys, errors_);
      }
    }
    if (a.kernel.empty()) fail(node, "an answer without 'kernel'");
    if (result == nullptr) {
      fail(node, "an answer without 'result': what has to come out");
    } else {
      check(*result, a);
    }
    return placed;
  }

 private:
  void fail(const toml::node& node, std::string text) {
    errors_.fail(node.source(), std::move(text));
  }

  std::uint32_t number(const toml::node& node, std::string_view name, std::int64_t least,
                       std::int64_t most) {
    const auto* i = node.as_integer();
    if (i != nullptr && i->get() >= least && i->get() <= most) {
      return static_cast<std::uint32_t>(i->get());
    }
    fail(node, fmt::format("'{}' must be a whole number of {} to {}", name, least, most));
    return static_cast<std::uint32_t>(std::max<std::int64_t>(least, 1));
  }

  // A number that single precision holds; `nan` only where that is allowed.
  float real(const toml::node& node, std::string_view name, bool nan_too = false) {
    const auto value = node.value<double>();
    const bool number = node.is_integer() || node.is_floating_point();
    if (number && value && nan_too && std::isnan(*value)) {
      return std::numeric_limits<float>::quiet_NaN();
    }
    if (number && value && std::abs(*value) <= double{std::numeric_limits<float>::max()}) {
      return static_cast<float>(*value);
    }
    fail(node, fmt::format("'{}' must be a number that single precision holds", name));
    return 0;
  }

  std::vector<float> reals(const toml::node& node, std::string_view name, bool nan_too) {
    std::vector<float> out;
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty() || list->size() > kMaxAnswerValues) {
      fail(node, fmt::format("'{}' must be a list of 1 to {} numbers", name, kMaxAnswerValues));
      return out;
    }
    out.reserve(list->size());
    for (const toml::node& item : *list) out.push_back(real(item, name, nan_too));
    return out;
  }

  void read_axes(const toml::node& node, Answer* a) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return fail(node, "'axes' must be a table such as { TILE = 8 }");
    for (const auto& [axis, value] : *table) {
      std::string text;
      if (macro_value(value, text, errors_)) a->axes.emplace_back(axis.str(), std::move(text));
    }
  }

  void read_sizes(std::string_view name, const toml::node& node,
                  std::array<std::uint32_t, 3>* out) {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty() || list->size() > 3) {
      return fail(node, fmt::format("'{}' must be a list of one to three numbers", name));
    }
    *out = {1, 1, 1};
    const std::int64_t most = name == "groups" ? kMaxAnswerInvocations : 65536;
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < list->size(); ++i) {
      (*out)[i] = number(*list->get(i), name, 1, most);
      product *= (*out)[i];
      if (product > kMaxAnswerInvocations) {
        return fail(node, fmt::format("'{}' gives more than {}", name, kMaxAnswerInvocations));
      }
    }
  }

  // Of 32 bits in any type.
  WrittenNumber written(const toml::node& node, std::string_view name) {
    WrittenNumber number{Bits{}, errors_.at(node.source())};
    if (const auto* b = node.as_boolean()) {
      number.value = b->get();
      return number;
    }
    if (const auto* i = node.as_integer()) {
      if (i->get() >= std::numeric_limits<std::int32_t>::min() && i->get() <= 0xffffffff) {
        if (i->flags() == toml::value_flags::none) {
          number.value = i->get();
        } else {
          number.value = Bits{static_cast<std::uint32_t>(i->get())};
        }
        return number;
      }
    } else if (node.is_floating_point()) {
      number.value = double{real(node, name)};
      return number;
    }
    fail(node, fmt::format("'{}': expected a 32-bit integer, or a float (2.0)", name));
    return number;
  }

  void read_constants(const toml::node& node, PlacedAnswer* placed) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return fail(node, "'constants' must be a table such as { slope = 0.5 }");
    for (const auto& [name, value] : *table) {
      placed->answer.constants.emplace_back(name.str(), 0);
      placed->constants.push_back(written(value, name.str()));
    }
  }

  void read_push(const toml::node& node, PlacedAnswer* placed) {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->size() > kMaxAnswerPushWords) {
      return fail(node, fmt::format("'push' must be a list of at most {} numbers, one for each "
                                    "four bytes of the block",
                                    kMaxAnswerPushWords));
    }
    for (const toml::node& item : *list) placed->push.push_back(written(item, "push"));
    placed->answer.push.resize(placed->push.size());
  }

  AnswerKind kind(const toml::node& node) {
    const auto* text = node.as_string();
    const auto* it = text == nullptr ? std::end(kKinds)
                                     : std::find(std::begin(kKinds), std::end(kKinds), text->get());
    if (it != std::end(kKinds)) return static_cast<AnswerKind>(it - std::begin(kKinds));
    fail(node, fmt::format("'kind' must be one of \"{}\"", fmt::join(kKinds, "\", \"")));
    return AnswerKind::kTensor;
  }

  void read_buffers(const toml::node& node, Answer* a) {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->size() > kMaxAnswerBuffers) {
      return fail(node, fmt::format("'buffers' must be a list of at most {} tables such as "
                                    "{{ binding = 0, seed = 1, count = 64 }}",
                                    kMaxAnswerBuffers));
    }
    for (const toml::node& item : *list) {
      const toml::table* table = item.as_table();
      if (table == nullptr) {
        fail(item, "a buffer is a table such as { binding = 0, seed = 1, count = 64 }");
        continue;
      }
      const AnswerBuffer buffer = read_buffer(*table);
      for (const AnswerBuffer& other : a->buffers) {
        if (other.binding != buffer.binding) continue;
        fail(item, fmt::format("binding {} comes twice", buffer.binding));
        break;
      }
      a->buffers.push_back(buffer);
    }
  }

  AnswerBuffer read_buffer(const toml::table& table) {
    AnswerBuffer b;
    AnswerSeed& s = b.seed;
    bool binding = false, used = false;
    for (const auto& [key, value] : table) {
      const std::string_view name = key.str();
      if (name == "binding") {
        b.binding = number(value, name, 0, kMaxAnswerBuffers - 1);
        binding = true;
      } else if (name == "kind") {
        b.kind = kind(value);
      } else if (name == "values") {
        b.values = reals(value, name, false);
      } else if (name == "count") {
        b.count = number(value, name, 1, kMaxAnswerValues);
      } else if (name == "seed") {
        s.seed = number(value, name, 0, 0xffffffff);
      } else if (name == "steps") {
        s.steps = number(value, name, 1, 1 << 24);
      } else if (name == "row") {
        s.row = number(value, name, 1, kMaxAnswerValues);
      } else if (name == "used") {
        s.used = number(value, name, 0, kMaxAnswerValues);
        used = true;
      } else if (name == "rows") {
        s.rows = number(value, name, 1, kMaxAnswerValues);
      } else if (name == "used_rows") {
        s.used_rows = number(value, name, 0, kMaxAnswerValues);
      } else if (name == "centre") {
        s.centre = real(value, name);
      } else if (name == "range") {
        s.range = real(value, name);
      } else if (name == "rest") {
        s.rest = real(value, name);
      } else {
        unknown_key(key, "a buffer", kBufferKeys, errors_);
      }
    }
    if (!used) s.used = s.row;
    if (!binding) fail(table, "a buffer without 'binding'");
    const bool seeded = table.contains("seed");
    if (seeded == table.contains("values") || seeded != table.contains("count")) {
      fail(table, "a buffer has 'values', or 'seed' and 'count'");
      b.count = 4;
    }
    if (!seeded) b.count = static_cast<std::uint32_t>(b.values.size());
    check_count(table, b.kind, b.count);
    if (b.kind == AnswerKind::kBytes) {
      const auto is_byte = [](float v) { return v >= 0 && v <= 255 && v == std::floor(v); };
      if (!std::all_of(b.values.begin(), b.values.end(), is_byte) || !is_byte(s.rest)) {
        fail(table, "bytes are whole numbers of 0 to 255");
      }
    }
    return b;
  }

  void check_count(const toml::node& node, AnswerKind kind, std::size_t count) {
    if (kind == AnswerKind::kFloat || count % 4 == 0) return;
    fail(node, fmt::format("{} values; {} are whole {}", count,
                           kind == AnswerKind::kTensor ? "tensors" : "bytes",
                           kind == AnswerKind::kTensor ? "vectors of four" : "words of four"));
  }

  void read_result(const toml::node& node, AnswerResult* r) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      return fail(node, "'result' must be a table: binding, values and tolerance");
    }
    r->tolerance.fill(-1);
    std::vector<float> values;
    float step = 0;  // 0: that of 16 bits
    for (const auto& [key, value] : *table) {
      const std::string_view name = key.str();
      if (name == "binding") {
        r->binding = number(value, name, 0, kMaxAnswerBuffers - 1);
      } else if (name == "kind") {
        r->kind = kind(value);
      } else if (name == "values") {
        values = reals(value, name, true);
      } else if (name == "step") {
        step = real(value, name);
        if (!(step > 0)) fail(value, "'step' must be above 0");
      } else if (name == "tolerance") {
        read_tolerance(value, r);
      } else if (name == "bound") {
        r->bound = real(value, name);
      } else {
        unknown_key(key, "a result", kResultKeys, errors_);
      }
    }
    if (r->kind == AnswerKind::kBytes) {
      const bool all = std::all_of(values.begin(), values.end(), [](float v) {
        return std::isnan(v) || (v >= 0 && v <= 255 && v == std::floor(v));
      });
      if (!all) fail(node, "bytes are whole numbers of 0 to 255");
      if (step == 0) step = 1;
    }
    set_values(node, values, step, r);
    for (const std::string_view name : {"binding", "values", "tolerance"}) {
      if (!table->contains(name)) fail(node, fmt::format("a result without '{}'", name));
    }
    check_count(node, r->kind, r->values.size());
    // What storing has rounded.
    for (float& t : r->tolerance) {
      if (t >= 0 && step <= 0) t += r->scale / 2;
    }
  }

  // Where the values are whole multiples of a step, they pack better.
  void set_values(const toml::node& node, const std::vector<float>& values, float step,
                  AnswerResult* r) {
    float most = 0;
    for (const float v : values) {
      if (!std::isnan(v)) most = std::max(most, std::abs(v));
    }
    r->scale = step > 0 ? step : most > 0 ? most / kSteps : 1;
    for (const float v : values) {
      if (std::isnan(v)) {
        r->values.push_back(AnswerResult::kNotCompared);
        continue;
      }
      const float steps = v / r->scale;
      if (!(std::abs(steps) < 32767.5f) ||
          (step > 0 && std::abs(steps - std::round(steps)) > 0.01f)) {
        fail(node,
             fmt::format("{} is no whole multiple of 'step', {}, up to 32767 of them", v, step));
        return;
      }
      r->values.push_back(static_cast<std::int16_t>(std::lround(steps)));
    }
  }

  void read_tolerance(const toml::node& node, AnswerResult* r) {
    const toml::table* table = node.as_table();
    if (table == nullptr || table->empty()) {
      return fail(node, "'tolerance' must be a table of one or more of fp32, fp16, fp16a");
    }
    for (const auto& [key, value] : *table) {
      const auto* it = std::find(std::begin(kClasses), std::end(kClasses), key.str());
      if (it == std::end(kClasses)) {
        unknown_key(key, "'tolerance'", kClasses, errors_);
        continue;
      }
      const float t = real(value, key.str());
      if (t < 0) fail(value, "a tolerance is 0 or more");
      r->tolerance[static_cast<std::size_t>(it - std::begin(kClasses))] = std::max(t, 0.0f);
    }
  }

  void check(const toml::node& node, const Answer& a) {
    const AnswerResult& r = a.result;
    if (std::all_of(r.values.begin(), r.values.end(),
                    [](std::int16_t v) { return v == AnswerResult::kNotCompared; }) &&
        !r.values.empty()) {
      fail(node, "no value of the result is compared");
    }
    for (const AnswerBuffer& b : a.buffers) {
      if (b.binding != r.binding) continue;
      if (b.kind != r.kind || b.count != r.values.size()) {
        fail(node, "the result's buffer begins with another number or kind of values");
      }
    }
    if (a.subnormal != (r.bound > 0)) {
      fail(node,
           "'bound', above 0, belongs to an answer with 'subnormal': what no flushing exceeds");
    }
    if (const auto c = class_without_proof(a)) {
      const std::string_view name = kClasses[static_cast<std::size_t>(*c)];
      const toml::node* where = node.as_table()->get("tolerance");
      if (const auto* table = where != nullptr ? where->as_table() : nullptr) {
        where = table->get(name);
      }
      fail(where != nullptr ? *where : node,
           fmt::format("a kernel that stores zeros would pass: the tolerance of {} must be below "
                       "the largest value, {:.4g} (1 where all are 0)",
                       name, largest_value(r)));
    }
    std::uint64_t invocations = 1;
    for (int i = 0; i < 3; ++i) invocations *= std::max(a.local_size[i], 1u) * a.groups[i];
    if (invocations > kMaxAnswerInvocations) {
      fail(node, fmt::format("more than {} invocations", kMaxAnswerInvocations));
    }
  }

  const std::string& kernel_;
  ManifestErrors& errors_;
};

}  // namespace

void read_answers(const toml::node& node, const std::string& kernel, std::vector<PlacedAnswer>& out,
                  ManifestErrors& errors) {
  const toml::array* list = node.as_array();
  if (list == nullptr || list->empty()) {
    errors.fail(node.source(), kernel.empty() ? "'answer' must be written as [[answer]]"
                                              : "'answers' must be written as [[kernel.answers]], "
                                                "or be the name of a file of [[answer]]");
    return;
  }
  if (list->size() > kMaxAnswers) {
    errors.fail(node.source(), fmt::format("more than {} answers", kMaxAnswers));
    return;
  }
  Reader reader(kernel, errors);
  for (const toml::node& item : *list) {
    if (auto answer = reader.read(item)) out.push_back(std::move(*answer));
  }
}

Result<std::vector<PlacedAnswer>> parse_answer_file(const SourceFile& file) {
  ManifestErrors errors(file.path.string());
  std::vector<PlacedAnswer> answers;
  const auto result = [&]() -> Result<std::vector<PlacedAnswer>> {
    if (!errors.empty()) return Error{ErrorCode::kInvalidArgument, errors.message()};
    return std::move(answers);
  };
  if (const auto deep = tool::find_deep_key(file.text)) {
    errors.fail(Diagnostic{Severity::kError, file.path.string(), deep->line, deep->column,
                           fmt::format("a key of more than {} parts", tool::kMaxKeyParts)});
    return result();
  }
  toml::table root;
  try {
    root = toml::parse(file.text, file.path.string());
  } catch (const toml::parse_error& e) {
    errors.fail(e.source(), std::string(e.description()));
    return result();
  }
  constexpr std::string_view kRootKeys[] = {"answer"};
  for (const auto& [key, node] : root) {
    if (key.str() == "answer") {
      read_answers(node, {}, answers, errors);
    } else {
      unknown_key(key, "a file of answers", kRootKeys, errors);
    }
  }
  if (answers.empty() && errors.empty()) {
    errors.fail(Diagnostic{Severity::kError, file.path.string(), 0, 0, "no [[answer]] entry"});
  }
  return result();
}

}  // namespace spirkiln::gen
