// SPDX-License-Identifier: Apache-2.0
#include "graph/plan.hpp"

#include <algorithm>
#include <limits>

namespace spirkiln {
namespace {

constexpr std::uint32_t kNoBuffer = std::numeric_limits<std::uint32_t>::max();

class Planner {
 public:
  Planner(const Model::State& model, std::vector<Dims> shapes, const Table& table,
          const DeviceCaps& caps, const SelectRules& rules, const std::vector<Form>& forms,
          const WeightLayout& weights, const ImageNeeds& needs)
      : model_(model),
        shapes_(std::move(shapes)),
        traits_(traits_of(caps, table, forms, rules)),
        unified_memory_(caps.unified_memory),
        weights_(weights),
        builder_(table, caps, forms, needs, rules),
        tensors_(model.tensors.size(), kNoBuffer),
        consts_(model.consts.size(), kNoBuffer) {}

  Result<PlannedGraph> run(const Lowering& lowering, const NodeRange& watched) {
    if (auto s = add_input(lowering); !s) return std::move(s).error();
    const bool whole = watched.count == 0;
    const std::size_t end =
        whole ? model_.nodes.size() : std::min(watched.first + watched.count, model_.nodes.size());
    for (std::size_t i = 0; i < end; ++i) {
      const model::Node& n = model_.nodes[i];
      if (auto s = add_node(n, lowering); !s) return std::move(s).error();
      if (whole || i < watched.first) continue;
      if (auto s = add_output(n.output, lowering); !s) return std::move(s).error();
    }
    for (const std::uint32_t t : model_.outputs) {
      if (!whole) break;
      if (auto s = add_output(t, lowering); !s) return std::move(s).error();
    }
    auto program = builder_.finish();
    if (!program) return std::move(program).error();
    PlannedGraph plan;
    plan.program = *std::move(program);
    plan.upload_offset = plan.program.buffers[picture_].offset;
    for (const Output& o : outputs_) {
      plan.outputs.push_back({shapes_[o.tensor], plan.program.buffers[o.buffer].offset});
    }
    return plan;
  }

 private:
  static Error wrong_reference(const std::string& what) {
    return Error{ErrorCode::kInvalidArgument, what + ": lowering names a buffer that is not there"};
  }
  std::string name_of(std::uint32_t t) const {
    return "tensor " + std::string(model_.tensor_name(t)) + " (" + to_string(shapes_[t]) + ")";
  }
  std::uint32_t tensor(std::uint32_t t) {
    if (tensors_[t] == kNoBuffer) {
      tensors_[t] = builder_.add_tensor(shapes_[t].vectors(), name_of(t));
    }
    return tensors_[t];
  }
  std::uint32_t constant(std::uint32_t c) {
    if (consts_[c] == kNoBuffer) {
      const WeightPlace& place = weights_.places[c];
      consts_[c] =
          builder_.add_weights(place.offset, place.bytes,
                               "constant " + std::string(model_.string(model_.consts[c].name)));
    }
    return consts_[c];
  }

  Status add_input(const Lowering& lowering) {
    const std::uint32_t t = model_.header.input_tensor;
    const Dims& d = shapes_[t];
    auto lowered = lowering.input(d, model_.header.input_scale, model_.header.input_shift, traits_);
    if (!lowered) return std::move(lowered).error();
    picture_ = builder_.add_buffer(Home::kUpload, d.pixels() * 4, "picture");
    auto resolve = [&](const BufferRef& ref) -> Result<std::uint32_t> {
      if (ref.kind == BufferKind::kBytesIn) return picture_;
      if (ref.kind == BufferKind::kOutput) return tensor(t);
      return wrong_reference("the input");
    };
    return builder_.add(*lowered, resolve, "input");
  }

  // The tensor as tight floats in download memory.
  Status add_output(std::uint32_t t, const Lowering& lowering) {
    auto lowered = lowering.output(shapes_[t], traits_);
    if (!lowered) return std::move(lowered).error();
    const Dims& d = shapes_[t];
    const std::uint64_t bytes = d.pixels() * d.c * 4;
    const std::string name = name_of(t) + " as floats";
    const std::uint32_t result = builder_.add_buffer(Home::kDownload, bytes, name);
    // A kernel's scattered stores through the bus run at 2 GB/s, a copy of the same bytes at 50.
    const std::uint32_t out =
        unified_memory_ ? result : builder_.add_buffer(Home::kArena, bytes, name);
    if (out != result) builder_.add_copy(out, result);
    outputs_.push_back({t, result});
    auto resolve = [&](const BufferRef& ref) -> Result<std::uint32_t> {
      if (ref.kind == BufferKind::kInput && ref.index == 0) return tensors_[t];
      if (ref.kind == BufferKind::kFloatsOut) return out;
      return wrong_reference("the output " + name_of(t));
    };
    return builder_.add(*lowered, resolve, "output " + name_of(t));
  }

  Status add_node(const model::Node& n, const Lowering& lowering) {
    const auto inputs = model_.inputs_of(n);
    const auto consts = model_.consts_of(n);
    LowerRequest request{n, {}, shapes_[n.output], traits_};
    for (const std::uint32_t t : inputs) request.inputs.push_back(shapes_[t]);
    auto lowered = lowering.node(request);
    const std::string name = "node " + std::string(model_.string(n.name));
    if (!lowered) {
      Error e = std::move(lowered).error();
      e.message = name + ": " + e.message;
      return e;
    }
    auto resolve = [&](const BufferRef& ref) -> Result<std::uint32_t> {
      if (ref.kind == BufferKind::kInput && ref.index < inputs.size()) {
        return tensor(inputs[ref.index]);
      }
      if (ref.kind == BufferKind::kOutput) return tensor(n.output);
      if (ref.kind == BufferKind::kConst && ref.index < consts.size()) {
        return constant(consts[ref.index]);
      }
      return wrong_reference(name);
    };
    return builder_.add(*lowered, resolve, name);
  }

  const Model::State& model_;
  std::vector<Dims> shapes_;
  DeviceTraits traits_;
  bool unified_memory_;
  const WeightLayout& weights_;
  ProgramBuilder builder_;
  std::vector<std::uint32_t> tensors_, consts_;  // buffers of the program
  std::uint32_t picture_ = kNoBuffer;
  struct Output {
    std::uint32_t tensor, buffer;
  };
  std::vector<Output> outputs_;
};

}  // namespace

Result<PlannedGraph> plan_graph(const Model::State& model, const InputShape& input,
                                const Table& table, const DeviceCaps& caps,
                                const SelectRules& rules, const std::vector<Form>& forms,
                                const WeightLayout& weights, const ImageNeeds& needs,
                                const Lowering& lowering, const NodeRange& watched) {
  auto shapes = tensor_shapes(model, input);
  if (!shapes) return std::move(shapes).error();
  return Planner(model, *std::move(shapes), table, caps, rules, forms, weights, needs)
      .run(lowering, watched);
}

Result<std::vector<Form>> choose_forms(const std::string& variant, const DeviceCaps& caps) {
  if (!variant.empty()) {
    const auto form = form_from_name(variant);
    if (!form || form->storage > table::Storage::kFp16) {
      std::string names;
      for (const std::string_view name : form_names()) {
        names.append(names.empty() ? "" : ", ").append(name);
      }
      return Error{ErrorCode::kInvalidArgument,
                   "there is no variant \"" + variant + "\"; they are " + names};
    }
    return std::vector<Form>{*form};
  }
  if (caps.type == "cpu") return std::vector<Form>{kFp32};
  return std::vector<Form>{kFp16s, kFp16p};
}

}  // namespace spirkiln
