// SPDX-License-Identifier: Apache-2.0
#include "profile.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>

#include "profile_keys.hpp"
#include "table/nearest_name.hpp"

using namespace spirkiln;
using namespace spirkiln::check;
using Catch::Matchers::StartsWith;

namespace {

const std::string kHead =
    "name = \"d\"\ndeviceType = \"INTEGRATED_GPU\"\napiVersion = \"1.3.128\"\nsource = \"here\"\n";

Result<DeviceProfile> parse(const std::string& text) { return parse_profile(text, "p.toml"); }

}  // namespace

TEST_CASE("a profile that says nothing is the least that Vulkan guarantees") {
  const auto p = parse(
      "name = \"least\"\ndeviceType = \"OTHER\"\napiVersion = \"1.0\"\nsource = [\"a\", \"b\"]\n");
  REQUIRE(p);
  const DeviceCaps& c = p->caps;
  CHECK(p->source == std::vector<std::string>{"a", "b"});
  CHECK(c.name == "least");
  CHECK(c.type == "other");
  CHECK(c.api_version == make_version(1, 0));
  CHECK(c.spirv_version == 0x00010000);
  for (const FeatureKey& key : feature_keys()) {
    INFO(key.name);
    CHECK_FALSE(c.*key.member);
  }
  // The specification's table of required limits.
  CHECK(c.max_storage_buffers == 4);
  CHECK(c.max_invocations == 128);
  CHECK(c.max_shared_bytes == 16384);
  CHECK(c.max_push_bytes == 128);
  CHECK(c.max_storage_range == 134217728);
  CHECK(c.max_group_size == std::array<std::uint32_t, 3>{128, 128, 64});
  CHECK(c.max_group_count == std::array<std::uint32_t, 3>{65535, 65535, 65535});
  CHECK(c.subgroup_size == 0);
  CHECK(c.subgroup_operations == 0);
  CHECK_FALSE(c.unified_memory);
}

