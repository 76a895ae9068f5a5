// SPDX-License-Identifier: Apache-2.0
// A newer compiler with its tools, for what the one that is linked in does not know: glslc,
// spirv-opt, spirv-val and spirv-dis in the folder bin/ of a folder, run as programs. Where it has
// lib/ld.so as well, they are started through it with the libraries in lib/, as
// scripts/fetch-glslc.sh lays them out.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "glslang_front.hpp"
#include "manifest.hpp"

namespace spirkiln::gen {

class SecondCompiler {
 public:
  // Asks the programs who they are. Errors name the folder, and the program that is not right.
  static Result<std::shared_ptr<const SecondCompiler>> open(const std::filesystem::path& folder);

  // "glslc 2025.2-1 (glslang 15.1.0, spirv-tools 2025.1)".
  const std::string& version() const { return version_; }
  // The versions and a hash of the programs' files and libraries.
  const std::string& fingerprint() const { return fingerprint_; }
  // Whether it knows one of newer_extensions().
  bool knows(std::string_view extension) const { return known_.contains(extension); }

  // As the functions of the same names in glslang_front.hpp and spirv_tools.hpp, from any thread.
  FrontResult compile(const std::string& text, const std::string& name, const Target& target,
                      SourceStore& sources, bool debug = false) const;
  Result<std::vector<std::uint32_t>> optimise(const std::vector<std::uint32_t>& words,
                                              Optimise policy, const Target& target) const;
  Result<std::vector<std::uint32_t>> strip(const std::vector<std::uint32_t>& words,
                                           const Target& target) const;
  // Of spirv-opt by their names, such as "--ccp".
  Result<std::vector<std::uint32_t>> run_passes(const std::vector<std::uint32_t>& words,
                                                const std::vector<std::string>& passes,
                                                const Target& target) const;
  Status validate(const std::vector<std::uint32_t>& words, const Target& target) const;
  Result<std::string> disassemble(const std::vector<std::uint32_t>& words) const;

 private:
  struct Said;
  Result<Said> run(const char* program, std::vector<std::string> arguments,
                   std::string_view input) const;
  // What the program writes; an error with its words where it fails.
  Result<std::string> filter(const char* program, std::vector<std::string> arguments,
                             const std::vector<std::uint32_t>& words) const;
  Status ask(const std::vector<std::filesystem::path>& files);

  std::filesystem::path folder_;
  bool own_loader_ = false;
  std::string version_;
  std::string fingerprint_;
  std::set<std::string, std::less<>> known_;
};

// Its compile(), or glslang's where there is none.
CompileFunction front_end(const SecondCompiler* second, bool debug);

// An error where one of the programs is missing.
Status check_second_folder(const std::filesystem::path& folder);

// The programs in the folder, and its libraries.
std::vector<std::filesystem::path> second_folder_files(const std::filesystem::path& folder);

// Which files these are, without reading them: for this machine only.
std::string second_folder_state(const std::filesystem::path& folder);

// The folder in `named` or, where that is empty, in $SPIRKILN_GLSLC or, where that is empty too,
// what scripts/fetch-glslc.sh made. Nothing where there is none, or "none" is named.
std::optional<std::filesystem::path> second_folder(const std::string& named);

}  // namespace spirkiln::gen
