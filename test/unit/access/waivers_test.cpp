// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "options.hpp"
#include "waivers.hpp"

namespace spirkiln::access {
namespace {

std::string error_of(const std::string& toml) {
  const auto file = std::filesystem::temp_directory_path() / "access_waivers_test.toml";
  std::ofstream(file) << toml;
  const auto waivers = load_waivers(file.string());
  std::filesystem::remove(file);
  return waivers ? std::string() : waivers.error().message;
}

TEST_CASE("Waivers need a reason, are few, and cover a rule of a kernel's line") {
  const std::string one =
      "[[waiver]]\nkernel = \"k\"\nrule = \"align\"\nline = \"x[i]\"\nreason = \"measured\"\n";
  CHECK(error_of(one).empty());
  CHECK(error_of("[[waiver]]\nkernel = \"k\"\nrule = \"align\"\n").find("reason") !=
        std::string::npos);
  const std::string two =
      "[[waiver]]\nkernel = \"k\"\nrule = [\"align\", \"tile\"]\nline = \"x[i]\"\nreason = \"m\"\n";
  CHECK(error_of(two).empty());
  for (const char* wrong : {"[]", "[1]", "3", "\"\""}) {
    const std::string none = "[[waiver]]\nkernel = \"k\"\nreason = \"m\"\nrule = ";
    CHECK_FALSE(error_of(none + wrong + "\n").empty());
  }
  CHECK(error_of(one + "colour = \"red\"\n").find(":6:") != std::string::npos);
  CHECK(error_of(one + one + one + one + one + one).find("more than 5") != std::string::npos);
  std::vector<Waiver> waivers = {{"k", {"swap-index", "align"}, "x[i]", "measured", false}};
  CHECK(find_waiver(waivers, "other", "align", "y = x[i];") == nullptr);
  CHECK(find_waiver(waivers, "k", "tile", "y = x[i];") == nullptr);
  CHECK(find_waiver(waivers, "k", "align", "y = z;") == nullptr);
  CHECK_FALSE(waivers[0].used);
  CHECK(find_waiver(waivers, "k", "align", "y = x[i];") == &waivers[0]);
  CHECK(waivers[0].used);
}

TEST_CASE("Sizes of the command line") {
  CHECK(parse_bytes("16K") == 16384);
  CHECK(parse_bytes("1G") == 1u << 30);
  for (const char* wrong :
       {"", "0", "K", "-1", "1T", "1.5M", "99999999999999999999", "18014398509481984K"}) {
    CHECK_FALSE(parse_bytes(wrong));
  }
  CHECK(parse_triple("8x4") == std::array<std::uint32_t, 3>{8, 4, 1});
  for (const char* wrong : {"", "0", "1,2,3,4", "1,,2", "4294967296", "a"}) {
    CHECK_FALSE(parse_triple(wrong));
  }
  DispatchRequest request;
  CHECK(parse_buffer("1.2=4K", &request).ok());
  CHECK(request.buffers.at(1 << 16 | 2) == 4096);
  CHECK_FALSE(parse_buffer("2", &request).ok());
  CHECK(parse_image("3=64x32:r32f:linear", &request).ok());
  CHECK(request.images.at(3).size == std::array<std::uint32_t, 3>{64, 32, 1});
  CHECK(request.images.at(3).linear);
  CHECK_FALSE(parse_value("=1", &request).ok());
}

}  // namespace
}  // namespace spirkiln::access
