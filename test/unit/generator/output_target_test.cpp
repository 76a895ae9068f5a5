// SPDX-License-Identifier: Apache-2.0
// What an output's name may stand for: files behind links, devices, pipes, open files, inputs.
#include "output_target.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <thread>

#include "output_set.hpp"
#include "shown.hpp"
#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
namespace fs = std::filesystem;

namespace {

std::size_t count_entries(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// The kernel's numbers of /dev/null and /dev/full.
fs::path make_device(const test::Workspace& w, const char* name, unsigned minor) {
  const fs::path path = w / name;
  if (::mknod(path.c_str(), S_IFCHR | 0666, makedev(1, minor)) != 0) SKIP("may make no device");
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) SKIP("devices do not work in this folder");
  ::close(fd);
  return path;
}

std::string drain(int fd) {
  std::string all;
  char block[4096];
  for (ssize_t n; (n = ::read(fd, block, sizeof block)) > 0;) {
    all.append(block, static_cast<std::size_t>(n));
  }
  return all;
}

}  // namespace

TEST_CASE("outputs: a device stays a device", "[outputs]") {
  const test::Workspace w;
  const fs::path null = make_device(w, "null", 3);
  REQUIRE(tool::check_output(null, false).ok());
  REQUIRE(tool::write_file(null, "words").ok());
  CHECK(fs::is_character_file(fs::symlink_status(null)));
  const fs::path full = make_device(w, "full", 7);
  const Status status = tool::write_file(full, "words");
  REQUIRE_FALSE(status.ok());
  CHECK_THAT(status.error().message, ContainsSubstring("full': No space left on device"));
  CHECK(fs::is_character_file(fs::symlink_status(full)));
  CHECK(count_entries(w.root()) == 2);
}

TEST_CASE("outputs: a device that refuses leaves the files beside it as they were", "[outputs]") {
  const test::Workspace w;
  const fs::path full = make_device(w, "full", 7);
  w.write("a", "old");
  CHECK_FALSE(tool::write_outputs({{w / "a", "new"}, {full, "words"}, {w / "b", "new"}}).ok());
  CHECK(w.read("a") == "old");
  CHECK(count_entries(w.root()) == 2);
}

TEST_CASE("outputs: a named pipe brings the bytes to its reader", "[outputs]") {
  const test::Workspace w;
  const fs::path pipe = w / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string bytes(300000, 'b');  // more than a pipe holds
  std::string got;
  std::thread reader([&] {
    const int fd = ::open(pipe.c_str(), O_RDONLY | O_CLOEXEC);
    got = drain(fd);
    ::close(fd);
  });
  const Status status = tool::write_outputs({{w / "file", "x"}, {pipe, bytes}});
  reader.join();
  CHECK(status.ok());
  CHECK(got == bytes);
  CHECK(w.read("file") == "x");
  CHECK(fs::is_fifo(fs::symlink_status(pipe)));
  CHECK(count_entries(w.root()) == 2);
}

TEST_CASE("outputs: a pipe's reader that leaves is an error, and no signal", "[outputs]") {
  const test::Workspace w;
  const fs::path pipe = w / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread reader([&] {
    const int fd = ::open(pipe.c_str(), O_RDONLY | O_CLOEXEC);
    pollfd wait{fd, POLLIN, 0};
    ::poll(&wait, 1, 10000);
    ::close(fd);
  });
  const Status status = tool::write_outputs({{w / "file", "x"}, {pipe, std::string(300000, 'b')}});
  reader.join();
  REQUIRE_FALSE(status.ok());
  CHECK_THAT(status.error().message, EndsWith("pipe': Broken pipe"));
  CHECK(count_entries(w.root()) == 1);
}

