// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu_graph.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#include "cpu/loops.hpp"
#include "cpu/operators.hpp"
#include "graph/as_bytes.hpp"
#include "graph/best.hpp"
#include "graph/finite.hpp"
#include "loader/guard.hpp"

namespace spirkiln::cpu {
namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

std::uint64_t machine_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || size <= 0) return UINT64_MAX;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size);
}

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

// What oneDNN throws becomes an error.
template <typename F>
auto with_onednn(const F& f) -> decltype(f()) {
  try {
    return f();
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_out_of_memory) {
      return Error{ErrorCode::kOutOfMemory, "oneDNN has no memory left"};
    }
    return Error{ErrorCode::kUnsupported, std::string("oneDNN: ") + e.what()};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, "the host has no memory left"};
  }
}

}  // namespace

Arena::~Arena() { std::free(data_); }

Status Arena::reserve(std::uint64_t bytes) {
  if (bytes <= bytes_) return Ok{};
  // The old block goes first: what it held is of no use.
  std::free(data_);
  data_ = nullptr;
  bytes_ = 0;
  const std::uint64_t most = machine_bytes();
  const std::uint64_t alignment = bytes >= kHugePage ? kHugePage : 64;
  const std::uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  if (rounded <= most) data_ = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
  if (data_ == nullptr) {
    return Error{ErrorCode::kOutOfMemory, "the tensors of this shape need " +
                                              std::to_string(bytes >> 20) +
                                              " MB; use a smaller picture"};
  }
  bytes_ = rounded;
#ifdef MADV_HUGEPAGE
  // Fewer page faults, which cost much in virtual machines. A wish: an error changes nothing.
  if (alignment == kHugePage) madvise(data_, rounded, MADV_HUGEPAGE);
#endif
  return Ok{};
}

CpuGraph::CpuGraph(const Model& model, const GraphOptions& options, int threads)
    : model_(model), options_(options), machine_{.threads = threads} {}

Result<std::unique_ptr<CpuGraph>> CpuGraph::create(const Model& model, const GraphOptions& options,
                                                   int threads) {
  return guarded([&]() -> Result<std::unique_ptr<CpuGraph>> {
    return with_onednn([&]() -> Result<std::unique_ptr<CpuGraph>> {
      std::unique_ptr<CpuGraph> graph(new CpuGraph(model, options, threads));
      if (const char* profile = std::getenv("SPIRKILN_PROFILE"); profile != nullptr && *profile) {
        graph->profile_ = std::strcmp(profile, "1") == 0;
        if (!graph->profile_ && std::strcmp(profile, "0") != 0) {
          return Error{ErrorCode::kInvalidArgument,
                       "SPIRKILN_PROFILE is '" + std::string(profile) + "'; expected 0 or 1"};
        }
      }
      graph->plans_.set_capacity(std::max<std::size_t>(options.max_plans, 1));
      for (const model::Node& node : model.state()->nodes) {
        auto store = NodeStore::create(*model.state(), node, graph->machine_);
        if (!store) return std::move(store).error();
        graph->nodes_.push_back(*std::move(store));
      }
      return graph;
    });
  });
}

Result<Plan*> CpuGraph::plan_for(const InputShape& shape, RunTimings* timings) {
  const InputShape one{1, shape.h, shape.w};
  const Model::State& model = *model_.state();
  if (shape.n != 1 || plans_.find(one) == nullptr) {
    auto all = tensor_shapes(model, shape);
    if (!all) return std::move(all).error();
    if (shape.n != 1) {
      auto single = tensor_shapes(model, one);
      if (!single) return std::move(single).error();
      for (std::size_t i = 0; i < all->size(); ++i) {
        Dims expected = (*single)[i];
        expected.n = shape.n;
        if ((*all)[i] != expected) {
          return Error{ErrorCode::kUnsupported,
                       model.origin + ": tensor " +
                           std::string(model.tensor_name(static_cast<std::uint32_t>(i))) +
                           " mixes the pictures of a batch; the CPU backend runs them one by one"};
        }
      }
    }
  }
  Plan* plan = plans_.find(one);
  if (plan == nullptr) {
    const auto begin = Clock::now();
    auto shapes = tensor_shapes(model, one);
    if (!shapes) return std::move(shapes).error();
    auto made = make_plan(model, *shapes, nodes_, machine_);
    if (!made) return std::move(made).error();
    plan = plans_.insert(one, *std::move(made));
    if (timings != nullptr) timings->plan_ms = ms_since(begin);
  }
  if (auto s = arena_.reserve(plan->arena_bytes); !s) return std::move(s).error();
  return plan;
}

Status CpuGraph::prepare(const InputShape& shape, RunTimings* timings) {
  return with_onednn([&]() -> Status {
    const OneThread one;
    auto plan = plan_for(shape, timings);
    if (!plan) return std::move(plan).error();
    return Ok{};
  });
}

void CpuGraph::load_input(const Plan& plan, const std::uint8_t* bytes) {
  const model::ModelHeader& h = model_.state()->header;
  normalise(bytes, plan.input.dims.pixels(), h.input_scale, h.input_shift, machine_.threads,
            reinterpret_cast<float*>(arena_.data() + plan.input.offset));
}

// The numbers again, step by step, up to the first that is none.
Error CpuGraph::not_finite(const Plan& plan, const std::uint8_t* bytes, std::uint32_t picture) {
  const Model::State& model = *model_.state();
  std::string where = "nothing that could be found again";
  load_input(plan, bytes);
  run_plan(plan, arena_.data(), [&](const PlannedStep& s, const float* out) {
    const model::Node& node = model.nodes[s.node];
    if (all_finite(out, s.values)) return true;
    where = "node " + std::to_string(s.node) + " (" + std::string(op_name(node.op)) + " " +
            std::string(model.string(node.name)) + ")";
    return false;
  });
  return Error{ErrorCode::kNotFinite, model.origin + ": NaN or infinity in picture " +
                                          std::to_string(picture) + ", first made by " + where};
}

