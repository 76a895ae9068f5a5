// SPDX-License-Identifier: Apache-2.0
// FOLDER/NAME_table.bin as both forms of embedding, for scripts/measure-embed.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "emit.hpp"

namespace {

bool write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  return static_cast<bool>(out.flush());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: embed-bench FOLDER NAME\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const std::string name = argv[2];
  std::ifstream in(folder / (name + "_table.bin"), std::ios::binary);
  const std::string table((std::istreambuf_iterator<char>(in)), {});
  const bool done =
      !table.empty() &&
      write(folder / (name + "_table.S"), spirkiln::gen::emit_assembly(name, table)) &&
      write(folder / (name + "_table.cpp"), spirkiln::gen::emit_array(name, table)) &&
      write(folder / (name + "_table.hpp"), spirkiln::gen::emit_header(name, {}));
  if (!done) fmt::print(stderr, "embed-bench: error: cannot read or write in {}\n", argv[1]);
  return done ? 0 : 1;
}
