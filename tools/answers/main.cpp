// SPDX-License-Identifier: Apache-2.0
// spirkiln-answers: the known answers of the OCR table's kernels, as TOML on stdout or in a file,
// for `spirkiln bake --answers`. What goes in is lowering, as a graph does it; what comes out is
// the double-precision oracle's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "cases.hpp"
#include "graph/half.hpp"
#include "oracle.hpp"
#include "output_set.hpp"

namespace spirkiln::answers {
namespace {

using model::Op;

// Devices in terms of which lowering chooses each kernel. All have the least limits that Vulkan
// allows, so that every device can run what comes out; and small workgroups where a workgroup may
// have any size, so that small shapes have several.
DeviceTraits gpu() {
  DeviceTraits t;
  t.max_storage_buffers = 16;
  return t;
}
DeviceTraits small_groups() {
  DeviceTraits t = gpu();
  t.max_group_size[0] = 32;
  return t;
}
DeviceTraits plain_cpu() {
  DeviceTraits t = gpu();
  t.software = true;
  t.subgroup_size = 1;
  t.max_group_size[0] = 16;
  return t;
}
DeviceTraits subgroups_of_eight() {
  DeviceTraits t = gpu();
  t.software = true;
  t.subgroup_size = 8;
  return t;
}

struct Matrix {
  std::string_view value;
  std::uint32_t m, n, k, subgroup;
};
constexpr Matrix kMatrices[] = {{"16081632", 16, 8, 16, 32},  {"16161632", 16, 16, 16, 32},
                                {"16161664", 16, 16, 16, 64}, {"8161616", 8, 16, 16, 16},
                                {"8161632", 8, 16, 16, 32},   {"8080808", 8, 8, 8, 8}};
DeviceTraits matrices(const Matrix& m) {
  DeviceTraits t = gpu();
  t.subgroup_size = m.subgroup;
  t.max_invocations = std::max(128u, 4 * m.subgroup);  // what conv_coopmat has at least
  t.max_group_size[0] = t.max_invocations;
  t.matrix_m = m.m;
  t.matrix_n = m.n;
  t.matrix_k = m.k;
  t.matrix = m.value;
  return t;
}
// With room for subgroups that share K: 32 KB of workgroup memory, which every device with matrices
// has, and workgroups of eight subgroups. A device that has no such workgroups is not asked.
DeviceTraits deep_matrices(const Matrix& m) {
  DeviceTraits t = matrices(m);
  t.max_invocations = 8 * m.subgroup;
  t.max_group_size[0] = t.max_invocations;
  t.shared_bytes = 32768;
  return t;
}

float value_of(const Data& d, std::uint32_t i) {
  AnswerBuffer b;
  b.kind = d.kind;
  b.seed = d.seed;
  return b.value(i);
}

oracle::Tensor tight(const Data& d, const Dims& dims) {
  oracle::Tensor t;
  t.dims = dims;
  for (std::uint64_t p = 0; p < dims.pixels(); ++p) {
    for (std::uint32_t c = 0; c < dims.c; ++c) {
      t.v.push_back(double{value_of(d, static_cast<std::uint32_t>(p * dims.c4() * 4 + c))});
    }
  }
  return t;
}

// What has to come out: as it is stored, NaN where anything will do.
struct Result {
  AnswerKind kind = AnswerKind::kTensor;
  std::vector<double> values;
  double mag = 0;  // the largest of what rounding is relative to
  double unit = 1;  // as bytes: 255, which that is in
};

Result stored(const oracle::Tensor& t, bool padding_is_zero) {
  Result r;
  const std::uint32_t lanes = t.dims.c4() * 4;
  for (std::uint64_t p = 0; p < t.dims.pixels(); ++p) {
    for (std::uint32_t c = 0; c < lanes; ++c) {
      const bool real = c < t.dims.c;
      r.values.push_back(real              ? t.v[p * t.dims.c + c]
                         : padding_is_zero ? 0
                                           : std::numeric_limits<double>::quiet_NaN());
      if (real) r.mag = std::max(r.mag, t.mag[p * t.dims.c + c]);
    }
  }
  return r;
}

Result result_of(const Case& c, const std::vector<oracle::Tensor>& inputs) {
  std::vector<std::vector<double>> consts;
  for (const Data& d : c.consts) {
    auto& values = consts.emplace_back();
    for (std::uint32_t i = 0; i < d.count; ++i) values.push_back(double{value_of(d, i)});
  }
  const bool softmax = c.node.op == Op::kSoftmax;
  oracle::Tensor t = oracle::run(c.node, inputs, consts, c.output);
  Result r = stored(t, softmax);
  if (softmax && c.subnormal) {
    // The shares that are subnormals; beside the others they would not be seen.
    r.mag = 0;
    for (double& v : r.values) {
      if (v > 0x1p-14) v = std::numeric_limits<double>::quiet_NaN();
      if (v > 0) r.mag = std::max(r.mag, v * (1 - std::log(v)));
    }
  }
  return r;
}

Result result_of(const Case& c) {
  std::vector<oracle::Tensor> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    inputs.push_back(tight(c.inputs[i], c.dims[i]));
  }
  return result_of(c, inputs);
}

class Writer {
 public:
  std::string text =
      "# Made by spirkiln-answers: what the kernels of the OCR table have to compute.\n";

