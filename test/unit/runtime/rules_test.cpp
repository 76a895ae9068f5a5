// SPDX-License-Identifier: Apache-2.0
// What selection goes by beside requirements: quirks, the user's wishes, failed known answers.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <map>
#include <random>

#include "graph/program.hpp"
#include "support/table_writer.hpp"
#include "table/device_rules.hpp"
#include "table/select.hpp"
#include "table/wishes.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Every form of buffers, and each of them with DIRECT=0, the default, and 1. fp16sa needs what this
// device has, fp16pa what it has not.
TestKernel many_forms(const std::string& name) {
  TestKernel k{name, {}};
  for (const Form form : {kFp16sa, kFp16pa, kFp16s, kFp16p, kFp32}) {
    for (const std::string direct : {"0", "1"}) {
      TestVariant v{name + "_" + form_name(form) + "_" + direct,
                    form.storage,
                    form.arithmetic,
                    {{"DIRECT", direct}},
                    {}};
      if (form == kFp16sa || form == kFp16s) v.blob.capabilities = {1, 4433};
      if (form == kFp16pa) v.blob.capabilities = {1, 10};
      k.variants.push_back(v);
    }
  }
  return k;
}

Table open(std::vector<TestKernel> kernels) {
  auto table = Table::from_bytes(write_table(std::move(kernels)), "test table");
  REQUIRE(table);
  return *table;
}

DeviceCaps device() {
  DeviceCaps caps;
  caps.name = "synthetic";
  caps.storage16 = true;
  return caps;
}

const std::vector<Form> kHalves = {kFp16s, kFp16p};

std::string chosen(const Table& t, const SelectRules& rules,
                   const std::vector<Form>& forms = kHalves, const std::string& kernel = "k") {
  const auto s = select_blob(t, {kernel, forms, {}}, device(), rules);
  return s ? std::string(t.string(t.variants()[s->variant].name)) : "none";
}

std::map<std::string, Candidate> all(const Table& t, const SelectRules& rules,
                                     const std::vector<Form>& forms = kHalves) {
  std::map<std::string, Candidate> by_name;
  for (Candidate& c : candidates(t, {"k", forms, {}}, device(), rules)) by_name[c.variant] = c;
  return by_name;
}

std::uint64_t hash_of(const Table& t, const std::string& variant) {
  return t.blobs()[t.find_variant(variant)->blob].hash;
}

}  // namespace

TEST_CASE("every candidate is the chosen one or says the one thing that excludes it") {
  const Table t = open({many_forms("k")});
  SelectRules rules;
  rules.failed = {hash_of(t, "k_fp16s_0")};
  const auto list = all(t, rules);
  REQUIRE(list.size() == 10);
  CHECK(list.at("k_fp16p_0").exclusion == Exclusion::kNone);
  CHECK(list.at("k_fp16p_0").excluded_by.empty());
  CHECK(list.at("k_fp16s_0").exclusion == Exclusion::kFailed);
  CHECK_THAT(list.at("k_fp16s_0").excluded_by, ContainsSubstring("wrong known answer"));
  CHECK(list.at("k_fp32_0").exclusion == Exclusion::kForm);
  CHECK(list.at("k_fp32_0").excluded_by == "is fp32, asked for is fp16s or fp16p");
  CHECK(list.at("k_fp16p_1").exclusion == Exclusion::kAxis);
  CHECK(list.at("k_fp16p_1").excluded_by == "has DIRECT=1, asked for is 0 (the default)");
  CHECK(chosen(t, rules) == "k_fp16p_0");
  // Nothing failed: the other one may run as well, and says which comes first.
  const auto fine = all(t, {});
  CHECK(fine.at("k_fp16p_0").exclusion == Exclusion::kLater);
  CHECK(fine.at("k_fp16p_0").excluded_by == "comes behind k_fp16s_0");
  // Asked for by another form, what the device lacks is the reason.
  CHECK(all(t, rules, {kFp16pa}).at("k_fp16pa_0").excluded_by ==
        "needs shaderFloat64 (SPIR-V capability Float64)");
  // Of all candidates exactly one is chosen, or none.
  for (const auto& forms : {kHalves, std::vector<Form>{kFp32}, std::vector<Form>{kFp16pa}}) {
    const auto some = all(t, rules, forms);
    const auto count = std::count_if(some.begin(), some.end(), [](const auto& c) {
      return c.second.exclusion == Exclusion::kNone;
    });
    CHECK(count == (forms.front() == kFp16pa ? 0 : 1));
  }
}

