// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/plan.hpp"

namespace spirkiln::check {
namespace {

// Pages and pictures, lines of text, crops of a line, and what image classifiers take.
constexpr InputShape kUsual[] = {{1, 640, 640}, {1, 960, 960}, {1, 736, 1280},
                                 {1, 48, 320},  {8, 48, 480},  {1, 48, 192},
                                 {8, 48, 192},  {1, 32, 320},  {1, 224, 224}};

std::string shape_text(const InputShape& s) { return fmt::format("{}x{}x{}", s.n, s.h, s.w); }

class Checker {
 public:
  Checker(const Model::State& model, const Table& table, const DeviceCaps& caps,
          const SelectRules& rules, const std::vector<Form>& forms)
      : model_(model),
        table_(table),
        caps_(caps),
        forms_(forms),
        rules_(rules),
        traits_(traits_of(caps, table, forms, rules_)) {
    // Kernels of cooperative matrices are only in tables that a second compiler helped to make;
    // what is said here is the same with and without it.
    traits_.matrix_m = traits_.matrix_n = traits_.matrix_k = 0;
  }

  Result<Outcome> at(const InputShape& shape) {
    auto dims = tensor_shapes(model_, shape);
    if (!dims) return std::move(dims).error();
    Outcome outcome;
    outcome.shapes = {shape};
    const auto& header = model_.header;
    add(lower_input((*dims)[header.input_tensor], header.input_scale, header.input_shift, traits_),
        "the input", &outcome);
    for (const model::Node& node : model_.nodes) {
      LowerRequest request{node, {}, (*dims)[node.output], traits_};
      for (const std::uint32_t t : model_.inputs_of(node)) request.inputs.push_back((*dims)[t]);
      add(lower_node(request), "node " + std::string(model_.string(node.name)), &outcome);
    }
    for (const std::uint32_t t : model_.outputs) {
      add(lower_output((*dims)[t], traits_), "output " + std::string(model_.tensor_name(t)),
          &outcome);
    }
    if (outcome.ok()) plan(shape, &outcome);
    return outcome;
  }

 private:
  void add(Result<Lowered> lowered, const std::string& node, Outcome* outcome) {
    if (!lowered) {
      outcome->refused.push_back(node + ": " + lowered.error().message);
      return;
    }
    for (const Dispatch& dispatch : lowered->dispatches) select(dispatch, node, outcome);
  }

  void select(const Dispatch& dispatch, const std::string& node, Outcome* outcome) {
    std::vector<AxisRequest> axes;
    std::string name(dispatch.kernel);
    for (const AxisChoice& a : dispatch.axes) {
      axes.push_back({a.axis, a.value});
      name += fmt::format(" {}={}", a.axis, a.value);
    }
    const SelectRequest request{dispatch.kernel, forms_, axes};
    if (const auto selection = select_blob(table_, request, caps_, rules_)) {
      const auto& variant = table_.variants()[selection->variant];
      ChosenVariant& chosen = outcome->chosen[std::string(table_.string(variant.name))];
      chosen.blob = selection->blob;
      ++chosen.dispatches;
      return;
    }
    for (KernelFailure& known : outcome->kernels) {
      if (known.kernel != name) continue;
      ++known.dispatches;
      return;
    }
    outcome->kernels.push_back({name, node, 1, candidates(table_, request, caps_, rules_)});
  }

  // Sizes of buffers, workgroups and bindings: what planning refuses though every kernel may run.
  void plan(const InputShape& shape, Outcome* outcome) {
    const WeightLayout weights = lay_out_weights(
        model_, forms_.front().storage == table::Storage::kFp32, caps_.storage_alignment);
    // A real device wants a little more for an image; that decides nothing here.
    const ImageNeeds tight = [](const TensorImage& i) -> Result<ImageNeed> {
      return ImageNeed{std::uint64_t{i.width} * i.height * i.texel_bytes, 1};
    };
    const auto planned = plan_graph(model_, shape, table_, caps_, rules_, forms_, weights, tight);
    if (!planned) outcome->refused.push_back(planned.error().message);
  }

  const Model::State& model_;
  const Table& table_;
  const DeviceCaps& caps_;
  const std::vector<Form>& forms_;
  const SelectRules& rules_;
  DeviceTraits traits_;
};

}  // namespace

bool GraphReport::ok() const {
  return std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.ok(); });
}

Result<std::vector<InputShape>> usual_shapes(const Model::State& model) {
  std::vector<InputShape> accepted;
  std::string tried;
  for (const InputShape& shape : kUsual) {
    if (tensor_shapes(model, shape)) accepted.push_back(shape);
    tried += (tried.empty() ? "" : ", ") + shape_text(shape);
  }
  if (!accepted.empty()) return accepted;
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("the graph {} takes none of the usual shapes ({}): name one with --shape",
                  model.origin, tried)};
}

Result<GraphReport> check_graph(const Model::State& model, const std::vector<InputShape>& shapes,
                                const Table& table, const DeviceCaps& caps,
                                const SelectRules& rules, const std::string& variant) {
  const auto forms = choose_forms(variant, caps);
  if (!forms) return forms.error();
  GraphReport report;
  report.graph = model.string(model.header.name);
  for (const Form form : *forms) {
    report.forms += (report.forms.empty() ? "" : " or ") + form_name(form);
  }
  Checker checker(model, table, caps, rules, *forms);
  for (const InputShape& shape : shapes) {
    auto outcome = checker.at(shape);
    if (!outcome) return std::move(outcome).error();
    const auto same =
        std::find_if(report.outcomes.begin(), report.outcomes.end(), [&](const Outcome& known) {
          return known.chosen == outcome->chosen && known.kernels == outcome->kernels &&
                 known.refused == outcome->refused;
        });
    if (same == report.outcomes.end()) {
      report.outcomes.push_back(*std::move(outcome));
    } else {
      same->shapes.push_back(shape);
    }
  }
  return report;
}

}  // namespace spirkiln::check