  // One dispatch of a case: `bind` says what is at each reference of it.
  template <typename Bind>
  void add(const Dispatch& d, std::uint32_t subgroup, const Case& c, const Result& r, Bind bind) {
    text += fmt::format("\n[[answer]]\nkernel = \"{}\"\n", d.kernel);
    if (!d.axes.empty()) {
      text += "axes = {";
      for (const AxisChoice& a : d.axes) text += fmt::format(" {} = \"{}\",", a.axis, a.value);
      text.back() = ' ';
      text += "}\n";
    }
    if (c.subnormal) text += "subnormal = true\n";
    if (subgroup != 0) text += fmt::format("subgroup = {}\n", subgroup);
    if (d.local_size[0] != 0)
      text += fmt::format("local_size = [{}]\n", fmt::join(d.local_size, ", "));
    text += fmt::format("groups = [{}]\n", fmt::join(d.groups, ", "));
    if (!d.specs.empty()) {
      text += "constants = {";
      for (const SpecChoice& s : d.specs) text += fmt::format(" {} = {},", s.name, s.bits);
      text.back() = ' ';
      text += "}\n";
    }
    text += "push = [";
    for (std::uint32_t i = 0; i < d.push_words; ++i) {
      // Floats as their bits: a dispatch does not say which they are.
      const std::uint32_t v = d.push[i];
      text += (i == 0 ? "" : ", ") + (v < 65536 ? fmt::format("{}", v) : fmt::format("{:#x}", v));
    }
    text += "]\nbuffers = [\n";
    std::uint32_t result = 0;
    for (std::uint32_t b = 0; b < d.buffers.size(); ++b) {
      const Data* data = bind(d.buffers[b]);
      if (data == nullptr) {
        result = b;
      } else {
        add_buffer(b, *data);
      }
    }
    text += "]\n";
    add_result(result, c, r);
  }

 private:
  static constexpr const char* kKinds[] = {"tensor", "float", "bytes"};

  void add_buffer(std::uint32_t binding, const Data& d) {
    const AnswerSeed &s = d.seed, usual;
    text += fmt::format("  {{ binding = {}, kind = \"{}\", count = {}, seed = {}", binding,
                        kKinds[static_cast<int>(d.kind)], d.count, s.seed);
    const auto number = [&](const char* name, auto value, auto otherwise) {
      if (value != otherwise) text += fmt::format(", {} = {}", name, value);
    };
    number("steps", s.steps, usual.steps);
    number("row", s.row, usual.row);
    number("used", s.used, s.row);
    number("rows", s.rows, usual.rows);
    number("used_rows", s.used_rows, usual.used_rows);
    number("centre", s.centre, usual.centre);
    number("range", s.range, usual.range);
    number("rest", s.rest, usual.rest);
    text += " },\n";
  }

  void add_result(std::uint32_t binding, const Case& c, const Result& r) {
    text += fmt::format("[answer.result]\nbinding = {}\n", binding);
    if (r.kind != AnswerKind::kTensor) {
      text += fmt::format("kind = \"{}\"\n", kKinds[static_cast<int>(r.kind)]);
    }
    if (c.step > 0) text += fmt::format("step = {}\n", c.step);
    // README.md of test/device says why these factors.
    const double last = r.kind == AnswerKind::kBytes ? 1 : 0;  // a tie may be rounded either way
    const double single = r.unit * 0x1p-21 * r.mag + last;
    const double half = r.unit * (0x1p-10 * r.mag + 0x1p-24 + c.extra) + last;
    text += fmt::format("tolerance = {{ {}fp16 = {:.6g}, fp16a = {:.6g} }}\n",
                        c.subnormal ? "" : fmt::format("fp32 = {:.6g}, ", single), half,
                        half + r.unit * 3 * 0x1p-10 * r.mag);
    if (c.subnormal) {
      double most = r.mag;
      for (const double v : r.values) most = std::isnan(v) ? most : std::max(most, std::abs(v));
      text += fmt::format("bound = {:.6g}\n", most + 0x1p-24);
    }
    text += "values = [";
    for (std::size_t i = 0; i < r.values.size(); ++i) {
      const double v = r.values[i];
      if (i % 8 == 0) text += "\n ";
      text += std::isnan(v) ? " nan," : fmt::format(" {:.6g},", v + 0.0);
    }
    text += "\n]\n";
  }
};

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "spirkiln-answers: error: %s\n", what.c_str());
  std::exit(1);
}

Lowered lower(const Case& c, const DeviceTraits& traits) {
  auto lowered = lower_node({c.node, c.dims, c.output, traits});
  if (!lowered) die(lowered.error().message);
  return *std::move(lowered);
}

// A node that is one dispatch of `kernel`.
void add_node(Writer* out, std::string_view kernel, const Case& c, const DeviceTraits& traits,
              std::uint32_t subgroup = 0, const std::vector<AxisChoice>& axes = {}) {
  Dispatch d = lower(c, traits).dispatches.back();
  if (d.kernel != kernel) {
    die(fmt::format("lowering chose {} where {} was expected", d.kernel, kernel));
  }
  for (const AxisChoice& a : axes) d.axes.push_back(a);
  // Narrow, lowering would give each invocation one column, and no tile would be tried.
  for (SpecChoice& s : d.specs) {
    if (s.name == "tile_w") s.bits = 2;
  }
  // Of wide matrices one a subgroup, so that here, too, there are several workgroups.
  for (SpecChoice& s : d.specs) {
    if (s.name != "matrices_n" || s.bits != 2 || traits.matrix_n != 16) continue;
    s.bits = 1;
    d.groups[0] = (d.push[10] - 1) / (traits.matrix_n / 4) + 1;  // push[10]: vectors of columns
  }
  out->add(d, subgroup, c, result_of(c), [&](const BufferRef& ref) -> const Data* {
    if (ref.kind == BufferKind::kInput) return &c.inputs.at(ref.index);
    if (ref.kind == BufferKind::kConst) return &c.consts.at(ref.index);
    return nullptr;
  });
}

