// SPDX-License-Identifier: Apache-2.0
// Capabilities written as a profile and read again must be the same: the parser, which has tests of
// its own, is what the writer is checked by.
#include "profile_write.hpp"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

using namespace spirkiln;
using namespace spirkiln::check;

namespace {

DeviceProfile written_and_read(const DeviceProfile& profile) {
  const std::string text = write_profile(profile);
  INFO(text);
  auto again = parse_profile(text, profile.path);
  if (!again) FAIL(again.error().message);
  return *std::move(again);
}

void check_same(const DeviceProfile& profile) {
  const DeviceProfile again = written_and_read(profile);
  CHECK(again.source == profile.source);
  CHECK(again.assumed == profile.assumed);
  CHECK(again.caps == profile.caps);
  CHECK(again.memory == profile.memory);
}

DeviceProfile made_up() {
  DeviceProfile profile{"p.toml", {"made up"}, {}, {}, {}};
  profile.caps.name = "d";
  return profile;
}

}  // namespace

TEST_CASE("each profile that is shipped is the same when it is written again") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SPIRKILN_DEVICES)) {
    if (entry.path().extension() != ".toml") continue;
    INFO(entry.path());
    const auto profile = load_profile(entry.path().string());
    if (!profile) FAIL(profile.error().message);
    check_same(*profile);
    ++count;
  }
  CHECK(count >= 9);
}

TEST_CASE("a profile is written with all that a device may have") {
  DeviceProfile profile = made_up();
  DeviceCaps& c = profile.caps;
  c.type = "discrete";
  c.driver = "driver \"7\"";
  c.driver_id = 4;
  c.driver_version = 0xffffffff;
  c.vendor_id = 0x10de;
  c.device_id = 0x2335;
  c.api_version = make_version(1, 3);
  c.spirv_version = 0x00010600;
  c.extensions = {"VK_KHR_cooperative_matrix", "VK_KHR_spirv_1_4"};
  c.cooperative_matrix = c.float16 = c.subgroup_size_control = true;
  // A type by its name, and one that nobody here knows.
  c.matrix_shapes = {{16, 16, 16, kMatrixHalf, kMatrixHalf, kMatrixFloat, kMatrixFloat, false},
                     {8, 8, 32, 7, 7, 5, 2000000000, true}};
  c.subgroup_size = 32;
  c.subgroup_operations = 0x6ff;
  c.min_subgroup_size = 8;
  c.max_subgroup_size = 64;
  c.max_group_subgroups = 16;
  c.pins_subgroup_size = true;
  c.float_controls[0].denorm_preserve = c.float_controls[1].rounding_rte = true;
  c.float_controls[2].signed_zero_inf_nan_preserve = true;
  c.denorm_independence = FloatIndependence::kAll;
  c.rounding_independence = FloatIndependence::kFloat32Only;
  // Less than Vulkan guarantees of a descriptor set: here a stage's limit is the smaller one.
  c.max_storage_buffers = 8;
  c.max_buffer_bytes = 0x7fffffffffffffff;
  c.storage_alignment = 16;
  set_heaps(&c, {{1ull << 40, true}, {1ull << 33, false}});
  check_same(profile);

  SECTION("a driver and an independence that are newer than this program") {
    c.driver_id = 4711;
    c.rounding_independence = static_cast<FloatIndependence>(9);
    check_same(profile);
  }
  SECTION("memory that moves otherwise than most") {
    profile.memory = {64, 256, 16};
    check_same(profile);
  }
  SECTION("a buffer without bound") {
    c.max_buffer_bytes = ~std::uint64_t{0};
    check_same(profile);
  }
}

TEST_CASE("names from a driver cannot break a profile") {
  for (const char* name :
       {"a \"b\" \\ c", "two\nlines\r\n[limits]", "\x1b[31m\x7f", "naïve 名", "''' \"\"\" #"}) {
    DeviceProfile profile = made_up();
    profile.caps.name = profile.caps.driver = name;
    check_same(profile);
  }
  DeviceProfile profile = made_up();
  profile.caps.name = "not \xff UTF-8";
  CHECK(written_and_read(profile).caps.name == "not \xef\xbf\xbd UTF-8");
  profile.caps.name = "";
  CHECK(written_and_read(profile).caps.name == "unnamed");
}
