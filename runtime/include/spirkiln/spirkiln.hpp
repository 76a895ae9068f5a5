// SPDX-License-Identifier: Apache-2.0
// The C++ API of libspirkiln: a device, a packed model, and a graph that runs one on the other.
//
// Ownership: objects are cheap handles to shared state; a Graph keeps its Device and Model alive.
// Threads: every function may be called from any thread; runs of one Graph are serialised inside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirkiln/export.h"
#include "spirkiln/result.hpp"

namespace spirkiln {

struct DeviceInfo {
  std::string backend;      // "vulkan" or "cpu"
  std::uint32_t index = 0;  // what DeviceOptions::index takes; 0 of the CPU backend
  std::string name;
  std::string driver;       // driver name and version text
  std::string type;         // "discrete", "integrated", "virtual", "cpu", "other"
  std::uint32_t api_version = 0;  // VK_MAKE_API_VERSION
  std::uint32_t vendor_id = 0, device_id = 0;
  std::uint64_t device_local_bytes = 0;
  bool storage16 = false, float16 = false, uniform_storage16 = false, int16 = false, int64 = false;
  std::uint32_t subgroup_size = 0;
};

// "auto", "vulkan" and "cpu".
SPIRKILN_API std::vector<std::string> backend_names();

struct DeviceOptions {
  // One of backend_names(). Empty: $SPIRKILN_BACKEND, else "auto".
  //
  // "auto" is Vulkan where a device, a form of kernels, a table or validation is asked for, here or
  // in the environment. Else it is what the rules in variants/quirks.toml say of the best
  // Vulkan device (a software one is left to the CPU backend), and the CPU backend where there is
  // none. Unless a form, a table or validation is asked for, a graph on such a device also takes
  // the CPU for a shape that the device cannot take, with a warning to GraphOptions::message.
  std::string backend;
  std::optional<std::uint32_t> index;  // else $SPIRKILN_DEVICE (index or part of a name), else the
                                       // best: discrete, integrated, virtual, cpu
  std::string name;  // part of a device name; empty: any
  bool validation = false;  // load VK_LAYER_KHRONOS_validation; also $SPIRKILN_VALIDATION=1
  bool no_cache = false;  // read and write no cache files; also $SPIRKILN_NO_CACHE=1
  MessageCallback message;
};

// All Vulkan devices of all drivers. Errors: kNoVulkan naming every library that was tried.
SPIRKILN_API Result<std::vector<DeviceInfo>> list_devices(const MessageCallback& message = {});

class SPIRKILN_API Device {
 public:
  // Errors: kNoVulkan where there is no Vulkan device and no CPU backend either, naming every
  // library that was tried; kInvalidArgument for a backend or a device that is not there.
  static Result<Device> open(const DeviceOptions& options = {});
  const DeviceInfo& info() const;
  // Validation messages of error or warning severity so far (0 without validation).
  std::uint64_t validation_message_count() const;

  struct SPIRKILN_HIDDEN State;
  // Null on the CPU backend.
  const std::shared_ptr<State>& state() const { return state_; }
  struct SPIRKILN_HIDDEN Backends;
  const std::shared_ptr<const Backends>& backends() const { return backends_; }

 private:
  std::shared_ptr<State> state_;
  std::shared_ptr<const Backends> backends_;
};

class SPIRKILN_API Model {
 public:
  // Errors: kIo; kCorrupt naming what is wrong (magic, version, size, checksum, field).
  static Result<Model> open(const std::string& path);
  static Result<Model> from_bytes(std::vector<std::byte> bytes, std::string name);

  struct SPIRKILN_HIDDEN State;
  const std::shared_ptr<const State>& state() const { return state_; }

