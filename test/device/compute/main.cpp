// SPDX-License-Identifier: Apache-2.0
// Catch2's main, and behind the run: were the validation layers silent?
#include <atomic>
#include <catch2/catch_session.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "compute_helpers.hpp"

namespace spirkiln::test {
namespace {
std::atomic<std::uint64_t> messages{0};
}

void count_validation_message(const char* text) {
  messages.fetch_add(1);
  std::fprintf(stderr, "%s\n", text);
}

std::uint64_t validation_messages() {
  return messages + (device() != nullptr ? device()->validation_message_count() : 0);
}

const Device* device() {
  static const std::optional<Device> opened = []() -> std::optional<Device> {
    DeviceOptions options;
    options.validation = std::getenv("SPIRKILN_TEST_NO_VALIDATION") == nullptr;
    options.message = [](Severity severity, std::string_view text) {
      if (severity == Severity::kInfo) return;
      std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
    };
    auto device = compute::open_device(options);
    if (device) return *std::move(device);
    std::fprintf(stderr, "%s\n", device.error().message.c_str());
    return std::nullopt;
  }();
  return opened ? &*opened : nullptr;
}

}  // namespace spirkiln::test

int main(int argc, char** argv) {
  Catch::Session session;
  if (const int rc = session.applyCommandLine(argc, argv); rc != 0) return rc;
  if (!session.config().listTests() && spirkiln::test::device() == nullptr) {
    std::fprintf(stderr, "skipped: no Vulkan device\n");
    return 77;  // what Meson counts as skipped
  }
  const int rc = session.run();
  if (session.config().listTests() || rc != 0) return rc;
  if (const auto count = spirkiln::test::validation_messages(); count != 0) {
    std::fprintf(stderr, "%llu validation messages\n", static_cast<unsigned long long>(count));
    return 1;
  }
  return 0;
}
