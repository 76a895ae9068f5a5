// SPDX-License-Identifier: Apache-2.0
#include "quirks.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "forms.hpp"
#include "loader/driver_names.hpp"
#include "manifest_errors.hpp"
#include "manifest_values.hpp"
#include "spirkiln/table_format.hpp"
#include "table/nearest_name.hpp"
#include "toml_depth.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::string_view kRootKeys[] = {"quirk", "backend"};
constexpr std::string_view kQuirkKeys[] = {"kernels",       "axis",     "forms",
                                           "vendorID",      "deviceID", "driverID",
                                           "driverVersion", "reason",   "source"};
constexpr std::string_view kBackendKeys[] = {"deviceType", "use", "reason"};
constexpr std::string_view kRangeKeys[] = {"from", "to"};
constexpr std::uint32_t kNvidia = 4, kIntelWindows = 5;  // VkDriverId

// How a driver packs the numbers of its version into one: each with so many bits, from the top.
std::vector<unsigned> version_bits(std::uint32_t driver) {
  if (driver == kNvidia) return {10, 8, 8, 6};
  if (driver == kIntelWindows) return {18, 14};
  return {10, 10, 12};
}

// "512.762" as the driver's number; what is not said is `fill` bits. Nothing for what is none.
std::optional<std::uint32_t> version_number(std::string_view text, std::uint32_t driver,
                                            bool fill) {
  std::uint32_t number = 0;
  bool ended = false;
  for (const unsigned bits : version_bits(driver)) {
    const std::uint32_t most = (1u << bits) - 1;
    std::uint32_t part = fill ? most : 0;
    if (!ended) {
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), part);
      if (error != std::errc{} || part > most) return std::nullopt;
      text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
      ended = text.empty();
      if (!ended && (text.front() != '.' || text.size() == 1)) return std::nullopt;
      if (!ended) text.remove_prefix(1);
    }
    number = number << bits | part;
  }
  if (!ended) return std::nullopt;
  return number;
}

class Parser {
 public:
  explicit Parser(const SourceFile& file) : file_(file), errors_(file.path.string()) {}

