// SPDX-License-Identifier: Apache-2.0
// What is kept between processes of proofs: verdicts, and tries that are under way or were left.
#include <signal.h>
#include <sys/wait.h>

#include "proof_support.hpp"
#include "table/read_file.hpp"

using namespace spirkiln;
using namespace spirkiln::test;

namespace {

StoredVerdict verdict(std::uint64_t blob, Verdict v = Verdict::kRight) {
  return {{blob, 7}, v, 1, 2, 3, 4, 5};
}

}  // namespace

TEST_CASE("verdicts are kept, merged and bounded; a damaged file is ignored and replaced",
          "[proof]") {
  const Clean clean;
  const std::string path = verdict_path(clean.path.string(), {});
  bool damaged = true;
  CHECK(read_verdicts(path, &damaged).empty());
  CHECK_FALSE(damaged);
  const StoredVerdict first[] = {verdict(1), verdict(2, Verdict::kWrong)};
  REQUIRE(add_verdicts(path, first).ok());
  const StoredVerdict second[] = {verdict(2), verdict(3)};
  REQUIRE(add_verdicts(path, second).ok());
  const auto all = read_verdicts(path, &damaged);
  REQUIRE(all.size() == 3);
  CHECK(all[1].key.blob == 2);
  CHECK(all[1].verdict == Verdict::kRight);  // the newer one
  CHECK(all[1].expected == 4);

  const auto file = read_file(path, 1 << 20);
  REQUIRE(file.ok());
  for (std::size_t i = 0; i < file->size(); ++i) {
    auto bytes = *file;
    bytes[i] ^= std::byte{0x10};
    REQUIRE(write_file_atomically(path, bytes).ok());
    CHECK(read_verdicts(path, &damaged).empty());
    CHECK(damaged);
    bytes.resize(i);
    REQUIRE(write_file_atomically(path, bytes).ok());
    CHECK(read_verdicts(path, &damaged).empty());
    CHECK(damaged);
  }
  REQUIRE(add_verdicts(path, first).ok());
  CHECK(read_verdicts(path, &damaged).size() == 2);

  std::vector<StoredVerdict> many;
  for (std::uint64_t i = 0; i < kMaxVerdicts + 5; ++i) many.push_back(verdict(100 + i));
  REQUIRE(add_verdicts(path, many).ok());
  const auto bounded = read_verdicts(path, &damaged);
  REQUIRE(bounded.size() == kMaxVerdicts);
  CHECK(bounded.front().key.blob == 105);
}

TEST_CASE("several processes write verdicts at once", "[proof]") {
  const Clean clean;
  const std::string path = verdict_path(clean.path.string(), {});
  constexpr std::uint64_t kProcesses = 4, kRounds = 40;
  std::vector<pid_t> children;
  for (std::uint64_t p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        const StoredVerdict one[] = {verdict(p * 1000 + i)};
        bool damaged = false;
        if (!add_verdicts(path, one).ok()) ::_exit(1);
        (void)read_verdicts(path, &damaged);
        if (damaged) ::_exit(2);
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  bool damaged = true;
  const auto all = read_verdicts(path, &damaged);
  CHECK_FALSE(damaged);
  std::set<std::uint64_t> blobs;
  for (const StoredVerdict& v : all) {
    CHECK(v.key.blob % 1000 < kRounds);
    CHECK(blobs.insert(v.key.blob).second);
  }
  // The last one to write saw nobody after itself.
  const auto last = [&](std::uint64_t p) { return blobs.contains(p * 1000 + kRounds - 1); };
  CHECK((last(0) || last(1) || last(2) || last(3)));
  // Nothing is left behind.
  CHECK(std::distance(fs::directory_iterator(clean.path / "verdicts"), {}) == 1);
}

TEST_CASE("tries: one that is left counts, one that ended or is under way does not", "[proof]") {
  const Clean clean;
  const std::string path = verdict_path(clean.path.string(), {});
  const fs::path folder = fs::path(path).parent_path();
  const VerdictKey keys[] = {{1, 7}, {2, 7}};
  const auto none = [](const VerdictKey&) { return false; };
  {
    Try held(path, keys);
    CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);
    CHECK(left_tries(path, none).empty());
    held.ended();
    CHECK(fs::is_empty(folder));
  }
  // By a process that is gone, and by one that is still at it.
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const auto child_with = [&](std::span<const VerdictKey> tried, bool waits) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const Try held(path, tried);
      char byte = 0;
      if (::write(pipe[1], &byte, 1) != 1) ::_exit(1);
      if (waits) ::pause();
      ::_exit(0);  // nothing is cleaned up
    }
    char byte = 0;
    REQUIRE(::read(pipe[0], &byte, 1) == 1);
    return child;
  };
  REQUIRE(::waitpid(child_with(keys, false), nullptr, 0) > 0);
  const pid_t waiting = child_with({&keys[1], 1}, true);
  auto left = left_tries(path, none);
  CHECK(left.size() == 2);
  CHECK(left[keys[0]].count == 1);
  CHECK(left[keys[1]].count == 1);
  CHECK(left[keys[1]].last.starts_with("process "));
  REQUIRE(::kill(waiting, SIGKILL) == 0);
  REQUIRE(::waitpid(waiting, nullptr, 0) == waiting);
  left = left_tries(path, none);
  CHECK(left[keys[0]].count == 1);
  CHECK(left[keys[1]].count == kMaxTries);
  CHECK(left[keys[1]].last.starts_with("process " + std::to_string(waiting)));
  // What has a verdict is nobody's concern; a file without anything else goes.
  left = left_tries(path, [&](const VerdictKey& key) { return key == keys[1]; });
  CHECK(left.size() == 1);
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 1);

  // A damaged one says nothing, wherever it is damaged, and goes.
  const fs::path file = fs::directory_iterator(folder)->path();
  const auto whole = read_file(file.string(), 1 << 20);
  REQUIRE(whole.ok());
  for (std::size_t size = 0; size < whole->size(); ++size) {
    REQUIRE(write_file_atomically(file.string(), std::span(*whole).first(size)).ok());
    CHECK(left_tries(path, none).empty());
    CHECK_FALSE(fs::exists(file));
  }
  auto other = *whole;
  other.back() ^= std::byte{1};
  REQUIRE(write_file_atomically(file.string(), other).ok());
  CHECK(left_tries(path, none).empty());
  ::close(pipe[0]);
  ::close(pipe[1]);
}
