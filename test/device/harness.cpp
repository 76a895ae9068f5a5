// SPDX-License-Identifier: Apache-2.0
#include "harness.hpp"

#include <algorithm>
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
             bool padding_is_zero) {
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
      const double limit = tolerance(form, want.mag[p * c + i]);
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

// As bytes, and behind them, in whole words, zeros: nothing was no number.
void compare_bytes(const std::vector<std::byte>& got, const oracle::Tensor& want, Form form) {
  double worst = 0;
  std::size_t worst_at = 0;
  for (std::size_t i = 0; i < want.v.size(); i++) {
    // Rounded to the nearest, either one at a tie.
    const double limit = 255 * tolerance(form, want.mag[i]) + 0.5 + 1e-6;
    const double exact = 255 * std::clamp(want.v[i], 0.0, 1.0);
    const double ratio = std::abs(std::to_integer<int>(got[i]) - exact) / limit;
    if (ratio > worst) worst = ratio, worst_at = i;
  }
  INFO("value " << worst_at << ": expected 255 times " << want.v[worst_at] << ", got "
                << std::to_integer<int>(got[worst_at]));
  CHECK(worst <= 1);
  CHECK(std::all_of(got.begin() + static_cast<std::ptrdiff_t>(want.v.size()), got.end(),
                    [](std::byte b) { return b == std::byte{0}; }));
}

// What the last dispatch writes.
BufferKind result_of(const Lowered& lowered) {
  for (const BufferRef& ref : lowered.dispatches.back().buffers) {
    if (ref.kind == BufferKind::kFloatsOut || ref.kind == BufferKind::kBytesOut) return ref.kind;
  }
  return BufferKind::kOutput;
}

struct Session {
  std::unique_ptr<Device> device;
  std::unique_ptr<Table> table;
  std::map<std::string, std::unique_ptr<KernelRunner>> runners;
  std::set<std::string> ran;
  std::map<std::string, std::size_t> turns;  // calls of check() by what chose the kernel
};

Session& session() {
  static Session s = [] {
    Session made;
    DeviceOptions options;
    options.backend = "vulkan";
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

std::string residual_key(std::string_view what, std::uint32_t way) {
  static constexpr const char* kWays[] = {"without a residual", "with a residual behind",
                                          "with a residual before"};
  return std::string(what) + " " + kWays[way];
}

bool has_residual(const table::KernelEntry& kernel) {
  const auto specs = table().specs_of(table().blobs()[table().variants_of(kernel).front().blob]);
  return std::any_of(specs.begin(), specs.end(), [](const table::SpecEntry& s) {
    return table().string(s.name) == "residual";
  });
}

std::size_t number_of(Form form) {
  const auto& forms = form.is_image() ? kImageForms : kForms;
  const auto same = [&](Form f) { return form_name(f) == form_name(form); };
  return static_cast<std::size_t>(std::find_if(std::begin(forms), std::end(forms), same) -
                                  std::begin(forms)) +
         (form.is_image() ? 1 : 0);  // not the same way as the form with buffers
}

// A function of what makes a pipeline, so that a form has one for each set of other constants.
std::uint32_t residual_way(const Dispatch& d, Form form) {
  std::size_t sum = static_cast<std::size_t>(table().find(d.kernel) - table().kernels().data()) +
                    d.axes.size() + number_of(form);
  for (const SpecChoice& s : d.specs) sum += s.bits;
  for (const std::uint32_t size : d.local_size) sum += size;
  return sum % 3;
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

std::vector<model::Epilogue> activations(bool with_exp) {
  using model::Activation;
  std::vector<model::Epilogue> all = {{Activation::kNone, 0, 0, 1, 0},
                                      {Activation::kRelu, 0, 0, 1, 0},
                                      {Activation::kHardSwish, 1.0f / 6, 0.5f, 1.25f, -0.5f},
                                      {Activation::kClip, -0.5f, 0.75f, 1, 0},
                                      {Activation::kHardSigmoid, 0.2f, 0.5f, 1, 0}};
  if (with_exp) {
    all.push_back({Activation::kSigmoid, 0, 0, 1, 0});
    all.push_back({Activation::kSwish, 0, 0, 1, 0});
    all.push_back({Activation::kGelu, 0, 0, 2, 0.25f});
  }
  return all;
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
    if (!has_residual(*kernel)) continue;
    const auto way = std::find_if(d.specs.begin(), d.specs.end(),
                                  [](const SpecChoice& s) { return s.name == "residual"; });
    const std::uint32_t bits = way == d.specs.end() ? 0 : way->bits;
    session().ran.insert(residual_key(d.kernel, bits));
    session().ran.insert(residual_key(form_name(form), bits));
  }
}

namespace {

// Lowering never chooses these for another subgroup size (lowering_test.cpp).
bool suits_device(const table::KernelEntry& k) {
  return !table().string(k.name).ends_with("_subgroup") || device_traits().subgroup_size == 8;
}

// Matrices of another shape than a graph would take on this device are for others.
bool may_run(const table::VariantEntry& v) {
  for (const table::AxisValue& a : table().axis_values_of(v)) {
    if (table().string(a.axis) != "MATRIX") continue;
    if (table().string(a.value) !=
        traits_of(device()->state()->caps, table(), {form_of(v)}).matrix) {
      return false;
    }
  }
  return !missing_requirement(table(), table().blobs()[v.blob], device()->state()->caps);
}

}  // namespace

std::vector<std::string> variants_not_run() {
  std::vector<std::string> missing;
  for (const table::KernelEntry& k : table().kernels()) {
    if (!suits_device(k)) continue;
    for (const table::VariantEntry& v : table().variants_of(k)) {
      if (!may_run(v)) continue;
      const std::string key = variant_key(table().string(k.name), form_of(v), v.int8, axes_of(v));
      if (!session().ran.contains(key)) missing.push_back(key);
    }
  }
  return missing;
}

std::vector<std::string> residuals_not_run() {
  std::set<std::string> who;
  for (const table::KernelEntry& k : table().kernels()) {
    if (!suits_device(k) || !has_residual(k)) continue;
    for (const table::VariantEntry& v : table().variants_of(k)) {
      if (!may_run(v)) continue;
      who.emplace(table().string(k.name));
      who.insert(form_name(form_of(v)));
    }
  }
  std::vector<std::string> missing;
  for (const std::string& one : who) {
    for (std::uint32_t way = 0; way < 3; way++) {
      if (!session().ran.contains(residual_key(one, way)))
        missing.push_back(residual_key(one, way));
    }
  }
  return missing;
}

std::vector<Form> forms_for(Forms forms, std::size_t turn) {
  const Form image = kImageForms[turn % std::size(kImageForms)];
  if (forms == Forms::kFew) {
    return {kForms[0], kForms[1 + turn % (std::size(kForms) - 1)], image};
  }
  std::vector<Form> all(std::begin(kForms), std::end(kForms));
  if (forms == Forms::kAll) {
    all.insert(all.end(), std::begin(kImageForms), std::end(kImageForms));
  } else {
    all.push_back(image);
  }
  return all;
}

namespace {

Lowered lowered_with(const Case& c, const RunOptions& options) {
  std::vector<Dims> dims;
  for (const auto& t : c.inputs) dims.push_back(t.dims);
  auto lowered = lower_node({c.node, dims, c.output, options.traits});
  if (!lowered) FAIL(lowered.error().message);
  if (options.edit) options.edit(&*lowered);
  if (!options.expected.empty()) CHECK(lowered->dispatches.back().kernel == options.expected);
  return *std::move(lowered);
}

void add_residual(Case* c, std::uint32_t way, std::size_t seed) {
  if (way == 0) return;
  c->node.flags |= model::kHasResidual;
  if (way == 2) c->node.flags |= model::kResidualBefore;
  c->inputs.push_back(Maker(static_cast<std::uint32_t>(seed)).tensor(c->output));
}

}  // namespace

std::vector<std::byte> run_lowered(const Lowered& lowered, const Case& c, Form form) {
  KernelRunner::Buffers buffers;
  if (c.bytes.empty()) {
    for (const auto& t : c.inputs) buffers.inputs.push_back(to_storage(padded(t), form));
  }
  for (std::size_t i = 0; i < c.consts.size(); i++) {
    const auto floats = to_floats(c.consts[i]);
    buffers.consts.push_back(c.const_is_weight[i] ? to_storage(floats, form) : as_bytes(floats));
  }
  buffers.bytes_in.resize(c.bytes.size());
  std::transform(c.bytes.begin(), c.bytes.end(), buffers.bytes_in.begin(),
                 [](std::uint8_t b) { return std::byte{b}; });
  const BufferKind kind = result_of(lowered);
  const std::uint64_t values = c.output.pixels() * c.output.c;
  if (kind == BufferKind::kOutput) {
    buffers.output_bytes = c.output.vectors() * vector_bytes(form);
  } else if (kind == BufferKind::kFloatsOut) {
    buffers.floats_out_bytes = values * 4;
  } else {
    buffers.floats_out_bytes = (values + 3) / 4 * 4 + check_words(lowered) * 4;
  }
  auto out = runner(form)->run(lowered, buffers);
  if (!out) FAIL(out.error().message);
  note_run(lowered, form);
  return kind == BufferKind::kOutput ? out->output : out->floats_out;
}

std::uint64_t check_words(const Lowered& lowered) {
  const auto& groups = lowered.dispatches.back().groups;
  return std::uint64_t{groups[0]} * groups[1] * groups[2];
}

void check_lowered(const Lowered& lowered, const Case& c, const oracle::Tensor& want, Form form) {
  if (runner(form) == nullptr) return;
  const std::vector<std::byte> out = run_lowered(lowered, c, form);
  const BufferKind kind = result_of(lowered);
  if (kind == BufferKind::kBytesOut) return compare_bytes(out, want, form);
  if (kind == BufferKind::kFloatsOut) {
    const auto tight = from_storage(out, kFp32);
    std::vector<float> got(c.output.vectors() * 4);
    for (std::size_t i = 0; i < tight.size(); i++) {
      got[i / c.output.c * c.output.c4() * 4 + i % c.output.c] = tight[i];
    }
    compare(got, want, form, true);
    return;
  }
  compare(from_storage(out, form), want, form,
          c.node.op == model::Op::kSoftmax && !(c.node.flags & model::kHasResidual));
}

void check(const Case& c, const RunOptions& options) {
  const Dispatch last = lowered_with(c, options).dispatches.back();
  std::string name(last.kernel);
  for (const AxisChoice& a : last.axes) name.append(" ").append(a.value);
  const std::size_t turn = session().turns[name]++;
  const auto lines = activations(false);
  for (const Form form : options.only.empty() ? forms_for(options.forms, turn) : options.only) {
    if (runner(form) == nullptr) continue;
    Case formed = c;
    formed.node.epilogue =
        options.activation.value_or(lines[(turn + number_of(form)) % lines.size()]);
    const std::uint32_t way = options.residual ? residual_way(last, form) : 0;
    add_residual(&formed, way, turn);
    INFO(residual_key(name + " " + form_name(form), way)
         << ", activation " << static_cast<int>(formed.node.epilogue.act));
    check_lowered(lowered_with(formed, options), formed,
                  oracle::run(formed.node, formed.inputs, formed.consts, formed.output), form);
  }
}

}  // namespace spirkiln::test
