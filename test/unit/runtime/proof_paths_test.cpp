// SPDX-License-Identifier: Apache-2.0
// That what is proved of a kernel is what graphs run of it: the same path through the module, as
// its specialization constants choose it.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>
#include <string>

#include "graph/kernel_runner.hpp"
#include "graph/model.hpp"
#include "graph/plan.hpp"
#include "graph/weights.hpp"
#include "proof/paths.hpp"
#include "proof/prove.hpp"
#include "table/device_rules.hpp"
#include "table/select.hpp"

using namespace spirkiln;

namespace {

// Constants that choose code. The others are sizes: of tiles, windows and shapes.
constexpr std::string_view kChoosing[] = {"act_kind", "aligned", "residual",
                                          "shares",   "source",  "spread"};
// Sizes of which 1 leaves a phase out: shares of a sum, which are added up in the end.
constexpr std::string_view kSharing[] = {"groups_k", "parts"};

// "residual=1 z>1": what is not at its default, in order of the names.
using Path = std::string;

Path path_of(const std::map<std::string, std::uint32_t, std::less<>>& constants,
             std::uint32_t local_z) {
  Path path;
  for (const auto& [name, bits] : constants) {
    const auto in = [&](const auto& names) {
      return std::find(std::begin(names), std::end(names), name) != std::end(names);
    };
    if (in(kChoosing) && bits != 0) path += name + "=" + std::to_string(bits) + " ";
    if (in(kSharing) && bits > 1) path += name + ">1 ";
  }
  if (local_z > 1) path += "z>1 ";
  return path;
}

Path path_of(const Answer& a) {
  std::map<std::string, std::uint32_t, std::less<>> constants;
  for (const auto& [name, bits] : a.constants) constants[name] = bits;
  return path_of(constants, a.local_size[2]);
}

Path path_of(const Table& table, const PipelineRequest& pipeline) {
  const table::BlobEntry& blob = table.blobs()[pipeline.blob];
  std::map<std::string, std::uint32_t, std::less<>> constants;
  std::uint32_t z = blob.local_size[2];
  for (const SpecValue& value : pipeline.specs) {
    if (value.id == blob.local_size_id[2]) z = value.bits;
    for (const table::SpecEntry& s : table.specs_of(blob)) {
      if (s.id == value.id) constants[std::string(table.string(s.name))] = value.bits;
    }
  }
  return path_of(constants, z);
}

// Devices of each kind that lowering tells apart, with all that forms need.
DeviceCaps device(const char* type, std::uint32_t subgroup) {
  DeviceCaps c;
  c.name = type;
  c.type = type;
  c.api_version = make_version(1, 3);
  c.spirv_version = 0x00010600;
  c.subgroup_size = subgroup;
  c.subgroup_operations = 0xff;
  c.storage16 = c.uniform_storage16 = c.float16 = true;
  c.vulkan_memory_model = c.vulkan_memory_model_device_scope = true;
  c.image_extended_formats = true;
  c.max_invocations = 1024;
  c.max_group_size = {1024, 1024, 64};
  c.max_shared_bytes = 49152;
  c.max_storage_buffers = 64;
  c.max_storage_images = 64;
  c.max_sampled_images = 64;
  c.max_storage_range = 1u << 30;
  return c;
}
DeviceCaps with_matrices(DeviceCaps c, std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  c.cooperative_matrix = true;
  c.extensions.insert("VK_KHR_cooperative_matrix");
  c.name += " with matrices";
  c.matrix_shapes = {{m, n, k, kMatrixHalf, kMatrixHalf, kMatrixFloat, kMatrixFloat, false}};
  return c;
}

}  // namespace

