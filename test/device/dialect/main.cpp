// SPDX-License-Identifier: Apache-2.0
// Catch2's main, and behind the run: what could not be executed, and was the validation layer
// silent?
#include <catch2/catch_session.hpp>
#include <cstdio>

#include "skipped.hpp"
#include "vulkan_run.hpp"

int main(int argc, char** argv) {
  Catch::Session session;
  if (const int rc = session.applyCommandLine(argc, argv); rc != 0) return rc;
  if (!session.config().listTests() && spirkiln::test::device() == nullptr) {
    std::fprintf(stderr, "skipped: no Vulkan device\n");
    return 77;  // what Meson counts as skipped
  }
  int rc = session.run();
  if (session.config().listTests()) return rc;
  for (const auto& [what, why] : spirkiln::test::skipped()) {
    std::fprintf(stderr, "not executed: %s: %s\n", what.c_str(), why.c_str());
    // This one lacks nothing but bfloat16.
    if (spirkiln::test::on_lavapipe() && what.find("bf16s") == std::string::npos) rc = 1;
  }
  const auto messages = spirkiln::test::device()->validation_message_count();
  if (messages != 0) {
    std::fprintf(stderr, "%llu validation messages\n", static_cast<unsigned long long>(messages));
    rc = 1;
  }
  return rc;
}