// Both convolutions in one step; what lies between them is rounded as if it were stored.
void add_separable(Writer* out, const Separable& s, const Matrix& m) {
  DeviceTraits traits = matrices(m);
  traits.max_storage_buffers = 9;
  auto lowered = lower_separable({s.window.node, s.window.dims, s.window.output, traits},
                                 {s.point.node, s.point.dims, s.point.output, traits});
  if (!lowered) die(lowered.error().message);
  std::vector<std::vector<double>> consts;
  for (const Data& d : s.window.consts) {
    auto& values = consts.emplace_back();
    for (std::uint32_t i = 0; i < d.count; ++i) values.push_back(double{value_of(d, i)});
  }
  std::vector<oracle::Tensor> inputs{oracle::run(
      s.window.node, {tight(s.window.inputs[0], s.window.dims[0])}, consts, s.window.output)};
  if (s.point.inputs.size() > 1) inputs.push_back(tight(s.point.inputs[1], s.point.dims[1]));
  out->add(lowered->dispatches[0], m.subgroup, s.point, result_of(s.point, inputs),
           [&](const BufferRef& ref) -> const Data* {
             const Case& c = ref.node == 0 ? s.window : s.point;
             if (ref.kind == BufferKind::kInput) return &c.inputs.at(ref.index);
             return ref.kind == BufferKind::kConst ? &c.consts.at(ref.index) : nullptr;
           });
}

// What a product reads as a left operand is halves.
oracle::Tensor rounded(oracle::Tensor t) {
  for (double& v : t.v) v = double{half_to_float(float_to_half(static_cast<float>(v)))};
  return t;
}

// A norm divides by the deviation of its row, and so it does with what rounding did to `x`.
oracle::Tensor normalised(oracle::Tensor y, const oracle::Tensor& x, const Data& gamma) {
  const std::uint32_t c = x.dims.c;
  for (std::size_t row = 0; row < x.v.size(); row += c) {
    double mean = 0, square = 0, largest = 0;
    for (std::uint32_t i = 0; i < c; ++i) mean += x.v[row + i] / c;
    for (std::uint32_t i = 0; i < c; ++i) {
      square += (x.v[row + i] - mean) * (x.v[row + i] - mean) / c;
      largest = std::max(largest, x.mag[row + i]);
    }
    for (std::uint32_t i = 0; i < c; ++i) {
      y.mag[row + i] += 2 * largest / std::sqrt(square) * std::abs(double{value_of(gamma, i)});
    }
  }
  return y;
}

// The shape of lavapipe has no variant of it (variants/kernels/matrix.toml).
bool has_transformer(const Matrix& m) { return m.subgroup > 8; }

void add_transformer(Writer* out, const std::vector<Case>& nodes, const Matrix& m) {
  DeviceTraits traits = matrices(m);
  traits.max_storage_buffers = 20;
  const auto request = [&](std::size_t i) {
    return LowerRequest{nodes[i].node, nodes[i].dims, nodes[i].output, traits};
  };
  TransformerNodes requests;
  for (std::size_t i = 0; i < nodes.size(); ++i) requests.push_back(request(i));
  auto lowered = lower_transformer(requests);
  if (!lowered) die(lowered.error().message);
  const auto run = [&](std::size_t i, const std::vector<oracle::Tensor>& inputs) {
    std::vector<std::vector<double>> consts;
    for (const Data& d : nodes[i].consts) {
      auto& values = consts.emplace_back();
      for (std::uint32_t k = 0; k < d.count; ++k) values.push_back(double{value_of(d, k)});
    }
    return oracle::run(nodes[i].node, inputs, consts, nodes[i].output);
  };
  const oracle::Tensor x = tight(nodes[0].inputs[0], nodes[0].output);
  const auto y = run(3, {rounded(run(2, {rounded(run(1, {rounded(run(0, {x}))}))})), x});
  oracle::Tensor end = run(6, {rounded(run(5, {rounded(run(4, {y}))})), y});
  for (std::size_t i = 0; i < end.mag.size(); ++i) end.mag[i] += y.mag[i];
  if (nodes.size() > 7) end = normalised(run(7, {end}), end, nodes[7].consts[0]);
  out->add(lowered->dispatches[0], m.subgroup, nodes.back(), stored(end, false),
           [&](const BufferRef& ref) -> const Data* {
             if (ref.kind == BufferKind::kInput) return &nodes[0].inputs[0];
             return ref.kind == BufferKind::kConst ? &nodes[ref.node].consts.at(ref.index)
                                                   : nullptr;
           });
}

void add_matrix_products(Writer* out, Numbers numbers) {
  const Case product = pointwise(numbers), conv = window(numbers), wide = wide_window(numbers),
             deconv = transposed(numbers);
  add_node(out, "gemm_nc", product, gpu());
  add_node(out, "gemm_reg", product, plain_cpu());
  add_node(out, "gemm_subgroup", product, subgroups_of_eight(), 8);
  add_node(out, "conv_nc", conv, gpu());
  add_node(out, "conv_direct", conv, plain_cpu());
  add_node(out, "conv_subgroup", conv, subgroups_of_eight(), 8);
  add_node(out, "deconv_nc", deconv, gpu());
  add_node(out, "deconv", deconv, plain_cpu());
  add_node(out, "deconv_subgroup", deconv, subgroups_of_eight(), 8);
  for (const Matrix& m : kMatrices) {
    add_node(out, "gemm_coopmat", product, matrices(m), m.subgroup);
    add_node(out, "window_coopmat", conv, matrices(m), m.subgroup);
    add_node(out, "conv_coopmat", wide, matrices(m), m.subgroup);
    add_node(out, "deconv_coopmat", deconv, matrices(m), m.subgroup);
    add_separable(out, separable(numbers, false), m);
    if (has_transformer(m))
      add_transformer(out, transformer(numbers, model::Activation::kHardSwish, false), m);
  }
}

