// SPDX-License-Identifier: Apache-2.0
#include "pack_builder.hpp"

#include <cstring>

#include "graph/half.hpp"
#include "table_writer.hpp"

namespace spirkiln::test {

using namespace model;

PackBuilder::PackBuilder() {
  for (int i = 0; i < 3; ++i) expr(ExprOp::kInput, i, 0);
  tensor(n(), h(), w(), 3);
}

std::uint32_t PackBuilder::expr(ExprOp op, std::int32_t a, std::int32_t b) {
  exprs_.push_back({op, a, b});
  return static_cast<std::uint32_t>(exprs_.size() - 1);
}

std::uint32_t PackBuilder::windows(std::uint32_t size, int pad, int reach, int stride) {
  const std::uint32_t room = op(ExprOp::kAdd, size, num(pad - reach));
  return op(ExprOp::kAdd, op(ExprOp::kFloorDiv, room, num(stride)), num(1));
}

std::uint32_t PackBuilder::string(const std::string& text) {
  const auto offset = static_cast<std::uint32_t>(strings_.size());
  strings_.insert(strings_.end(), text.c_str(), text.c_str() + text.size() + 1);
  return offset;
}

void PackBuilder::constraint(std::uint32_t a, std::uint32_t b, const std::string& message) {
  constraints_.push_back({a, b, string(message)});
}

std::uint32_t PackBuilder::tensor(std::uint32_t n, std::uint32_t h, std::uint32_t w,
                                  std::int32_t c) {
  const auto index = static_cast<std::uint32_t>(tensors_.size());
  tensors_.push_back({string("t" + std::to_string(index)), {n, h, w, num(c)}});
  return index;
}

std::uint64_t PackBuilder::append(const void* bytes, std::size_t size) {
  const std::uint64_t at = data_.size();
  const auto* p = static_cast<const std::byte*>(bytes);
  data_.insert(data_.end(), p, p + size);
  data_.resize((data_.size() + 15) / 16 * 16);
  return at;
}

std::uint32_t PackBuilder::floats(const std::vector<float>& values) {
  Const c{};
  c.name = string("c" + std::to_string(consts_.size()));
  c.type = ConstType::kFloat32;
  c.elements = values.size();
  c.offset = append(values.data(), values.size() * 4);
  consts_.push_back(c);
  return static_cast<std::uint32_t>(consts_.size() - 1);
}

std::uint32_t PackBuilder::weights(const std::vector<float>& values) {
  std::vector<std::uint16_t> hi, lo;
  for (const float v : values) {
    hi.push_back(float_to_half(v));
    lo.push_back(float_to_half((v - half_to_float(hi.back())) * 0x1p12f));
  }
  Const c{};
  c.name = string("w" + std::to_string(consts_.size()));
  c.type = ConstType::kHalfPair;
  c.elements = values.size();
  c.offset = append(hi.data(), hi.size() * 2);
  c.lo_offset = append(lo.data(), lo.size() * 2);
  consts_.push_back(c);
  return static_cast<std::uint32_t>(consts_.size() - 1);
}

Node& PackBuilder::node(Op op, std::uint32_t output, const std::vector<std::uint32_t>& inputs,
                        const std::vector<std::uint32_t>& consts,
                        const std::vector<std::int32_t>& attributes) {
  Node n{};
  n.op = op;
  n.name = string("n" + std::to_string(nodes_.size()));
  n.output = output;
  n.first_input = static_cast<std::uint32_t>(refs_.size());
  n.input_count = static_cast<std::uint32_t>(inputs.size());
  refs_.insert(refs_.end(), inputs.begin(), inputs.end());
  n.first_const = static_cast<std::uint32_t>(refs_.size());
  n.const_count = static_cast<std::uint32_t>(consts.size());
  refs_.insert(refs_.end(), consts.begin(), consts.end());
  n.epilogue.post_scale = 1;
  for (std::size_t i = 0; i < attributes.size(); ++i) n.i[i] = attributes[i];
  nodes_.push_back(n);
  return nodes_.back();
}

std::vector<std::byte> PackBuilder::build() const {
  ModelHeader h{};
  std::memcpy(h.magic, kMagic, sizeof kMagic);
  h.version = kVersion;
  h.header_bytes = sizeof h;
  for (int i = 0; i < 3; ++i) h.input_scale[i] = 1.0f / 255;
  std::vector<std::byte> out(sizeof h);
  auto put = [&](const auto& items) {
    while (out.size() % 16 != 0) out.push_back(std::byte{0});
    const Section s{out.size(), static_cast<std::uint32_t>(items.size()),
                    static_cast<std::uint32_t>(sizeof(items[0]))};
    const auto* p = reinterpret_cast<const std::byte*>(items.data());
    out.insert(out.end(), p, p + items.size() * sizeof(items[0]));
    return s;
  };
  h.strings = put(strings_);
  h.exprs = put(exprs_);
  h.constraints = put(constraints_);
  h.tensors = put(tensors_);
  h.nodes = put(nodes_);
  h.refs = put(refs_);
  h.outputs = put(outputs_);
  std::vector<Const> consts = consts_;
  const std::uint64_t data_at =
      ((out.size() + 15) / 16 * 16 + consts.size() * sizeof(Const) + 15) / 16 * 16;
  for (Const& c : consts) {
    c.offset += data_at;
    if (c.type == ConstType::kHalfPair) c.lo_offset += data_at;
  }
  h.consts = put(consts);
  h.data = put(data_);
  std::memcpy(out.data(), &h, sizeof h);
  reseal_pack(out);
  return out;
}

std::vector<float> ramp(std::size_t n) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<float>(i % 17) / 20.0f - 0.4f;
  return v;
}

