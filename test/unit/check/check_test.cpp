// SPDX-License-Identifier: Apache-2.0
// The three graphs with the built-in kernels on the profiles of the tree.
#include "check.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "profile.hpp"
#include "table/device_rules.hpp"

using namespace spirkiln;
using namespace spirkiln::check;
using Catch::Matchers::ContainsSubstring;

namespace {

const Table& kernels() {
  static const Table built_in = [] {
    auto t = Table::built_in();
    if (!t) FAIL(t.error().message);
    return *t;
  }();
  return built_in;
}

std::string profile_text(const std::string& name) {
  std::ifstream file(std::string(SPIRKILN_DEVICES) + "/" + name);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  REQUIRE_FALSE(text.empty());
  return text;
}

DeviceCaps caps_of(const std::string& text) {
  auto p = parse_profile(text, "p.toml");
  if (!p) FAIL(p.error().message);
  return p->caps;
}

Model pack(const std::string& name) {
  auto model = Model::open(std::string(SPIRKILN_PACKS) + "/" + name + ".spkm");
  if (!model) FAIL(model.error().message);
  return *model;
}

SelectRules rules_of(const DeviceCaps& caps) {
  auto rules = select_rules(kernels(), caps);
  if (!rules) FAIL(rules.error().message);
  return *std::move(rules);
}

GraphReport checked(const std::string& graph, const DeviceCaps& caps,
                    const std::string& variant = {}) {
  const Model model = pack(graph);
  const auto shapes = usual_shapes(*model.state());
  if (!shapes) FAIL(shapes.error().message);
  auto report = check_graph(*model.state(), *shapes, kernels(), caps, rules_of(caps), variant);
  if (!report) FAIL(report.error().message);
  return *std::move(report);
}

const char* const kGraphs[] = {"cls", "det", "rec"};

// Name and value in place of the key's line.
std::string with(std::string text, const std::string& key, const std::string& value) {
  const auto at = text.find("\n" + key + " = ");
  REQUIRE(at != std::string::npos);
  const auto end = text.find('\n', at + 1);
  return text.replace(at, end - at, "\n" + key + " = " + value);
}

}  // namespace

TEST_CASE("the three graphs run on every profile but the least that Vulkan guarantees") {
  for (const auto& entry : std::filesystem::directory_iterator(SPIRKILN_DEVICES)) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() != ".toml" || file == "vulkan-minimum.toml") continue;
    const DeviceCaps caps = caps_of(profile_text(file));
    for (const char* graph : kGraphs) {
      INFO(file << " " << graph);
      const GraphReport report = checked(graph, caps);
      for (const Outcome& o : report.outcomes) {
        for (const KernelFailure& k : o.kernels) UNSCOPED_INFO("no variant of " << k.kernel);
        for (const std::string& why : o.refused) UNSCOPED_INFO(why);
        CHECK(o.ok());
        CHECK_FALSE(o.chosen.empty());
      }
    }
  }
}

TEST_CASE("four storage buffers are too few, and the report says which kernels want more") {
  const DeviceCaps caps = caps_of(profile_text("vulkan-minimum.toml"));
  const GraphReport report = checked("det", caps);
  CHECK_FALSE(report.ok());
  for (const Outcome& o : report.outcomes) {
    const auto gemm = std::find_if(o.kernels.begin(), o.kernels.end(),
                                   [](const KernelFailure& k) { return k.kernel == "gemm_reg"; });
    REQUIRE(gemm != o.kernels.end());
    CHECK(gemm->dispatches > 0);
    CHECK_THAT(gemm->node, ContainsSubstring("node "));
    // gemm_reg.comp, which stands in for gemm_nc.comp, has six bindings as well, and this device no
    // 16-bit storage.
    const auto reason_of = [&](const std::string& variant) {
      for (const Candidate& c : gemm->candidates) {
        if (c.variant == variant) return c.excluded_by;
      }
      return std::string("no such variant");
    };
    CHECK(reason_of("gemm_reg_fp16p") == "needs 6 storage buffers (the device has 4)");
    CHECK_THAT(reason_of("gemm_reg_fp16s"), ContainsSubstring("storageBuffer16BitAccess"));
    CHECK(reason_of("gemm_reg") == "is fp32, asked for is fp16s or fp16p");
  }
}

