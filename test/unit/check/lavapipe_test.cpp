// SPDX-License-Identifier: Apache-2.0
// The profile of lavapipe was made of what vulkaninfo prints, another program than our loader: both
// must say the same of the driver that is here. What the loader reads must survive a profile.
#include <catch2/catch_test_macros.hpp>

#include "loader/choose.hpp"
#include "loader/device.hpp"
#include "profile.hpp"
#include "profile_keys.hpp"
#include "profile_write.hpp"

using namespace spirkiln;
using namespace spirkiln::check;

TEST_CASE("the loader and vulkaninfo agree on lavapipe") {
  const auto profile = load_profile(std::string(SPIRKILN_DEVICES) + "/lavapipe.toml");
  if (!profile) FAIL(profile.error().message);
  DeviceOptions options;
  options.backend = "vulkan";
  options.name = "llvmpipe";
  const auto device = Device::open(options);
  if (!device) SKIP(device.error().message);
  // All that the device has; state()->caps holds what the kernels ask for.
  const auto queried = device->state()->instance->query(device->state()->physical);
  REQUIRE(queried);
  const DeviceCaps& here = *queried;
  const DeviceCaps& there = profile->caps;
  if (here.driver != there.driver) SKIP("this is " + here.driver);
  CHECK(here.type == there.type);
  CHECK(here.api_version == there.api_version);
  CHECK(here.spirv_version == there.spirv_version);
  CHECK(here.extensions == there.extensions);
  CHECK(here.subgroup_size == there.subgroup_size);
  CHECK(here.subgroup_operations == there.subgroup_operations);
  CHECK(here.unified_memory == there.unified_memory);
  for (const FeatureKey& key : feature_keys()) {
    INFO(key.name);
    CHECK(here.*key.member == there.*key.member);
  }
  for (const LimitKey& key : limit_keys()) {
    INFO(key.name);
    if (key.u32 != nullptr) CHECK(here.*key.u32 == there.*key.u32);
    if (key.u64 != nullptr) CHECK(here.*key.u64 == there.*key.u64);
    if (key.triple != nullptr) CHECK(here.*key.triple == there.*key.triple);
  }
  CHECK(here.driver_id == there.driver_id);
  CHECK(here.driver_version == there.driver_version);
  CHECK(here.vendor_id == there.vendor_id);
  CHECK(here.device_id == there.device_id);
  CHECK(here.min_subgroup_size == there.min_subgroup_size);
  CHECK(here.max_subgroup_size == there.max_subgroup_size);
  CHECK(here.max_group_subgroups == there.max_group_subgroups);
  CHECK(here.pins_subgroup_size == there.pins_subgroup_size);
  CHECK(pinned_subgroup_sizes(here) == std::vector<std::uint32_t>{8});
  CHECK(here.float_controls == there.float_controls);
  CHECK(here.denorm_independence == there.denorm_independence);
  CHECK(here.rounding_independence == there.rounding_independence);
  CHECK(here.matrix_shapes == there.matrix_shapes);
}

TEST_CASE("a profile of each device here says what the loader read, without a validation message") {
  std::string said;
  const auto instance =
      Instance::create(true, [&](Severity, std::string_view text) { said.append(text) += '\n'; });
  if (!instance) SKIP(instance.error().message);
  const auto devices = find_devices(**instance);
  if (!devices) SKIP(devices.error().message);
  for (const FoundDevice& device : *devices) {
    DeviceCaps caps = device.caps;
    caps.pipeline_cache_uuid = caps.device_uuid = caps.driver_uuid = {};  // of this machine alone
    const std::string text = write_profile({"here.toml", {"the loader"}, {}, caps});
    INFO(text);
    const auto again = parse_profile(text, "here.toml");
    if (!again) FAIL(again.error().message);
    CHECK(again->caps == caps);
  }
  INFO(said);
  CHECK((*instance)->sink().count == 0);
}