// Mean, gate and product in one kernel.
void add_scaled(Writer* out, const Case& c) {
  const Dims& x = c.dims[0];
  const Dims mean{x.n, 1, 1, x.c};
  model::Node mean_node{}, product = c.node;
  mean_node.op = Op::kGlobalMean;
  mean_node.epilogue.post_scale = 1;
  product.op = Op::kBinary;
  product.i[0] = static_cast<std::int32_t>(model::BinaryOp::kMul);
  product.flags = c.inputs.size() > 1 ? model::kHasResidual : 0;
  const DeviceTraits traits = gpu();
  std::vector<Dims> product_dims{x, mean};
  if (product.flags != 0) product_dims.push_back(x);
  auto lowered = lower_scale({mean_node, {x}, mean, traits}, {c.node, {mean}, mean, traits},
                             {product, product_dims, x, traits});
  if (!lowered) die(lowered.error().message);
  std::vector<std::vector<double>> consts;
  for (const Data& d : c.consts) {
    auto& values = consts.emplace_back();
    for (std::uint32_t i = 0; i < d.count; ++i) values.push_back(double{value_of(d, i)});
  }
  const oracle::Tensor picture = tight(c.inputs[0], x);
  const oracle::Tensor means = oracle::run(mean_node, {picture}, {}, mean);
  const oracle::Tensor gate = oracle::run(c.node, {{mean, means.v, {}}}, consts, mean);
  std::vector<oracle::Tensor> inputs{picture, {mean, gate.v, {}}};
  if (product.flags != 0) inputs.push_back(tight(c.inputs[1], x));
  oracle::Tensor t = oracle::run(product, inputs, {}, x);
  // What rounding does to the mean and the gate, through activations of slopes below two.
  const double slope = 2 * std::abs(double{product.epilogue.post_scale});
  for (std::size_t i = 0; i < t.mag.size(); ++i) {
    const std::size_t g = i / (std::size_t{x.h} * x.w * x.c) * x.c + i % x.c;
    if (!c.subnormal) t.mag[i] += slope * std::abs(picture.v[i]) * 2 * gate.mag[g];
  }
  Dispatch d = lowered->dispatches[0];
  d.groups[0] = 2;  // as a larger picture has
  out->add(d, 0, c, stored(t, false), [&](const BufferRef& ref) -> const Data* {
    if (ref.kind == BufferKind::kInput) return &c.inputs.at(ref.index == 0 ? 0 : 1);
    return ref.kind == BufferKind::kConst ? &c.consts.at(ref.index) : nullptr;
  });
}

// The two halves of squeeze-and-excite, each by itself: what lies between them is floats. The
// picture has two pieces and two slices of channels.
void add_halves(Writer* out, const Case& c) {
  const Dims& x = c.dims[0];
  const Dims mean{x.n, 1, 1, x.c};
  model::Node mean_node{}, product = c.node;
  mean_node.op = Op::kGlobalMean;
  mean_node.epilogue.post_scale = 1;
  product.op = Op::kBinary;
  product.i[0] = static_cast<std::int32_t>(model::BinaryOp::kMul);
  product.flags = c.inputs.size() > 1 ? model::kHasResidual : 0;
  DeviceTraits traits = gpu();
  traits.without = {"squeeze_excite_scale"};
  std::vector<Dims> product_dims{x, mean};
  if (product.flags != 0) product_dims.push_back(x);
  auto lowered = lower_scale({mean_node, {x}, mean, traits}, {c.node, {mean}, mean, traits},
                             {product, product_dims, x, traits});
  if (!lowered || lowered->dispatches.size() != 2)
    die("lowering made no halves of squeeze-and-excite");
  std::vector<std::vector<double>> consts;
  for (const Data& d : c.consts) {
    auto& values = consts.emplace_back();
    for (std::uint32_t i = 0; i < d.count; ++i) values.push_back(double{value_of(d, i)});
  }
  const oracle::Tensor picture = tight(c.inputs[0], x);
  const std::uint32_t middle = static_cast<std::uint32_t>(c.node.i[12]), mid = (middle + 3) / 4 * 4,
                      hw = x.h * x.w;

  Dispatch squeeze = lowered->dispatches[0];
  const std::uint32_t piece = squeeze.push[3] = 8, slice = squeeze.local_size[0] * 4;
  squeeze.groups[1] = (hw - 1) / piece + 1;
  const std::uint32_t parts = squeeze.groups[0] * squeeze.groups[1];
  Result sums{AnswerKind::kFloat, {}, 0};
  for (std::uint32_t n = 0; n < x.n; ++n) {
    for (std::uint32_t k = 0; k < parts; ++k) {
      const std::uint32_t first = k / squeeze.groups[0] * piece, c0 = k % squeeze.groups[0] * slice;
      for (std::uint32_t m = 0; m < mid; ++m) {
        double sum = 0, mag = 0;
        for (std::uint32_t i = first; i < std::min(first + piece, hw); ++i) {
          for (std::uint32_t ch = c0; ch < std::min(c0 + slice, x.c); ++ch) {
            const double v = picture.v[(std::size_t{n} * hw + i) * x.c + ch] *
                             consts[0][std::size_t{ch} * mid + m];
            sum += v;
            mag += std::abs(v);
          }
        }
        sums.values.push_back(m < middle ? sum : std::numeric_limits<double>::quiet_NaN());
        sums.mag = std::max(sums.mag, mag);
      }
    }
  }
  const auto bind = [&](const BufferRef& ref) -> const Data* {
    if (ref.kind == BufferKind::kInput) return &c.inputs.at(ref.index == 0 ? 0 : 1);
    return ref.kind == BufferKind::kConst ? &c.consts.at(ref.index) : nullptr;
  };
  Case exact = c;
  exact.step = exact.subnormal ? 0x1p-24 : 0;
  out->add(squeeze, 0, exact, sums, bind);

  Dispatch excite = lowered->dispatches[1];
  excite.local_size[1] = 4;
  excite.groups[1] = 2;
  excite.push[27] = parts;
  Data between = tensor({x.n, 1, parts, middle}, 360, Numbers::kOrdinary);
  between.kind = AnswerKind::kFloat;
  between.seed.range = c.subnormal ? 0 : 16;  // 0: a gate of its bias, which is 1
  model::Epilogue mid_act{static_cast<model::Activation>(c.node.i[13]), c.node.f[0], c.node.f[1], 1,
                          0};
  std::vector<oracle::Tensor> inputs{picture, {mean, {}, {}}};
  std::vector<double> gate_mag;
  for (std::uint32_t n = 0; n < x.n; ++n) {
    std::vector<double> hidden(mid), hidden_mag(mid);
    for (std::uint32_t m = 0; m < middle; ++m) {
      double sum = 0, mag = 0;
      for (std::uint32_t k = 0; k < parts; ++k) {
        const double v = double{value_of(between, (n * parts + k) * mid + m)} / hw;
        sum += v;
        mag += std::abs(v);
      }
      hidden[m] = oracle::activation(mid_act, sum * consts[1][m] + consts[2][m]);
      hidden_mag[m] = mag * std::abs(consts[1][m]) + std::abs(consts[2][m]);
    }
    for (std::uint32_t ch = 0; ch < x.c; ++ch) {
      double sum = 0, mag = 0;
      for (std::uint32_t m = 0; m < middle; ++m) {
        const double w = consts[3][std::size_t{m} * x.c4() * 4 + ch];
        sum += hidden[m] * w;
        mag += hidden_mag[m] * std::abs(w);
      }
      const double v = oracle::activation(c.node.epilogue, sum * consts[4][ch] + consts[5][ch]);
      inputs[1].v.push_back(v * c.node.epilogue.post_scale + c.node.epilogue.post_bias);
      gate_mag.push_back(mag * std::abs(consts[4][ch]) + std::abs(consts[5][ch]));
    }
  }
  if (product.flags != 0) inputs.push_back(tight(c.inputs[1], x));
  oracle::Tensor t = oracle::run(product, inputs, {}, x);
  // What rounding does to the gate, through activations of slopes below two.
  const double slope = 2 * std::abs(double{product.epilogue.post_scale});
  for (std::size_t i = 0; i < t.mag.size(); ++i) {
    const std::size_t g = i / (std::size_t{hw} * x.c) * x.c + i % x.c;
    if (!c.subnormal) t.mag[i] += slope * std::abs(picture.v[i]) * 2 * gate_mag[g];
  }
  out->add(excite, 0, c, stored(t, false), [&](const BufferRef& ref) -> const Data* {
    return ref.kind == BufferKind::kScratch ? &between : bind(ref);
  });
}

