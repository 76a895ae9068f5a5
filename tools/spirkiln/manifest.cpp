// SPDX-License-Identifier: Apache-2.0
#include "manifest.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <set>
#include <span>

#include "device_axes.hpp"
#include "device_macros.hpp"
#include "expand.hpp"
#include "forms.hpp"
#include "macro_check.hpp"
#include "manifest_rules.hpp"
#include "toml_depth.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

using Names = std::span<const std::string_view>;

// In order of the documentation; and in the order of preference that holds without 'order'.
constexpr std::string_view kVariants[] = {"fp32", "fp16p", "fp16pa", "fp16s", "fp16sa"};
constexpr std::string_view kPreference[] = {"fp16s", "fp16p", "fp16sa", "fp16pa", "fp32"};
// In order of their enums.
constexpr std::string_view kResources[] = {"buffer", "image"};
constexpr std::string_view kInt8[] = {"none", "packed", "storage"};

constexpr std::size_t kMaxKernels = 4096;
// With two values each, twelve reach the bound on variants; axes of one value pin device macros.
constexpr std::size_t kMaxAxes = 256;
// What follows is more of the same.
constexpr std::size_t kMaxErrors = 100;

bool is_lower_name(std::string_view s) {
  if (s.empty() || s.size() > 64 || s[0] < 'a' || s[0] > 'z') return false;
  return std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The value becomes part of the variant's name, where the minus of a number is an 'm'.
bool is_axis_value(std::string_view s) {
  const bool negative = s.starts_with('-');
  if (negative) s.remove_prefix(1);
  return !s.empty() && s.size() <= 64 && std::all_of(s.begin(), s.end(), [&](char c) {
    const bool digit = c >= '0' && c <= '9';
    return digit || (!negative && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'));
  });
}

class Parser {
 public:
  explicit Parser(const SourceFile& file) : file_(file) {}

  Result<Manifest> parse() {
    if (const auto deep = tool::find_deep_key(file_.text)) {
      errors_.push_back(
          {Severity::kError, file_.path.string(), deep->line, deep->column,
           fmt::format("a key of more than {} parts; those of a manifest have at most "
                       "five",
                       tool::kMaxKeyParts)});
      return result();
    }
    toml::table root;
    try {
      root = toml::parse(file_.text, file_.path.string());
    } catch (const toml::parse_error& e) {
      fail(e.source(), std::string(e.description()));
      return result();
    }
    read_defaults(root);
    for (const auto& [key, node] : root) {
      if (key.str() == "defaults") continue;
      if (key.str() != "kernel") {
        fail(key.source(),
             fmt::format("unknown key '{}'; a manifest holds [[kernel]] entries and [defaults]",
                         key.str()));
        continue;
      }
      const toml::array* kernels = node.as_array();
      if (kernels == nullptr || !kernels->is_array_of_tables()) {
        fail(node.source(), "'kernel' must be written as [[kernel]]");
        continue;
      }
      if (kernels->size() > kMaxKernels) {
        fail(node.source(), fmt::format("more than {} kernels", kMaxKernels));
        continue;
      }
      for (const toml::node& kernel : *kernels) read_kernel(*kernel.as_table());
    }
    if (manifest_.kernels.empty() && errors_.empty()) {
      errors_.push_back({Severity::kError, file_.path.string(), 0, 0, "no [[kernel]] entry"});
    }
    return result();
  }

 private:
  Result<Manifest> result() {
    if (!errors_.empty()) {
      std::stable_sort(errors_.begin(), errors_.end(), [](const auto& a, const auto& b) {
        return std::pair(a.line, a.column) < std::pair(b.line, b.column);
      });
      std::string text;
      for (const Diagnostic& d : errors_) {
        text += text.empty() ? "" : "\n";
        text += to_string(d);
      }
      if (unsaid_ != 0) {
        text += fmt::format("\n{}: error: {} more mistakes", shown(file_.path), unsaid_);
      }
      return Error{ErrorCode::kInvalidArgument, text};
    }
    manifest_.path = file_.path;
    return std::move(manifest_);
  }

  Diagnostic at(const toml::source_region& where) const {
    return {Severity::kError, file_.path.string(), where.begin.line, where.begin.column, {}};
  }

  void fail(const toml::source_region& where, std::string text) {
    if (errors_.size() == kMaxErrors) {
      ++unsaid_;
      return;
    }
    Diagnostic d = at(where);
    d.text = std::move(text);
    errors_.push_back(std::move(d));
  }

  std::string string_value(const toml::key& key, const toml::node& node) {
    if (const auto* s = node.as_string()) return s->get();
    fail(node.source(), fmt::format("'{}' must be a string", key.str()));
    return {};
  }

  // A macro's text: integers as they are, booleans as 1 or 0, strings as written.
  bool macro_value(const toml::node& node, std::string& out) {
    if (const auto* i = node.as_integer()) {
      out = fmt::format("{}", i->get());
    } else if (const auto* b = node.as_boolean()) {
      out = b->get() ? "1" : "0";
    } else if (const auto* s = node.as_string()) {
      out = s->get();
      if (auto error = bad_macro_value(out)) {
        fail(node.source(), std::move(*error));
        return false;
      }
    } else {
      fail(node.source(), "expected an integer, a boolean or a string");
      return false;
    }
    return true;
  }

  void read_kernel(const toml::table& table) {
    KernelManifest kernel = defaults_;
    kernel.position = at(table.source());
    const toml::node* order_node = nullptr;
    std::vector<std::string> order;
    for (const auto& [key, node] : table) {
      const std::string_view name = key.str();
      if (name == "name") {
        kernel.name = string_value(key, node);
        if (node.is_string() && !is_lower_name(kernel.name)) {
          fail(node.source(), fmt::format("kernel name '{}': expected a lower-case letter, then up "
                                          "to 63 of a-z, 0-9 and _",
                                          kernel.name));
        }
      } else if (name == "source") {
        kernel.source = string_value(key, node);
        if (kernel.source.find('\\') != std::string::npos) {
          fail(node.source(), "'source' separates folders with '/'");
        }
        if (kernel.source.find('\0') != std::string::npos) {
          fail(node.source(), "'source' holds a NUL character; no file's name does");
          kernel.source.clear();
        }
      } else if (name == "order") {
        read_names(key, node, kVariants, order);
        order_node = &node;
      } else if (name == "excludes" || name == "requires") {
        // Below, when all axes are known.
      } else if (!read_shared_key(key, node, kernel)) {
        fail(key.source(), fmt::format("unknown key '{}' in [[kernel]]", name));
      }
    }
    if (!table.contains("name")) fail(table.source(), "[[kernel]] without 'name'");
    if (!table.contains("source")) fail(table.source(), "[[kernel]] without 'source'");
    if (table["source"].value_or(std::string_view("x")).empty()) {
      fail(table["source"].node()->source(), "'source' is empty");
    }
    order_variants(kernel, order, order_node);
    check_resources(kernel, table);
    std::sort(kernel.axes.begin(), kernel.axes.end(),
              [](const Axis& a, const Axis& b) { return a.name < b.name; });
    for (const auto& [key, node] : table) {
      if (key.str() != "excludes" && key.str() != "requires") continue;
      read_rules(key, node, file_.path.string(), kernel,
                 [this](const toml::source_region& where, std::string text) {
                   fail(where, std::move(text));
                 });
    }
    manifest_.kernels.push_back(std::move(kernel));
  }

  // What [[kernel]] and [defaults] have in common. False for any other key.
  bool read_shared_key(const toml::key& key, const toml::node& node, KernelManifest& kernel) {
    const std::string_view name = key.str();
    if (name == "profile") {
      kernel.profile = string_value(key, node);
      if (node.is_string() && form_names(kernel.profile).empty()) {
        fail(node.source(),
             fmt::format("unknown profile '{}'; known: ncnn-2023, ncnn-2026", kernel.profile));
      }
    } else if (name == "variants") {
      kernel.variants.clear();
      read_names(key, node, kVariants, kernel.variants);
    } else if (name == "resources") {
      read_enum(key, node, kResources, kernel.resources);
    } else if (name == "int8") {
      read_enum(key, node, kInt8, kernel.int8);
    } else if (name == "optimise") {
      read_optimise(key, node, kernel);
    } else if (name == "target") {
      read_target(key, node, kernel);
    } else if (name == "strict") {
      const auto* strict = node.as_boolean();
      if (strict == nullptr) fail(node.source(), "'strict' must be true or false");
      kernel.strict = strict == nullptr || strict->get();
    } else if (name == "defines") {
      read_defines(key, node, kernel);
    } else if (name == "axes") {
      read_axes(key, node, kernel);
    } else if (name == "device") {
      read_device(key, node, kernel);
    } else {
      return false;
    }
    return true;
  }

  // [defaults]: what each kernel of the file begins with.
  void read_defaults(const toml::table& root) {
    const toml::node* node = root.get("defaults");
    if (node == nullptr) return;
    const toml::table* table = node->as_table();
    if (table == nullptr) {
      fail(node->source(), "'defaults' must be a table: [defaults]");
      return;
    }
    for (const auto& [key, value] : *table) {
      if (key.str() == "order") {
        read_names(key, value, kVariants, default_order_);
      } else if (!read_shared_key(key, value, defaults_)) {
        fail(key.source(), fmt::format("unknown key '{}' in [defaults]", key.str()));
      }
    }
  }

  // A list of one or more of the known names, each once.
  void read_names(const toml::key& key, const toml::node& node, Names known,
                  std::vector<std::string>& out) {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty()) {
      fail(node.source(), fmt::format("'{}' must be a list of one or more of \"{}\"", key.str(),
                                      fmt::join(known, "\", \"")));
      return;
    }
    for (const toml::node& item : *list) {
      const auto* s = item.as_string();
      if (s == nullptr || std::find(known.begin(), known.end(), s->get()) == known.end()) {
        fail(item.source(), fmt::format("expected one of \"{}\"", fmt::join(known, "\", \"")));
      } else if (std::find(out.begin(), out.end(), s->get()) != out.end()) {
        fail(item.source(), fmt::format("'{}' is listed twice", s->get()));
      } else {
        out.push_back(s->get());
      }
    }
  }

  // The same for an axis of the dialect's own, whose names stand in order of the enum.
  template <typename Enum>
  void read_enum(const toml::key& key, const toml::node& node, Names known,
                 std::vector<Enum>& out) {
    std::vector<std::string> names;
    read_names(key, node, known, names);
    out.clear();
    for (const std::string& name : names) {
      out.push_back(static_cast<Enum>(std::find(known.begin(), known.end(), name) - known.begin()));
    }
  }

  void order_variants(KernelManifest& kernel, const std::vector<std::string>& order,
                      const toml::node* order_node) {
    if (kernel.variants.empty()) kernel.variants.assign(std::begin(kVariants), std::end(kVariants));
    if (order_node == nullptr) {
      std::vector<std::string> sorted;
      // The file's order where it has all of them.
      std::vector<std::string> known(std::begin(kPreference), std::end(kPreference));
      const bool fits =
          std::all_of(kernel.variants.begin(), kernel.variants.end(), [&](const std::string& v) {
            return std::find(default_order_.begin(), default_order_.end(), v) !=
                   default_order_.end();
          });
      if (fits) known = default_order_;
      for (const std::string& v : known) {
        if (std::find(kernel.variants.begin(), kernel.variants.end(), v) != kernel.variants.end()) {
          sorted.emplace_back(v);
        }
      }
      kernel.variants = std::move(sorted);
      return;
    }
    if (std::set<std::string>(order.begin(), order.end()) !=
        std::set<std::string>(kernel.variants.begin(), kernel.variants.end())) {
      fail(order_node->source(),
           fmt::format("'order' must list each variant of the kernel once: {}",
                       fmt::join(kernel.variants, ", ")));
    }
    kernel.variants = order;
  }

  void check_resources(KernelManifest& kernel, const toml::table& table) {
    // Buffers come first in a table whatever the list's order: an image form is asked for by name.
    std::sort(kernel.resources.begin(), kernel.resources.end());
    if (kernel.profile != kProfile2026 || kernel.resources.empty() ||
        kernel.resources.back() != table::Resource::kImage) {
      return;
    }
    const toml::node* node = table.get("resources");
    fail(node != nullptr ? node->source() : table.source(),
         "profile ncnn-2026 has no image variants");
  }

  void read_optimise(const toml::key& key, const toml::node& node, KernelManifest& kernel) {
    const std::string value = string_value(key, node);
    if (value == "performance") {
      kernel.optimise = Optimise::kPerformance;
    } else if (value == "size") {
      kernel.optimise = Optimise::kSize;
    } else if (value == "none") {
      kernel.optimise = Optimise::kNone;
    } else if (node.is_string()) {
      fail(node.source(),
           fmt::format("'{}': expected \"performance\", \"size\" or \"none\"", value));
    }
  }

  void read_target(const toml::key& key, const toml::node& node, KernelManifest& kernel) {
    const std::string value = string_value(key, node);
    if (value == "vulkan1.0") {
      kernel.target = VulkanTarget::k10;
    } else if (value == "vulkan1.1") {
      kernel.target = VulkanTarget::k11;
    } else if (value == "vulkan1.2") {
      kernel.target = VulkanTarget::k12;
    } else if (value == "vulkan1.3") {
      kernel.target = VulkanTarget::k13;
    } else if (node.is_string()) {
      fail(node.source(), fmt::format("'{}': expected \"vulkan1.0\", \"vulkan1.1\", "
                                      "\"vulkan1.2\" or \"vulkan1.3\"",
                                      value));
    }
  }

  bool check_macro(const toml::key& key) {
    const std::string_view name = key.str();
    if (auto error = bad_macro_name(name)) {
      fail(key.source(), std::move(*error));
    } else if (name.starts_with("NCNN_") || name.starts_with("ncnn_")) {
      fail(key.source(), fmt::format("the name '{}' is reserved", name));
    } else {
      return true;
    }
    return false;
  }

  void read_defines(const toml::key& key, const toml::node& node, KernelManifest& kernel) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      fail(key.source(), "'defines' must be a table: [kernel.defines]");
      return;
    }
    for (const auto& [name, value] : *table) {
      std::string text;
      if (check_macro(name) && macro_value(value, text)) {
        kernel.defines.insert_or_assign(std::string(name.str()), std::move(text));
      }
    }
  }

  // "auto", or a table of macros with their values, with `auto = true` for all others.
  void read_device(const toml::key& key, const toml::node& node, KernelManifest& kernel) {
    if (const auto* word = node.as_string(); word != nullptr && word->get() == "auto") {
      kernel.device_auto = true;
      return;
    }
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      fail(node.source(),
           fmt::format("'{}' must be \"auto\" or a table: [kernel.device]", key.str()));
      return;
    }
    for (const auto& [name, value] : *table) {
      if (name.str() == "auto") {
        const auto* on = value.as_boolean();
        if (on == nullptr) fail(value.source(), "'auto' must be true or false");
        kernel.device_auto = on != nullptr && on->get();
      } else if (is_device_axis(name.str())) {
        read_device_axis(name, value, kernel);
      } else if (is_dialect_macro(name.str())) {
        fail(name.source(), fmt::format("'{}' comes from the variant", name.str()));
      } else {
        const std::string shown(name.str().substr(0, 80));
        fail(name.source(), fmt::format("'{}': no such macro; the nearest is '{}'", shown,
                                        nearest_dialect_macro(shown)));
      }
    }
  }

  // False, and an error, for more values than a kernel may have variants.
  bool check_count(const toml::array& values, std::string_view what) {
    if (values.size() <= kMaxVariants) return true;
    fail(values.source(), fmt::format("{}: {} values; a kernel has at most {} variants", what,
                                      values.size(), kMaxVariants));
    return false;
  }

  // In the place of the default's of that name.
  void put_axis(const toml::key& key, KernelManifest& kernel, Axis axis) {
    if (kernel.axes.size() == kMaxAxes) {
      fail(key.source(), fmt::format("more than {} axes", kMaxAxes));
      return;
    }
    std::erase_if(kernel.axes, [&](const Axis& other) { return other.name == axis.name; });
    kernel.axes.push_back(std::move(axis));
  }

  void read_device_axis(const toml::key& key, const toml::node& node, KernelManifest& kernel) {
    Axis axis;
    axis.name = std::string(key.str());
    axis.device = true;
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty()) {
      fail(node.source(), fmt::format("'{}' must be a list of one or more numbers", axis.name));
      return;
    }
    if (!check_count(*list, axis.name)) return;
    std::set<std::string> seen;
    for (const toml::node& item : *list) {
      std::string text;
      if (item.is_string() || !macro_value(item, text)) {
        if (item.is_string()) fail(item.source(), "expected an integer or a boolean");
      } else if (text.starts_with('-')) {
        fail(item.source(), fmt::format("'{}': what a device says is 0 or more", text));
      } else if (!seen.insert(text).second) {
        fail(item.source(), fmt::format("the value '{}' is listed twice", text));
      } else {
        axis.values.push_back(std::move(text));
      }
    }
    if (axis.values.empty()) return;
    const bool has_zero =
        std::find(axis.values.begin(), axis.values.end(), "0") != axis.values.end();
    axis.default_value = has_zero ? "0" : axis.values.front();
    put_axis(key, kernel, std::move(axis));
  }

  void read_axes(const toml::key& key, const toml::node& node, KernelManifest& kernel) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      fail(key.source(), "'axes' must hold tables: [kernel.axes.NAME]");
      return;
    }
    for (const auto& [name, value] : *table) {
      const toml::table* axis = value.as_table();
      if (axis == nullptr) {
        fail(name.source(),
             fmt::format("axis '{0}' must be a table: [kernel.axes.{0}]", name.str()));
      } else if (check_macro(name)) {
        read_axis(name, *axis, kernel);
      }
    }
  }

  void read_axis(const toml::key& axis_key, const toml::table& table, KernelManifest& kernel) {
    Axis axis;
    axis.name = std::string(axis_key.str());
    const toml::node* default_node = nullptr;
    for (const auto& [key, node] : table) {
      if (key.str() == "values") {
        const toml::array* list = node.as_array();
        if (list == nullptr || list->size() < 2) {
          fail(node.source(), "'values' must be a list of two or more values");
          continue;
        }
        if (!check_count(*list, axis.name)) return;
        std::set<std::string> seen;
        for (const toml::node& item : *list) {
          std::string text;
          if (!macro_value(item, text)) continue;
          if (!is_axis_value(text)) {
            fail(item.source(),
                 fmt::format("'{}': an axis value is an integer, or 1 to 64 letters, digits and _",
                             text.substr(0, 80)));
          } else if (!seen.insert(text).second) {
            fail(item.source(), fmt::format("the value '{}' is listed twice", text));
          } else {
            axis.values.push_back(std::move(text));
          }
        }
      } else if (key.str() == "default") {
        if (macro_value(node, axis.default_value)) default_node = &node;
      } else {
        fail(key.source(),
             fmt::format("unknown key '{}'; an axis has 'values' and 'default'", key.str()));
      }
    }
    if (!table.contains("values")) {
      fail(axis_key.source(), fmt::format("axis '{}' without 'values'", axis.name));
      return;
    }
    if (axis.values.empty()) return;
    if (default_node == nullptr) {
      axis.default_value = axis.values.front();
    } else if (std::find(axis.values.begin(), axis.values.end(), axis.default_value) ==
               axis.values.end()) {
      fail(default_node->source(), fmt::format("the default '{}' is not among the values: {}",
                                               axis.default_value, fmt::join(axis.values, ", ")));
    }
    if (axis.name == "acc" && std::set<std::string>(axis.values.begin(), axis.values.end()) !=
                                  std::set<std::string>{"float", "afp"}) {
      fail(axis_key.source(), "the axis 'acc' has the values \"float\" and \"afp\"");
    } else if (axis.name == "acc" && axis.default_value != "float") {
      fail(axis_key.source(), "the default of the axis 'acc' is \"float\"");
    }
    if (kernel.defines.contains(axis.name)) {
      fail(axis_key.source(), fmt::format("'{}' is in 'defines' as well", axis.name));
    }
    put_axis(axis_key, kernel, std::move(axis));
  }

  const SourceFile& file_;
  Manifest manifest_;
  KernelManifest defaults_;
  std::vector<std::string> default_order_;
  std::vector<Diagnostic> errors_;
  std::size_t unsaid_ = 0;  // beyond kMaxErrors
};

}  // namespace

Result<Manifest> parse_manifest(const SourceFile& file) { return Parser(file).parse(); }

}  // namespace spirkiln::gen