TEST_CASE("a quirk excludes by kernel, by axis value, by form or by any of them together") {
  const Table t = open({many_forms("k"), many_forms("other")});
  const auto with = [](Quirk q) {
    q.reason = "wrong sums";
    q.source = "a page";
    SelectRules rules;
    rules.quirks = {q};
    return rules;
  };
  CHECK(chosen(t, with({.kernel = "k"})) == "none");
  CHECK(chosen(t, with({.kernel = "k"}), kHalves, "other") == "other_fp16s_0");
  CHECK(chosen(t, with({.forms = {kFp16s}})) == "k_fp16p_0");
  CHECK(chosen(t, with({.forms = {kFp16s}}), kHalves, "other") == "other_fp16p_0");
  CHECK(chosen(t, with({.axis = "DIRECT", .value = "0"})) == "none");
  CHECK(chosen(t, with({.axis = "DIRECT", .value = "1"})) == "k_fp16s_0");
  CHECK(chosen(t, with({.kernel = "k", .axis = "DIRECT", .value = "0", .forms = {kFp16s}})) ==
        "k_fp16p_0");
  CHECK(chosen(t, with({.axis = "TILE", .value = "0"})) == "k_fp16s_0");
  const auto list = all(t, with({.kernel = "k"}));
  CHECK(list.at("k_fp16s_0").exclusion == Exclusion::kQuirk);
  CHECK(list.at("k_fp16s_0").excluded_by == "quirk: wrong sums (a page)");
}

TEST_CASE("the user's wishes: axes, the form of one kernel, what to avoid") {
  const Table t = open({many_forms("k"), many_forms("other")});
  SelectRules axis;
  axis.wishes.axes = {{"DIRECT", "1"}};
  CHECK(chosen(t, axis) == "k_fp16s_1");
  CHECK(all(t, axis).at("k_fp16s_0").exclusion == Exclusion::kWish);
  CHECK(all(t, axis).at("k_fp16s_0").excluded_by == "has DIRECT=0, the user wants 1");
  // What the caller needs stays needed: then there is none, and both say why.
  const AxisRequest zero[] = {{"DIRECT", "0"}};
  const auto none = select_blob(t, {"k", kHalves, zero}, device(), axis);
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message, ContainsSubstring("has DIRECT=0, the user wants 1") &&
                                       ContainsSubstring("has DIRECT=1, asked for is 0"));

  SelectRules form;
  form.wishes.forms = {{"k", kFp16sa}};
  CHECK(chosen(t, form) == "k_fp16sa_0");
  CHECK(chosen(t, form, kHalves, "other") == "other_fp16s_0");
  // fp32 takes twice the bytes of the tensors that the other kernels have.
  form.wishes.forms = {{"k", kFp32}};
  CHECK(chosen(t, form) == "none");
  CHECK(chosen(t, form, {kFp32}) == "k_fp32_0");
  CHECK_THAT(all(t, form).at("k_fp16s_0").excluded_by,
             ContainsSubstring("the user wants k in fp32, which cannot run beside fp16s or fp16p"));

  SelectRules avoid;
  avoid.wishes.avoid = {"k_fp16s_0"};
  CHECK(chosen(t, avoid) == "k_fp16p_0");
  CHECK(all(t, avoid).at("k_fp16s_0").excluded_by == "the user avoids k_fp16s_0");
  avoid.wishes.avoid = {"other"};
  CHECK(chosen(t, avoid) == "k_fp16s_0");
  CHECK(chosen(t, avoid, kHalves, "other") == "none");
}

