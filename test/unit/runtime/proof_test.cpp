// SPDX-License-Identifier: Apache-2.0
// Kernels against their known answers: as the driver compiles them, and as one would that lies.
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>

#include "proof_support.hpp"
#include "spirkiln/compute.hpp"

using namespace spirkiln;
using namespace spirkiln::test;

namespace {

// $SPIRKILN_TEST_THOROUGH=1: each kernel in all forms.
bool thorough() {
  const char* text = std::getenv("SPIRKILN_TEST_THOROUGH");
  return text != nullptr && std::string_view(text) == "1";
}

// Of each kernel and each value of its axes: the variant in `first`, and in turn one of `others`
// (or all of them).
std::vector<std::uint32_t> some_variants(const Device& device, const std::vector<Form>& first,
                                         const std::vector<Form>& others) {
  std::vector<std::uint32_t> some;
  for (const std::uint32_t v : variants_for(built_in(), device.state()->caps)) {
    const table::VariantEntry& entry = built_in().variants()[v];
    const Form form = form_of(entry);
    const bool wanted =
        std::find(first.begin(), first.end(), form) != first.end() ||
        (thorough() ? std::find(others.begin(), others.end(), form) != others.end()
                    : !others.empty() && form == others[entry.kernel % others.size()]);
    if (wanted) some.push_back(v);
  }
  return some;
}

const std::vector<Form> kOthers = {kFp32,
                                   kFp16p,
                                   kFp16pa,
                                   kFp16s,
                                   kFp16sa,
                                   image_of(kFp32),
                                   image_of(kFp16p),
                                   image_of(kFp16s),
                                   image_of(kFp16pa),
                                   image_of(kFp16sa)};

std::map<std::string, Finding> judged(const Device& device, const std::vector<std::uint32_t>& all) {
  Proofs proofs;
  auto found = proofs.judge(device.state(), built_in(), all);
  if (!found) FAIL(found.error().message);
  std::map<std::string, Finding> findings;
  for (const auto& j : *found) findings[name_of(j.variant)] = j.finding;
  return findings;
}

// Of which a subnormal is 0, kept or flushed.
bool gives_bytes(const std::string& variant) { return variant.find("_bytes") != std::string::npos; }

}  // namespace

TEST_CASE("every variant has known answers, and one about subnormals where it has halves",
          "[proof]") {
  const auto stored = built_in().attachment(kAnswersAttachment);
  REQUIRE(stored.ok());
  const auto all = decode_answers(*stored);
  REQUIRE(all.ok());
  for (std::uint32_t v = 0; v < built_in().variants().size(); ++v) {
    std::uint32_t subgroup = 32;
    for (const Answer& a : all->answers) {
      // Whatever its subgroups are.
      if (name_of(v).starts_with(a.kernel) && a.subgroup != 0) subgroup = a.subgroup;
    }
    for (const table::AxisValue& a : built_in().axis_values_of(built_in().variants()[v])) {
      if (built_in().string(a.axis) == "MATRIX") {
        subgroup =
            static_cast<std::uint32_t>(std::stoul(std::string(built_in().string(a.value))) % 100);
      }
    }
    INFO(name_of(v));
    const auto own = answers_for(built_in(), v, *all, subgroup);
    const bool half = built_in().variants()[v].storage != table::Storage::kFp32 &&
                      !gives_bytes(std::string(name_of(v)));
    // Several workgroups: for both kinds of numbers, if not on every path.
    std::size_t subnormal = 0, several[2] = {};
    for (const std::uint32_t a : own) {
      const Answer& answer = all->answers[a];
      subnormal += answer.subnormal;
      several[answer.subnormal] += answer.groups[0] * answer.groups[1] * answer.groups[2] > 1;
    }
    CHECK(several[0] > 0);
    CHECK(several[1] == subnormal);
    CHECK(subnormal == (half ? 1 : 0));
    CHECK(own.size() > subnormal);
  }
}

TEST_CASE("an honest driver's kernels give their known answers", "[proof]") {
  const Clean clean;
  const auto opened = open_device();
  if (!opened) SKIP("no Vulkan device");
  const auto variants = some_variants(opened->device, {kFp32}, kOthers);
  CHECK(variants.size() > 45);
  for (const auto& [name, f] : judged(opened->device, variants)) {
    INFO(wrong_text(*opened->device.state(), name, f));
    CHECK(f.verdict == Verdict::kRight);
  }
}

TEST_CASE("a lane that lies is found in every kernel", "[proof]") {
  const Clean clean;
  const auto opened = open_device();
  if (!opened) SKIP("no Vulkan device");
  const auto first = modules_of("best");
  faults().doctor([=](std::span<const std::uint32_t> words) {
    const bool one = first.contains(XXH3_64bits(words.data(), words.size() * 4));
    return lying(words, one ? Lie::kFirstLane : Lie::kOneLane)
        .value_or(std::vector<std::uint32_t>());
  });
  const auto variants = some_variants(opened->device, {}, kOthers);
  CHECK(variants.size() > 25);
  for (const auto& [name, f] : judged(opened->device, variants)) {
    INFO(wrong_text(*opened->device.state(), name, f));
    CHECK(f.verdict == Verdict::kWrong);
    CHECK(f.wrong > 0);
    CHECK((f.wrong < f.values || name.starts_with("best")));
  }
}

