// SPDX-License-Identifier: Apache-2.0
#include "manifest.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "answer_reader.hpp"
#include "manifest_constants.hpp"
#include "manifest_errors.hpp"
#include "manifest_keys.hpp"
#include "manifest_rules.hpp"
#include "manifest_values.hpp"
#include "toml_depth.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::size_t kMaxKernels = 4096;

constexpr std::string_view kRootKeys[] = {"kernel", "defaults", "budget"};

std::vector<std::string_view> kernel_keys() {
  std::vector<std::string_view> keys = {"name",     "source", "constants", "excludes",
                                        "requires", "needs",  "answers"};
  keys.insert(keys.end(), std::begin(kSharedKeys), std::end(kSharedKeys));
  return keys;
}

bool is_lower_name(std::string_view s) {
  if (s.empty() || s.size() > 64 || s[0] < 'a' || s[0] > 'z') return false;
  return std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

class Parser {
 public:
  explicit Parser(const SourceFile& file) : file_(file), errors_(file.path.string()) {}

  Result<Manifest> parse() {
    if (const auto deep = tool::find_deep_key(file_.text)) {
      errors_.fail(
          Diagnostic{Severity::kError, file_.path.string(), deep->line, deep->column,
                     fmt::format("a key of more than {} parts; those of a manifest have at most "
                                 "five",
                                 tool::kMaxKeyParts)});
      return result();
    }
    toml::table root;
    try {
      root = toml::parse(file_.text, file_.path.string());
    } catch (const toml::parse_error& e) {
      errors_.fail(e.source(), std::string(e.description()));
      return result();
    }
    read_defaults(root);
    for (const auto& [key, node] : root) {
      if (key.str() == "defaults") continue;
      if (key.str() == "budget") {
        manifest_.budget = read_budget(node, errors_);
        continue;
      }
      if (key.str() != "kernel") {
        if (key.str() == "answer") {
          errors_.fail(key.source(),
                       "[[answer]] makes this a file of answers, not a manifest: give it by "
                       "--answers (ANSWERS in CMake) or by a kernel's key 'answers', and keep it "
                       "out of folders of manifests");
          continue;
        }
        const auto of_kernel = kernel_keys();
        if (std::find(of_kernel.begin(), of_kernel.end(), key.str()) != of_kernel.end()) {
          errors_.fail(key.source(), fmt::format("'{}' stands below a line [[kernel]]", key.str()));
        } else {
          unknown_key(key, "a manifest", kRootKeys, errors_);
        }
        continue;
      }
      const toml::array* kernels = node.as_array();
      if (kernels == nullptr || !kernels->is_array_of_tables()) {
        errors_.fail(node.source(), "'kernel' must be written as [[kernel]]");
        continue;
      }
      if (kernels->size() > kMaxKernels) {
        errors_.fail(node.source(), fmt::format("more than {} kernels", kMaxKernels));
        continue;
      }
      for (const toml::node& kernel : *kernels) read_kernel(*kernel.as_table());
    }
    if (manifest_.kernels.empty() && errors_.empty()) {
      errors_.fail(Diagnostic{Severity::kError, file_.path.string(), 0, 0, "no [[kernel]] entry"});
    }
    return result();
  }

 private:
  Result<Manifest> result() {
    if (!errors_.empty()) return Error{ErrorCode::kInvalidArgument, errors_.message()};
    manifest_.path = file_.path;
    return std::move(manifest_);
  }

  // A macro is fixed or an axis. (One of [defaults] may be what a kernel overrides.)
  void refuse_twice(const toml::table& kernel) {
    const toml::table* defines = kernel["defines"].as_table();
    if (defines == nullptr) return;
    for (const auto& [macro, value] : *defines) {
      if (kernel["axes"][macro.str()] || kernel["device"][macro.str()]) {
        errors_.fail(macro.source(),
                     fmt::format("'{}' is an axis of this kernel as well", macro.str()));
      }
    }
  }

  void read_kernel(const toml::table& table) {
    KernelManifest kernel = defaults_;
    kernel.position = errors_.at(table.source());
    const toml::node* order_node = nullptr;
    std::vector<std::string> order;
    for (const auto& [key, node] : table) {
      const std::string_view name = key.str();
      if (name == "name") {
        kernel.name = string_value(key, node, errors_);
        if (node.is_string() && !is_lower_name(kernel.name)) {
          errors_.fail(node.source(),
                       fmt::format("kernel name '{}': expected a lower-case letter, then up "
                                   "to 63 of a-z, 0-9 and _",
                                   kernel.name));
        }
      } else if (name == "source") {
        kernel.source = string_value(key, node, errors_);
        if (kernel.source.find('\\') != std::string::npos) {
          errors_.fail(node.source(), "'source' separates folders with '/'");
        }
        if (kernel.source.find('\0') != std::string::npos) {
          errors_.fail(node.source(), "'source' holds a NUL character; no file's name does");
          kernel.source.clear();
        }
      } else if (name == "order") {
        read_names(key, node, kVariants, order, errors_);
        order_node = &node;
      } else if (name == "constants") {
        read_constants(key, node, kernel, errors_);
      } else if (name == "excludes" || name == "requires" || name == "needs" || name == "answers") {
        // Below, when all axes are known.
      } else if (!read_shared_key(key, node, kernel, errors_)) {
        unknown_key(key, "[[kernel]]", kernel_keys(), errors_);
      }
    }
    refuse_twice(table);
    if (!table.contains("name")) errors_.fail(table.source(), "[[kernel]] without 'name'");
    if (!table.contains("source")) errors_.fail(table.source(), "[[kernel]] without 'source'");
    if (table["source"].value_or(std::string_view("x")).empty()) {
      errors_.fail(table["source"].node()->source(), "'source' is empty");
    }
    order_variants(kernel, order, order_node, default_order_, errors_);
    check_resources(kernel, table, errors_);
    std::sort(kernel.axes.begin(), kernel.axes.end(),
              [](const Axis& a, const Axis& b) { return a.name < b.name; });
    for (const auto& [key, node] : table) {
      if (key.str() == "needs") read_needs(node, kernel, errors_);
      if (key.str() == "answers" && node.is_string()) {
        kernel.answers_file = string_value(key, node, errors_);
        kernel.answers_position = errors_.at(node.source());
        if (kernel.answers_file.empty()) errors_.fail(node.source(), "'answers' is empty");
      } else if (key.str() == "answers") {
        read_answers(node, kernel.name, kernel.answers, errors_);
      }
      if (key.str() != "excludes" && key.str() != "requires") continue;
      read_rules(key, node, kernel, errors_);
    }
    manifest_.kernels.push_back(std::move(kernel));
  }

  // [defaults]: what each kernel of the file begins with.
  void read_defaults(const toml::table& root) {
    const toml::node* node = root.get("defaults");
    if (node == nullptr) return;
    const toml::table* table = node->as_table();
    if (table == nullptr) {
      errors_.fail(node->source(), "'defaults' must be a table: [defaults]");
      return;
    }
    for (const auto& [key, value] : *table) {
      if (key.str() == "order") {
        read_names(key, value, kVariants, default_order_, errors_);
      } else if (!read_shared_key(key, value, defaults_, errors_)) {
        unknown_key(key, "[defaults]", kSharedKeys, errors_);
      }
    }
  }

  const SourceFile& file_;
  ManifestErrors errors_;
  Manifest manifest_;
  KernelManifest defaults_;
  std::vector<std::string> default_order_;
};

}  // namespace

Result<Manifest> parse_manifest(const SourceFile& file) { return Parser(file).parse(); }

}  // namespace spirkiln::gen
