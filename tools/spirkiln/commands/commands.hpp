// SPDX-License-Identifier: Apache-2.0
// The commands of the program, one file each, without their command line. All give the exit status.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bake.hpp"
#include "compile_object.hpp"
#include "link_objects.hpp"

namespace spirkiln::gen {

struct CacheArguments {
  std::string folder;  // empty: the default one
  bool none = false;
};

struct StatsArguments {
  bool stats = false;
  bool json = false;
};

// Of every command that compiles manifests.
struct SourceArguments {
  CacheArguments cache;
  std::string glsl;
  std::string glslc;
  std::string target;  // "vulkan1.1"; empty: as manifests say
  std::vector<std::string> answers;  // files
  std::vector<std::string> folders;
  unsigned time_limit = 120;  // seconds
};

struct BakeArguments {
  BakeOptions options;
  SourceArguments source;
  std::string depfile;
  std::string embed = "incbin";
  StatsArguments stats;
};
int run_bake(BakeArguments arguments);

struct CompileArguments {
  CompileArguments() { options.jobs = 1; }  // a build system starts many of them at once
  ObjectOptions options;
  std::filesystem::path manifest;
  SourceArguments source;
  std::string depfile;
  StatsArguments stats;
};
int run_compile(CompileArguments arguments);

struct LinkArguments {
  LinkOptions options;
  CacheArguments cache;
  std::string embed = "incbin";
  StatsArguments stats;
};
int run_link(LinkArguments arguments);

struct ListArguments {
  std::vector<std::string> inputs;
  SourceArguments source;
  bool explain = false;
  bool json = false;
};
int run_list(const ListArguments& arguments);

struct AxesArguments {
  std::vector<std::string> kernels;
  std::vector<std::string> folders;
  std::string glsl;
  bool json = false;
};
int run_axes(const AxesArguments& arguments);

struct DumpArguments {
  std::string input;  // a table, or a manifest or a folder of them
  std::string variant;
  SourceArguments source;
  std::string spirv;
  bool debug = false;
  bool as_expanded = false;
  bool as_preprocessed = false;
  bool as_command = false;
  bool as_asm = false;
  bool as_glsl = false;
  bool as_essl = false;
  bool as_msl = false;
  bool as_hlsl = false;
  bool as_reflection = false;
};
int run_dump(const DumpArguments& arguments);

struct SpirvArguments {
  std::string file;
  std::string output;
  std::string profile = "ncnn-2023";
  std::string variant;
  std::string target;
  std::string local_size;
  std::string optimise = "none";
  std::string glsl;
  std::string glslc;
  std::vector<std::string> defines;
  std::vector<std::string> folders;
  unsigned time_limit = 120;  // seconds
  std::string acc = "float";
  bool strict = false;
  bool debug = false;
};
int run_spirv(const SpirvArguments& arguments);

struct ReportArguments {
  std::string table;
  std::vector<std::filesystem::path> manifests;  // or folders of them; their budgets are checked
  std::string html;
  std::optional<std::uint64_t> budget;  // bytes of the file
  bool json = false;
};
int run_report(const ReportArguments& arguments);

struct LockArguments {
  std::string table;
  std::string output;  // a file, or -
  std::string check;  // a lock, instead
};
int run_lock(const LockArguments& arguments);

// As diff(1): 0 for equal tables, 1 for different ones, 2 after an error.
struct DiffArguments {
  std::string before;
  std::string after;
  bool disassembly = false;
  bool json = false;
};
int run_diff(const DiffArguments& arguments);

struct TuningArguments {
  std::string file;
  std::string output;  // a header, or -; empty: the file is only checked
};
int run_tuning(const TuningArguments& arguments);

// Programs of their own: this one needs neither protobuf and onnx, as the packer of models does,
// nor the runtime, as the check of devices does. Nothing where `arguments` asks for neither, else
// the status of a start that failed.
std::optional<int> start_other(const std::vector<std::string>& arguments);

}  // namespace spirkiln::gen