TEST_CASE("a blob that two variants share fails for both") {
  TestKernel k{"k", {}};
  TestBlob same;
  same.words = {0x07230203, 0x00010000, 0, 8, 0};
  for (const Form form : {kFp16s, kFp16p}) {
    k.variants.push_back({"k_" + form_name(form), form.storage, form.arithmetic, {}, same});
  }
  const Table t = open({k});
  SelectRules rules;
  CHECK(chosen(t, rules) == "k_fp16s");
  rules.failed = {hash_of(t, "k_fp16p")};
  CHECK(chosen(t, rules) == "none");
}

namespace {

DeviceCaps card() {
  DeviceCaps caps = device();
  caps.type = "discrete";
  caps.api_version = make_version(1, 3);
  caps.spirv_version = 0x00010600;
  caps.subgroup_size = 32;
  caps.max_invocations = 1024;
  caps.max_shared_bytes = 49152;
  caps.cooperative_matrix = true;
  for (const std::uint32_t n : {8u, 16u}) {
    caps.matrix_shapes.push_back(
        {16, n, 16, kMatrixHalf, kMatrixHalf, kMatrixFloat, kMatrixFloat, false});
  }
  return caps;
}

// All kernels that lowering chooses between, in both forms of halves.
Table product_kernels() {
  std::vector<TestKernel> kernels;
  for (const std::string_view name : kReplaceableKernels) {
    TestKernel k{std::string(name), {}};
    for (const Form f : kHalves) {
      k.variants.push_back({k.name + "_" + form_name(f), f.storage, f.arithmetic, {}, {}});
    }
    kernels.push_back(k);
  }
  std::vector<std::string_view> of_matrices(std::begin(kMatrixKernels), std::end(kMatrixKernels));
  of_matrices.insert(of_matrices.end(), std::begin(kReplaceableMatrixKernels),
                     std::end(kReplaceableMatrixKernels));
  for (const std::string_view name : of_matrices) {
    TestKernel k{std::string(name), {}};
    for (const Form f : kHalves) {
      for (const std::string shape : {"16081632", "16161632"}) {
        k.variants.push_back({k.name + "_" + form_name(f) + "_" + shape,
                              f.storage,
                              f.arithmetic,
                              {{"MATRIX", shape}},
                              {}});
      }
    }
    kernels.push_back(k);
  }
  return open(kernels);
}

}  // namespace

TEST_CASE("matrices are used where all four kernels of a shape may run") {
  const Table t = product_kernels();
  SelectRules rules;
  CHECK(traits_of(card(), t, kHalves, rules).matrix == "16081632");
  // One form of one kernel: the other form does.
  rules.wishes.avoid = {"conv_coopmat_fp16s_16081632"};
  CHECK(traits_of(card(), t, kHalves, rules).matrix == "16081632");
  // Both: the next shape, for all four.
  rules.wishes.avoid.push_back("conv_coopmat_fp16p_16081632");
  CHECK(traits_of(card(), t, kHalves, rules).matrix == "16161632");
  // All shapes of one kernel: no matrices at all.
  for (const std::string_view name : kMatrixKernels) {
    INFO(name);
    SelectRules without;
    without.quirks = {{.kernel = std::string(name), .reason = "wrong"}};
    CHECK(traits_of(card(), t, kHalves, without).matrix_m == 0);
  }
  // What two of them do in two steps: that kernel alone is done without.
  SelectRules single;
  single.wishes.avoid = {"separable_coopmat"};
  const DeviceTraits two_steps = traits_of(card(), t, kHalves, single);
  CHECK(two_steps.matrix == "16081632");
  CHECK_FALSE(two_steps.may_use("separable_coopmat"));
  CHECK(traits_of(card(), t, kHalves, {}).may_use("separable_coopmat"));
  // The user's shape.
  SelectRules wide;
  wide.wishes.axes = {{"MATRIX", "16161632"}};
  CHECK(traits_of(card(), t, kHalves, wide).matrix == "16161632");
}