 private:
  std::shared_ptr<const State> state_;
};

// N pictures of H x W pixels, four bytes each: B, G, R, validity (0: the pixel counts as padding
// and enters the graph as 0). Rows are tight.
struct Pictures {
  std::uint32_t n = 0, h = 0, w = 0;
  std::span<const std::uint8_t> bytes;  // n * h * w * 4
};

// Tight fp32, N x H x W x C (channels innermost).
struct TensorF32 {
  std::uint32_t n = 0, h = 0, w = 0, c = 0;
  std::vector<float> values;
};

// Tight bytes, N x H x W x C: 255 times each value cut to 0 ... 1, rounded.
struct TensorU8 {
  std::uint32_t n = 0, h = 0, w = 0, c = 0;
  std::vector<std::uint8_t> values;
};

// Forms of kernels that a graph may be asked for: fp32, fp16p, fp16pa, fp16s, fp16sa, and the same
// with tensors in images: image, image_fp16p and so on.
SPIRKILN_API std::vector<std::string> variant_names();

struct GraphOptions {
  // One of variant_names(): only this form of each kernel. Empty: the environment's
  // $SPIRKILN_VARIANT, else the best that the device may run (an image form only when it is named).
  // The CPU backend has no forms: it refuses a name here and does not look at the environment's.
  std::string variant;
  // Of each pixel of the outputs only the best channel (of equal ones the first) and its value,
  // found on the device: N x H x W x 2. What classifiers need, at a fraction of the bytes. A value
  // that is no number still makes the run an error.
  bool best_class = false;
  // Outputs leave the device as bytes (TensorU8), made by the last kernel: what masks and other
  // probabilities need, at a quarter of the bytes. Graph::run_bytes gives them, Graph::run 1/255 of
  // each. A value that is no number still makes the run an error. Not together with best_class.
  bool bytes = false;
  // For bisecting; empty: the environment's. Names and values that the kernels do not have are an
  // error that says which there are.
  std::string axes;  // $SPIRKILN_AXES: "DIRECT=1,...", this value of a kernel's own axis
  std::string kernels;  // $SPIRKILN_KERNELS: "gemm_nc=fp16p,...", one kernel's own form
  std::string avoid;  // $SPIRKILN_AVOID: "gemm_coopmat,...", kernels and variants never to run
  std::size_t max_plans = 32;  // shapes kept ready, least recently used go first
  // Of the CPU backend. 0: $SPIRKILN_THREADS, else $OMP_NUM_THREADS, else all cores that the
  // process may use.
  std::uint32_t threads = 0;
  bool no_proof = false;  // use kernels without trying their known answers; also
                          // $SPIRKILN_NO_PROOF=1
  MessageCallback message;
};

struct RunTimings {
  double plan_ms = 0;  // 0 when the plan was cached
  double upload_ms = 0, gpu_ms = 0, download_ms = 0;  // gpu: the work itself, also on a CPU
  double kernels_ms = 0;  // of gpu_ms, what is no copy to the host; 0 where nothing measures it
  std::uint32_t dispatches = 0;  // steps, on the CPU backend
};

// An operator of a graph. Texts live as long as the Graph.
struct NodeInfo {
  std::string_view name;  // of the ONNX node (the last one of those that were fused)
  std::string_view op;
};

// One dispatch of a graph at one input shape, timed alone.
struct StepTime {
  std::string node;  // the ONNX node that it is a part of; "input", "output ..." for the ends
  std::string kernel, variant;  // "gemm_nc", "gemm_nc_fp16s"
  std::array<std::uint32_t, 3> groups{};
  // All bytes of the buffers that it reads and writes, each buffer once in each direction. A kernel
  // that reads a part of one moves less; one that reads it twice past the caches moves more.
  std::uint64_t bytes_read = 0, bytes_written = 0;
  double flop = 0;  // additions and multiplications; 0 where it has next to none
  double us = 0;  // the least of all rounds
};

class SPIRKILN_API Graph {
 public:
  static Result<Graph> create(const Device& device, const Model& model,
                              const GraphOptions& options = {});
  // Runs the graph on pictures; outputs in the model's order. Errors leave the graph usable;
  // kNotFinite names the first node that made a NaN or an infinity.
  Result<std::vector<TensorF32>> run(const Pictures& pictures, RunTimings* timings = nullptr);
  // The same as bytes, of a graph that was made with GraphOptions::bytes; kInvalidArgument of
  // another one.
  Result<std::vector<TensorU8>> run_bytes(const Pictures& pictures, RunTimings* timings = nullptr);
  // In the order in which they run.
  std::vector<NodeInfo> nodes() const;
  // What `count` nodes from `first` on compute for the pictures, to find where numbers go wrong:
  // the graph up to there is run for it, so this is slow. A node that the backend runs as a part of
  // another has no values. Errors: kInvalidArgument for nodes that are not there; as run.
  Result<std::vector<TensorF32>> run_nodes(const Pictures& pictures, std::size_t first,
                                           std::size_t count = 1);
  // Each dispatch of a run, timed on the device: `repeats` of it in a row (1 to 1000), each between
  // barriers, and of `rounds` (1 to 1000) such runs the least. Their sum is more than a run takes:
  // there dispatches that do not depend on each other overlap. Errors: kInvalidArgument for numbers
  // beyond these; kUnsupported on the CPU backend, and on a device without timestamps; as run.
  Result<std::vector<StepTime>> profile(const Pictures& pictures, std::uint32_t repeats = 20,
                                        std::uint32_t rounds = 5);
  // Makes all that a run of this shape needs (pipelines first of all) without running it, for
  // instance while pictures are still being decoded.
  Status prepare(std::uint32_t n, std::uint32_t h, std::uint32_t w);
  // The form that kernels of this graph use, for messages: "fp16s" and so on; "cpu" where they are
  // the CPU backend's.
  std::string variant() const;
  // Of each output, in the model's order: the channels, which no input shape changes. Those of the
  // model, also with GraphOptions::best_class.
  std::vector<std::uint32_t> output_channels() const;
  std::uint64_t device_bytes() const;  // weights and plans held now

  struct SPIRKILN_HIDDEN State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace spirkiln
