// SPDX-License-Identifier: Apache-2.0
// Kernels against their known answers: as the driver compiles them, and as one would that lies.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include <xxhash.h>

#include "loader/device.hpp"
#include "proof/proofs.hpp"
#include "spirkiln/spirkiln.hpp"
#include "support/lying_modules.hpp"
#include "support/pack_builder.hpp"
#include "support/use_faults.hpp"
#include "table/read_file.hpp"
#include "table/select.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

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

const Table& built_in() {
  static const Table t = [] {
    auto opened = Table::built_in();
    if (!opened) FAIL(opened.error().message);
    return *opened;
  }();
  return t;
}

std::string name_of(std::uint32_t variant) {
  return std::string(built_in().string(built_in().variants()[variant].name));
}

struct Opened {
  Device device;
  std::vector<std::string> messages;
};

std::unique_ptr<Opened> open_device(const std::string& backend = "vulkan") {
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

// Of each kernel and each value of its axes: the variant in `first`, and in turn one of `others`.
std::vector<std::uint32_t> some_variants(const Device& device, const std::vector<Form>& first,
                                         const std::vector<Form>& others) {
  std::vector<std::uint32_t> some;
  for (const std::uint32_t v : variants_for(built_in(), device.state()->caps)) {
    const table::VariantEntry& entry = built_in().variants()[v];
    const Form form = form_of(entry);
    const bool wanted = std::find(first.begin(), first.end(), form) != first.end() ||
                        (!others.empty() && form == others[entry.kernel % others.size()]);
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

// Lies in these modules only; all where there are none.
VulkanFaults::Doctor liar(Lie lie, std::set<std::uint64_t> hashes = {}) {
  return [=](std::span<const std::uint32_t> words) {
    if (!hashes.empty() && !hashes.contains(XXH3_64bits(words.data(), words.size() * 4))) {
      return std::vector<std::uint32_t>();
    }
    return lying(words, lie).value_or(std::vector<std::uint32_t>());
  };
}

// Hashes of a kernel's modules; those of `forms` where there are any.
std::set<std::uint64_t> modules_of(const char* kernel, const std::vector<Form>& forms = {}) {
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

}  // namespace

TEST_CASE("every variant has known answers, of each class twice over", "[proof]") {
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
    const bool half = built_in().variants()[v].storage != table::Storage::kFp32;
    CHECK(own.size() == (half ? 2 : 1));
    for (const std::uint32_t a : own) {
      const Answer& answer = all->answers[a];
      CHECK(answer.groups[0] * answer.groups[1] * answer.groups[2] > 1);
    }
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
    CHECK(f.verdict == Verdict::kFlushes);
  }
}

namespace {

// A convolution, its mean, and both multiplied.
Model three_nodes(float weight = 1) {
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

Ran run_graph(const Device& device, const Model& model, bool no_proof = false) {
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
std::vector<float> right_values(const Model& model) {
  const auto opened = open_device();
  REQUIRE(opened != nullptr);
  const Ran ran = run_graph(opened->device, model);
  REQUIRE(ran.error.empty());
  REQUIRE(ran.variant == "fp32");
  return ran.values;
}

bool near(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0;
  for (const float v : b) most = std::max(most, std::abs(v));
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [&](float x, float y) {
           return std::abs(x - y) <= most * 0.01f;
         });
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("a kernel that lies is replaced: by its next form, another kernel, fp32, the CPU",
          "[proof]") {
  const Clean clean;
  if (!open_device()) SKIP("no Vulkan device");
  const Model model = three_nodes();
  const auto right = right_values(model);

  struct Row {
    std::set<std::uint64_t> lies;
    std::string told, variant;
    std::size_t warnings;
  };
  const std::vector<Form> halves = {kFp16s, kFp16p};
  const Row rows[] = {
      {modules_of("binary", {kFp16s}), "using binary_fp16p instead", "fp16s/fp16p", 1},
      {modules_of("conv_nc", halves), "other kernels do its work", "fp16s/fp16p", 2},
      // And that the graph goes on in fp32.
      {modules_of("binary", halves), "using binary instead", "fp32", 3},
  };
  for (const Row& row : rows) {
    INFO(row.told);
    fs::remove_all(clean.path);
    faults().pose_as_card(true);
    faults().doctor(liar(Lie::kOneLane, row.lies));
    {
      const auto opened = open_device();
      REQUIRE(opened != nullptr);
      const Ran blind = run_graph(opened->device, model, true);
      CHECK(!near(blind.values, right));
      const Ran ran = run_graph(opened->device, model);
      INFO(ran.error << joined(ran.messages));
      CHECK(near(ran.values, right));
      CHECK(ran.variant == row.variant);
      CHECK(ran.warnings == row.warnings);
      CHECK_THAT(joined(ran.messages),
                 ContainsSubstring(row.told) && ContainsSubstring("gives wrong results on"));
      // A second graph knows, and says nothing again of the kernel.
      const Ran second = run_graph(opened->device, model);
      CHECK(near(second.values, right));
      CHECK_THAT(joined(second.messages), !ContainsSubstring("wrong results"));
    }
    // A second start runs nothing.
    const auto opened = open_device();
    REQUIRE(opened != nullptr);
    const Ran ran = run_graph(opened->device, model);
    CHECK(near(ran.values, right));
    CHECK(ran.warnings == row.warnings);
    const auto stats = opened->device.state()->proofs->stats();
    CHECK(stats.proved == 0);
    CHECK(stats.remembered >= 4);
  }

  // Nothing is left.
  faults().pose_as_card(false);
  faults().doctor(liar(Lie::kOneLane, modules_of("binary")));
  fs::remove_all(clean.path);
  const auto opened = open_device();
  const Ran ran = run_graph(opened->device, model);
  CHECK_THAT(ran.error, ContainsSubstring("no variant of kernel binary") &&
                            ContainsSubstring("wrong known answer"));
  CHECK_THAT(joined(ran.messages), ContainsSubstring("no other variant is left"));
#if SPIRKILN_HAVE_CPU
  faults().pose_as_card(true);
  fs::remove_all(clean.path);
  const auto automatic = open_device("auto");
  REQUIRE(automatic != nullptr);
  const Ran on_cpu = run_graph(automatic->device, model);
  INFO(on_cpu.error << joined(on_cpu.messages));
  CHECK(near(on_cpu.values, right));
  CHECK_THAT(joined(on_cpu.messages),
             ContainsSubstring("the CPU runs what the device cannot take"));
#endif
}

TEST_CASE("a driver that flushes keeps its halves, unless weights need subnormals", "[proof]") {
  const Clean clean;
  if (!open_device()) SKIP("no Vulkan device");
  faults().pose_as_card(true);
  faults().doctor(liar(Lie::kFlush));
  const auto opened = open_device();
  REQUIRE(opened != nullptr);
  const Ran scaled = run_graph(opened->device, three_nodes());
  CHECK(scaled.error.empty());
  CHECK(scaled.variant == "fp16s/fp16p");
  CHECK(scaled.warnings == 0);
  CHECK_THAT(joined(scaled.messages), ContainsSubstring("counts subnormals of 16 bits as 0"));
  // No packer of ours makes such weights.
  const Ran small = run_graph(opened->device, three_nodes(0x1p-13f));
  CHECK(small.variant == "fp32");
  CHECK_THAT(joined(small.messages), ContainsSubstring("which this graph's weights need"));
}

TEST_CASE("proofs may be left out", "[proof]") {
  const Clean clean;
  const auto opened = open_device();
  if (!opened) SKIP("no Vulkan device");
  CHECK(run_graph(opened->device, three_nodes(), true).error.empty());
  CHECK(opened->device.state()->proofs->stats().proved == 0);
  CHECK(!fs::exists(clean.path / "verdicts"));
  // Without a cache they are made each time.
  DeviceOptions options;
  options.backend = "vulkan";
  options.no_cache = true;
  auto device = Device::open(options);
  REQUIRE(device.ok());
  CHECK(run_graph(*device, three_nodes()).error.empty());
  CHECK(device->state()->proofs->stats().proved > 3);
  CHECK(!fs::exists(clean.path / "verdicts"));
}

namespace {

StoredVerdict verdict(std::uint64_t blob, Verdict v = Verdict::kRight) {
  return {{blob, 7}, v, 1, 2, 3, 4, 5};
}

}  // namespace

TEST_CASE("verdicts are kept, merged and bounded; a damaged file is ignored and replaced",
          "[proof]") {
  const Clean clean;
  const std::string path = verdict_path(clean.path.string(), {});
  bool damaged = true;
  CHECK(read_verdicts(path, &damaged).empty());
  CHECK_FALSE(damaged);
  const StoredVerdict first[] = {verdict(1), verdict(2, Verdict::kWrong)};
  REQUIRE(add_verdicts(path, first).ok());
  const StoredVerdict second[] = {verdict(2), verdict(3)};
  REQUIRE(add_verdicts(path, second).ok());
  const auto all = read_verdicts(path, &damaged);
  REQUIRE(all.size() == 3);
  CHECK(all[1].key.blob == 2);
  CHECK(all[1].verdict == Verdict::kRight);  // the newer one
  CHECK(all[1].expected == 4);

  const auto file = read_file(path, 1 << 20);
  REQUIRE(file.ok());
  for (std::size_t i = 0; i < file->size(); ++i) {
    auto bytes = *file;
    bytes[i] ^= std::byte{0x10};
    REQUIRE(write_file_atomically(path, bytes).ok());
    CHECK(read_verdicts(path, &damaged).empty());
    CHECK(damaged);
    bytes.resize(i);
    REQUIRE(write_file_atomically(path, bytes).ok());
    CHECK(read_verdicts(path, &damaged).empty());
    CHECK(damaged);
  }
  REQUIRE(add_verdicts(path, first).ok());
  CHECK(read_verdicts(path, &damaged).size() == 2);

  std::vector<StoredVerdict> many;
  for (std::uint64_t i = 0; i < kMaxVerdicts + 5; ++i) many.push_back(verdict(100 + i));
  REQUIRE(add_verdicts(path, many).ok());
  const auto bounded = read_verdicts(path, &damaged);
  REQUIRE(bounded.size() == kMaxVerdicts);
  CHECK(bounded.front().key.blob == 105);
}

TEST_CASE("a graph runs with damaged verdicts, and with a folder that cannot be written",
          "[proof]") {
  const Clean clean;
  auto opened = open_device();
  if (!opened) SKIP("no Vulkan device");
  const std::string path = verdict_path(clean.path.string(), opened->device.state()->caps);
  REQUIRE(write_file_atomically(path, std::vector<std::byte>(100)).ok());
  CHECK(run_graph(opened->device, three_nodes()).error.empty());
  CHECK_THAT(joined(opened->messages), ContainsSubstring("are damaged and are ignored"));
  bool damaged = false;
  CHECK(read_verdicts(path, &damaged).size() > 3);
  // A file in the folder's place.
  fs::remove_all(clean.path / "verdicts");
  REQUIRE(write_file_atomically((clean.path / "verdicts").string(), {}).ok());
  opened = open_device();
  CHECK(run_graph(opened->device, three_nodes()).error.empty());
  CHECK_THAT(joined(opened->messages), ContainsSubstring("verdicts are not kept"));
}

TEST_CASE("several processes write verdicts at once", "[proof]") {
  const Clean clean;
  const std::string path = verdict_path(clean.path.string(), {});
  constexpr std::uint64_t kProcesses = 4, kRounds = 40;
  std::vector<pid_t> children;
  for (std::uint64_t p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        const StoredVerdict one[] = {verdict(p * 1000 + i)};
        bool damaged = false;
        if (!add_verdicts(path, one).ok()) ::_exit(1);
        (void)read_verdicts(path, &damaged);
        if (damaged) ::_exit(2);
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
  bool damaged = true;
  const auto all = read_verdicts(path, &damaged);
  CHECK_FALSE(damaged);
  std::set<std::uint64_t> blobs;
  for (const StoredVerdict& v : all) {
    CHECK(v.key.blob % 1000 < kRounds);
    CHECK(blobs.insert(v.key.blob).second);
  }
  // The last one to write saw nobody after itself.
  const auto last = [&](std::uint64_t p) { return blobs.contains(p * 1000 + kRounds - 1); };
  CHECK((last(0) || last(1) || last(2) || last(3)));
  // Nothing is left behind.
  CHECK(std::distance(fs::directory_iterator(clean.path / "verdicts"), {}) == 1);
}

TEST_CASE("every call of a proof that fails is an error, and the next call works", "[proof]") {
  const Clean clean;
  if (!open_device()) SKIP("no Vulkan device");
  const Model model = three_nodes();
  for (const char* name : {"vkAllocateMemory", "vkCreateBuffer", "vkQueueSubmit",
                           "vkCreateDescriptorPool", "vkBeginCommandBuffer"}) {
    INFO(name);
    fs::remove_all(clean.path);
    const auto opened = open_device();
    GraphOptions options;
    auto graph = Graph::create(opened->device, model, options);
    REQUIRE(graph.ok());
    faults().reset();
    faults().fail(name, 1, VK_ERROR_OUT_OF_DEVICE_MEMORY);
    const auto failed = graph->prepare(1, 9, 7);
    REQUIRE_FALSE(failed.ok());
    CHECK_THAT(failed.error().message, ContainsSubstring(name));
    CHECK(opened->device.state()->proofs->stats().proved == 0);
    CHECK(graph->prepare(1, 9, 7).ok());
    CHECK(opened->device.state()->proofs->stats().proved > 3);
    faults().reset();
  }
}