void CpuGraph::profile_run(const Plan& plan) {
  const Model::State& model = *model_.state();
  auto begin = Clock::now();
  run_plan(plan, arena_.data(), [&](const PlannedStep& s, const float*) {
    const model::Node& node = model.nodes[s.node];
    const double us = ms_since(begin) * 1e3;
    if (options_.message) {
      options_.message(Severity::kInfo, "profile " + std::to_string(us) + " us " +
                                            std::string(op_name(node.op)) + " " +
                                            std::string(model.string(node.name)));
    }
    begin = Clock::now();
    return true;
  });
}

template <typename Tensor, typename Add>
Status CpuGraph::run_picture(const Plan& plan, const std::uint8_t* bytes,
                             std::vector<Tensor>& outputs, std::uint32_t picture, const Add& add) {
  load_input(plan, bytes);
  if (profile_) {
    profile_run(plan);
  } else {
    run_plan(plan, arena_.data(), [](const PlannedStep&, const float*) { return true; });
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::size_t n = values_of(plan.outputs[i].dims);
    const auto* values = reinterpret_cast<const float*>(arena_.data() + plan.outputs[i].offset);
    if (!all_finite(values, n)) return not_finite(plan, bytes, picture);
    add(outputs[i].values, values, n, plan.outputs[i].dims.c);
  }
  return Ok{};
}

template <typename Tensor, typename Add>
Result<std::vector<Tensor>> CpuGraph::run_all(const Pictures& pictures, RunTimings* timings,
                                              const Add& add) {
  return with_onednn([&]() -> Result<std::vector<Tensor>> {
    const OneThread one;
    auto found = plan_for({pictures.n, pictures.h, pictures.w}, timings);
    if (!found) return std::move(found).error();
    const Plan& plan = **found;
    const auto begin = Clock::now();
    std::vector<Tensor> outputs;
    for (const PlannedTensor& o : plan.outputs) {
      Tensor& t = outputs.emplace_back();
      t.n = pictures.n;
      t.h = o.dims.h;
      t.w = o.dims.w;
      t.c = options_.best_class ? 2 : o.dims.c;
      t.values.reserve(o.dims.pixels() * t.c * pictures.n);
    }
    const std::size_t bytes = std::size_t{pictures.h} * pictures.w * 4;
    for (std::uint32_t i = 0; i < pictures.n; ++i) {
      auto s = run_picture(plan, pictures.bytes.data() + i * bytes, outputs, i, add);
      if (!s) return std::move(s).error();
    }
    if (timings != nullptr) {
      timings->gpu_ms = ms_since(begin);
      timings->dispatches = static_cast<std::uint32_t>(plan.steps.size()) * pictures.n;
    }
    return outputs;
  });
}

Result<std::vector<TensorF32>> CpuGraph::run(const Pictures& pictures, RunTimings* timings) {
  return run_all<TensorF32>(
      pictures, timings,
      [&](std::vector<float>& out, const float* values, std::size_t n, std::size_t channels) {
        if (!options_.best_class) {
          out.insert(out.end(), values, values + n);
          return;
        }
        for (std::size_t at = 0; at < n; at += channels) {
          const auto best = best_channel(values + at, channels);
          out.insert(out.end(), best.begin(), best.end());
        }
      });
}

Result<std::vector<TensorU8>> CpuGraph::run_bytes(const Pictures& pictures, RunTimings* timings) {
  return run_all<TensorU8>(
      pictures, timings,
      [](std::vector<std::uint8_t>& out, const float* values, std::size_t n, std::size_t) {
        const std::size_t before = out.size();
        out.resize(before + n);
        std::transform(values, values + n, out.begin() + static_cast<std::ptrdiff_t>(before),
                       [](float v) { return byte_of(v); });
      });
}

Result<std::vector<TensorF32>> CpuGraph::run_nodes(const Pictures& pictures, std::size_t first,
                                                   std::size_t count) {
  return with_onednn([&]() -> Result<std::vector<TensorF32>> {
    const OneThread one;
    auto found = plan_for({pictures.n, pictures.h, pictures.w}, nullptr);
    if (!found) return std::move(found).error();
    auto shapes = tensor_shapes(*model_.state(), {1, pictures.h, pictures.w});
    if (!shapes) return std::move(shapes).error();
    std::vector<TensorF32> outputs(count);
    const std::size_t bytes = std::size_t{pictures.h} * pictures.w * 4;
    for (std::uint32_t i = 0; i < pictures.n; ++i) {
      load_input(**found, pictures.bytes.data() + i * bytes);
      run_plan(**found, arena_.data(), [&](const PlannedStep& s, const float* out) {
        if (s.node >= first && s.node < first + count) {
          const Dims& d = (*shapes)[model_.state()->nodes[s.node].output];
          TensorF32& t = outputs[s.node - first];
          t.n = pictures.n;
          t.h = d.h;
          t.w = d.w;
          t.c = d.c;
          t.values.insert(t.values.end(), out, out + s.values);
        }
        return s.node + 1 < first + count;
      });
    }
    return outputs;
  });
}

std::uint64_t CpuGraph::bytes() const {
  std::uint64_t sum = arena_.bytes();
  for (const NodeStore& n : nodes_) sum += n.bytes();
  return sum;
}

}  // namespace spirkiln::cpu