PackBuilder mixed_graph() {
  PackBuilder b;
  const auto h2 = b.windows(b.h(), 2, 3, 2), w2 = b.windows(b.w(), 2, 3, 2);
  const auto a = b.tensor(b.n(), h2, w2, 6);
  b.node(Op::kConv, a, {b.input()},
         {b.weights(ramp(9 * 4 * 8)), b.floats(ramp(8)), b.floats(ramp(8))},
         {3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 3, 6})
      .epilogue.act = Activation::kHardSwish;
  const auto d = b.tensor(b.n(), h2, w2, 6);
  b.node(Op::kDepthwise, d, {a, a}, {b.weights(ramp(9 * 8)), b.floats(ramp(8)), b.floats(ramp(8))},
         {3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 6, 6})
      .flags = kHasResidual;
  const auto m = b.tensor(b.n(), b.num(1), b.num(1), 6);
  b.node(Op::kGlobalMean, m, {d});
  const auto g = b.tensor(b.n(), b.num(1), b.num(1), 6);
  b.node(Op::kSqueezeExcite, g, {m},
         {b.weights(ramp(8 * 4)), b.floats(ramp(4)), b.floats(ramp(4)), b.weights(ramp(4 * 8)),
          b.floats(ramp(8)), b.floats(ramp(8))},
         {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 6, 2, 1});
  const auto s = b.tensor(b.n(), h2, w2, 6);
  b.node(Op::kBinary, s, {d, g}, {}, {2});
  const auto c = b.tensor(b.n(), h2, w2, 12);
  b.node(Op::kConcat, c, {s, d}, {}, {2});
  const auto f = b.tensor(b.n(), h2, w2, 12);
  b.node(Op::kAffine, f, {c}, {b.floats(ramp(12)), b.floats(ramp(12))});
  const auto l = b.tensor(b.n(), h2, w2, 12);
  b.node(Op::kLayerNorm, l, {f}, {b.floats(ramp(12)), b.floats(ramp(12))}).f[0] = 1e-5f;
  const auto r =
      b.tensor(b.n(), b.op(ExprOp::kMul, h2, b.num(2)), b.op(ExprOp::kMul, w2, b.num(2)), 12);
  b.node(Op::kResize, r, {l}, {}, {2, 2});
  const auto o =
      b.tensor(b.n(), b.op(ExprOp::kMul, h2, b.num(2)), b.op(ExprOp::kMul, w2, b.num(2)), 12);
  b.node(Op::kSoftmax, o, {r});
  b.constraint(b.op(ExprOp::kMax, b.h(), b.num(2)), b.h(), "at least two rows");
  b.output(o);
  b.output(g);
  return b;
}

}  // namespace spirkiln::test
