// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/table_writer.hpp"
#include "table/select.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;

namespace {

Table open(std::vector<TestKernel> kernels) {
  auto table = Table::from_bytes(write_table(std::move(kernels)), "test table");
  REQUIRE(table);
  return *table;
}

TestVariant variant(const std::string& name, Form form, TestBlob blob = {}) {
  return {name, form.storage, form.arithmetic, {}, std::move(blob), form.resource};
}

// A kernel in fp16sa that needs everything such a kernel needs, and in fp32 that needs nothing.
TestKernel two_forms() {
  TestBlob half;
  half.capabilities = {1, 9, 4433};
  half.extensions = {"SPV_KHR_16bit_storage"};
  return {"k", {variant("k_fp16sa", kFp16sa, half), variant("k", kFp32)}};
}

DeviceCaps modern() {
  DeviceCaps caps;
  caps.name = "synthetic";
  caps.api_version = make_version(1, 3);
  caps.spirv_version = 0x00010600;
  caps.float16 = caps.storage16 = true;
  return caps;
}

constexpr Form kBoth[] = {kFp16sa, kFp32};

std::string variant_name(const Table& t, const Result<Selection>& s) {
  REQUIRE(s);
  return std::string(t.string(t.variants()[s->variant].name));
}

}  // namespace

TEST_CASE("the first form that the device can run wins") {
  const Table t = open({two_forms()});
  CHECK(variant_name(t, select_blob(t, {"k", kBoth, {}}, modern())) == "k_fp16sa");
  DeviceCaps caps = modern();
  caps.float16 = false;
  CHECK(variant_name(t, select_blob(t, {"k", kBoth, {}}, caps)) == "k");
  // The order of the request counts, not the table's.
  const Form turned[] = {kFp32, kFp16sa};
  CHECK(variant_name(t, select_blob(t, {"k", turned, {}}, modern())) == "k");
}

TEST_CASE("a forced form that cannot run names the reason, and every other candidate's") {
  const Table t = open({two_forms()});
  DeviceCaps caps = modern();
  caps.float16 = false;
  const Form forced[] = {kFp16sa};
  const auto s = select_blob(t, {"k", forced, {}}, caps);
  REQUIRE_FALSE(s);
  CHECK(s.error().code == ErrorCode::kNoVariant);
  CHECK_THAT(s.error().message, ContainsSubstring("k_fp16sa: needs shaderFloat16"));
  CHECK_THAT(s.error().message, ContainsSubstring("k: is fp32"));
  CHECK_THAT(s.error().message, ContainsSubstring("synthetic"));
}

TEST_CASE("an unknown kernel is named") {
  const Table t = open({two_forms()});
  const auto s = select_blob(t, {"nothing", kBoth, {}}, modern());
  REQUIRE_FALSE(s);
  CHECK_THAT(s.error().message, ContainsSubstring("has no kernel \"nothing\"; the nearest"));
}

TEST_CASE("own axes: named ones must match, others have the first variant's value") {
  TestKernel k{"g", {}};
  for (const Form form : {kFp16s, kFp32}) {
    for (const char* direct : {"0", "1"}) {
      TestVariant v = variant("g_" + form_name(form) + "_" + direct, form);
      v.axes = {{"DIRECT", direct}};
      if (std::string(direct) == "0" && form == kFp16s) v.blob.capabilities = {1, 4433};
      k.variants.push_back(v);
    }
  }
  const Table t = open({k});
  const Form forms[] = {kFp16s, kFp32};
  const AxisRequest direct[] = {{"DIRECT", "1"}};
  CHECK(variant_name(t, select_blob(t, {"g", forms, {}}, modern())) == "g_fp16s_0");
  CHECK(variant_name(t, select_blob(t, {"g", forms, direct}, modern())) == "g_fp16s_1");

  // Where the default cannot run, another form does, never another value of the axis.
  DeviceCaps caps = modern();
  caps.storage16 = false;
  CHECK(variant_name(t, select_blob(t, {"g", forms, {}}, caps)) == "g_fp32_0");

  const AxisRequest unknown_axis[] = {{"TILE", "8"}};
  const auto a = select_blob(t, {"g", forms, unknown_axis}, modern());
  REQUIRE_FALSE(a);
  CHECK_THAT(a.error().message, ContainsSubstring("has no axis TILE"));
  const AxisRequest unknown_value[] = {{"DIRECT", "7"}};
  const auto b = select_blob(t, {"g", forms, unknown_value}, modern());
  REQUIRE_FALSE(b);
  CHECK_THAT(b.error().message, ContainsSubstring("DIRECT=1, asked for is 7"));
}