TEST_CASE("lowering does without a kernel that has no variant left") {
  const Table t = product_kernels();
  CHECK(traits_of(card(), t, kHalves, {}).without.empty());
  const model::Node node = [] {
    model::Node n{};
    n.op = model::Op::kConv;
    const std::int32_t window[] = {3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 32, 32};
    std::copy(std::begin(window), std::end(window), std::begin(n.i));
    n.input_count = 1;
    n.const_count = 3;
    return n;
  }();
  const auto kernel_of = [&](const SelectRules& rules) {
    DeviceCaps caps = card();
    caps.matrix_shapes.clear();
    const DeviceTraits traits = traits_of(caps, t, kHalves, rules);
    const auto lowered = lower_node({node, {{1, 40, 40, 32}}, {1, 40, 40, 32}, traits});
    REQUIRE(lowered);
    return std::string(lowered->dispatches.front().kernel);
  };
  SelectRules rules;
  CHECK(kernel_of(rules) == "conv_nc");
  rules.wishes.avoid = {"gemm_nc"};
  CHECK(kernel_of(rules) == "conv_nc");
  rules.wishes.avoid = {"conv_nc_fp16s"};
  CHECK(kernel_of(rules) == "conv_nc");
  rules.wishes.avoid = {"conv_nc"};
  CHECK(kernel_of(rules) == "conv_direct");
  // The same by proof: every blob of the kernel.
  rules = {};
  for (const std::string name : {"conv_nc_fp16s", "conv_nc_fp16p"}) {
    rules.failed.insert(hash_of(t, name));
  }
  CHECK(kernel_of(rules) == "conv_direct");
}

TEST_CASE("of an interchangeable axis another value does, before another form") {
  TestKernel k = many_forms("k");
  for (TestVariant& v : k.variants) v.axis_flags = table::kInterchangeable;
  const Table t = open({k});
  SelectRules rules;
  CHECK(chosen(t, rules) == "k_fp16s_0");
  CHECK(all(t, rules).at("k_fp16s_1").excluded_by == "comes behind k_fp16s_0");
  rules.failed = {hash_of(t, "k_fp16s_0")};
  CHECK(chosen(t, rules) == "k_fp16s_1");
  rules.quirks = {{.axis = "DIRECT", .value = "1", .reason = "wrong"}};
  CHECK(chosen(t, rules) == "k_fp16p_0");
  // A caller who names a value gets that one or none.
  const AxisRequest one[] = {{"DIRECT", "1"}};
  CHECK_FALSE(select_blob(t, {"k", kHalves, one}, device(), rules));
  // The user's value stays the only one.
  rules = {};
  rules.wishes.axes = {{"DIRECT", "0"}};
  rules.failed = {hash_of(t, "k_fp16s_0")};
  CHECK(chosen(t, rules) == "k_fp16p_0");
}

namespace {

// A table whose attachment is written straight from the format.
struct QuirkBytes {
  std::vector<char> strings = {'\0'};
  std::vector<table::QuirkEntry> quirks;
  std::vector<table::BackendEntry> backends;