TEST_CASE("a driver that flushes subnormals is found in every kernel", "[proof]") {
  const Clean clean;
  const auto opened = open_device();
  if (!opened) SKIP("no Vulkan device");
  faults().doctor(liar(Lie::kFlush));
  const auto variants = some_variants(opened->device, {}, {kFp16p, kFp16s});
  CHECK(variants.size() > 20);
  for (const auto& [name, f] : judged(opened->device, variants)) {
    INFO(wrong_text(*opened->device.state(), name, f));
    CHECK(f.verdict == (gives_bytes(name) ? Verdict::kRight : Verdict::kFlushes));
  }
}

TEST_CASE("a lie on one path through a kernel is found", "[proof]") {
  const Clean clean;
  const auto opened = open_device();
  if (!opened) SKIP("no Vulkan device");
  struct Row {
    const char *kernel, *constant;
    std::uint32_t value;
  };
  std::vector<Row> rows = {{"squeeze_excite", "source", 1},
                           {"squeeze_excite", "source", 2},
                           {"binary", "spread", 1},
                           {"deconv_subgroup", "act_kind", 5}};
  // Lavapipe compiles each lie for seconds.
  if (thorough()) {
    const Row more[] = {{"squeeze_excite", "source", 0},  {"concat", "aligned", 1},
                        {"conv_subgroup", "act_kind", 6}, {"gemm_reg", "act_kind", 6},
                        {"gemm_nc", "residual", 0},       {"depthwise", "residual", 0},
                        {"layer_norm", "residual", 0}};
    rows.insert(rows.end(), std::begin(more), std::end(more));
  }
  for (const Row& row : rows) {
    INFO(row.kernel << " where " << row.constant << " is " << row.value);
    const table::KernelEntry* kernel = built_in().find(row.kernel);
    REQUIRE(kernel != nullptr);
    LieWhere where;
    std::vector<std::uint32_t> variants;
    for (const table::VariantEntry& v : built_in().variants_of(*kernel)) {
      const Form form = form_of(v);
      if (form != kFp32 && !(thorough() && form == kFp16p)) continue;
      variants.push_back(static_cast<std::uint32_t>(&v - built_in().variants().data()));
      for (const table::SpecEntry& s : built_in().specs_of(built_in().blobs()[v.blob])) {
        if (built_in().string(s.name) == row.constant) where = {s.id, row.value};
      }
    }
    REQUIRE(where.spec_id != LieWhere::kEverywhere);
    faults().doctor(liar_where(modules_of(row.kernel), where));
    const auto found = judged(opened->device, variants);
    CHECK(!found.empty());
    for (const auto& [name, f] : found) {
      INFO(wrong_text(*opened->device.state(), name, f));
      CHECK(f.verdict == Verdict::kWrong);
      CHECK(f.wrong > 0);
    }
  }
}

TEST_CASE("a single kernel proves the path that its constants choose", "[proof]") {
  const Clean clean;
  const auto opened = open_device();
  if (!opened) SKIP("no Vulkan device");
  const auto table = KernelTable::open(SPIRKILN_OCR_TABLE);
  REQUIRE(table.ok());
  const table::KernelEntry* kernel = built_in().find("binary");
  REQUIRE(kernel != nullptr);
  LieWhere where;
  const auto& blob = built_in().blobs()[built_in().variants_of(*kernel).front().blob];
  for (const table::SpecEntry& s : built_in().specs_of(blob)) {
    if (built_in().string(s.name) == "spread") where = {s.id, 1};
  }
  REQUIRE(where.spec_id != LieWhere::kEverywhere);
  faults().doctor(liar_where(modules_of("binary"), where));
  const auto create = [&](std::uint32_t residual, std::uint32_t spread) {
    compute::KernelOptions options;
    options.local_size = {32, 1, 1};
    options.constants = {{"residual", residual}, {"spread", spread}};
    const auto made =
        compute::Kernel::create(opened->device, *table, {"binary", {"fp32"}}, options);
    return made ? std::string() : made.error().message;
  };
  using Catch::Matchers::ContainsSubstring;
  const auto proved = [&] { return opened->device.state()->proofs->stats().proved; };
  CHECK(create(1, 0) == "");
  CHECK(proved() == 1);
  CHECK(create(1, 0) == "");
  CHECK(proved() == 1);
  CHECK_THAT(create(0, 1), ContainsSubstring("gave a wrong known answer"));
  CHECK(proved() == 2);
  // No answer is on this path, so each of them counts.
  CHECK_THAT(create(1, 1), ContainsSubstring("gave a wrong known answer"));
  CHECK(proved() == 3);
  CHECK(create(1, 0) == "");
  CHECK(proved() == 3);
}
