// SPDX-License-Identifier: Apache-2.0
// Runs one node in every form on the first device, through lowering as a graph would, and compares
// with the double-precision oracle.
//
// Tolerance for each value: factor * eps * mag, `mag` being the oracle's sum of magnitudes
// (sum |a||b| and what is added to it; oracle.hpp), plus half precision's smallest step.
//   fp32            4 * 2^-23: products and sums in single precision, errors grow like the square
//                   root of the number of terms and are measured against the sum of magnitudes
//   fp16p, fp16s    1 * 2^-10: single precision inside, rounded once (2^-11) when stored
//   fp16pa, fp16sa  4 * 2^-10: each product, the narrowed sum, and up to four steps of the epilogue
//                   are rounded by at most 2^-11 each
//   image forms       as the same form with buffers: a texel has the storage's precision
//
// What costs time here is pipelines: a CPU driver compiles each for 0.1 to 2 s and runs it in a
// millisecond. What is a number to the kernel (sizes, activations made of lines) changes with every
// run; what is a constant of the pipeline (which residual, the workgroup's shape) is paired with
// forms and kernels instead of multiplied by both. README.md says what is paired with what.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "graph/kernel_runner.hpp"
#include "oracle.hpp"

namespace spirkiln::test {

inline constexpr Form kForms[] = {kFp32, kFp16p, kFp16pa, kFp16s, kFp16sa};
inline constexpr Form kImageForms[] = {image_of(kFp32), image_of(kFp16p), image_of(kFp16pa),
                                       image_of(kFp16s), image_of(kFp16sa)};
// Which forms a shape runs in.
enum class Forms {
  kBuffers,  // all with buffers, and in turn one with images
  kAll,  // every image form, too
  kFew,  // fp32, and in turn one of the others with buffers and one with images
};
// Call number `turn` (from 0) with one kernel.
std::vector<Form> forms_for(Forms forms, std::size_t turn);

// A node with its data, as doubles that every form can hold exactly (whole multiples of 2^-10).
struct Case {
  model::Node node{};
  std::vector<oracle::Tensor> inputs;  // without the residual, which check() adds
  std::vector<std::vector<double>> consts;
  std::vector<bool> const_is_weight;  // stored in the form's storage; else fp32
  Dims output;
  std::vector<std::uint8_t> bytes;  // of a picture, for kernels that read one instead of an input
};

class Maker {
 public:
  explicit Maker(std::uint32_t seed) : random_(seed) {}
  // Evenly over [-size, size].
  double value(double size);
  oracle::Tensor tensor(const Dims& dims, double size = 1);
  // rows x pad4(c) values, 0 in the padding and in rows where `row_is_real` says so.
  std::vector<double> weights(std::uint64_t rows, std::uint32_t c,
                              const std::function<bool(std::uint64_t)>& row_is_real = {});
  std::vector<double> vector(std::uint32_t c, double from, double to);

 private:
  std::mt19937 random_;
};

// Activations with their numbers. A few that together have every way of lines; `with_exp`: also
// those that need exp or erf, each of which is another pipeline.
std::vector<model::Epilogue> activations(bool with_exp);

struct RunOptions {
  DeviceTraits traits;
  std::string expected;  // kernel that must have run
  std::function<void(Lowered*)> edit;
  Forms forms = Forms::kBuffers;
  std::vector<Form> only = {};  // these instead, where it is not empty
  std::optional<model::Epilogue> activation = std::nullopt;  // else those of lines in turn
  bool residual = true;  // false: none in any form
};
// One check a form; skips forms that the device cannot run. Each form of a kernel adds its residual
// in one of the three ways (none, behind the activation, before it), which differs between forms
// and between kernels, so that every kernel and every form has all three.
void check(const Case& c, const RunOptions& options);

// What lowering made, run on the data of `c`: the bytes of what its last dispatch writes, a tensor
// in the form's storage or what goes to the caller. The device must be able to run the form.
std::vector<std::byte> run_lowered(const Lowered& lowered, const Case& c, Form form);
// Of a result as bytes, the words behind them: one a workgroup.
std::uint64_t check_words(const Lowered& lowered);
// The same compared with `want`. Skips forms that the device
// cannot run.
void check_lowered(const Lowered& lowered, const Case& c, const oracle::Tensor& want, Form form);

// Null when no device is there (the tests are then skipped).
const Device* device();
const Table& table();
DeviceTraits device_traits();
DeviceTraits gpu_traits();  // as if the device were no CPU driver
DeviceTraits plain_cpu_traits();  // a CPU driver whose subgroup size fits no kernel

KernelRunner* runner(Form form);
// Remembers that a kernel ran in this form, with its own axes; and how it read bytes, for kernels
// with an int8 axis.
void note_run(const Lowered& lowered, Form form, table::Int8 int8 = table::Int8::kNone);
// Variants of the table that the device may run and that no test ran; kernels that have a residual,
// and forms, that no test ran in one of its three ways.
std::vector<std::string> variants_not_run();
std::vector<std::string> residuals_not_run();

}  // namespace spirkiln::test
