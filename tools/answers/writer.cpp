// SPDX-License-Identifier: Apache-2.0
#include "writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace spirkiln::answers {
namespace {

using model::Op;

static constexpr const char* kKinds[] = {"tensor", "float", "bytes"};

}  // namespace

void die(const std::string& what) {
  std::fprintf(stderr, "spirkiln-answers: error: %s\n", what.c_str());
  std::exit(1);
}

float value_of(const Data& d, std::uint32_t i) {
  AnswerBuffer b;
  b.kind = d.kind;
  b.seed = d.seed;
  return b.value(i);
}

std::vector<std::vector<double>> values_of(const std::vector<Data>& consts) {
  std::vector<std::vector<double>> all;
  for (const Data& d : consts) {
    auto& values = all.emplace_back();
    for (std::uint32_t i = 0; i < d.count; ++i) values.push_back(double{value_of(d, i)});
  }
  return all;
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
  const bool softmax = c.node.op == Op::kSoftmax;
  oracle::Tensor t = oracle::run(c.node, inputs, values_of(c.consts), c.output);
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

Bind bind_case(const Case& c) {
  return [&c](const BufferRef& ref) -> const Data* {
    if (ref.kind == BufferKind::kInput) return &c.inputs.at(ref.index);
    return ref.kind == BufferKind::kConst ? &c.consts.at(ref.index) : nullptr;
  };
}

void Writer::add(const Dispatch& d, std::uint32_t subgroup, const Case& c, const Result& r,
                 const Bind& bind) {
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
    for (const SpecChoice& s : d.specs) text += fmt::format(" {} = {:#x},", s.name, s.bits);
    text.back() = ' ';
    text += "}\n";
  }
  text += "push = [";
  for (std::uint32_t i = 0; i < d.push_words; ++i) {
    // Bits, as hexadecimal numbers are: a dispatch does not say which are floats.
    text += fmt::format("{}{:#x}", i == 0 ? "" : ", ", d.push[i]);
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

void Writer::leave_out(std::string_view kernel, const std::string& why,
                       const std::source_location& at) {
  for (LeftOut& known : left_out) {
    if (known.kernel != kernel || known.line != at.line()) continue;
    ++known.count;
    return;
  }
  left_out.push_back({std::string(kernel), why, at.file_name(), at.line(), 1});
}

void Writer::add_buffer(std::uint32_t binding, const Data& d) {
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

void Writer::add_result(std::uint32_t binding, const Case& c, const Result& r) {
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

}  // namespace spirkiln::answers