TEST_CASE("the paths that the OCR graphs take through a kernel are proved, and no others",
          "[proof]") {
  auto table = Table::built_in();
  REQUIRE(table.ok());
  const auto stored = table->attachment(kAnswersAttachment);
  REQUIRE(stored.ok());
  const auto all = decode_answers(*stored);
  REQUIRE(all.ok());
  struct Graph {
    const char* pack;
    InputShape shapes[2];
    bool best_class, bytes;
  };
  const Graph graphs[] = {{"det", {{1, 640, 640}, {1, 64, 96}}, false, false},
                          {"det", {{1, 960, 640}, {1, 64, 96}}, false, true},
                          {"cls", {{6, 48, 192}, {1, 48, 192}}, false, true},
                          {"rec", {{6, 48, 320}, {1, 48, 96}}, true, false},
                          {"rec", {{6, 48, 640}, {1, 48, 320}}, false, false}};
  DeviceCaps few_buffers = device("discrete", 32);
  few_buffers.max_storage_buffers = 8;
  const DeviceCaps devices[] = {
      device("cpu", 8),
      device("cpu", 4),
      device("discrete", 32),
      few_buffers,
      with_matrices(device("discrete", 32), 16, 8, 16),
      with_matrices(device("discrete", 32), 16, 16, 16),
      with_matrices(device("discrete", 64), 16, 16, 16),
      with_matrices(device("integrated", 16), 8, 16, 16),
      with_matrices(device("integrated", 32), 8, 16, 16),
      with_matrices(device("integrated", 8), 8, 8, 8),
  };
  const ImageNeeds tight = [](const TensorImage& i) -> Result<ImageNeed> {
    return ImageNeed{std::uint64_t{i.width} * i.height * i.texel_bytes, 1};
  };
  std::set<std::pair<std::string, Path>> missing, others;
  std::size_t seen = 0, left_out = 0;
  for (const Graph& g : graphs) {
    const auto model = Model::open(std::string(SPIRKILN_PACKS) + "/" + g.pack + ".spkm");
    REQUIRE(model.ok());
    for (const DeviceCaps& caps : devices) {
      const auto rules = select_rules(*table, caps);
      REQUIRE(rules.ok());
      for (const char* variant : {"fp32", "fp16p", "fp16s", "fp16sa"}) {
        const auto forms = choose_forms(variant, caps);
        REQUIRE(forms.ok());
        const WeightLayout weights =
            lay_out_weights(*model->state(), forms->front().storage == table::Storage::kFp32, 16);
        PlanWish wish;
        wish.best_class = g.best_class;
        wish.bytes = g.bytes;
        for (const InputShape& shape : g.shapes) {
          const auto planned = plan_graph(*model->state(), shape, *table, caps, *rules, *forms,
                                          weights, tight, {}, wish);
          INFO(g.pack << " in " << variant << " on " << caps.name << " "
                      << (planned ? "" : planned.error().message));
          REQUIRE(planned.ok());
          for (const Step& step : planned->program.steps) {
            ++seen;
            const table::VariantEntry* v = table->find_variant(step.pipeline.kernel);
            REQUIRE(v != nullptr);
            const Path path = path_of(*table, step.pipeline);
            const auto index = static_cast<std::uint32_t>(v - table->variants().data());
            const auto own = answers_for(*table, index, *all, caps.subgroup_size);
            std::vector<std::uint32_t> wanted, about_subnormals;
            for (const std::uint32_t a : own) {
              if (all->answers[a].subnormal) about_subnormals.push_back(a);
              if (!all->answers[a].subnormal && path_of(all->answers[a]) == path)
                wanted.push_back(a);
            }
            const std::string kernel(table->string(table->kernels()[v->kernel].name));
            if (wanted.empty()) missing.insert({kernel, path});
            // And what is run of them is that path, no more and no less.
            auto run = answers_on_path(*table, {index, step.pipeline.specs}, *all, own);
            std::sort(run.begin(), run.end());
            wanted.insert(wanted.end(), about_subnormals.begin(), about_subnormals.end());
            std::sort(wanted.begin(), wanted.end());
            if (run != wanted) others.insert({kernel, path});
            left_out += run.size() < own.size();
          }
        }
      }
    }
  }
  CHECK(seen > 10000);
  CHECK(left_out > seen / 2);
  const auto text = [](const std::set<std::pair<std::string, Path>>& paths) {
    std::string text;
    for (const auto& [kernel, path] : paths) text += kernel + ": " + path + "\n";
    return text;
  };
  CHECK(text(missing) == "");
  CHECK(text(others) == "");
}
