// SPDX-License-Identifier: Apache-2.0
#include "graph_look.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "parallel.hpp"
#include "table/device_rules.hpp"

namespace spirkiln::access {
namespace {

// What decides where a dispatch reads and writes.
using StepKey = std::tuple<std::string, std::vector<std::pair<std::uint32_t, std::uint32_t>>,
                           std::vector<std::uint32_t>, std::array<std::uint32_t, 3>,
                           std::vector<std::uint64_t>>;

// Seconds. Drivers of CPUs compile a kernel within its first dispatch.
constexpr std::uint32_t kTimeout = 300;

std::vector<std::pair<std::uint32_t, std::uint32_t>> specs_of(const Step& step) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> specs;
  for (const SpecValue& s : step.pipeline.specs) specs.emplace_back(s.id, s.bits);
  return specs;
}

StepKey key_of(const Program& program, const Step& step, bool one_of_each) {
  StepKey key;
  std::get<0>(key) = std::string(step.pipeline.kernel);
  std::get<1>(key) = specs_of(step);
  if (one_of_each) return key;
  std::get<2>(key).assign(step.push.begin(), step.push.begin() + step.push_words);
  std::get<3>(key) = step.groups;
  for (const Use& use : step.uses) std::get<4>(key).push_back(program.buffers[use.buffer].bytes);
  return key;
}

DispatchRequest request_of(const Program& program, const Step& step, std::uint32_t sample) {
  DispatchRequest request;
  request.timeout_s = kTimeout;
  request.groups = step.groups;
  request.specs = specs_of(step);
  request.push.assign(step.push.begin(), step.push.begin() + step.push_words);
  request.sample = sample;
  for (const Use& use : step.uses) {
    const ProgramBuffer& buffer = program.buffers[use.buffer];
    if (buffer.is_image() && use.kind != table::BindingKind::kStorageBuffer) {
      ImageChoice& choice = request.images[use.binding];
      choice.size = {buffer.image.width, buffer.image.height, 1};
      choice.texel = buffer.image.texel_bytes == 16 ? "rgba32f" : "rgba16f";
    } else {
      request.buffers[use.binding] = buffer.bytes;
    }
  }
  return request;
}

std::string kernel_of(const Table& table, std::string_view variant) {
  const table::VariantEntry* entry = table.find_variant(variant);
  return entry == nullptr ? std::string()
                          : std::string(table.string(table.kernels()[entry->kernel].name));
}

struct Job {
  const Subject* subject = nullptr;
  DispatchRequest request;
  std::uint32_t times = 1;
  std::optional<Result<Report>> report;
  bool hung = false;
};

// As many at a time as there are devices.
void look_at_jobs(std::vector<Job>& jobs, const MemoryShape& shape,
                  std::span<const Device> devices) {
  std::mutex mutex;
  std::vector<const Device*> free;
  for (const Device& d : devices) free.push_back(&d);
  gen::parallel_for(jobs.size(), static_cast<unsigned>(devices.size()), [&](std::size_t i) {
    std::unique_lock lock(mutex);
    const Device* device = free.back();
    free.pop_back();
    lock.unlock();
    jobs[i].report.emplace(
        look_at(*jobs[i].subject, jobs[i].request, shape, {}, *device, &jobs[i].hung));
    lock.lock();
    free.push_back(device);
  });
}

}  // namespace

Result<GraphLook> look_at_graph(const GraphRequest& request, const Table& table,
                                const DeviceCaps& device_caps, const MemoryShape& shape,
                                std::span<const Device> devices, const SubjectOf& subject,
                                bool* hung) {
  const auto model = Model::open(request.pack);
  if (!model) return model.error();
  DeviceCaps caps = device_caps;
  const auto* runs = devices.front().state().get();
  if (runs == nullptr || !runs->caps.cooperative_matrix) {
    caps.cooperative_matrix = false;
    caps.matrix_shapes.clear();
  } else if (caps.cooperative_matrix && caps.matrix_shapes.empty()) {
    caps.matrix_shapes = runs->caps.matrix_shapes;  // the profile names none
  }
  const auto forms = choose_forms(request.variant, caps);
  if (!forms) return forms.error();
  const auto rules = select_rules(table, caps);
  if (!rules) return rules.error();
  const WeightLayout weights = lay_out_weights(
      *model->state(), forms->front().storage == table::Storage::kFp32, caps.storage_alignment);
  const ImageNeeds tight = [](const TensorImage& i) -> Result<ImageNeed> {
    return ImageNeed{std::uint64_t{i.width} * i.height * i.texel_bytes, 1};
  };
  auto planned =
      plan_graph(*model->state(), request.shape, table, caps, *rules, *forms, weights, tight);
  if (!planned) return planned.error();
  const Program& program = planned->program;
  GraphLook out;
  std::map<std::string, Subject> subjects;
  std::map<StepKey, std::size_t> known;
  std::vector<Job> jobs;
  for (const Step& step : program.steps) {
    const auto [it, fresh] = known.emplace(key_of(program, step, request.one_of_each), jobs.size());
    if (!fresh) {
      if (it->second < jobs.size()) ++jobs[it->second].times;
      continue;
    }
    it->second = ~std::size_t{0};
    const std::string variant(step.pipeline.kernel);
    if (!subjects.contains(variant)) {
      auto made = subject(kernel_of(table, variant), variant);
      if (!made) {
        out.not_seen.push_back(variant + ": " + made.error().message);
        continue;
      }
      subjects.emplace(variant, *std::move(made));
    }
    it->second = jobs.size();
    Job& job = jobs.emplace_back();
    job.subject = &subjects.at(variant);
    job.request = request_of(program, step, request.sample);
  }
  look_at_jobs(jobs, shape, devices);
  for (Job& job : jobs) {
    if (!*job.report) {
      if (job.hung) {
        *hung = true;
        return job.report->error();
      }
      out.not_seen.push_back(job.subject->name + ": " + job.report->error().message);
      continue;
    }
    out.dispatches.push_back({kernel_of(table, job.subject->name), job.subject->name, job.times,
                              **std::move(job.report)});
  }
  for (const DispatchLook& d : out.dispatches) {
    const double scale = d.report.figures.scale() * d.times;
    out.asked += static_cast<double>(d.report.figures.asked) * scale;
    out.moved += static_cast<double>(d.report.figures.moved) * scale;
    out.ideal += static_cast<double>(d.report.figures.ideal) * scale;
  }
  return out;
}

}  // namespace spirkiln::access
