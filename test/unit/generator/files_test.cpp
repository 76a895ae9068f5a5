// SPDX-License-Identifier: Apache-2.0
#include "files.hpp"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "output_set.hpp"
#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

TEST_CASE("sources: line ends, byte-order mark and last line are made alike", "[files]") {
  const test::Workspace w;
  gen::SourceStore store;
  for (const char* text : {"a\nb\n", "a\r\nb\r\n", "a\rb\r",
                           "\xef\xbb\xbf"
                           "a\nb",
                           "a\nb"}) {
    const fs::path path = w.write(std::to_string(std::string_view(text).size()) +
                                      std::to_string(static_cast<unsigned char>(text[1])),
                                  text);
    auto file = store.load(path);
    REQUIRE(file.ok());
    CHECK((*file)->text == "a\nb\n");
  }
}

TEST_CASE("sources: what is no text file is refused", "[files]") {
  const test::Workspace w;
  gen::SourceStore store;
  SECTION("a NUL byte, with its line") {
    const auto file = store.load(w.write("k.comp", std::string_view("x\ny\0z", 5)));
    REQUIRE_FALSE(file.ok());
    CHECK_THAT(file.error().message, ContainsSubstring("k.comp:2: error: a NUL byte"));
  }
  SECTION("too large") {
    const auto file = store.load(w.write("k.comp", std::string(gen::kMaxSourceBytes + 1, ' ')));
    REQUIRE_FALSE(file.ok());
    CHECK_THAT(file.error().message, ContainsSubstring("4194305 bytes, at most 4194304"));
  }
  SECTION("a folder, a pipe, a device") {
    const fs::path pipe = w / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    for (const fs::path& path : {w.root(), pipe, fs::path("/dev/zero")}) {
      const auto file = store.load(path);
      REQUIRE_FALSE(file.ok());
      CHECK_THAT(file.error().message, ContainsSubstring("not a regular file"));
    }
  }
  SECTION("missing: null from find(), an error from load()") {
    const auto found = store.find(w / "none");
    REQUIRE(found.ok());
    CHECK(*found == nullptr);
    CHECK_FALSE(store.load(w / "none").ok());
    REQUIRE(store.opened().size() == 1);
    CHECK_FALSE(store.opened()[0].exists);
  }
}

TEST_CASE("outputs: replaced as a whole, and not touched when nothing changes", "[files]") {
  const test::Workspace w;
  const fs::path path = w / "out.bin";
  REQUIRE(tool::write_file(path, "one").ok());
  const auto old_time = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(path, old_time);
  REQUIRE(tool::write_file(path, "one").ok());
  CHECK(fs::last_write_time(path) == old_time);
  REQUIRE(tool::write_file(path, "two").ok());
  CHECK(w.read("out.bin") == "two");
  CHECK(fs::last_write_time(path) != old_time);
  CHECK_FALSE(tool::write_file(w / "no/such/folder/x", "x").ok());
  // Nothing but the file itself is left in the folder.
  CHECK(std::distance(fs::directory_iterator(w.root()), fs::directory_iterator()) == 1);
}