  Result<QuirkFile> parse() {
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
      if (key.str() == "quirk") {
        for (const toml::table* table : tables(key, node)) read_quirk(*table);
      } else if (key.str() == "backend") {
        for (const toml::table* table : tables(key, node)) read_backend(*table);
      } else {
        unknown_key(key, "a file of quirks", kRootKeys, errors_);
      }
    }
    return result();
  }

 private:
  Result<QuirkFile> result() {
    if (!errors_.empty()) return Error{ErrorCode::kInvalidArgument, errors_.message()};
    return std::move(out_);
  }

  std::vector<const toml::table*> tables(const toml::key& key, const toml::node& node) {
    std::vector<const toml::table*> all;
    const toml::array* list = node.as_array();
    if (list == nullptr || !list->is_array_of_tables()) {
      errors_.fail(node.source(), fmt::format("'{0}' must be written as [[{0}]]", key.str()));
    } else if (list->size() > table::kMaxQuirks) {
      errors_.fail(node.source(), fmt::format("more than {} entries", table::kMaxQuirks));
    } else {
      for (const toml::node& entry : *list) all.push_back(entry.as_table());
    }
    return all;
  }

  // One line of text that a table may hold.
  std::string text_value(const toml::key& key, const toml::node& node) {
    std::string text = string_value(key, node, errors_);
    if (!node.is_string()) return text;
    const bool plain = std::all_of(text.begin(), text.end(),
                                   [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
    if (text.empty() || !plain || text.size() > table::kMaxStringBytes) {
      errors_.fail(node.source(), fmt::format("'{}' must be one line of 1 to {} bytes", key.str(),
                                              table::kMaxStringBytes));
    }
    return text;
  }

  std::optional<std::uint32_t> number(const toml::node& node, std::string_view what) {
    const auto* i = node.as_integer();
    if (i != nullptr && i->get() >= 0 && i->get() <= 0xffffffff) {
      return static_cast<std::uint32_t>(i->get());
    }
    errors_.fail(node.source(), fmt::format("'{}' must be a number of 32 bits", what));
    return std::nullopt;
  }

  // A number, or { from = ..., to = ... }, both included. `read` gives an end of it.
  template <typename Read>
  void range(const toml::key& key, const toml::node& node, std::uint32_t& first,
             std::uint32_t& last, const Read& read) {
    const toml::table* ends = node.as_table();
    if (ends == nullptr) {
      first = read(node, false).value_or(first);
      last = read(node, true).value_or(last);
      return;
    }
    for (const auto& [name, value] : *ends) {
      if (name.str() == "from") {
        first = read(value, false).value_or(first);
      } else if (name.str() == "to") {
        last = read(value, true).value_or(last);
      } else {
        unknown_key(name, fmt::format("'{}'", key.str()), kRangeKeys, errors_);
      }
    }
    if (first > last) {
      errors_.fail(node.source(), fmt::format("'{}' ends before it begins", key.str()));
    }
  }

  void read_kernels(const toml::key& key, const toml::node& node, QuirkSpec& quirk) {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty()) {
      errors_.fail(node.source(), "'kernels' must be a list of one or more names");
      return;
    }
    for (const toml::node& item : *list) {
      if (!item.is_string()) {
        errors_.fail(item.source(), "expected a kernel's name");
        continue;
      }
      const std::string name = string_value(key, item, errors_);
      if (std::find(quirk.kernels.begin(), quirk.kernels.end(), name) != quirk.kernels.end()) {
        errors_.fail(item.source(), fmt::format("'{}' is listed twice", shown(name)));
        continue;
      }
      quirk.kernels.push_back(name);
      quirk.kernel_positions.push_back(errors_.at(item.source()));
    }
  }

  void read_axis(const toml::node& node, QuirkSpec& quirk) {
    const toml::table* pair = node.as_table();
    if (pair == nullptr || pair->size() != 1) {
      errors_.fail(node.source(), "'axis' must be one axis with its value: { DIRECT = 0 }");
      return;
    }
    for (const auto& [name, value] : *pair) {
      quirk.axis = std::string(name.str());
      quirk.axis_position = errors_.at(name.source());
      macro_value(value, quirk.value, errors_);
    }
  }

  void read_forms(const toml::key& key, const toml::node& node, QuirkSpec& quirk) {
    const std::vector<std::string_view> known = form_names(kProfile2023);
    std::vector<std::string> names;
    read_names(key, node, known, names, errors_);
    for (const std::string& name : names) {
      const auto form = find_form(kProfile2023, name);
      quirk.forms |= table::form_bit(form->storage, form->arithmetic, form->resource);
    }
  }

  void read_driver(const toml::node& node, QuirkSpec& quirk) {
    const auto* text = node.as_string();
    std::vector<std::string_view> names;
    for (const DriverName& d : kDriverNames) {
      if (text != nullptr && text->get() == d.name) quirk.driver_id = d.value;
      names.push_back(d.name);
    }
    if (quirk.driver_id != 0) return;
    if (text == nullptr) {
      errors_.fail(node.source(), "'driverID' must be a name of VkDriverId: \"MESA_RADV\"");
    } else {
      errors_.fail(node.source(),
                   fmt::format("no driver '{}'; the nearest is '{}'", shown(text->get()),
                               nearest_name(text->get(), names)));
    }
  }

  // `has_driver`: one is named, if only one that there is not, which was said.
  void read_driver_version(const toml::key& key, const toml::node& node, bool has_driver,
                           QuirkSpec& quirk) {
    range(key, node, quirk.first_driver, quirk.last_driver,
          [&](const toml::node& end, bool last) -> std::optional<std::uint32_t> {
            const auto* text = end.as_string();
            if (text == nullptr) return number(end, key.str());
            if (quirk.driver_id == 0) {
              if (!has_driver) {
                errors_.fail(end.source(),
                             "which numbers a version has is the driver's own: give 'driverID'");
              }
              return std::nullopt;
            }
            const auto version = version_number(text->get(), quirk.driver_id, last);
            if (!version) {
              errors_.fail(end.source(),
                           fmt::format("'{}' is no version: expected up to {} numbers that fit, "
                                       "with points between",
                                       shown(text->get()), version_bits(quirk.driver_id).size()));
            }
            return version;
          });
  }

  void read_quirk(const toml::table& table) {
    QuirkSpec quirk;
    // What a version means depends on it.
    const toml::node* driver = table.get("driverID");
    if (driver != nullptr) read_driver(*driver, quirk);
    bool wrong_vendor = false;
    for (const auto& [key, node] : table) {
      const std::string_view name = key.str();
      if (name == "kernels") {
        read_kernels(key, node, quirk);
      } else if (name == "axis") {
        read_axis(node, quirk);
      } else if (name == "forms") {
        read_forms(key, node, quirk);
      } else if (name == "vendorID") {
        const auto vendor = number(node, name);
        wrong_vendor = !vendor;
        quirk.vendor_id = vendor.value_or(0);
      } else if (name == "deviceID") {
        range(key, node, quirk.first_device, quirk.last_device,
              [&](const toml::node& end, bool) { return number(end, "deviceID"); });
      } else if (name == "driverVersion") {
        read_driver_version(key, node, driver != nullptr, quirk);
      } else if (name == "reason") {
        quirk.reason = text_value(key, node);
      } else if (name == "source") {
        quirk.source = text_value(key, node);
      } else if (name != "driverID") {
        unknown_key(key, "[[quirk]]", kQuirkKeys, errors_);
      }
    }
    if (quirk.vendor_id == 0 && driver == nullptr && !wrong_vendor) {
      errors_.fail(table.source(), "[[quirk]] of every device: give 'vendorID' or 'driverID'");
    }
    if (!table.contains("kernels") && !table.contains("axis") && !table.contains("forms")) {
      errors_.fail(table.source(), "[[quirk]] of everything: give 'kernels', 'axis' or 'forms'");
    }
    require(table, "[[quirk]]", "reason");
    require(table, "[[quirk]]", "source");
    out_.quirks.push_back(std::move(quirk));
  }

  void read_backend(const toml::table& table) {
    BackendSpec backend;
    for (const auto& [key, node] : table) {
      if (key.str() == "deviceType") {
        std::vector<std::string_view> known;
        for (const DeviceTypeWord& w : kDeviceTypeWords) known.push_back(w.vulkan);
        std::vector<std::string> names;
        read_names(key, node, known, names, errors_);
        backend.types = 0;
        for (std::size_t i = 0; i < known.size(); ++i) {
          if (std::find(names.begin(), names.end(), known[i]) != names.end()) {
            backend.types |= 1u << i;
          }
        }
      } else if (key.str() == "use") {
        const std::string use = string_value(key, node, errors_);
        backend.cpu = use == "cpu";
        if (node.is_string() && use != "cpu" && use != "vulkan") {
          errors_.fail(node.source(), "'use' must be \"vulkan\" or \"cpu\"");
        }
      } else if (key.str() == "reason") {
        backend.reason = text_value(key, node);
      } else {
        unknown_key(key, "[[backend]]", kBackendKeys, errors_);
      }
    }
    require(table, "[[backend]]", "use");
    require(table, "[[backend]]", "reason");
    out_.backends.push_back(std::move(backend));
  }

  void require(const toml::table& table, std::string_view what, std::string_view key) {
    if (!table.contains(key))
      errors_.fail(table.source(), fmt::format("{} without '{}'", what, key));
  }

  const SourceFile& file_;
  ManifestErrors errors_;
  QuirkFile out_;
};