TEST_CASE("a device with 16-bit storage and no 16-bit whole numbers gets no Int16") {
  constexpr std::uint32_t kInt16 = 22, kStorage16 = 4433;  // spv::Capability
  const DeviceCaps caps = caps_of(profile_text("v3dv.toml"));
  REQUIRE(caps.storage16);
  REQUIRE_FALSE(caps.int16);
  std::size_t with_storage = 0;
  for (const char* variant : {"", "fp32", "fp16p", "fp16s"}) {
    for (const char* graph : kGraphs) {
      INFO(graph << " " << variant);
      for (const Outcome& o : checked(graph, caps, variant).outcomes) {
        CHECK(o.ok());
        for (const auto& [name, choice] : o.chosen) {
          INFO(name);
          const auto needs = kernels().capabilities_of(kernels().blobs()[choice.blob]);
          CHECK(std::find(needs.begin(), needs.end(), kInt16) == needs.end());
          with_storage += std::find(needs.begin(), needs.end(), kStorage16) != needs.end();
        }
      }
    }
  }
  CHECK(with_storage > 0);
}

TEST_CASE("arithmetic in 16 bits is refused where the device has none") {
  const DeviceCaps caps = caps_of(profile_text("v3dv.toml"));
  const GraphReport report = checked("cls", caps, "fp16sa");
  CHECK_FALSE(report.ok());
  CHECK(report.forms == "fp16sa");
  for (const Outcome& o : report.outcomes) {
    CHECK_FALSE(o.kernels.empty());
    for (const KernelFailure& k : o.kernels) {
      INFO(k.kernel);
      CHECK(std::any_of(k.candidates.begin(), k.candidates.end(), [](const Candidate& c) {
        return c.excluded_by.starts_with("needs shaderFloat16");
      }));
    }
  }
}

TEST_CASE("a doctored profile fails for the reason that was put into it") {
  const std::string text = profile_text("v3dv.toml");
  SECTION("one storage buffer fewer than a convolution binds") {
    const GraphReport report =
        checked("rec", caps_of(with(text, "maxPerStageDescriptorStorageBuffers", "5")));
    REQUIRE_FALSE(report.ok());
    const KernelFailure& first = report.outcomes.front().kernels.front();
    CHECK(first.kernel == "conv_direct");
    CHECK(first.candidates.front().excluded_by == "needs 6 storage buffers (the device has 5)");
  }
  SECTION("no 16-bit storage: the packed form stands in") {
    const GraphReport report =
        checked("rec", caps_of(with(text, "storageBuffer16BitAccess", "false")));
    CHECK(report.ok());
    for (const auto& [name, choice] : report.outcomes.front().chosen) {
      INFO(name);
      CHECK_THAT(name, ContainsSubstring("_fp16p"));
    }
  }
}

TEST_CASE("a picture whose tensors no binding can hold is refused before anything runs") {
  // 128 MiB: what Vulkan guarantees and the phone has. 2048 x 2048 x 16 halves are exactly that,
  // 4160 x 4160 pixels half the size make more.
  const DeviceCaps caps = caps_of(profile_text("adreno-750.toml"));
  REQUIRE(caps.max_storage_range == 134217728);
  const Model model = pack("det");
  const auto report =
      check_graph(*model.state(), {{1, 640, 640}, {1, 4160, 4160}}, kernels(), caps, {}, "");
  REQUIRE(report);
  REQUIRE(report->outcomes.size() == 2);
  CHECK(report->outcomes[0].ok());
  CHECK_FALSE(report->outcomes[1].ok());
  CHECK(report->outcomes[1].kernels.empty());
  REQUIRE(report->outcomes[1].refused.size() == 1);
  CHECK_THAT(report->outcomes[1].refused.front(), ContainsSubstring("maxStorageBufferRange"));
}