TEST_CASE("every key of a profile reaches the caps") {
  const auto p = parse(R"(name = "all"
driver = "driver 7"
driverID = "MESA_V3DV"
driverVersion = 4294967295
vendorID = 5348
deviceID = 0x55701c33
deviceType = "CPU"
apiVersion = "1.4"
source = "here"
assumed = ["shaderInt8", "maxBufferSize", "subgroupSize"]
extensions = ["VK_KHR_cooperative_matrix"]
[features]
shaderInt16 = true
shaderInt64 = true
shaderFloat64 = true
shaderStorageImageExtendedFormats = true
shaderStorageImageReadWithoutFormat = true
shaderStorageImageWriteWithoutFormat = true
storageBuffer16BitAccess = true
uniformAndStorageBuffer16BitAccess = true
storagePushConstant16 = true
variablePointersStorageBuffer = true
variablePointers = true
storageBuffer8BitAccess = true
uniformAndStorageBuffer8BitAccess = true
storagePushConstant8 = true
shaderFloat16 = true
shaderInt8 = true
vulkanMemoryModel = true
vulkanMemoryModelDeviceScope = true
shaderIntegerDotProduct = true
cooperativeMatrix = true
subgroupSizeControl = true
computeFullSubgroups = true
[limits]
maxStorageBufferRange = 4294967295
maxPushConstantsSize = 256
maxBoundDescriptorSets = 32
maxPerStageDescriptorStorageBuffers = 31
maxDescriptorSetStorageBuffers = 155
maxPerStageDescriptorUniformBuffers = 500
maxDescriptorSetUniformBuffers = 300
maxPerStageDescriptorStorageImages = 8
maxDescriptorSetStorageImages = 40
maxPerStageDescriptorSampledImages = 128
maxDescriptorSetSampledImages = 640
maxImageDimension2D = 16384
maxComputeSharedMemorySize = 49152
maxComputeWorkGroupCount = [2147483647, 65535, 65536]
maxComputeWorkGroupInvocations = 1024
maxComputeWorkGroupSize = [1024, 512, 64]
minStorageBufferOffsetAlignment = 64
maxBufferSize = 8589934592
[subgroup]
subgroupSize = 8
supportedOperations = ["BASIC", "SHUFFLE_RELATIVE", "QUAD"]
minSubgroupSize = 4
maxSubgroupSize = 16
maxComputeWorkgroupSubgroups = 32
requiredSubgroupSizeStages = ["COMPUTE"]
[floatControls]
denormBehaviorIndependence = "ALL"
roundingModeIndependence = "32_BIT_ONLY"
shaderSignedZeroInfNanPreserveFloat16 = true
shaderDenormPreserveFloat32 = true
shaderDenormFlushToZeroFloat64 = true
shaderRoundingModeRTEFloat16 = true
shaderRoundingModeRTZFloat32 = true
[[cooperativeMatrix]]
MSize = 16
NSize = 8
KSize = 32
AType = "SINT8"
BType = "UINT8"
CType = "SINT32"
ResultType = 9
saturatingAccumulation = true
[[memoryHeaps]]
size = 1000
flags = ["DEVICE_LOCAL"]
[[memoryHeaps]]
size = 500
)");
  if (!p) FAIL(p.error().message);
  const DeviceCaps& c = p->caps;
  CHECK(c.driver == "driver 7");
  CHECK(c.type == "cpu");
  CHECK(c.api_version == make_version(1, 3));  // instances are made for no newer one
  CHECK(c.spirv_version == 0x00010600);
  CHECK(p->assumed == std::vector<std::string>{"shaderInt8", "maxBufferSize", "subgroupSize"});
  for (const FeatureKey& key : feature_keys()) {
    INFO(key.name);
    CHECK(c.*key.member);
  }
  CHECK(c.max_storage_range == 4294967295);
  CHECK(c.max_push_bytes == 256);
  CHECK(c.max_bound_sets == 32);
  CHECK(c.max_storage_buffers == 31);
  CHECK(c.max_uniform_buffers == 300);  // the smaller of the stage's and the set's
  CHECK(c.max_storage_images == 8);
  CHECK(c.max_sampled_images == 128);
  CHECK(c.max_image_size == 16384);
  CHECK(c.max_shared_bytes == 49152);
  CHECK(c.max_group_count == std::array<std::uint32_t, 3>{2147483647, 65535, 65536});
  CHECK(c.max_invocations == 1024);
  CHECK(c.max_group_size == std::array<std::uint32_t, 3>{1024, 512, 64});
  CHECK(c.storage_alignment == 64);
  CHECK(c.max_buffer_bytes == 8589934592);
  CHECK(c.subgroup_size == 8);
  CHECK(c.subgroup_operations == (0x1 | 0x20 | 0x80));
  CHECK(c.min_subgroup_size == 4);
  CHECK(c.max_subgroup_size == 16);
  CHECK(c.max_group_subgroups == 32);
  CHECK(pinned_subgroup_sizes(c) == std::vector<std::uint32_t>{4, 8, 16});
  CHECK(c.driver_id == 19);  // VK_DRIVER_ID_MESA_V3DV
  CHECK(c.driver_version == 0xffffffff);
  CHECK(c.vendor_id == 5348);
  CHECK(c.device_id == 0x55701c33);
  CHECK(c.denorm_independence == FloatIndependence::kAll);
  CHECK(c.rounding_independence == FloatIndependence::kFloat32Only);
  CHECK(c.float_controls[0] == FloatControls{true, false, false, true, false});
  CHECK(c.float_controls[1] == FloatControls{false, true, false, false, true});
  CHECK(c.float_controls[2] == FloatControls{false, false, true, false, false});
  // VK_COMPONENT_TYPE_SINT8_KHR and so on
  CHECK(c.matrix_shapes == std::vector<MatrixShape>{{16, 8, 32, 3, 7, 5, 9, true}});
  CHECK(c.heaps == std::vector<MemoryHeap>{{1000, true}, {500, false}});
  CHECK(c.device_local_bytes == 1000);
  CHECK_FALSE(c.unified_memory);
}

