// SPDX-License-Identifier: Apache-2.0
// What selection goes by beside requirements: quirks, the user's wishes, failed known answers.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>

#include "graph/program.hpp"
#include "support/table_writer.hpp"
#include "table/select.hpp"

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
  CHECK(list.at("k_fp32_0").exclusion == Exclusion::kNotAskedFor);
  CHECK(list.at("k_fp32_0").excluded_by == "is fp32, asked for is fp16s or fp16p");
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
  for (const std::string_view name : kMatrixKernels) {
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
