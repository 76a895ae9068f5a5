// SPDX-License-Identifier: Apache-2.0
#include "harness.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "graph/program.hpp"
#include "loader/device.hpp"

namespace spirkiln::test {
namespace {

// In padding lanes of inputs: a kernel that used them would be far off. Its square is a half.
constexpr float kPaddingValue = 100;

// Tight values as stored vectors with something in the padding lanes.
std::vector<float> padded(const oracle::Tensor& t) {
  const std::uint32_t c = t.dims.c, stride = t.dims.c4() * 4;
  std::vector<float> out(t.dims.vectors() * 4, kPaddingValue);
  for (std::uint64_t p = 0; p < t.dims.pixels(); p++) {
    for (std::uint32_t i = 0; i < c; i++) {
      out[p * stride + i] = static_cast<float>(t.v[p * c + i]);
    }
  }
  return out;
}

std::vector<float> to_floats(const std::vector<double>& v) {
  std::vector<float> out(v.begin(), v.end());
  out.resize((out.size() + 3) / 4 * 4);
  return out;
}

bool is_half(Form form) { return form.storage != table::Storage::kFp32; }

double tolerance(Form form, double mag) {
  if (!is_half(form)) return 4 * std::ldexp(1.0, -23) * mag;
  const double factor = form.arithmetic == table::Arithmetic::kFp16 ? 4 : 1;
  return factor * std::ldexp(1.0, -10) * mag + std::ldexp(1.0, -24);
}

void compare(const std::vector<float>& got, const oracle::Tensor& want, Form form,
             const RunOptions& options, bool padding_is_zero) {
  const std::uint32_t c = want.dims.c, stride = want.dims.c4() * 4;
  double worst = 0;
  std::uint64_t worst_at = 0, bad = 0;
  for (std::uint64_t p = 0; p < want.dims.pixels(); p++) {
    for (std::uint32_t i = 0; i < stride; i++) {
      const double v = got[p * stride + i];
      if (i >= c) {
        if (padding_is_zero ? v != 0 : !std::isfinite(v)) bad++;
        continue;
      }
      const double limit = tolerance(form, want.mag[p * c + i]) * options.extra_factor;
      const double error = std::abs(v - want.v[p * c + i]);
      if (error == 0) continue;  // exact, where nothing was rounded even with a limit of 0
      const double ratio = error / limit;
      if (!(ratio <= worst)) {
        worst = std::isnan(ratio) ? INFINITY : ratio;
        worst_at = p * c + i;
      }
    }
  }
  INFO("value " << worst_at << " (pixel " << worst_at / c << ", channel " << worst_at % c
                << "): expected " << want.v[worst_at] << ", got "
                << got[worst_at / c * stride + worst_at % c] << ", magnitude "
                << want.mag[worst_at]);
  CHECK(worst <= 1);
  INFO("padding lanes that are not finite, or not zero where they have to be");
  CHECK(bad == 0);
}

struct Session {
  std::unique_ptr<Device> device;
  std::unique_ptr<Table> table;
  std::map<std::string, std::unique_ptr<KernelRunner>> runners;
  std::set<std::string> ran;
};

Session& session() {
  static Session s = [] {
    Session made;
    DeviceOptions options;
    // Opting out is for machines without the layer; the test command never does.
    options.validation = std::getenv("SPIRKILN_TEST_NO_VALIDATION") == nullptr;
    options.message = [](Severity severity, std::string_view text) {
      if (severity != Severity::kInfo)
        std::fprintf(stderr, "%.*s\n", int(text.size()), text.data());
    };
    if (auto d = Device::open(options))
      made.device = std::make_unique<Device>(*std::move(d));
    else
      std::fprintf(stderr, "%s\n", d.error().message.c_str());
    auto t = open_table();
    if (!t) {
      std::fprintf(stderr, "%s\n", t.error().message.c_str());
      std::abort();
    }
    made.table = std::make_unique<Table>(*std::move(t));
    return made;
  }();
  return s;
}

// "gemm_nc fp16s DIRECT=1"
std::string variant_key(std::string_view kernel, Form form, table::Int8 int8,
                        const std::map<std::string, std::string>& axes) {
  std::string key(kernel);
  key += " " + form_name(form);
  if (int8 != table::Int8::kNone) key += int8 == table::Int8::kPacked ? " int8p" : " int8s";
  for (const auto& [axis, value] : axes) key += " " + axis + "=" + value;
  return key;
}

std::map<std::string, std::string> axes_of(const table::VariantEntry& v) {
  std::map<std::string, std::string> axes;
  for (const auto& a : table().axis_values_of(v)) {
    axes[std::string(table().string(a.axis))] = table().string(a.value);
  }
  return axes;
}

}  // namespace

double Maker::value(double size) {
  std::uniform_int_distribution<int> steps(-1024, 1024);
  return steps(random_) / 1024.0 * size;
}

oracle::Tensor Maker::tensor(const Dims& dims, double size) {
  oracle::Tensor t;
  t.dims = dims;
  t.v.resize(dims.pixels() * dims.c);
  for (double& v : t.v) v = value(size);
  return t;
}

std::vector<double> Maker::weights(std::uint64_t rows, std::uint32_t c,
                                   const std::function<bool(std::uint64_t)>& row_is_real) {
  const std::uint32_t stride = (c + 3) / 4 * 4;
  std::vector<double> w(rows * stride);
  for (std::uint64_t r = 0; r < rows; r++) {
    for (std::uint32_t i = 0; i < c; i++) {
      if (!row_is_real || row_is_real(r)) w[r * stride + i] = value(1);
    }
  }
  return w;
}

std::vector<double> Maker::vector(std::uint32_t c, double from, double to) {
  std::vector<double> v((c + 3) / 4 * 4);
  for (std::uint32_t i = 0; i < c; i++)
    v[i] = static_cast<float>((from + to) / 2 + value((to - from) / 2));
  return v;
}

std::vector<Epilogues> epilogues(bool with_exp) {
  using model::Activation;
  std::vector<Epilogues> all = {
      {{Activation::kNone, 0, 0, 1, 0}, 0, "none"},
      {{Activation::kRelu, 0, 0, 1, 0}, model::kHasResidual, "relu, residual after"},
      {{Activation::kHardSwish, 1.0f / 6, 0.5f, 1.25f, -0.5f},
       0,
       "hard swish, post scale and bias"},
      {{Activation::kClip, -0.5f, 0.75f, 1, 0},
       model::kHasResidual | model::kResidualBefore,
       "clip, residual before"},
      {{Activation::kHardSigmoid, 0.2f, 0.5f, 1, 0}, 0, "hard sigmoid"},
  };
  if (with_exp) {
    all.push_back({{Activation::kSigmoid, 0, 0, 1, 0}, 0, "sigmoid"});
    all.push_back({{Activation::kSwish, 0, 0, 1, 0}, 0, "swish"});
    all.push_back({{Activation::kGelu, 0, 0, 2, 0.25f}, 0, "gelu"});
  }
  return all;
}

void set_epilogue(Case* c, const Epilogues& e, Maker* maker) {
  c->node.epilogue = e.epilogue;
  c->node.flags = e.flags;
  if (e.flags & model::kHasResidual) c->inputs.push_back(maker->tensor(c->output));
}

const Device* device() { return session().device.get(); }
const Table& table() { return *session().table; }

DeviceTraits device_traits() { return traits_of(device()->state()->caps); }
DeviceTraits gpu_traits() {
  DeviceTraits t = device_traits();
  t.software = false;
  return t;
}
DeviceTraits plain_cpu_traits() {
  DeviceTraits t = device_traits();
  t.software = true;
  t.subgroup_size = 1;
  return t;
}

KernelRunner* runner(Form form) {
  auto& slot = session().runners[form_name(form)];
  if (!slot) {
    auto r = KernelRunner::create(*device(), table(), form);
    if (!r) return nullptr;
    slot = std::make_unique<KernelRunner>(*std::move(r));
  }
  return slot.get();
}

void note_run(const Lowered& lowered, Form form, table::Int8 int8) {
  for (const Dispatch& d : lowered.dispatches) {
    const table::KernelEntry* kernel = table().find(d.kernel);
    REQUIRE(kernel != nullptr);
    auto axes = axes_of(table().variants_of(*kernel).front());  // the defaults
    for (const AxisChoice& a : d.axes) axes[std::string(a.axis)] = a.value;
    session().ran.insert(variant_key(d.kernel, form, int8, axes));
  }
}

std::vector<std::string> variants_not_run() {
  std::vector<std::string> missing;
  for (const table::KernelEntry& k : table().kernels()) {
    // Lowering never chooses these for another subgroup size (lowering_test.cpp).
    if (table().string(k.name).ends_with("_subgroup") && device_traits().subgroup_size != 8)
      continue;
    for (const table::VariantEntry& v : table().variants_of(k)) {
      if (missing_requirement(table(), table().blobs()[v.blob], device()->state()->caps)) continue;
      const std::string key = variant_key(table().string(k.name), form_of(v), v.int8, axes_of(v));
      if (!session().ran.contains(key)) missing.push_back(key);
    }
  }
  return missing;
}

std::vector<Form> forms_for(const std::string& name, bool all_images) {
  static std::map<std::string, std::size_t> calls;
  std::vector<Form> forms(std::begin(kForms), std::end(kForms));
  if (all_images) {
    forms.insert(forms.end(), std::begin(kImageForms), std::end(kImageForms));
  } else {
    forms.push_back(kImageForms[calls[name]++ % std::size(kImageForms)]);
  }
  return forms;
}

void check(const Case& c, const RunOptions& options) {
  std::vector<Dims> dims;
  for (const auto& t : c.inputs) dims.push_back(t.dims);
  auto lowered = lower_node({c.node, dims, c.output, options.traits});
  if (!lowered) FAIL(lowered.error().message);
  if (options.edit) options.edit(&*lowered);
  if (!options.expected.empty()) CHECK(lowered->dispatches.back().kernel == options.expected);
  const oracle::Tensor want = oracle::run(c.node, c.inputs, c.consts, c.output);

  std::string name(lowered->dispatches.back().kernel);
  for (const AxisChoice& a : lowered->dispatches.back().axes) name.append(" ").append(a.value);
  for (Form form : forms_for(name, options.all_images)) {
    KernelRunner* r = runner(form);
    if (r == nullptr) continue;
    KernelRunner::Buffers buffers;
    for (const auto& t : c.inputs) buffers.inputs.push_back(to_storage(padded(t), form));
    for (std::size_t i = 0; i < c.consts.size(); i++) {
      const auto floats = to_floats(c.consts[i]);
      buffers.consts.push_back(c.const_is_weight[i] ? to_storage(floats, form) : as_bytes(floats));
    }
    buffers.output_bytes = c.output.vectors() * vector_bytes(form);
    INFO(lowered->dispatches.back().kernel << " " << form_name(form));
    auto out = r->run(*lowered, buffers);
    if (!out) FAIL(out.error().message);
    note_run(*lowered, form);
    compare(from_storage(out->output, form), want, form, options, c.node.op == model::Op::kSoftmax);
  }
}

}  // namespace spirkiln::test