TEST_CASE("sizes of subgroups are pinned where feature and stage allow it") {
  DeviceCaps c;
  c.min_subgroup_size = 8;
  c.max_subgroup_size = 8;
  c.subgroup_size_control = c.pins_subgroup_size = true;
  CHECK(pinned_subgroup_sizes(c) == std::vector<std::uint32_t>{8});
  c.max_subgroup_size = 0x80000000;  // no size above, and no end without
  CHECK(pinned_subgroup_sizes(c).size() == 29);
  c.pins_subgroup_size = false;
  CHECK(pinned_subgroup_sizes(c).empty());
  c.pins_subgroup_size = true;
  c.subgroup_size_control = false;
  CHECK(pinned_subgroup_sizes(c).empty());
}

TEST_CASE("an older device has a feature through its extension") {
  const std::string head =
      "name = \"d\"\ndeviceType = \"OTHER\"\napiVersion = \"1.0.300\"\nsource = \"here\"\n";
  const auto p = parse(head +
                       "extensions = [\"VK_KHR_16bit_storage\", \"VK_KHR_shader_float16_int8\"]\n"
                       "[features]\nstorageBuffer16BitAccess = true\nshaderFloat16 = true\n");
  if (!p) FAIL(p.error().message);
  CHECK(p->caps.storage16);
  CHECK(p->caps.float16);
  CHECK(p->caps.extensions.contains("VK_KHR_16bit_storage"));
}