// Both phases of the mean, each by itself: what lies between them is floats.
void add_mean(Writer* out, Numbers numbers) {
  const Case first = mean(numbers, {2, 13, 17, 6});
  Dispatch part = lower(first, small_groups()).dispatches.front();
  const std::uint32_t hw = part.push[0], piece = part.push[3], pieces = part.push[4];
  const oracle::Tensor x = tight(first.inputs[0], first.dims[0]);
  Result sums{AnswerKind::kFloat, {}, 0};
  for (std::uint32_t n = 0; n < x.dims.n; ++n) {
    for (std::uint32_t k = 0; k < pieces; ++k) {
      for (std::uint32_t c = 0; c < x.dims.c4() * 4; ++c) {
        double sum = 0, mag = 0;
        for (std::uint32_t i = k * piece; i < std::min((k + 1) * piece, hw) && c < x.dims.c; ++i) {
          const double v = x.v[(std::size_t{n} * hw + i) * x.dims.c + c];
          sum += v;
          mag += std::abs(v);
        }
        sums.values.push_back(c < x.dims.c ? sum : std::numeric_limits<double>::quiet_NaN());
        sums.mag = std::max(sums.mag, mag);
      }
    }
  }
  Case exact = first;
  exact.step = exact.subnormal ? 0x1p-24 : 0;
  out->add(part, 0, exact, sums, [&](const BufferRef& ref) -> const Data* {
    return ref.kind == BufferKind::kInput ? &first.inputs[0] : nullptr;
  });

  // A mean of `pieces` sums is that of a picture of so many pixels.
  Case second = mean(numbers, {3, 13, 17, 42});
  Dispatch sum = lower(second, gpu()).dispatches.back();
  const std::uint32_t count = sum.push[9];
  const float factor = 1.0f / static_cast<float>(count);
  std::memcpy(&sum.push[10], &factor, sizeof factor);
  Data partial = tensor({3, 1, count, 42}, 202, Numbers::kOrdinary);
  partial.kind = AnswerKind::kFloat;
  if (second.subnormal) partial.seed.range = 0x1p-12f;
  second.dims[0] = {3, 1, count, 42};
  second.inputs[0] = partial;
  const auto bind = [&](const BufferRef& ref) -> const Data* {
    if (ref.kind == BufferKind::kScratch) return &second.inputs[0];
    return ref.kind == BufferKind::kInput ? &second.inputs[1] : nullptr;
  };
  out->add(sum, 0, second, result_of(second), bind);
  if (second.subnormal) return;
  const Case alone = plain(second);
  sum.specs.clear();
  sum.local_size[1] = 1;  // as a CPU driver runs it: its graphs have the same pipeline
  out->add(sum, 0, alone, result_of(alone), bind);
}