TEST_CASE("each requirement excludes by itself, with its own reason") {
  struct Case {
    const char* reason;
    void (*need)(TestBlob&);
  };
  const Case cases[] = {
      {"Vulkan 1.3 (the device has 1.1)",
       [](TestBlob& b) { b.vulkan_version = make_version(1, 3); }},
      {"SPIR-V 1.6 (the device takes 1.3)", [](TestBlob& b) { b.spirv_version = 0x00010600; }},
      {"shaderFloat16", [](TestBlob& b) { b.capabilities = {1, 9}; }},
      {"shaderFloat64", [](TestBlob& b) { b.capabilities = {1, 10}; }},
      {"shaderInt64", [](TestBlob& b) { b.capabilities = {1, 11}; }},
      {"shaderInt16", [](TestBlob& b) { b.capabilities = {1, 22}; }},
      {"shaderInt8", [](TestBlob& b) { b.capabilities = {1, 39}; }},
      {"storageBuffer16BitAccess", [](TestBlob& b) { b.capabilities = {1, 4433}; }},
      {"uniformAndStorageBuffer16BitAccess", [](TestBlob& b) { b.capabilities = {1, 4434}; }},
      {"storageBuffer8BitAccess", [](TestBlob& b) { b.capabilities = {1, 4448}; }},
      {"subgroup operations (arithmetic)", [](TestBlob& b) { b.capabilities = {1, 63}; }},
      {"vulkanMemoryModel", [](TestBlob& b) { b.capabilities = {1, 5345}; }},
      {"shaderIntegerDotProduct", [](TestBlob& b) { b.capabilities = {1, 6019}; }},
      {"cooperativeMatrix", [](TestBlob& b) { b.capabilities = {1, 6022}; }},
      {"SPIR-V capability 9999, which this library does not know",
       [](TestBlob& b) { b.capabilities = {1, 9999}; }},
      {"VK_KHR_8bit_storage (for SPV_KHR_8bit_storage)",
       [](TestBlob& b) { b.extensions = {"SPV_KHR_8bit_storage"}; }},
      {"SPV_EXT_unheard_of, which this library does not know",
       [](TestBlob& b) { b.extensions = {"SPV_EXT_unheard_of"}; }},
      {"132 bytes of push constants", [](TestBlob& b) { b.push_bytes = 132; }},
      {"16388 bytes of shared memory", [](TestBlob& b) { b.shared_bytes = 16388; }},
      {"invocations along x", [](TestBlob& b) { b.local_size[0] = 256; }},
      {"invocations along z", [](TestBlob& b) { b.local_size[2] = 65; }},
      {"256 invocations in a workgroup",
       [](TestBlob& b) { b.local_size[0] = 128, b.local_size[1] = 2; }},
      {"5 storage buffers",
       [](TestBlob& b) {
         for (std::uint16_t i = 0; i < 5; ++i) b.bindings.push_back({i});
       }},
      {"17 sampled images",
       [](TestBlob& b) {
         for (std::uint16_t i = 0; i < 17; ++i) {
           b.bindings.push_back({i, 0, 0, table::BindingKind::kSampledImage});
         }
       }},
      {"5 storage images",
       [](TestBlob& b) {
         for (std::uint16_t i = 0; i < 5; ++i) {
           b.bindings.push_back({i, 0, 0, table::BindingKind::kStorageImage});
         }
       }},
      {"13 uniform buffers",
       [](TestBlob& b) {
         for (std::uint16_t i = 0; i < 13; ++i) {
           b.bindings.push_back({i, 0, 0, table::BindingKind::kUniformBuffer});
         }
       }},
      {"5 descriptor sets", [](TestBlob& b) { b.bindings = {{0, 0, 4}}; }},
  };
  // The least that Vulkan 1.1 guarantees: no optional feature.
  DeviceCaps least;
  least.name = "least";
  least.api_version = make_version(1, 1);
  least.spirv_version = 0x00010300;
  const Form forms[] = {kFp32};
  for (const Case& c : cases) {
    INFO(c.reason);
    TestBlob blob;
    c.need(blob);
    const Table t = open({{"k", {variant("k", kFp32, blob)}}});
    const auto s = select_blob(t, {"k", forms, {}}, least);
    REQUIRE_FALSE(s);
    CHECK(s.error().code == ErrorCode::kNoVariant);
    CHECK_THAT(s.error().message, ContainsSubstring(std::string("k: needs ") + c.reason) ||
                                      ContainsSubstring(c.reason));
  }
}

TEST_CASE("an extension counts whether it is in the core or enabled on an older device") {
  TestBlob blob;
  blob.extensions = {"SPV_KHR_16bit_storage", "SPV_KHR_storage_buffer_storage_class"};
  const Table t = open({{"k", {variant("k", kFp32, blob)}}});
  const Form forms[] = {kFp32};
  DeviceCaps caps;
  caps.api_version = make_version(1, 1);
  CHECK(select_blob(t, {"k", forms, {}}, caps));
  caps.api_version = make_version(1, 0);
  CHECK_FALSE(select_blob(t, {"k", forms, {}}, caps));
  caps.extensions = {"VK_KHR_16bit_storage", "VK_KHR_storage_buffer_storage_class"};
  CHECK(select_blob(t, {"k", forms, {}}, caps));
}