TEST_CASE("each mistake in a profile is one error at its place") {
  struct Case {
    std::string text, expected;
  };
  const Case cases[] = {
      {"deviceType = \"CPU\"\napiVersion = \"1.0\"\nsource = \"x\"\n",
       "p.toml:1:1: error: a profile without 'name'"},
      {"name = \"d\"\napiVersion = \"1.0\"\nsource = \"x\"\n",
       "p.toml:1:1: error: a profile without 'deviceType'"},
      {"name = \"d\"\ndeviceType = \"CPU\"\nsource = \"x\"\n",
       "p.toml:1:1: error: a profile without 'apiVersion'"},
      {"name = \"d\"\ndeviceType = \"CPU\"\napiVersion = \"1.0\"\n",
       "p.toml:1:1: error: a profile without 'source'"},
      {"name = 3\ndeviceType = \"CPU\"\napiVersion = \"1.0\"\nsource = \"x\"\n",
       "p.toml:1:8: error: 'name' must be a string"},
      {"name = \"\"\ndeviceType = \"CPU\"\napiVersion = \"1.0\"\nsource = \"x\"\n",
       "p.toml:1:8: error: 'name' must be a string that is not empty"},
      {"name = \"d\"\ndeviceType = \"GPU\"\napiVersion = \"1.0\"\nsource = \"x\"\n",
       "p.toml:2:14: error: 'deviceType' is 'GPU'; expected one of OTHER, INTEGRATED_GPU"},
      {"name = \"d\"\ndeviceType = \"CPU\"\napiVersion = \"2.0\"\nsource = \"x\"\n",
       "p.toml:3:14: error: 'apiVersion' is '2.0'; expected"},
      {"name = \"d\"\ndeviceType = \"CPU\"\napiVersion = \"1.\"\nsource = \"x\"\n",
       "p.toml:3:14: error: 'apiVersion' is '1.'; expected"},
      {"name = \"d\"\ndeviceType = \"CPU\"\napiVersion = 1.3\nsource = \"x\"\n",
       "p.toml:3:14: error: 'apiVersion' must be a string"},
      {"name = \"d\"\ndeviceType = \"CPU\"\napiVersion = \"1.0\"\nsource = []\n",
       "p.toml:4:10: error: 'source' must be a string or a list of strings"},
      {kHead + "shaderFloat16 = true\n",
       "p.toml:5:1: error: unknown key 'shaderFloat16' in a profile; the nearest is"},
      {kHead + "feature = {}\n",
       "p.toml:5:1: error: unknown key 'feature' in a profile; the nearest is 'features'"},
      {kHead + "name = \"e\"\n", "p.toml:5:"},  // TOML's own: a repeated key
      {kHead + "[features]\nshaderFloat16 = true\nshaderFloat16 = true\n", "p.toml:7:"},
      {kHead + "features = 1\n", "p.toml:5:12: error: 'features' must be a table: [features]"},
      {kHead + "[features]\nshaderfloat16 = true\n",
       "p.toml:6:1: error: unknown key 'shaderfloat16' in [features]; the nearest is "
       "'shaderFloat16'"},
      {kHead + "[features]\nshaderFloat16 = 1\n",
       "p.toml:6:17: error: 'shaderFloat16' must be true or false"},
      {kHead + "[features]\ncooperativeMatrix = true\n",
       "p.toml:6:21: error: 'cooperativeMatrix' can only be seen with VK_KHR_cooperative_matrix"},
      {"name = \"d\"\ndeviceType = \"CPU\"\napiVersion = \"1.0\"\nsource = \"x\"\n"
       "[features]\nstorageBuffer16BitAccess = true\n",
       "p.toml:6:28: error: 'storageBuffer16BitAccess' can only be seen from Vulkan 1.1 on or with "
       "VK_KHR_16bit_storage"},
      {kHead + "driverID = \"MESA_V3D\"\n",
       "p.toml:5:12: error: 'driverID' is 'MESA_V3D', which is unknown; the nearest is "
       "'MESA_V3DV'"},
      {kHead + "driverID = -1\n", "p.toml:5:12: error: 'driverID' must be a whole number"},
      {kHead + "vendorID = 4294967296\n", "p.toml:5:12: error: 'vendorID' must be a whole number"},
      {"name = \"d\"\ndeviceType = \"CPU\"\napiVersion = \"1.1\"\nsource = \"x\"\n"
       "[floatControls]\n",
       "p.toml:5:1: error: [floatControls] can only be seen from Vulkan 1.2 on or with "
       "VK_KHR_shader_float_controls"},
      {kHead + "[floatControls]\nshaderDenormPreserveFloat8 = true\n",
       "p.toml:6:1: error: unknown key 'shaderDenormPreserveFloat8' in [floatControls]"},
      {kHead + "[floatControls]\nshaderDenormPreserveFloat16 = 1\n",
       "p.toml:6:31: error: 'shaderDenormPreserveFloat16' must be true or false"},
      {kHead + "[floatControls]\ndenormBehaviorIndependence = \"SOME\"\n",
       "p.toml:6:30: error: 'denormBehaviorIndependence' is 'SOME', which is unknown"},
      {kHead + "[subgroup]\nsubgroupSize = 8\nminSubgroupSize = 8\nmaxSubgroupSize = 8\n",
       "p.toml:7:19: error: 'minSubgroupSize' without 'maxComputeWorkgroupSubgroups'"},
      {kHead + "[subgroup]\nsubgroupSize = 8\nminSubgroupSize = 16\nmaxSubgroupSize = 8\n"
               "maxComputeWorkgroupSubgroups = 4\n",
       "p.toml:8:19: error: 'maxSubgroupSize' is below 'minSubgroupSize'"},
      {kHead + "[subgroup]\nsubgroupSize = 8\nrequiredSubgroupSizeStages = [\"VERTEX\"]\n",
       "p.toml:7:31: error: 'VERTEX': the only stage that counts is 'COMPUTE'"},
      {kHead + "[[cooperativeMatrix]]\nMSize = 8\nNSize = 8\nKSize = 8\nAType = \"FLOAT16\"\n"
               "BType = \"FLOAT16\"\nCType = \"FLOAT16\"\nResultType = \"FLOAT16\"\n",
       "p.toml:5:1: error: [[cooperativeMatrix]] without the feature 'cooperativeMatrix'"},
      {kHead + "[limits]\nmaxPushConstantSize = 128\n",
       "p.toml:6:1: error: unknown key 'maxPushConstantSize' in [limits]; the nearest is "
       "'maxPushConstantsSize'"},
      {kHead + "[limits]\nmaxPushConstantsSize = \"128\"\n",
       "p.toml:6:24: error: 'maxPushConstantsSize' must be a whole number above 0"},
      {kHead + "[limits]\nmaxPushConstantsSize = -1\n",
       "p.toml:6:24: error: 'maxPushConstantsSize' must be a whole number above 0"},
      {kHead + "[limits]\nmaxPushConstantsSize = 127\n",
       "p.toml:6:24: error: 'maxPushConstantsSize' is 127; Vulkan guarantees 128"},
      {kHead + "[limits]\nmaxPushConstantsSize = 4294967296\n",
       "p.toml:6:24: error: 'maxPushConstantsSize' is 4294967296, which is more than 32 bits"},
      {kHead + "[limits]\nmaxPerStageDescriptorStorageBuffers = 8\n",
       "p.toml:6:39: error: 'maxPerStageDescriptorStorageBuffers' without "
       "'maxDescriptorSetStorageBuffers'"},
      {kHead + "[limits]\nmaxComputeWorkGroupSize = 128\n",
       "p.toml:6:27: error: 'maxComputeWorkGroupSize' must be a list of three numbers"},
      {kHead + "[limits]\nmaxComputeWorkGroupSize = [128, 127, 64]\n",
       "p.toml:6:33: error: 'maxComputeWorkGroupSize' is 127; Vulkan guarantees 128"},
      {kHead + "[limits]\nminStorageBufferOffsetAlignment = 48\n",
       "p.toml:6:35: error: 'minStorageBufferOffsetAlignment' is 48; expected a power of two"},
      {kHead + "[limits]\nminStorageBufferOffsetAlignment = 512\n",
       "p.toml:6:35: error: 'minStorageBufferOffsetAlignment' is 512; expected a power of two of "
       "at "
       "most 256"},
      {"name = \"d\"\ndeviceType = \"CPU\"\napiVersion = \"1.2\"\nsource = \"x\"\n"
       "[limits]\nmaxBufferSize = 1073741824\n",
       "p.toml:6:17: error: 'maxBufferSize' can only be seen from Vulkan 1.3 on"},
      {kHead + "extensions = [\"KHR_16bit_storage\"]\n",
       "p.toml:5:15: error: 'KHR_16bit_storage': extensions are named VK_..."},
      {kHead + "extensions = [\"VK_A\", \"VK_A\"]\n",
       "p.toml:5:23: error: this extension is listed twice"},
      {kHead + "assumed = [\"shaderFloat16\"]\n",
       "p.toml:5:12: error: 'shaderFloat16' is assumed, but the profile does not set it"},
      {kHead + "[subgroup]\nsubgroupSize = 24\n",
       "p.toml:6:16: error: 'subgroupSize' must be a power of two from 1 to 128"},
      {kHead + "[subgroup]\nsupportedOperations = []\n",
       "p.toml:5:1: error: [subgroup] without 'subgroupSize'"},
      {kHead + "[subgroup]\nsubgroupSize = 8\nsupportedOperations = [\"SHUFLE\"]\n",
       "p.toml:7:24: error: unknown operation 'SHUFLE'; the nearest is 'SHUFFLE'"},
      {"name = \"d\"\ndeviceType = \"CPU\"\napiVersion = \"1.0\"\nsource = \"x\"\n"
       "[subgroup]\nsubgroupSize = 8\n",
       "p.toml:5:1: error: [subgroup] can only be seen from Vulkan 1.1 on"},
      {kHead + "memoryHeaps = 3\n",
       "p.toml:5:15: error: 'memoryHeaps' must be written as [[memoryHeaps]]"},
      {kHead + "[[memoryHeaps]]\nflags = []\n", "p.toml:5:1: error: [[memoryHeaps]] needs 'size'"},
      {kHead + "[[memoryHeaps]]\nsize = 1\nflags = [\"LOCAL\"]\n",
       "p.toml:7:10: error: unknown flag 'LOCAL'; the only one is 'DEVICE_LOCAL'"},
      {kHead + "[memory]\nsectorBytes = 48\n",
       "p.toml:6:15: error: 'sectorBytes' must be a power of two up to 4096"},
      {kHead + "[memory]\nmemoryRate = 100\n",
       "p.toml:5:1: error: 'lineRate', 'cacheRate', 'cacheBytes' and 'memoryRate' of [memory] come "
       "together"},
      {kHead + "[memory]\nlineRate = 0\ncacheRate = 2\ncacheBytes = 3\nmemoryRate = 4\n",
       "p.toml:6:12: error: 'lineRate' must be a whole number of at least 1"},
      {"name = [\n", "p.toml:"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    const auto p = parse(c.text);
    REQUIRE_FALSE(p);
    CHECK(p.error().code == ErrorCode::kInvalidArgument);
    CHECK_THAT(p.error().message, StartsWith(c.expected));
    // One mistake, one line.
    CHECK(p.error().message.find('\n') == std::string::npos);
  }
}

TEST_CASE("how the device moves memory") {
  const auto usual = parse(kHead);
  REQUIRE(usual);
  CHECK(usual->memory == MemoryTraits{32, 128, 32, 0, 0, 0, 0});
  const auto p = parse(kHead +
                       "[memory]\nsectorBytes = 64\nlineBytes = 256\nsharedBanks = 16\n"
                       "lineRate = 9\ncacheRate = 7\ncacheBytes = 5\nmemoryRate = 3\n");
  REQUIRE(p);
  CHECK(p->memory == MemoryTraits{64, 256, 16, 9, 7, 5, 3});
}

TEST_CASE("several mistakes are reported together, in the order of their places") {
  const auto p = parse(kHead + "[limits]\nmaxPushConstantsSize = 1\n[features]\nzzz = true\n");
  REQUIRE_FALSE(p);
  CHECK_THAT(p.error().message, StartsWith("p.toml:6:24: error: "));
  CHECK(p.error().message.find("\np.toml:8:1: error: unknown key 'zzz'") != std::string::npos);
}

TEST_CASE("a file that is not there is named") {
  const auto p = load_profile("/nowhere/p.toml");
  REQUIRE_FALSE(p);
  CHECK(p.error().code == ErrorCode::kIo);
  CHECK(p.error().message.find("/nowhere/p.toml") != std::string::npos);
}

TEST_CASE("the nearest name") {
  const std::string_view known[] = {"shaderInt16", "shaderInt64", "shaderFloat16"};
  CHECK(nearest_name("shaderint64", known) == "shaderInt64");
  CHECK(nearest_name("shaderFloat", known) == "shaderFloat16");
  CHECK(nearest_name(std::string(5000, 'x'), known).size() > 0);
  CHECK(nearest_name("x", std::span<const std::string_view>{}).empty());
  CHECK(edit_distance("", "ab") == edit_distance("ab", ""));
  CHECK(edit_distance("abc", "abc") == 0);
}

TEST_CASE("every profile of the tree is read, and says where it comes from") {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SPIRKILN_DEVICES)) {
    if (entry.path().extension() != ".toml") continue;
    ++count;
    const auto p = load_profile(entry.path().string());
    if (!p) FAIL_CHECK(p.error().message);
    if (p) CHECK_FALSE(p->source.empty());
  }
  CHECK(count == 9);
}

TEST_CASE("a key of many parts is an error and no crash") {
  std::string key = "a";
  for (int i = 0; i < 100000; ++i) key += ".a";
  const auto p = parse(kHead + "[" + key + "]\n");
  REQUIRE_FALSE(p);
  CHECK(p.error().message ==
        "p.toml:5:2: error: a key of more than 16 parts; those of a profile have at most two");
}
