// SPDX-License-Identifier: Apache-2.0
#include "graph/plan.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "graph/epilogue.hpp"
#include "graph/fuse.hpp"
#include "table/printable.hpp"

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

  Result<PlannedGraph> run(const Lowering& lowering, const PlanWish& wish) {
    const std::size_t all = model_.nodes.size();
    const bool whole = wish.node_count == 0;
    const std::size_t end = whole ? all : std::min(wish.first_node + wish.node_count, all);
    const bool best = whole && wish.best_class;
    std::vector<bool> skipped = best ? softmax_of_outputs() : std::vector<bool>(all);
    picture_ = builder_.add_buffer(Home::kUpload, shapes_[model_.header.input_tensor].pixels() * 4,
                                   "picture");
    const bool bytes = whole && wish.bytes;
    const NodeGroups groups = fuse_nodes(model_, shapes_, traits_, lowering, whole,
                                         best    ? OutputForm::kBest
                                         : bytes ? OutputForm::kBytes
                                                 : OutputForm::kFloats);
    if (!groups.reads_picture) {
      if (auto s = add_input(lowering); !s) return std::move(s).error();
    }
    std::vector<std::uint32_t> outputs;
    if (whole) outputs.assign(model_.outputs.begin(), model_.outputs.end());
    for (std::size_t i = 0; i < end; ++i) {
      const model::Node& n = model_.nodes[i];
      if (skipped[i] || groups.inside[i]) continue;
      if (groups.at[i]) {
        if (auto s = add_group(*groups.at[i]); !s) return std::move(s).error();
        continue;
      }
      if (auto s = add_node(n, lowering); !s) return std::move(s).error();
      if (!whole && i >= wish.first_node) outputs.push_back(n.output);
    }
    for (const std::uint32_t t : outputs) {
      if (results_.contains(t)) continue;  // a group has written it
      auto s = best ? add_best(t, skipped, lowering) : add_output(t, lowering, bytes);
      if (!s) return std::move(s).error();
    }
    auto program = builder_.finish();
    if (!program) return std::move(program).error();
    PlannedGraph plan;
    plan.program = *std::move(program);
    plan.upload_offset = plan.program.buffers[picture_].offset;
    for (const std::uint32_t t : outputs) {
      const ResultOut& o = results_.at(t);
      plan.outputs.push_back({o.dims, plan.program.buffers[o.buffer].offset, o.checks});
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
    auto resolve = [&](const BufferRef& ref) -> Result<std::uint32_t> {
      if (ref.kind == BufferKind::kBytesIn) return picture_;
      if (ref.kind == BufferKind::kOutput) return tensor(t);
      return wrong_reference("the input");
    };
    return builder_.add(*lowered, resolve, "input");
  }

  // The tensor as tight floats in download memory, or as bytes.
  Status add_output(std::uint32_t t, const Lowering& lowering, bool bytes) {
    auto lowered = (bytes ? lowering.output_bytes : lowering.output)(shapes_[t], traits_);
    if (!lowered) return std::move(lowered).error();
    return add_result_of(t, t, *lowered, shapes_[t],
                         name_of(t) + (bytes ? " as bytes" : " as floats"));
  }

  // Nodes whose softmax is not needed as such: the best share is that of the best logit.
  std::vector<bool> softmax_of_outputs() const {
    std::vector<bool> found(model_.nodes.size());
    std::vector<bool> read(model_.tensors.size());
    for (const model::Node& n : model_.nodes) {
      for (const std::uint32_t t : model_.inputs_of(n)) read[t] = true;
    }
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      const model::Node& n = model_.nodes[i];
      const bool plain = n.op == model::Op::kSoftmax && n.flags == 0 && is_identity(n.epilogue);
      found[i] =
          plain && !read[n.output] &&
          std::find(model_.outputs.begin(), model_.outputs.end(), n.output) != model_.outputs.end();
    }
    return found;
  }

  // Of each pixel of the tensor the best channel and its value.
  Status add_best(std::uint32_t t, const std::vector<bool>& skipped, const Lowering& lowering) {
    std::uint32_t from = t;
    for (std::size_t i = 0; i < skipped.size(); ++i) {
      const model::Node& n = model_.nodes[i];
      if (skipped[i] && n.output == t) from = model_.inputs_of(n)[0];
    }
    auto lowered = lowering.best(shapes_[from], from != t, traits_);
    if (!lowered) return std::move(lowered).error();
    Dims dims = shapes_[t];
    dims.c = 2;
    return add_result_of(t, from, *lowered, dims, name_of(t) + ", its best channels");
  }

  // Output `t`: what `lowered` makes of tensor `from`, in download memory.
  Status add_result_of(std::uint32_t t, std::uint32_t from, const Lowered& lowered,
                       const Dims& dims, const std::string& name) {
    const std::uint32_t out = add_result(t, dims, lowered.dispatches.back(), name);
    auto resolve = [&](const BufferRef& ref) -> Result<std::uint32_t> {
      if (ref.kind == BufferKind::kInput && ref.index == 0) return tensors_[from];
      if (is_result(ref)) return out;
      return wrong_reference("the output " + name_of(t));
    };
    return builder_.add(lowered, resolve, "output " + name_of(t));
  }
  static bool is_result(const BufferRef& ref) {
    return ref.kind == BufferKind::kFloatsOut || ref.kind == BufferKind::kBytesOut;
  }
  // Where `last` writes output `t`, on its way to the caller.
  std::uint32_t add_result(std::uint32_t t, const Dims& dims, const Dispatch& last,
                           const std::string& name) {
    const std::uint64_t values = dims.pixels() * dims.c;
    const bool as_bytes =
        std::any_of(last.buffers.begin(), last.buffers.end(),
                    [](const BufferRef& ref) { return ref.kind == BufferKind::kBytesOut; });
    const std::uint32_t checks = as_bytes ? last.groups[0] * last.groups[1] * last.groups[2] : 0;
    const std::uint64_t bytes =
        as_bytes ? (values + 3) / 4 * 4 + std::uint64_t{checks} * 4 : values * 4;
    const std::uint32_t result = builder_.add_buffer(Home::kDownload, bytes, name);
    // A kernel's scattered stores through the bus run at 2 GB/s, a copy of the same bytes at 50.
    const std::uint32_t out =
        unified_memory_ ? result : builder_.add_buffer(Home::kArena, bytes, name);
    if (out != result) builder_.add_copy(out, result);
    results_[t] = {dims, result, checks};
    return out;
  }

  // What is a node's.
  Result<std::uint32_t> buffer_of(const BufferRef& ref, const model::Node& n,
                                  const std::string& name) {
    const auto inputs = model_.inputs_of(n);
    const auto consts = model_.consts_of(n);
    if (ref.kind == BufferKind::kInput && ref.index < inputs.size()) {
      return tensor(inputs[ref.index]);
    }
    if (ref.kind == BufferKind::kOutput) return tensor(n.output);
    if (ref.kind == BufferKind::kConst && ref.index < consts.size()) {
      return constant(consts[ref.index]);
    }
    return wrong_reference(name);
  }

  Status add_group(const NodeGroup& group) {
    const model::Node& last = *group.nodes.back();
    const std::string name = "node " + std::string(model_.string(last.name));
    const std::uint32_t t = last.output;
    auto resolve = [&](const BufferRef& ref) -> Result<std::uint32_t> {
      if (ref.kind == BufferKind::kBytesIn) return picture_;
      if (is_result(ref)) {
        const bool bytes = ref.kind == BufferKind::kBytesOut;
        return add_result(t, shapes_[t], group.lowered.dispatches.back(),
                          name_of(t) + (bytes ? " as bytes" : " as floats"));
      }
      if (ref.kind == BufferKind::kOutput) return tensor(t);
      if (ref.node >= group.nodes.size()) return wrong_reference(name);
      return buffer_of(ref, *group.nodes[ref.node], name);
    };
    return builder_.add(group.lowered, resolve, name);
  }

  Status add_node(const model::Node& n, const Lowering& lowering) {
    auto lowered = lowering.node(lower_request(model_, shapes_, traits_, n));
    const std::string name = "node " + std::string(model_.string(n.name));
    if (!lowered) {
      Error e = std::move(lowered).error();
      e.message = name + ": " + e.message;
      return e;
    }
    auto resolve = [&](const BufferRef& ref) { return buffer_of(ref, n, name); };
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
  struct ResultOut {
    Dims dims;
    std::uint32_t buffer;
    std::uint32_t checks;  // as PlannedOutput
  };
  std::map<std::uint32_t, ResultOut> results_;  // by tensor
};

}  // namespace

Result<PlannedGraph> plan_graph(const Model::State& model, const InputShape& input,
                                const Table& table, const DeviceCaps& caps,
                                const SelectRules& rules, const std::vector<Form>& forms,
                                const WeightLayout& weights, const ImageNeeds& needs,
                                const Lowering& lowering, const PlanWish& wish) {
  auto shapes = tensor_shapes(model, input);
  if (!shapes) return std::move(shapes).error();
  return Planner(model, *std::move(shapes), table, caps, rules, forms, weights, needs)
      .run(lowering, wish);
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
                   "there is no variant \"" + printable(variant) + "\"; they are " + names};
    }
    return std::vector<Form>{*form};
  }
  if (caps.type == "cpu") return std::vector<Form>{kFp32};
  return std::vector<Form>{kFp16s, kFp16p};
}

}  // namespace spirkiln