// The gate that takes its mean itself: of pixels, and of sums.
void add_gates_of_means(Writer* out) {
  const Case gate = plain(squeeze_excite(Numbers::kOrdinary));
  const Dims picture{gate.output.n, 7, 9, gate.dims[0].c};  // more rows than loads that overlap
  Case mean;
  mean.node.op = Op::kGlobalMean;
  mean.node.epilogue = {model::Activation::kNone, 0, 0, 1, 0};
  mean.output = gate.dims[0];
  auto lowered = lower_gate({mean.node, {picture}, mean.output, gpu()},
                            {gate.node, gate.dims, gate.output, gpu()});
  if (!lowered) die(lowered.error().message);
  Dispatch d = lowered->dispatches.back();
  const auto source = std::find_if(d.specs.begin(), d.specs.end(),
                                   [](const SpecChoice& s) { return s.name == "source"; });
  if (source == d.specs.end() || source->bits != 1) die("the gate takes no mean of pixels");
  // From 0 to 1: a mean far from 0, without which another result would come out.
  const auto pixels = [&](std::uint32_t seed) {
    Data data = tensor(picture, seed, Numbers::kOrdinary);
    data.seed.centre = data.seed.range = 0.5f;
    return data;
  };
  const Data x = pixels(218), other = pixels(219);
  const auto add = [&](const Data& mean_of, const Data& input) {
    const oracle::Tensor m = oracle::run(mean.node, {tight(mean_of, picture)}, {}, mean.output);
    out->add(d, 0, gate, result_of(gate, {m}), [&](const BufferRef& ref) -> const Data* {
      if (ref.kind == BufferKind::kInput) return &input;
      if (ref.kind == BufferKind::kScratch) return &mean_of;
      return ref.kind == BufferKind::kConst ? &gate.consts.at(ref.index) : nullptr;
    });
  };
  add(x, x);
  // Each pixel a sum of one.
  source->bits = 2;
  d.buffers.back() = {BufferKind::kScratch, 0};
  Data sums = x;
  sums.kind = AnswerKind::kFloat;
  add(sums, other);
}

// The ways through a kernel that its constants choose and that the graphs take, beside those above
// (test/unit/runtime/proof_paths_test.cpp): without a residual, with an activation of its own code,
// with K shared out or not.
void add_paths(Writer* out) {
  using model::Activation;
  constexpr auto kOrdinary = Numbers::kOrdinary;
  const Case product = pointwise(kOrdinary), conv = window(kOrdinary),
             deconv = transposed(kOrdinary), short_deconv = transposed(kOrdinary, 25);
  const Case swish = plain(product, Activation::kSwish),
             conv_swish = plain(conv, Activation::kSwish);
  add_node(out, "gemm_nc", plain(product), gpu());
  add_node(out, "gemm_nc", swish, gpu());
  add_node(out, "gemm_nc", plain(pointwise(kOrdinary, 71, 25)), gpu());
  add_node(out, "conv_nc", plain(conv), gpu());
  add_node(out, "conv_nc", conv_swish, gpu());
  add_node(out, "conv_nc", plain(small_window(kOrdinary)), gpu());
  add_node(out, "deconv_nc", plain(short_deconv), gpu());
  add_node(out, "deconv_nc", plain(short_deconv, Activation::kSigmoid), gpu());
  for (const Case& c : {plain(product), swish}) {
    add_node(out, "gemm_reg", c, plain_cpu());
    add_node(out, "gemm_subgroup", c, subgroups_of_eight(), 8);
  }
  for (const Case& c : {plain(conv), conv_swish}) {
    add_node(out, "conv_direct", c, plain_cpu());
    add_node(out, "conv_subgroup", c, subgroups_of_eight(), 8);
  }
  for (const Case& c : {plain(deconv), plain(deconv, Activation::kSigmoid)}) {
    add_node(out, "deconv", c, plain_cpu());
    add_node(out, "deconv_subgroup", c, subgroups_of_eight(), 8);
  }
  const Case long_product = pointwise(kOrdinary, 39), tall = window(kOrdinary, 8);
  for (const Matrix& m : kMatrices) {
    add_node(out, "gemm_coopmat", plain(product), matrices(m), m.subgroup);
    add_node(out, "gemm_coopmat", swish, matrices(m), m.subgroup);
    add_node(out, "window_coopmat", plain(conv), matrices(m), m.subgroup);
    add_node(out, "window_coopmat", conv_swish, matrices(m), m.subgroup);
    add_node(out, "conv_coopmat", plain(wide_window(kOrdinary)), matrices(m), m.subgroup);
    add_node(out, "deconv_coopmat", plain(deconv), matrices(m), m.subgroup);
    Separable pair = separable(kOrdinary, true);
    pair.point = plain(pair.point);
    add_separable(out, pair, m);
    if (has_transformer(m)) {
      add_transformer(out, transformer(kOrdinary, model::Activation::kSwish, false), m);
      add_transformer(out, transformer(kOrdinary, model::Activation::kSwish, true), m);
    }
    for (const Case& c :
         {long_product, plain(long_product), plain(long_product, Activation::kSwish)}) {
      add_node(out, "gemm_coopmat", c, deep_matrices(m), m.subgroup);
    }
    for (const Case& c : {plain(tall), plain(tall, Activation::kSwish)}) {
      add_node(out, "window_coopmat", c, deep_matrices(m), m.subgroup);
    }
  }
  // As a CPU driver runs them, which compiles for seconds: its graphs have the same pipelines.
  add_node(out, "depthwise", plain(wide_depthwise(kOrdinary)), subgroups_of_eight());
  add_node(out, "depthwise_line", plain(wide_depthwise(kOrdinary)), small_groups());
  add_node(out, "binary", plain(gated(kOrdinary)), subgroups_of_eight());
  add_node(out, "resize", plain(resize(kOrdinary)), subgroups_of_eight());
  add_node(out, "concat", plain(concat(kOrdinary, {4, 8, 3})), subgroups_of_eight());
  add_node(out, "concat", plain(concat(kOrdinary, {4, 8, 4, 4, 12, 3})), subgroups_of_eight(), 0,
           {{"INPUTS", "8"}});
  add_node(out, "pool_max", plain(pool(kOrdinary, Op::kMaxPool)), subgroups_of_eight());
  add_node(out, "pool_avg", plain(pool(kOrdinary, Op::kAvgPool)), subgroups_of_eight());
  add_node(out, "squeeze_excite", plain(squeeze_excite(kOrdinary)), subgroups_of_eight());
  add_gates_of_means(out);
  add_node(out, "layer_norm", plain(layer_norm(kOrdinary)), subgroups_of_eight());
  add_node(out, "attention", plain(attention(kOrdinary)), gpu());
  add_node(out, "attention", plain(attention(kOrdinary)), subgroups_of_eight());
}