// A quirk's kernels and axis, against those that there are.
class Checker {
 public:
  Checker(const std::vector<PackKernel>& kernels, bool all) : kernels_(kernels), all_(all) {
    for (const PackKernel& k : kernels) names_.push_back(k.name);
  }

  void check(const QuirkSpec& quirk) {
    std::set<std::string, std::less<>> axes, values;
    bool unsure = !all_;  // whether a kernel that is not seen here may have the axis
    for (const PackKernel& kernel : kernels_) {
      if (!quirk.kernels.empty() && std::find(quirk.kernels.begin(), quirk.kernels.end(),
                                              kernel.name) == quirk.kernels.end()) {
        continue;
      }
      unsure = unsure || kernel.variants.empty();
      for (const Variant& v : kernel.variants) {
        for (const auto& [axis, value] : v.axis_values) {
          axes.insert(axis);
          if (axis == quirk.axis) values.insert(value);
        }
      }
    }
    for (std::size_t i = 0; all_ && i < quirk.kernels.size(); ++i) {
      const std::string& name = quirk.kernels[i];
      if (std::find(names_.begin(), names_.end(), name) != names_.end()) continue;
      unsure = true;  // said once
      fail(quirk.kernel_positions[i], "kernel", name, names_);
    }
    if (quirk.axis.empty() || unsure) return;
    if (!axes.contains(quirk.axis)) {
      fail(quirk.axis_position, "axis", quirk.axis, {axes.begin(), axes.end()});
    } else if (!values.contains(quirk.value)) {
      fail(quirk.axis_position, "value", quirk.axis + "=" + quirk.value,
           {values.begin(), values.end()});
    }
  }

