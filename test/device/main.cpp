// SPDX-License-Identifier: Apache-2.0
// Catch2's main, and behind a full run: did every variant run with every residual, and was the
// validation layer silent?
#include <catch2/catch_session.hpp>
#include <cstdio>

#include "harness.hpp"

int main(int argc, char** argv) {
  Catch::Session session;
  if (const int rc = session.applyCommandLine(argc, argv); rc != 0) return rc;
  int rc = session.run();
  if (spirkiln::test::device() == nullptr) {
    std::fprintf(stderr, "skipped: no Vulkan device\n");
    return 77;  // what Meson counts as skipped
  }
  if (rc != 0 || session.config().listTests()) return rc;
  if (!session.config().hasTestFilters() && session.config().shardCount() == 1) {
    for (const std::string& name : spirkiln::test::variants_not_run()) {
      std::fprintf(stderr, "never ran: %s\n", name.c_str());
      rc = 1;
    }
    for (const std::string& what : spirkiln::test::residuals_not_run()) {
      std::fprintf(stderr, "never ran %s\n", what.c_str());
      rc = 1;
    }
  }
  const auto messages = spirkiln::test::device()->validation_message_count();
  if (messages != 0) {
    std::fprintf(stderr, "%llu validation messages\n", static_cast<unsigned long long>(messages));
    rc = 1;
  }
  return rc;
}