TEST_CASE("outputs: links stay, and what they lead to is replaced", "[outputs]") {
  const test::Workspace w;
  w.write("there/file", "old");
  fs::create_symlink("there/file", w / "link");
  fs::create_symlink("link", w / "twice");
  REQUIRE(tool::write_file(w / "twice", "new").ok());
  CHECK(fs::read_symlink(w / "twice") == "link");
  CHECK(fs::read_symlink(w / "link") == "there/file");
  CHECK(fs::is_regular_file(fs::symlink_status(w / "there/file")));
  CHECK(w.read("there/file") == "new");

  fs::create_symlink(w / "there/fresh", w / "dangling");
  REQUIRE(tool::check_output(w / "dangling", false).ok());
  REQUIRE(tool::write_file(w / "dangling", "made").ok());
  CHECK(fs::is_symlink(fs::symlink_status(w / "dangling")));
  CHECK(w.read("there/fresh") == "made");
  CHECK(count_entries(w / "there") == 2);

  // Two names of one file.
  const Status twice = tool::write_outputs({{w / "link", "1"}, {w / "there/file", "2"}});
  REQUIRE_FALSE(twice.ok());
  CHECK_THAT(twice.error().message, ContainsSubstring("two outputs are called '"));
  CHECK(w.read("there/file") == "new");

  fs::create_symlink("round", w / "about");
  fs::create_symlink("about", w / "round");
  for (const Status& status :
       {tool::check_output(w / "round", false), tool::write_file(w / "round", "x")}) {
    REQUIRE_FALSE(status.ok());
    CHECK_THAT(status.error().message, ContainsSubstring("Too many levels of symbolic links"));
  }
  fs::create_symlink("none/x", w / "nowhere");
  const Status nowhere = tool::check_output(w / "nowhere", false);
  REQUIRE_FALSE(nowhere.ok());
  CHECK_THAT(nowhere.error().message, ContainsSubstring("make its folder"));
}

TEST_CASE("outputs: what a killed process left behind a link goes", "[outputs]") {
  const test::Workspace w;
  w.write("there/file", "old");
  w.write("there/file.0123456789abcdef.tmp", "x");
  fs::create_symlink("there/file", w / "link");
  tool::remove_leftovers({{w / "link", ""}});
  CHECK(count_entries(w / "there") == 1);
}

// As "{ echo before; spirkiln ... -o /dev/stdout; echo after; } > file" wants it.
TEST_CASE("outputs: an open file of this process is written where it stands", "[outputs]") {
  const test::Workspace w;
  if (!fs::exists("/proc/self/fd")) SKIP("no /proc here");
  const int fd = ::open((w / "file").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0);
  REQUIRE(::write(fd, "before ", 7) == 7);
  fs::create_symlink("/proc/self/fd/" + std::to_string(fd), w / "stream");
  CHECK(tool::check_output(w / "stream", false).ok());
  CHECK(tool::write_file(w / "stream", "words").ok());
  CHECK(tool::write_file("/dev/fd/" + std::to_string(fd), " again").ok());
  REQUIRE(::write(fd, " after", 6) == 6);
  ::close(fd);
  CHECK(w.read("file") == "before words again after");
}

TEST_CASE("outputs: no input is written over, whatever it is called", "[outputs]") {
  const test::Workspace w;
  const fs::path input = w.write("a/input", "precious");
  w.write("a/other", "precious");
  fs::create_symlink("a/input", w / "link");
  fs::create_hard_link(input, w / "hard");
  for (const fs::path& output : {input, w / "a/../a/./input", w / "link", w / "hard"}) {
    INFO(output);
    const Status status = tool::refuse_inputs({w / "new", output}, {w / "a/other", input});
    REQUIRE_FALSE(status.ok());
    CHECK_THAT(status.error().message, ContainsSubstring("is an input as well"));
    CHECK_THAT(status.error().message, ContainsSubstring(output.string()));
  }
  CHECK(tool::refuse_inputs({w / "a/other", w / "new"}, {input, w / "none"}).ok());
  CHECK(tool::may_write(w / "link", {}).ok());
  CHECK(tool::may_write(w / "new", {input, {}}).ok());
  CHECK_FALSE(tool::may_write(w / "link", {{}, input}).ok());
  const Status nowhere = tool::may_write(w / "no/folder", {});
  REQUIRE_FALSE(nowhere.ok());
  CHECK_THAT(nowhere.error().message, ContainsSubstring("make its folder"));
  const fs::path null = make_device(w, "null", 3);
  CHECK(tool::refuse_inputs({null}, {null}).ok());
}

TEST_CASE("names: messages show control characters, and leave the rest", "[outputs]") {
  CHECK(tool::shown(std::string_view("plain ü 中 \\ \" '.comp")) == "plain ü 中 \\ \" '.comp");
  CHECK(tool::shown(std::string_view("a\nb\rc\td\x1b[2J\x7f")) == "a\\nb\\rc\\td\\x1b[2J\\x7f");
  // U+009B, which some terminals take for ESC [.
  CHECK(tool::shown(std::string_view("\xc2\x9b"
                                     "2J\xc2\xa9")) == "\\xc2\\x9b2J\xc2\xa9");
  CHECK(tool::with_shown("a\nb: gone, a\nb", "a\nb") == "a\\nb: gone, a\\nb");
  CHECK(tool::with_shown("ab: line 1\nline 2", "ab") == "ab: line 1\nline 2");
}