  const std::string& message() const { return message_; }

 private:
  void fail(Diagnostic at, std::string_view what, std::string_view name,
            const std::vector<std::string>& known) {
    at.text = fmt::format("no {} '{}'", what, shown(name));
    if (what == "value") {
      at.text += fmt::format("; there are {}", fmt::join(known, ", "));
    } else if (const auto nearest = nearest_name(name, known); !nearest.empty()) {
      at.text += fmt::format("; the nearest is '{}'", nearest);
    }
    message_ += (message_.empty() ? "" : "\n") + to_string(at);
  }

  const std::vector<PackKernel>& kernels_;
  bool all_;
  std::vector<std::string> names_;
  std::string message_;
};

class Encoder {
 public:
  std::string encode(const QuirkFile& file) {
    for (const QuirkSpec& q : file.quirks) {
      const std::vector<std::string> any = {""};
      for (const std::string& kernel : q.kernels.empty() ? any : q.kernels) {
        quirks_.push_back({string(kernel), string(q.axis), string(q.value), string(q.reason),
                           string(q.source), q.forms, q.vendor_id, q.first_device, q.last_device,
                           q.driver_id, q.first_driver, q.last_driver});
      }
    }
    for (const BackendSpec& b : file.backends) {
      backends_.push_back({b.types, b.cpu ? 1u : 0u, string(b.reason)});
    }
    table::QuirksHeader header{};
    header.version = table::kQuirksVersion;
    std::string out(sizeof header, '\0');
    const auto add = [&](const auto& items) {
      const table::Section section{static_cast<std::uint32_t>(out.size()),
                                   static_cast<std::uint32_t>(items.size())};
      out.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(items[0]));
      return section;
    };
    header.quirks = add(quirks_);
    header.backends = add(backends_);
    header.strings = add(strings_);
    out.replace(0, sizeof header, reinterpret_cast<const char*>(&header), sizeof header);
    return out;
  }
  std::size_t quirks() const { return quirks_.size(); }

 private:
  std::uint32_t string(const std::string& text) {
    if (text.empty()) return 0;
    const auto offset = static_cast<std::uint32_t>(strings_.size());
    strings_ += text;
    strings_ += '\0';
    return offset;
  }
  std::string strings_ = std::string(1, '\0');
  std::vector<table::QuirkEntry> quirks_;
  std::vector<table::BackendEntry> backends_;
};

}  // namespace

Result<QuirkFile> parse_quirks(const SourceFile& file) { return Parser(file).parse(); }

Result<Attachments> quirks_attachment(const std::optional<std::filesystem::path>& path,
                                      SourceStore& sources, const std::vector<PackKernel>& kernels,
                                      bool all_kernels) {
  if (!path) return Attachments{};
  const auto file = sources.load(*path);
  if (!file.ok()) return file.error();
  const auto parsed = parse_quirks(**file);
  if (!parsed.ok()) return parsed.error();
  auto bytes = encode_quirks(*parsed, kernels, all_kernels);
  if (!bytes.ok()) return bytes.error();
  return Attachments{{table::kQuirksName, std::move(bytes).value()}};
}

Result<std::string> encode_quirks(const QuirkFile& file, const std::vector<PackKernel>& kernels,
                                  bool all_kernels) {
  Checker checker(kernels, all_kernels);
  for (const QuirkSpec& quirk : file.quirks) checker.check(quirk);
  if (!checker.message().empty()) return Error{ErrorCode::kInvalidArgument, checker.message()};
  Encoder encoder;
  std::string bytes = encoder.encode(file);
  if (encoder.quirks() > table::kMaxQuirks) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} quirks are more than a table may hold", encoder.quirks())};
  }
  return bytes;
}

}  // namespace spirkiln::gen