  std::uint32_t string(const std::string& text) {
    const auto offset = static_cast<std::uint32_t>(strings.size());
    strings.insert(strings.end(), text.c_str(), text.c_str() + text.size() + 1);
    return offset;
  }
  std::vector<std::byte> bytes() const {
    table::QuirksHeader h{};
    h.version = table::kQuirksVersion;
    std::vector<std::byte> out(sizeof h);
    const auto put = [&](const auto& items) {
      const table::Section s{static_cast<std::uint32_t>(out.size()),
                             static_cast<std::uint32_t>(items.size())};
      const auto* p = reinterpret_cast<const std::byte*>(items.data());
      out.insert(out.end(), p, p + items.size() * sizeof(items[0]));
      return s;
    };
    h.quirks = put(quirks);
    h.backends = put(backends);
    h.strings = put(strings);
    std::memcpy(out.data(), &h, sizeof h);
    return out;
  }
};

QuirkBytes sample_quirks() {
  QuirkBytes q;
  const auto halves =
      table::form_bit(table::Storage::kFp16, table::Arithmetic::kFp32, table::Resource::kBuffer) |
      table::form_bit(table::Storage::kFp16, table::Arithmetic::kFp16, table::Resource::kImage);
  q.quirks.push_back({q.string("k"), q.string("DIRECT"), q.string("0"), q.string("wrong sums"),
                      q.string("a page"), halves, 0x5143, 10, 20, 8, 100, 200});
  q.quirks.push_back({0, 0, 0, q.string("slow"), q.string("a note"), halves, 7, 0, ~0u, 0, 0, ~0u});
  q.backends.push_back({1u << 4, 1, q.string("the same cores")});
  q.backends.push_back({~0u, 0, q.string("faster")});
  return q;
}

Result<DeviceRules> rules_in(const std::vector<std::byte>& bytes) {
  const auto t = Table::from_bytes(write_table({many_forms("k")}, {{"quirks", bytes}}), "x");
  REQUIRE(t);
  return device_rules(*t);
}

}  // namespace

TEST_CASE("a table's quirks are those of the device that it runs on") {
  const auto t =
      Table::from_bytes(write_table({many_forms("k")}, {{"quirks", sample_quirks().bytes()}}), "x");
  REQUIRE(t);
  DeviceCaps caps = device();
  CHECK(select_rules(*t, caps)->quirks.empty());
  caps.vendor_id = 0x5143;
  caps.driver_id = 8;
  caps.device_id = 10;
  caps.driver_version = 200;
  const auto rules = select_rules(*t, caps, {{}, {}, {"k_fp16p_0"}});
  REQUIRE(rules);
  REQUIRE(rules->quirks.size() == 1);
  CHECK(rules->quirks[0] ==
        Quirk{"k", "DIRECT", "0", {kFp16s, image_of(kFp16sa)}, "wrong sums", "a page"});
  CHECK(rules->wishes.avoid == std::vector<std::string>{"k_fp16p_0"});
  // Each number of it by itself makes it another device.
  for (std::uint32_t DeviceCaps::* member : {&DeviceCaps::vendor_id, &DeviceCaps::driver_id,
                                             &DeviceCaps::device_id, &DeviceCaps::driver_version}) {
    for (const std::uint32_t other : {9u, 201u, 0u}) {
      DeviceCaps changed = caps;
      changed.*member = other;
      CHECK(select_rules(*t, changed)->quirks.empty());
    }
  }
  caps.device_id = 20;
  caps.driver_version = 100;
  CHECK(select_rules(*t, caps)->quirks.size() == 1);
  caps.vendor_id = 7;
  REQUIRE(select_rules(*t, caps)->quirks.size() == 1);
  CHECK(select_rules(*t, caps)->quirks[0].reason == "slow");
}

