// SPDX-License-Identifier: Apache-2.0
// What the tests of proofs share: a cache of their own, a driver that lies, a small graph.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <xxhash.h>

#include "loader/device.hpp"
#include "proof/proofs.hpp"
#include "spirkiln/spirkiln.hpp"
#include "support/lying_modules.hpp"
#include "support/pack_builder.hpp"
#include "support/use_faults.hpp"
#include "table/select.hpp"

namespace spirkiln::test {

namespace fs = std::filesystem;

// Caches of this test's own, and a driver that is honest in the end.
struct Clean {
  Clean() { ::setenv("SPIRKILN_CACHE", path.c_str(), 1); }
  ~Clean() {
    ::unsetenv("SPIRKILN_CACHE");
    faults().doctor({});
    faults().pose_as_card(false);
    fs::remove_all(path);
  }
  fs::path path = fs::temp_directory_path() / ("spirkiln-proof-" + std::to_string(::getpid()));
};

inline const Table& built_in() {
  static const Table t = [] {
    auto opened = Table::built_in();
    if (!opened) FAIL(opened.error().message);
    return *opened;
  }();
  return t;
}

inline std::string name_of(std::uint32_t variant) {
  return std::string(built_in().string(built_in().variants()[variant].name));
}

struct Opened {
  Device device;
  std::vector<std::string> messages;
};

inline std::unique_ptr<Opened> open_device(const std::string& backend = "vulkan") {
  auto opened = std::make_unique<Opened>();
  DeviceOptions options;
  options.backend = backend;
  options.message = [o = opened.get()](Severity, std::string_view m) {
    o->messages.emplace_back(m);
  };
  auto device = Device::open(options);
  if (!device) return nullptr;
  opened->device = *device;
  return opened;
}

// Lies in these modules only; all where there are none.
inline VulkanFaults::Doctor liar(Lie lie, const std::set<std::uint64_t>& hashes = {}) {
  return [=](std::span<const std::uint32_t> words) {
    if (!hashes.empty() && !hashes.contains(XXH3_64bits(words.data(), words.size() * 4))) {
      return std::vector<std::uint32_t>();
    }
    return lying(words, lie).value_or(std::vector<std::uint32_t>());
  };
}

// Lies in the modules of a kernel only where the specialization constant has this value.
inline VulkanFaults::Doctor liar_where(const std::set<std::uint64_t>& hashes, LieWhere where) {
  return [=](std::span<const std::uint32_t> words) {
    if (!hashes.contains(XXH3_64bits(words.data(), words.size() * 4))) {
      return std::vector<std::uint32_t>();
    }
    return lying(words, Lie::kOneLane, where).value_or(std::vector<std::uint32_t>());
  };
}

// Hashes of a kernel's modules; those of `forms` where there are any.
inline std::set<std::uint64_t> modules_of(const char* kernel, const std::vector<Form>& forms = {}) {
  std::set<std::uint64_t> hashes;
  const table::KernelEntry* k = built_in().find(kernel);
  REQUIRE(k != nullptr);
  for (const table::VariantEntry& v : built_in().variants_of(*k)) {
    if (!forms.empty() && std::find(forms.begin(), forms.end(), form_of(v)) == forms.end())
      continue;
    hashes.insert(built_in().blobs()[v.blob].hash);
  }
  return hashes;
}

// A convolution, its mean, and both multiplied.
inline Model three_nodes(float weight = 1) {
  PackBuilder b;
  const auto a = b.tensor(b.n(), b.h(), b.w(), 16);
  auto w = ramp(9 * 4 * 16);
  for (float& v : w) v *= weight;
  b.node(model::Op::kConv, a, {b.input()}, {b.weights(w), b.floats(ramp(16)), b.floats(ramp(16))},
         {3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 3, 16});
  const auto m = b.tensor(b.n(), b.num(1), b.num(1), 16);
  b.node(model::Op::kGlobalMean, m, {a});
  const auto s = b.tensor(b.n(), b.h(), b.w(), 16);
  b.node(model::Op::kBinary, s, {a, m}, {}, {2});
  b.output(s);
  auto model = Model::from_bytes(b.build(), "three nodes");
  if (!model) FAIL(model.error().message);
  return *model;
}

struct Ran {
  std::vector<float> values;
  std::string error, variant;
  std::vector<std::string> messages;  // of the graph
  std::size_t warnings = 0;
};

inline Ran run_graph(const Device& device, const Model& model, bool no_proof = false) {
  Ran ran;
  GraphOptions options;
  options.no_proof = no_proof;
  options.message = [&](Severity severity, std::string_view m) {
    ran.messages.emplace_back(m);
    if (severity == Severity::kWarning) ++ran.warnings;
  };
  auto graph = Graph::create(device, model, options);
  if (!graph) return ran.error = graph.error().message, ran;
  for (int again = 0; again < 2; ++again) {
    std::vector<std::uint8_t> px(4 * 9 * 7);
    for (std::size_t i = 0; i < px.size(); ++i) {
      px[i] = i % 4 == 3 ? 255 : static_cast<std::uint8_t>(i * 37);
    }
    auto out = graph->run({1, 9, 7, px});
    if (!out) return ran.error = out.error().message, ran;
    ran.values = (*out)[0].values;
  }
  ran.variant = graph->variant();
  return ran;
}

// Of the honest driver, in single precision.
inline std::vector<float> right_values(const Model& model) {
  const auto opened = open_device();
  REQUIRE(opened != nullptr);
  const Ran ran = run_graph(opened->device, model);
  REQUIRE(ran.error.empty());
  REQUIRE(ran.variant == "fp32");
  return ran.values;
}

inline bool near(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0;
  for (const float v : b) most = std::max(most, std::abs(v));
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [&](float x, float y) {
           return std::abs(x - y) <= most * 0.01f;
         });
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace spirkiln::test
