// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "spirkiln/ocr.hpp"

using namespace spirkiln;
namespace fs = std::filesystem;

namespace {

std::string error_of(const Result<Dictionary>& dictionary, ErrorCode code = ErrorCode::kCorrupt) {
  REQUIRE_FALSE(dictionary.ok());
  CHECK(dictionary.error().code == code);
  return dictionary.error().message;
}

// A folder of its own, gone afterwards.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "spirkiln-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

}  // namespace

TEST_CASE("a dictionary is its lines, a blank before and a space behind") {
  const auto d = Dictionary::from_text("a\nb\nc\n \n字", "letters");
  REQUIRE(d.ok());
  CHECK(d->classes() == 7);
  CHECK(d->character(0).empty());
  CHECK(d->character(1) == "a");
  CHECK(d->character(4) == " ");  // a line that is a space stays one
  CHECK(d->character(5) == "字");  // no newline behind the last line
  CHECK(d->character(6) == " ");
  CHECK(Dictionary::from_text("a\r\nb\r\n", "crlf")->classes() == 4);
}

TEST_CASE("a byte order mark is no part of the first character") {
  const auto d = Dictionary::from_text(
      "\xef\xbb\xbf"
      "a\nb\n",
      "marked");
  REQUIRE(d.ok());
  CHECK(d->classes() == 4);
  CHECK(d->character(1) == "a");
}

TEST_CASE("a dictionary with a line that is no character, or one twice, names the line") {
  CHECK_FALSE(Dictionary::from_text("", "none").ok());
  const std::string long_line = "a\n" + std::string(65, 'b');
  for (const std::string_view bad :
       {std::string_view("a\nb\0c\nd", 7), std::string_view("a\n\xff\xfe"),
        std::string_view("a\n\xe5\xad"), std::string_view("a\n\xc0\x80"),
        std::string_view("a\n\xed\xa0\x80"), std::string_view(long_line),
        std::string_view("a\n\nb"), std::string_view("a\n\n"), std::string_view("a\r\n\r\nb")}) {
    CHECK(error_of(Dictionary::from_text(bad, "odd")).starts_with("odd:2: "));
  }
  const std::string twice = error_of(Dictionary::from_text("x\ny\nz\ny\n", "odd"));
  CHECK(twice.starts_with("odd:4: "));
  CHECK(twice.find("line 2") != std::string::npos);
}

TEST_CASE("what is no file is refused, and what never ends is not waited for") {
  const Folder folder;
  const auto at = [&](const char* name) { return (folder.path / name).string(); };
  CHECK(error_of(Dictionary::open(at("missing")), ErrorCode::kIo).starts_with(at("missing")));
  CHECK(error_of(Dictionary::open(folder.path.string()), ErrorCode::kIo).find("is a folder") !=
        std::string::npos);
  REQUIRE(mkfifo(at("fifo").c_str(), 0600) == 0);
  fs::create_symlink("/dev/zero", at("zeros"));
  for (const char* name : {"fifo", "zeros"}) {
    CHECK(error_of(Dictionary::open(at(name)), ErrorCode::kIo).find("is a pipe or device") !=
          std::string::npos);
    const auto picture = load_picture(at(name));
    REQUIRE_FALSE(picture.ok());
    CHECK(picture.error().message == at(name) + ": is a pipe or device, expected a picture");
  }
  std::ofstream(at("large"), std::ios::binary).seekp(17 << 20).put('x');
  CHECK(error_of(Dictionary::open(at("large")), ErrorCode::kOutOfMemory).find("16777216 bytes") !=
        std::string::npos);
  std::ofstream(at("good"), std::ios::binary) << "a\nb\n";
  CHECK(Dictionary::open(at("good"))->classes() == 4);
}