TEST_CASE("image variants run only when they are asked for") {
  const Table t =
      open({{"k",
             {variant("k_fp16p", kFp16p), variant("k", kFp32),
              variant("k_image_fp16p", image_of(kFp16p)), variant("k_image", image_of(kFp32))}},
            {"plain", {variant("plain", kFp32)}}});
  const Form buffers[] = {kFp32, kFp16p}, images[] = {image_of(kFp32)};
  CHECK(variant_name(t, select_blob(t, {"k", buffers, {}}, modern())) == "k");
  CHECK(variant_name(t, select_blob(t, {"k", images, {}}, modern())) == "k_image");
  const auto none = select_blob(t, {"plain", images, {}}, modern());
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::kNoVariant);
  CHECK_THAT(none.error().message, ContainsSubstring("no variant of kernel plain (image)") &&
                                       ContainsSubstring("plain: is fp32"));
}

TEST_CASE("bytes are read the first way that the device can, or as it was asked for") {
  TestBlob bytes;
  bytes.capabilities = {1, 4448};
  bytes.extensions = {"SPV_KHR_8bit_storage"};
  auto read = [&](const std::string& name, table::Int8 int8, TestBlob blob) {
    TestVariant v = variant(name, kFp32, std::move(blob));
    v.int8 = int8;
    return v;
  };
  const Table t =
      open({{"k",
             {read("k_int8s", table::Int8::kStorage, bytes),
              read("k_int8p", table::Int8::kPacked, {}), read("k", table::Int8::kNone, {})}}});
  const Form forms[] = {kFp32};
  DeviceCaps caps = modern();
  CHECK(variant_name(t, select_blob(t, {"k", forms, {}}, caps)) == "k_int8p");
  caps.storage8 = true;
  CHECK(variant_name(t, select_blob(t, {"k", forms, {}}, caps)) == "k_int8s");
  CHECK(variant_name(t, select_blob(t, {"k", forms, {}, table::Int8::kNone}, caps)) == "k");
  caps.storage8 = false;
  const auto none = select_blob(t, {"k", forms, {}, table::Int8::kStorage}, caps);
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message,
             ContainsSubstring("k_int8s: needs storageBuffer8BitAccess") &&
                 ContainsSubstring("k_int8p: reads bytes as int8 packed, asked for is storage"));
  CHECK(only_used_features(caps, t).storage8 == false);
  caps.storage8 = true;
  CHECK(only_used_features(caps, t).storage8);
}

TEST_CASE("a local size that is a specialization constant does not exclude") {
  TestBlob blob;
  blob.local_size[0] = 1024;
  blob.local_size_id[0] = 233;
  blob.specs = {{233, "local_size_x"}};
  const Table t = open({{"k", {variant("k", kFp32, blob)}}});
  const Form forms[] = {kFp32};
  CHECK(select_blob(t, {"k", forms, {}}, DeviceCaps{}));
}

TEST_CASE("forms have the names of the dialect") {
  for (const std::string name : {"fp32", "fp16p", "fp16pa", "fp16s", "fp16sa"}) {
    const std::string image = name == "fp32" ? "image" : "image_" + name;
    const auto form = form_from_name(name);
    REQUIRE(form);
    CHECK(form_name(*form) == name);
    CHECK(form_name(image_of(*form)) == image);
    CHECK(form_from_name(image) == image_of(*form));
  }
  CHECK(form_names().size() == 10);
  CHECK_FALSE(form_from_name("image_fp32"));
  CHECK_FALSE(form_from_name("fp16"));
  CHECK(vector_bytes(kFp32) == 16);
  CHECK(vector_bytes(kFp16p) == 8);
  CHECK(vector_bytes(kFp16sa) == 8);
}

TEST_CASE("a device is created with what the table's blobs ask for, and nothing else") {
  const Table t = open({two_forms()});
  DeviceCaps all = modern();
  all.int64 = all.cooperative_matrix = all.vulkan_memory_model = all.storage8 = true;
  all.subgroup_operations = 0xff;
  const DeviceCaps used = only_used_features(all, t);
  CHECK(used.float16);
  CHECK(used.storage16);
  CHECK_FALSE(used.int64);
  CHECK_FALSE(used.cooperative_matrix);
  CHECK_FALSE(used.vulkan_memory_model);
  CHECK_FALSE(used.storage8);
  CHECK(used.subgroup_operations == 0xff);  // no feature: nothing to enable
  CHECK(used.max_push_bytes == all.max_push_bytes);
  // What the device lacks is not invented.
  all.float16 = false;
  CHECK_FALSE(only_used_features(all, t).float16);
}