// Bytes of a picture and what they stand for. Below the colours' 8 bits every multiple of 2^-24 is
// a subnormal.
struct Picture {
  float scale[4] = {0.0171f, 0.0175f, 0.0174f, 5}, shift[4] = {-2.1f, -2.0f, -1.8f, 7};
  Data bytes;
  oracle::Tensor colours;
  double mag = 0;

  Picture(const Dims& dims, Numbers numbers, std::uint32_t seed)
      : bytes{AnswerKind::kBytes, static_cast<std::uint32_t>(dims.pixels() * 4), {}} {
    if (numbers == Numbers::kSubnormal) {
      constexpr float kSmall[4] = {0x1p-24f, 0x1p-23f, 0x1p-24f, 5}, kNone[4] = {0, 0, 0, 7};
      std::copy(std::begin(kSmall), std::end(kSmall), scale);
      std::copy(std::begin(kNone), std::end(kNone), shift);
    }
    // Colours and validity 255; in the last three pixels of eight all four are 0.
    bytes.seed.seed = seed;
    bytes.seed.rows = 8;
    bytes.seed.used_rows = 5;
    colours.dims = dims;
    for (std::uint32_t i = 0; i < bytes.count; ++i) {
      const std::uint32_t lane = i % 4;
      if (lane == 3) continue;
      const double v = value_of(bytes, i) * double{scale[lane]};
      const bool valid = value_of(bytes, i / 4 * 4 + 3) != 0;
      colours.v.push_back(valid ? v + double{shift[lane]} : 0);
      mag = std::max(mag, std::abs(v) + std::abs(double{shift[lane]}));
    }
  }
};

void add_picture(Writer* out, Numbers numbers) {
  Case c;
  c.subnormal = numbers == Numbers::kSubnormal;
  c.output = {2, 5, 7, 3};
  if (c.subnormal) c.step = 0x1p-24;
  const Picture picture(c.output, numbers, 250);
  auto lowered = lower_input(c.output, picture.scale, picture.shift, small_groups());
  if (!lowered) die(lowered.error().message);
  Result r;
  for (std::size_t i = 0; i < picture.colours.v.size(); ++i) {
    r.values.push_back(picture.colours.v[i]);
    if (i % 3 == 2) r.values.push_back(0);  // the padding lane
  }
  r.mag = picture.mag;
  out->add(lowered->dispatches[0], 0, c, r, [&](const BufferRef& ref) -> const Data* {
    return ref.kind == BufferKind::kBytesIn ? &picture.bytes : nullptr;
  });
}

void add_stem(Writer* out, Numbers numbers, std::optional<model::Activation> act = {}) {
  const Picture picture({2, 10, 17, 3}, numbers, 255);
  Case c = stem(numbers, picture.bytes);
  if (act) c.node.epilogue.act = *act;
  auto lowered =
      lower_stem({c.node, c.dims, c.output, small_groups()}, picture.scale, picture.shift);
  if (!lowered) die(lowered.error().message);
  Dispatch d = lowered->dispatches[0];
  out->add(d, 0, c, result_of(c, {picture.colours}), [&](const BufferRef& ref) -> const Data* {
    if (ref.kind == BufferKind::kBytesIn) return &picture.bytes;
    return ref.kind == BufferKind::kConst ? &c.consts.at(ref.index) : nullptr;
  });
}

// Floats as bytes_out.glsl has them.
Result as_bytes(const Result& floats, const Dispatch& d) {
  Result r{AnswerKind::kBytes, {}, floats.mag, 255};
  for (const double v : floats.values) {
    r.values.push_back(std::floor(std::clamp(v, 0.0, 1.0) * 255 + 0.5));
  }
  // What fills the last word, and a word for each workgroup: nothing was no number.
  const std::size_t groups = std::size_t{d.groups[0]} * d.groups[1] * d.groups[2];
  r.values.resize((r.values.size() + 3) / 4 * 4 + groups * 4, 0);
  return r;
}

void add_head(Writer* out, const Case& c, bool bytes = false) {
  auto lowered =
      (bytes ? lower_head_bytes : lower_head)({c.node, c.dims, c.output, small_groups()});
  if (!lowered) die(lowered.error().message);
  const Result lanes = result_of(c);
  Result r{AnswerKind::kFloat, {}, lanes.mag};
  for (std::size_t i = 0; i < lanes.values.size(); i += 4) r.values.push_back(lanes.values[i]);
  if (bytes) r = as_bytes(r, lowered->dispatches[0]);
  out->add(lowered->dispatches[0], 0, c, r, [&](const BufferRef& ref) -> const Data* {
    if (ref.kind == BufferKind::kInput) return &c.inputs.at(ref.index);
    return ref.kind == BufferKind::kConst ? &c.consts.at(ref.index) : nullptr;
  });
}