TEST_CASE("wrong requests are errors") {
  const Model model = pack("rec");
  const DeviceCaps caps = caps_of(profile_text("lavapipe.toml"));
  const auto variant = check_graph(*model.state(), {{1, 48, 320}}, kernels(), caps, {}, "fp64");
  REQUIRE_FALSE(variant);
  CHECK_THAT(variant.error().message, ContainsSubstring("fp64"));
  // The recogniser takes lines of 48 pixels.
  const auto shape = check_graph(*model.state(), {{1, 47, 320}}, kernels(), caps, {}, "");
  REQUIRE_FALSE(shape);
  CHECK_THAT(shape.error().message, ContainsSubstring("1x47x320") || ContainsSubstring("48"));
}

TEST_CASE("every quirk excludes its kernels on a made-up device of its kind, and on no other") {
  const auto rules = device_rules(kernels());
  REQUIRE(rules);
  REQUIRE_FALSE(rules->quirks.empty());
  for (const DeviceQuirk& q : rules->quirks) {
    INFO(q.quirk.kernel << " " << q.quirk.axis << "=" << q.quirk.value);
    CHECK_FALSE(q.quirk.source.empty());
    DeviceCaps caps = caps_of(profile_text("h200.toml"));
    caps.vendor_id = q.devices.vendor_id != 0 ? q.devices.vendor_id : caps.vendor_id;
    caps.driver_id = q.devices.driver_id != 0 ? q.devices.driver_id : caps.driver_id;
    caps.device_id = q.devices.first_device;
    caps.driver_version = q.devices.first_driver;
    const auto excluded = [&](const DeviceCaps& device) {
      std::size_t count = 0;
      const Form forms[] = {kFp16s, kFp16p, kFp32};
      for (const auto& k : kernels().kernels()) {
        const auto name = kernels().string(k.name);
        for (const auto& c : candidates(kernels(), {name, forms, {}}, device, rules_of(device))) {
          count += c.exclusion == Exclusion::kQuirk;
          if (c.exclusion != Exclusion::kQuirk) continue;
          CHECK((q.quirk.kernel.empty() || name == q.quirk.kernel ||
                 c.excluded_by.find(q.quirk.reason) != std::string::npos));
        }
      }
      return count;
    };
    CHECK(excluded(caps) > 0);
    caps.vendor_id ^= 0x8000;
    caps.driver_id = 0;
    CHECK(excluded(caps) == 0);
  }
}

TEST_CASE("on the phone of the quirks no kernel with a prefetch in registers runs") {
  const std::string text = profile_text("adreno-750.toml");
  const auto variants = [&](const std::string& profile) {
    std::set<std::string> names;
    for (const char* graph : kGraphs) {
      const GraphReport report = checked(graph, caps_of(profile));
      CHECK(report.ok());
      for (const Outcome& o : report.outcomes) {
        for (const auto& [name, choice] : o.chosen) names.insert(name);
      }
    }
    return names;
  };
  const auto here = variants(text);
  CHECK(here.contains("gemm_nc_fp16s_direct"));
  CHECK(here.contains("conv_direct_fp16s"));
  for (const std::string& name : here) {
    INFO(name);
    CHECK_FALSE((name.starts_with("gemm_nc") && !name.ends_with("_direct")));
    CHECK_FALSE((name.starts_with("conv_nc") || name.starts_with("deconv_nc")));
  }
  // With Mesa's driver on the same chip they run.
  const auto mesa = variants(with(text, "driverID", "\"MESA_TURNIP\""));
  CHECK(mesa.contains("gemm_nc_fp16s"));
  CHECK(mesa.contains("conv_nc_fp16s"));
}

TEST_CASE("which backend is the better one is in the table") {
  const auto rules = device_rules(kernels());
  REQUIRE(rules);
  for (const auto& entry : std::filesystem::directory_iterator(SPIRKILN_DEVICES)) {
    if (entry.path().extension() != ".toml") continue;
    const DeviceCaps caps = caps_of(profile_text(entry.path().filename().string()));
    INFO(caps.name);
    const BackendRule rule = backend_for(rules->backends, caps.type);
    CHECK((rule.use == BackendKind::kCpu) == (caps.type == "cpu"));
    CHECK_FALSE(rule.reason.empty());
  }
}
