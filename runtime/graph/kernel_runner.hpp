// SPDX-License-Identifier: Apache-2.0
// Runs lowered dispatches on host buffers, through the same selection, recording and submission as
// a graph. For kernel tests and known answers; a graph keeps everything on the device instead.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/dispatch.hpp"
#include "graph/executor.hpp"
#include "table/select.hpp"
#include "table/table.hpp"

namespace spirkiln {

// Floats (whole vectors of four lanes) in the storage of a form, rounded to nearest, and back.
std::vector<std::byte> to_storage(std::span<const float> values, Form form);
std::vector<float> from_storage(std::span<const std::byte> bytes, Form form);
std::vector<std::byte> as_bytes(std::span<const float> values);  // fp32 whatever the form

class KernelRunner {
 public:
  // Only variants of exactly this form are used. With an image form the inputs and the output are
  // images, which copies fill and read.
  static Result<KernelRunner> create(const Device& device, const Table& table, Form form);

  // Bytes as the kernels see them. Empty where the dispatches do not name the buffer.
  struct Buffers {
    std::vector<std::vector<std::byte>> inputs;  // kInput
    std::vector<std::vector<std::byte>> consts;  // kConst
    std::vector<std::byte> bytes_in;  // kBytesIn
    std::uint64_t output_bytes = 0;  // kOutput
    std::uint64_t floats_out_bytes = 0;  // kFloatsOut, kBytesOut
  };
  struct Outputs {
    std::vector<std::byte> output;
    std::vector<std::byte> floats_out;
    double gpu_ms = 0;
    std::uint32_t barriers = 0;
    std::vector<std::string> variants;  // that ran, in order of the dispatches
  };
  // Outputs and scratch hold 0xff bytes (NaN in every form) before the run, so what a kernel leaves
  // out shows; images of scratch hold anything. Errors: as ProgramBuilder and Executor, and
  // kInvalidArgument when a kernel wrote behind the end of an output.
  Result<Outputs> run(const Lowered& lowered, const Buffers& buffers);
  // How bytes are read from now on; else as selection chooses.
  void set_int8(std::optional<table::Int8> int8) { int8_ = int8; }
  // Selection goes by them from now on.
  void set_rules(SelectRules rules) { rules_ = std::move(rules); }

 private:
  KernelRunner(const Device& device, const Table& table, Form form)
      : device_(device), table_(table), form_(form) {}
  Device device_;
  Table table_;
  Form form_;
  std::optional<table::Int8> int8_;
  SelectRules rules_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace spirkiln