void add_floats(Writer* out, Numbers numbers, bool bytes = false) {
  Case c;
  c.subnormal = numbers == Numbers::kSubnormal;
  const Dims x{1, 5, 7, 6};
  c.step = c.subnormal ? 0x1p-24 : 0x1p-10;
  auto lowered = (bytes ? lower_output_bytes : lower_output)(x, small_groups());
  if (!lowered) die(lowered.error().message);
  const Data data = tensor(x, 260, numbers);
  Result r{AnswerKind::kFloat, tight(data, x).v, 0};
  for (const double v : r.values) r.mag = std::max(r.mag, std::abs(v));
  if (bytes) {
    c.step = 1;
    r = as_bytes(r, lowered->dispatches[0]);
  }
  out->add(lowered->dispatches[0], 0, c, r, [&](const BufferRef& ref) -> const Data* {
    return ref.kind == BufferKind::kInput ? &data : nullptr;
  });
}

// The best of a row's channels, and its share. Of subnormals that count as 0, the first is the
// best.
void add_best(Writer* out, Numbers numbers) {
  Case c;
  c.subnormal = numbers == Numbers::kSubnormal;
  const Dims x{1, 1, 5, 37};
  auto lowered = lower_best(x, true, gpu());
  if (!lowered) die(lowered.error().message);
  Data data = tensor(x, 270, numbers);
  data.seed.range = c.subnormal ? 0x1p-14f : 4;
  if (c.subnormal) data.seed.steps = 1024;
  const oracle::Tensor t = tight(data, x);
  Result r{AnswerKind::kFloat, {}, 0};
  for (std::uint32_t p = 0; p < x.w; ++p) {
    const auto row = t.v.begin() + p * x.c;
    const auto best = std::max_element(row, row + x.c);
    if (std::count(row, row + x.c, *best) != 1) die("two channels are the best; take another seed");
    double sum = 0;
    for (auto v = row; v != row + x.c; ++v) sum += std::exp(*v - *best);
    r.values.push_back(static_cast<double>(best - row));
    r.values.push_back(1 / sum);
    r.mag = std::max(r.mag, (1 + 2 * double{data.seed.range}) / sum);
  }
  out->add(lowered->dispatches[0], 0, c, r, [&](const BufferRef& ref) -> const Data* {
    return ref.kind == BufferKind::kInput ? &data : nullptr;
  });
}

// The same of the kernels at a graph's ends, and of those that are several nodes.
void add_paths_of_groups(Writer* out) {
  Case head = one_channel(Numbers::kOrdinary);
  head.node.epilogue.act = model::Activation::kSigmoid;
  add_head(out, head);
  // Subnormals are no bytes but 0.
  Case head_of_bytes = one_channel(Numbers::kOrdinary, 8);
  add_head(out, head_of_bytes, true);
  head_of_bytes.node.epilogue.act = model::Activation::kSigmoid;
  add_head(out, head_of_bytes, true);
  add_floats(out, Numbers::kOrdinary, true);
  add_stem(out, Numbers::kOrdinary, model::Activation::kSwish);
  Case product = scaled(Numbers::kOrdinary);
  product.dims.pop_back();
  product.inputs.pop_back();
  add_scaled(out, product);
  product = widely_scaled(Numbers::kOrdinary);
  product.dims.pop_back();
  product.inputs.pop_back();
  add_halves(out, product);
}

std::string all_answers() {
  Writer out;
  for (const Numbers numbers : {Numbers::kOrdinary, Numbers::kSubnormal}) {
    add_matrix_products(&out, numbers);
    add_node(&out, "depthwise", depthwise(numbers), plain_cpu());
    add_node(&out, "depthwise_line", depthwise(numbers), small_groups());
    add_node(&out, "affine", affine(numbers), small_groups());
    add_node(&out, "binary", binary(numbers), small_groups());
    add_node(&out, "resize", resize(numbers), small_groups());
    add_node(&out, "concat", concat(numbers, {5, 3, 7, 1}), small_groups());
    add_node(&out, "concat", concat(numbers, {1, 2, 3, 4, 5, 1, 2, 3}), small_groups(), 0,
             {{"INPUTS", "8"}});
    add_node(&out, "pool_max", pool(numbers, Op::kMaxPool), small_groups());
    add_node(&out, "pool_avg", pool(numbers, Op::kAvgPool), small_groups());
    add_mean(&out, numbers);
    add_node(&out, "squeeze_excite", squeeze_excite(numbers), gpu());
    add_scaled(&out, scaled(numbers));
    add_halves(&out, widely_scaled(numbers));
    add_node(&out, "layer_norm", layer_norm(numbers), gpu());
    add_node(&out, "softmax", softmax(numbers), gpu());
    add_node(&out, "attention", attention(numbers), gpu());
    add_picture(&out, numbers);
    add_stem(&out, numbers);
    add_head(&out, one_channel(numbers));
    add_floats(&out, numbers);
    add_best(&out, numbers);
  }
  add_paths(&out);
  add_paths_of_groups(&out);
  return out.text;
}

}  // namespace
}  // namespace spirkiln::answers

int main(int argc, char** argv) {
  using namespace spirkiln;
  if (argc != 3 || std::string_view(argv[1]) != "-o") {
    std::fprintf(stderr, "usage: spirkiln-answers -o FILE\n");
    return 2;
  }
  const auto written = tool::write_outputs({{argv[2], answers::all_answers()}});
  if (!written.ok()) answers::die(written.error().message);
  return 0;
}