TEST_CASE("a table without quirks has none, and a damaged one is an error") {
  CHECK(device_rules(open({many_forms("k")}))->quirks.empty());
  const auto whole = sample_quirks().bytes();
  REQUIRE(rules_in(whole));
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const auto cut = rules_in({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    REQUIRE_FALSE(cut);
    CHECK(cut.error().code == ErrorCode::kCorrupt);
    CHECK_THAT(cut.error().message,
               ContainsSubstring("x: the kernel table is damaged: its quirks"));
  }
  // Extreme numbers anywhere: an error or other rules, and nothing is read outside.
  for (std::size_t at = 0; at + 4 <= whole.size(); at += 4) {
    for (const std::uint32_t value : {0xffffffffu, 0x7fffffffu, 0x80000000u, 31u}) {
      auto changed = whole;
      std::memcpy(changed.data() + at, &value, 4);
      (void)rules_in(changed).ok();
    }
  }
  QuirkBytes many = sample_quirks();
  many.quirks.resize(table::kMaxQuirks + 1);
  CHECK_FALSE(rules_in(many.bytes()));
  QuirkBytes third = sample_quirks();
  third.backends[0].use = 2;
  CHECK_FALSE(rules_in(third.bytes()));
}

TEST_CASE("the backend is the first rule's that holds, and Vulkan where none does") {
  const auto rules = rules_in(sample_quirks().bytes());
  REQUIRE(rules);
  CHECK(backend_for(rules->backends, "cpu").use == BackendKind::kCpu);
  CHECK(backend_for(rules->backends, "cpu").reason == "the same cores");
  for (const char* type : {"discrete", "integrated", "virtual", "other"}) {
    CHECK(backend_for(rules->backends, type).use == BackendKind::kVulkan);
    CHECK(backend_for(rules->backends, type).reason == "faster");
  }
  CHECK(backend_for({}, "cpu").use == BackendKind::kVulkan);
}

TEST_CASE("wishes: what they say, and what they may not") {
  const Table t = open({many_forms("gemm_nc"), many_forms("softmax")});
  const auto parse = [&](const std::string& axes, const std::string& kernels,
                         const std::string& avoid) {
    return parse_wishes(t, {{axes, "AXES"}, {kernels, "KERNELS"}, {avoid, "AVOID"}});
  };
  CHECK(*parse("", "", "") == Wishes{});
  const auto all_of = parse("DIRECT=1", "gemm_nc=fp32, softmax=fp16sa", " softmax,gemm_nc_fp16p_1");
  REQUIRE(all_of);
  CHECK(*all_of == Wishes{{{"DIRECT", "1"}},
                          {{"gemm_nc", kFp32}, {"softmax", kFp16sa}},
                          {"softmax", "gemm_nc_fp16p_1"}});
  const auto fault = [&](const std::string& axes, const std::string& kernels,
                         const std::string& avoid) {
    const auto wishes = parse(axes, kernels, avoid);
    REQUIRE_FALSE(wishes);
    CHECK(wishes.error().code == ErrorCode::kInvalidArgument);
    return wishes.error().message;
  };
  CHECK(fault("DIRCT=1", "", "") == "AXES: there is no axis 'DIRCT'; the nearest is 'DIRECT'");
  CHECK(fault("DIRECT=2", "", "") == "AXES: DIRECT has no value '2'; there are 0, 1");
  CHECK(fault("DIRECT", "", "") ==
        "AXES: 'DIRECT' is no wish; expected AXIS=VALUE, several separated by ','");
  for (const std::string text : {"=1", "DIRECT=", ",DIRECT=1", "DIRECT=1,", " "}) {
    INFO(text);
    CHECK_THAT(fault(text, "", ""), ContainsSubstring("is no wish; expected AXIS=VALUE"));
  }
  CHECK(fault("DIRECT=1,DIRECT=0", "", "") == "AXES: 'DIRECT' is there twice");
  CHECK(fault("", "gem_nc=fp32", "") ==
        "KERNELS: there is no kernel 'gem_nc'; the nearest is 'gemm_nc'");
  CHECK(fault("", "gemm_nc=fp64", "") ==
        "KERNELS: gemm_nc has no form 'fp64'; there are fp16p, fp16pa, fp16s, fp16sa, fp32");
  CHECK_THAT(fault("", "gemm_nc=image", ""), ContainsSubstring("gemm_nc has no form 'image'"));
  CHECK_THAT(fault("", "gemm_nc", ""), ContainsSubstring("expected KERNEL=FORM"));
  CHECK(fault("", "", "gemm_nc_fp16p_2") ==
        "AVOID: there is no kernel or variant 'gemm_nc_fp16p_2'; the nearest is "
        "'gemm_nc_fp16p_0'");
}
