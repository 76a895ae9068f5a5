// SPDX-License-Identifier: Apache-2.0
// Folders on a command line.
#include "inputs.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace spirkiln;

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "spirkiln-inputs-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  void add(const std::string& name) const { std::ofstream(path / name) << "x"; }
  std::string operator/(const std::string& name) const { return (path / name).string(); }
  fs::path path;
};

std::vector<std::string> names_of(const std::vector<Input>& inputs) {
  std::vector<std::string> out;
  for (const Input& input : inputs) out.push_back(input.error ? "error" : input.file);
  return out;
}

}  // namespace

TEST_CASE("a folder stands for its pictures, by name") {
  const Folder folder;
  for (const char* name : {"b.png", "a.JPG", "c.tiff", "B.WebP", "notes.txt", ".hidden.png", "png",
                           "x.png.part", "中.bmp"}) {
    folder.add(name);
  }
  fs::create_directory(folder.path / "below.png");
  folder.add("below.png/inner.png");
  fs::create_symlink("nowhere", folder.path / "link.png");
  const auto inputs = pictures_of({"-", folder.path.string(), "no/such.png", folder / "notes.txt"});
  CHECK(names_of(inputs) == std::vector<std::string>{"-", folder / "B.WebP", folder / "a.JPG",
                                                     folder / "b.png", folder / "c.tiff",
                                                     folder / "link.png", folder / "中.bmp",
                                                     "no/such.png", folder / "notes.txt"});
}

TEST_CASE("a folder without pictures is an error, and the others are read") {
  const Folder folder;
  folder.add("notes.txt");
  const auto inputs = pictures_of({folder.path.string(), "a.png"});
  REQUIRE(inputs.size() == 2);
  REQUIRE(inputs[0].error);
  CHECK(inputs[0].error->code == ErrorCode::kInvalidArgument);
  CHECK(inputs[0].error->message.find(folder.path.string()) == 0);
  CHECK(inputs[0].error->message.find(".webp") != std::string::npos);
  CHECK((!inputs[1].error && inputs[1].file == "a.png"));
}
