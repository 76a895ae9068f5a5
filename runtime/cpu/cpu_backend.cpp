// SPDX-License-Identifier: Apache-2.0
// The one symbol of libspirkiln-cpu.
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "cpu/cpu_graph.hpp"
#include "cpu/openmp.hpp"
#include "graph/backend.hpp"
#include "loader/guard.hpp"

#ifdef _WIN32
#define SPIRKILN_CPU_API __declspec(dllexport)
#else
#define SPIRKILN_CPU_API __attribute__((visibility("default")))
#endif

namespace spirkiln::cpu {
namespace {

constexpr long kMostThreads = 1024;

std::string isa_name() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "SSE4.1";
    case dnnl::cpu_isa::avx:
      return "AVX";
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx2_vnni:
      return "AVX2";
    case dnnl::cpu_isa::all:
      return "plain code";
    default:
      return "AVX-512";
  }
}

// What a container's quota is worth in whole cores; `cores` where there is none.
int within_quota(int cores) {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return cores;  // "max 100000"
  const double worth = std::ceil(quota / period);
  return worth < cores ? static_cast<int>(worth) : cores;
}

// The option's, else $SPIRKILN_THREADS, else what OpenMP would take: $OMP_NUM_THREADS or the cores
// that this process may run on, and no more than its container may use.
Result<int> thread_count(const GraphOptions& options) {
  if (options.threads != 0) {
    return static_cast<int>(options.threads < kMostThreads ? options.threads : kMostThreads);
  }
  const char* text = std::getenv("SPIRKILN_THREADS");
  if (text == nullptr || *text == '\0') return within_quota(omp_get_max_threads());
  char* end = nullptr;
  errno = 0;
  const long n = std::strtol(text, &end, 10);
  if (errno == 0 && *end == '\0' && n >= 1 && n <= kMostThreads) return static_cast<int>(n);
  return Error{ErrorCode::kInvalidArgument, "SPIRKILN_THREADS is '" + std::string(text) +
                                                "'; expected a number from 1 to " +
                                                std::to_string(kMostThreads)};
}

class Backend final : public CpuBackend {
 public:
  DeviceInfo info() const override {
    const dnnl::version_t* v = dnnl::version();
    DeviceInfo info;
    info.backend = "cpu";
    info.name = "CPU (" + isa_name() + ")";
    info.driver = "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
                  std::to_string(v->patch);
    info.type = "cpu";
    return info;
  }

  Result<std::unique_ptr<GraphBackend>> create_graph(const Model& model,
                                                     const GraphOptions& options) const override {
    return guarded([&]() -> Result<std::unique_ptr<GraphBackend>> {
      auto threads = thread_count(options);
      if (!threads) return std::move(threads).error();
      auto graph = CpuGraph::create(model, options, *threads);
      if (!graph) return std::move(graph).error();
      return std::unique_ptr<GraphBackend>(*std::move(graph));
    });
  }
};

}  // namespace
}  // namespace spirkiln::cpu

extern "C" SPIRKILN_CPU_API const spirkiln::CpuBackend* spirkiln_cpu_backend(const char* version) {
  static const spirkiln::cpu::Backend backend;
  return std::strcmp(version, SPIRKILN_VERSION) == 0 ? &backend : nullptr;
}
