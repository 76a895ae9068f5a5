// SPDX-License-Identifier: Apache-2.0
// The profile of lavapipe was made of what vulkaninfo prints, another program than our loader: both
// must say the same of the driver that is here.
#include <catch2/catch_test_macros.hpp>

#include "loader/device.hpp"
#include "profile.hpp"
#include "profile_keys.hpp"

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
  const DeviceCaps here = device->state()->instance->query(device->state()->physical);
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
}
