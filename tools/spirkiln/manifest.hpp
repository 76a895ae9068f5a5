// SPDX-License-Identifier: Apache-2.0
// Stage 1: reads manifests. ../../variants/README.md is their reference.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "diagnostics.hpp"
#include "spirkiln/table_format.hpp"
#include "table/answers.hpp"

namespace spirkiln::gen {

enum class Optimise { kPerformance, kSize, kNone };
enum class VulkanTarget { kAuto, k10, k11, k12, k13 };

struct Axis {
  std::string name;
  std::vector<std::string> values;  // as macro text
  std::string default_value;
  bool device = false;  // a macro of the dialect: what is 0 is not defined
  Diagnostic position;  // its text is empty; line 0 for one that the kernel's text brought
  bool interchangeable = false;  // any value does, where the default's variant may not run
};

// Axes, each with the values any of which will do. The dialect's own variants are "variant".
using Condition = std::map<std::string, std::vector<std::string>>;

// Where `when` holds, a point is left out, or must also fulfil `then`.
struct Rule {
  bool excludes = true;
  Condition when;
  Condition then;
  std::string reason;
  Diagnostic position;
};

// Capabilities of SPIR-V that the kernel's own text asks for where `when` holds (audit.hpp).
struct Needs {
  Condition when;  // empty: always
  std::vector<std::uint32_t> capabilities;
};

// What variants may take, packed in a table.
struct Budget {
  std::uint64_t bytes = 0;
  Diagnostic position;  // of the value; its text is empty
};

// A specialization constant that callers know by name. What is given is checked against the
// kernel's modules.
struct NamedConstant {
  std::string name;
  std::optional<std::uint32_t> id;
  std::optional<table::SpecType> type;
  std::variant<std::monostate, bool, std::int64_t, double> default_value;
  Diagnostic position;  // its text is empty
};

// Bits that a number in TOML stands for whatever the type: those of hexadecimal ones and the like.
struct Bits {
  std::uint32_t value = 0;
};

// A number as it is written; its bits depend on the type that the kernel's modules have it in.
struct WrittenNumber {
  std::variant<Bits, bool, std::int64_t, double> value;
  Diagnostic position;  // its text is empty
};

// What a variant has to compute (table/answers.hpp).
struct PlacedAnswer {
  Answer answer;  // the values of constants and push constants are 0
  std::vector<WrittenNumber> constants, push;  // these values, in the order of the answer's
  Diagnostic position;                         // its text is empty
};

struct KernelManifest {
  std::string name;
  std::string source;
  std::string profile = "ncnn-2023";
  std::vector<std::string> variants;  // suffix names, in order of preference
  std::vector<table::Resource> resources = {table::Resource::kBuffer};  // of its tensors
  std::vector<table::Int8> int8 = {table::Int8::kNone};                 // best first
  Optimise optimise = Optimise::kPerformance;
  bool optimise_required = true;  // else a module stays as compiled where the optimiser fails
  VulkanTarget target = VulkanTarget::kAuto;
  bool strict = true;  // no raw access to stored values
  std::map<std::string, std::string> defines;
  std::vector<Axis> axes;    // sorted by name, the `acc` axis and those of [kernel.device] too
  std::optional<Budget> budget;  // of all its variants together
  bool device_auto = false;  // add an axis for each device macro that the kernel tests
  std::vector<NamedConstant> constants;  // sorted by name
  std::vector<Rule> rules;   // in the order of the file, `excludes` first
  std::vector<Needs> needs;
  std::vector<PlacedAnswer> answers;
  std::string answers_file;  // further ones, beside the manifest; empty: none
  Diagnostic answers_position;  // of that name; its text is empty
  Diagnostic position;     // of the [[kernel]], for later messages; its text is empty
};

struct Manifest {
  std::filesystem::path path;
  std::optional<Budget> budget;  // of all its kernels together
  std::vector<KernelManifest> kernels;
};

// An Error's message is one or more lines "file:line:column: error: ...".
Result<Manifest> parse_manifest(const SourceFile& file);

// A folder stands for the *.toml files in it, sorted by name. Kernel names must be unique.
Result<std::vector<Manifest>> load_manifests(const std::vector<std::filesystem::path>& inputs,
                                             SourceStore& sources);

}  // namespace spirkiln::gen
