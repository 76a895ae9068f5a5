// SPDX-License-Identifier: Apache-2.0
// What runs a graph on one kind of hardware. graph.cpp chooses between backends; neither this
// interface nor graph.cpp knows Vulkan or oneDNN.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/shapes.hpp"
#include "spirkiln/spirkiln.hpp"

namespace spirkiln {

// One graph. Calls are serialised by the caller.
class GraphBackend {
 public:
  virtual ~GraphBackend() = default;
  // Makes all that a run of this shape needs. Errors leave the backend usable; all that can be
  // refused is refused here, before anything has run.
  virtual Status prepare(const InputShape& shape, RunTimings* timings) = 0;
  // `pictures` has n * h * w * 4 bytes. Prepares where that was not done.
  virtual Result<std::vector<TensorF32>> run(const Pictures& pictures, RunTimings* timings) = 0;
  // The same as bytes, of a graph made with GraphOptions::bytes.
  virtual Result<std::vector<TensorU8>> run_bytes(const Pictures& pictures,
                                                  RunTimings* timings) = 0;
  // What Graph::run_nodes gives; `first` and `count` are within the model's nodes.
  virtual Result<std::vector<TensorF32>> run_nodes(const Pictures& pictures, std::size_t first,
                                                   std::size_t count) = 0;
  // What Graph::profile gives.
  virtual Result<std::vector<StepTime>> profile(const Pictures& pictures, std::uint32_t repeats,
                                                std::uint32_t rounds) = 0;
  // What Graph::variant gives.
  virtual std::string variant() const = 0;
  // True once the device is gone for good: every further call is an error.
  virtual bool lost() const { return false; }
  // Weights, plans and intermediates held now.
  virtual std::uint64_t bytes() const = 0;
};

// The CPU backend, which is a library of its own (cpu/), opened by name.
class CpuBackend {
 public:
  virtual ~CpuBackend() = default;
  virtual DeviceInfo info() const = 0;
  virtual Result<std::unique_ptr<GraphBackend>> create_graph(const Model& model,
                                                             const GraphOptions& options) const = 0;
};

// The only symbol of that library: static storage, or null where `version` is not its own, since
// the classes above are no stable interface.
inline constexpr char kCpuBackendEntry[] = "spirkiln_cpu_backend";
using CpuBackendEntry = const CpuBackend* (*)(const char* version);

}  // namespace spirkiln
