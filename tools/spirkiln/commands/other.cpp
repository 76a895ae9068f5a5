// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "commands.hpp"
#include "console.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

// `room`: the folder of its tools in a build folder.
int start(const std::string& program, std::string_view room, std::vector<std::string> words) {
  words.front() = program;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::error_code code;
  const fs::path self = fs::read_symlink("/proc/self/exe", code);
  if (!code) {
    // Installed they are neighbours; in a build folder each is in its own room's folder.
    for (const fs::path& path :
         {self.parent_path() / program, self.parent_path().parent_path() / room / program}) {
      if (fs::is_regular_file(path, code)) ::execv(path.c_str(), arguments.data());
    }
  }
  ::execvp(program.c_str(), arguments.data());
  return fail(
      fmt::format("cannot start '{}' ({}); it was looked for beside this program and on the "
                  "PATH",
                  program, std::strerror(errno)));
}

}  // namespace

std::optional<int> start_other(const std::vector<std::string>& arguments) {
  const std::string_view command = arguments.empty() ? std::string_view() : arguments.front();
  if (command == "model") return start("spirkiln-model", "model", arguments);
  if (command == "check") return start("spirkiln-check", "check", arguments);
  if (command == "lint") return start("spirkiln-lint", "access", arguments);
  if (command == "access") return start("spirkiln-access", "access", arguments);
  return std::nullopt;
}

}  // namespace spirkiln::gen
