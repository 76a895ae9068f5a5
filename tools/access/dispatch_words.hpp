// SPDX-License-Identifier: Apache-2.0
// The words that say which dispatch of which kernel is looked at: on a command line, or a line of a
// file of cases.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "look.hpp"

namespace CLI {
class App;
}

namespace spirkiln::access {

struct DispatchWords {
  std::string kernel, variant, groups = "1", local, glslc;
  std::vector<std::string> manifests, sets, buffers, images, defines;
  std::uint32_t records = 1 << 22, sample = 0, timeout = 60, seed = 1;

  // A kernel's name as waivers have it: of the manifests, or the file's without its folder and end.
  std::string kernel_name() const;
  // The files that the words name. What those read in turn is Subject::sources.
  std::vector<std::filesystem::path> inputs() const;
};

// The options that fill `words`, which outlives the app's parsing.
void add_dispatch_options(CLI::App& app, DispatchWords& words);

// Errors: kInvalidArgument that names the option.
Result<DispatchRequest> parse_dispatch(const DispatchWords& words);

// What dispatches of a call share.
struct Setting {
  MemoryShape shape;
  MemoryRates rates;
  std::string shape_source = "options";
  std::filesystem::path glsl;  // the dialect's folder
  std::filesystem::path output;  // not written here, but refused where it is read; empty: none
  MessageCallback message;  // warnings of compiling
};

// Compiles and runs it. `request` is what parse_dispatch() made of the same words. Errors: those of
// load_subject() and look_at(). `hung`: as run_kernel().
Result<Report> look_at_words(const DispatchWords& words, const DispatchRequest& request,
                             const Setting& setting, const Device& device, bool* hung);

// One line of a file of cases.
struct Case {
  std::string place;  // "file:line"
  std::string text;  // the line
  DispatchWords words;
  DispatchRequest request;
};

// Lines that are empty or begin with '#' are left out. 16 groups of a dispatch are traced where a
// line says no other number. `all`: of its manifests and second compiler where a line names none.
// Errors: kIo; kInvalidArgument "file:line: error: ..." for the first line that is wrong, and for a
// file without a case.
Result<std::vector<Case>> load_cases(const std::string& path, const DispatchWords& all);

}  // namespace spirkiln::access
