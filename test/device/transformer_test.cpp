// SPDX-License-Identifier: Apache-2.0
// A transformer's block in one step against its seven nodes in double precision.
#include <catch2/catch_test_macros.hpp>
#include <string>

#include "conv_case.hpp"
#include "matrices.hpp"

namespace spirkiln::test {
namespace {

using model::Op;

struct Shape {
  std::uint32_t lines, len, channels, hidden;
  std::int32_t heads;
  bool last_norm = false;
};

struct Block {
  std::vector<Case> nodes;
  oracle::Tensor want;

  Block(const Shape& s, const model::Epilogue& act, std::uint32_t seed) {
    const Dims x{s.lines, 1, s.len, s.channels};
    const auto between = static_cast<std::uint32_t>(s.heads * 16);
    Dims qkv = x, attended = x, hidden = x;
    qkv.c = 3 * between;
    attended.c = between;
    hidden.c = s.hidden;
    nodes = {norm(x, 1e-5f, seed),
             conv_case(Op::kConv, x, qkv.c, {}, seed + 1),
             attention(qkv, s.heads),
             conv_case(Op::kConv, attended, x.c, {}, seed + 2),
             norm(x, 1e-4f, seed + 3),
             conv_case(Op::kConv, x, s.hidden, {}, seed + 4),
             conv_case(Op::kConv, hidden, x.c, {}, seed + 5)};
    for (Case& n : nodes) n.node.epilogue = activations(false)[0];
    // Scores of a size where many rows weigh something.
    for (double& v : nodes[1].consts[1]) v *= 0.125;
    nodes[3].node.flags = nodes[6].node.flags = model::kHasResidual;
    nodes[5].node.epilogue = act;
    if (s.last_norm) {
      nodes.push_back(norm(x, 1e-3f, seed + 6));
      nodes[7].node.epilogue = activations(false)[0];
    }
    std::vector<oracle::Step> steps;
    for (const Case& n : nodes) steps.push_back({n.node, n.consts, n.output});
    want = oracle::run_transformer(steps, nodes[0].inputs[0]);
  }

  Result<Lowered> lower(const DeviceTraits& traits) const {
    const Dims& x = nodes[0].output;
    const auto request = [&](std::size_t i, std::vector<Dims> inputs) {
      return LowerRequest{nodes[i].node, std::move(inputs), nodes[i].output, traits};
    };
    TransformerNodes all{request(0, {x}),
                         request(1, {x}),
                         request(2, {nodes[1].output}),
                         request(3, {nodes[2].output, x}),
                         request(4, {x}),
                         request(5, {x}),
                         request(6, {nodes[5].output, x})};
    if (nodes.size() > 7) all.push_back(request(7, {x}));
    return lower_transformer(all);
  }

  // All nodes' data as one's: their constants one behind the other.
  Case bound() const {
    Case c;
    c.node = nodes.back().node;
    c.inputs = {nodes[0].inputs[0]};
    c.output = nodes[6].output;
    for (const Case& n : nodes) {
      c.consts.insert(c.consts.end(), n.consts.begin(), n.consts.end());
      c.const_is_weight.insert(c.const_is_weight.end(), n.const_is_weight.begin(),
                               n.const_is_weight.end());
    }
    return c;
  }
  Lowered rebound(Lowered lowered) const {
    for (BufferRef& ref : lowered.dispatches.at(0).buffers) {
      for (std::uint32_t i = 0; i < ref.node && ref.kind == BufferKind::kConst; i++) {
        ref.index += static_cast<std::uint32_t>(nodes[i].consts.size());
      }
      ref.node = 0;
    }
    return lowered;
  }

 private:
  static Case norm(const Dims& x, float epsilon, std::uint32_t seed) {
    Maker make(seed);
    Case c;
    c.node.op = Op::kLayerNorm;
    c.node.f[0] = epsilon;
    c.inputs = {make.tensor(x, 4)};
    c.consts = {make.vector(x.c, 0.5, 1.5), make.vector(x.c, -1, 1)};
    c.const_is_weight = {false, false};
    c.output = x;
    return c;
  }
  static Case attention(const Dims& qkv, std::int32_t heads) {
    Case c;
    c.node.op = Op::kAttention;
    c.node.i[0] = heads;
    c.node.i[1] = 16;
    c.node.f[0] = 0.25f;
    c.output = qkv;
    c.output.c = qkv.c / 3;
    return c;
  }
};

}  // namespace

TEST_CASE("matrices: a transformer's block", "[coopmat]") {
  need_matrices();
  // One row, lines that end within a block, whole blocks, several lines, channels of whole blocks
  // and of halves, more and fewer blocks of columns than heads.
  const Shape shapes[] = {{1, 1, 120, 240, 8},     {2, 13, 120, 240, 8}, {3, 40, 120, 240, 8},
                          {1, 48, 64, 136, 4},     {2, 60, 120, 240, 8}, {1, 64, 128, 256, 8},
                          {2, 33, 56, 40, 2},      {1, 17, 24, 16, 3},   {2, 40, 120, 240, 8, true},
                          {3, 17, 56, 40, 2, true}};
  const auto all = activations(true);
  std::uint32_t turn = 0;
  for (const Shape& s : shapes) {
    const Block block(s, all[turn % all.size()], 1700 + 10 * turn);
    for (const Form form : {kFp16p, kFp16s}) {
      if (runner(form) == nullptr) continue;
      INFO(form_name(form) << ", shape " << turn);
      const auto lowered = block.lower(matrix_traits());
      if (!lowered) FAIL(lowered.error().message);
      CHECK(lowered->dispatches.at(0).kernel == "transformer_coopmat");
      check_lowered(block.rebound(*lowered), block.bound(), block.want, form);
    }
    ++turn;
  }
}

TEST_CASE("what a transformer's block leaves to its nodes") {
  DeviceTraits traits = nvidia_matrices();
  const auto swish = activations(true).back();
  const Shape fits{2, 60, 120, 240, 8};
  const Block block(fits, swish, 1);
  CHECK(block.lower(traits).ok());
  const auto without = [&](auto&& change) {
    DeviceTraits other = traits;
    change(other);
    return block.lower(other).ok();
  };
  CHECK_FALSE(without([](DeviceTraits& t) { t.without = {"transformer_coopmat"}; }));
  CHECK_FALSE(without([](DeviceTraits& t) { t.matrix_m = 0; }));
  CHECK_FALSE(without([](DeviceTraits& t) { t.max_storage_buffers = 19; }));
  CHECK_FALSE(without([](DeviceTraits& t) { t.shared_bytes = 32768; }));
  CHECK_FALSE(without([](DeviceTraits& t) { t.max_invocations = 128; }));
  CHECK_FALSE(without([](DeviceTraits& t) { t.max_group_count[1] = 1; }));
  CHECK_FALSE(Block({1, 65, 120, 240, 8}, swish, 1).lower(traits).ok());  // a row too many
  CHECK_FALSE(Block({1, 8, 124, 240, 8}, swish, 1).lower(traits).ok());  // rows not of 16 bytes
  CHECK_FALSE(Block({1, 8, 8, 240, 1}, swish, 1).lower(traits).ok());  // less than a block
  const auto edited = [&](auto&& change) {
    Block other = block;
    change(other.nodes);
    return other.lower(traits).ok();
  };
  CHECK_FALSE(edited([](auto& n) { n[1].node.epilogue.act = model::Activation::kRelu; }));
  CHECK_FALSE(edited([](auto& n) { n[3].node.flags |= model::kResidualBefore; }));
  CHECK_FALSE(edited([](auto& n) { n[2].node.i[1] = 15; }));
  CHECK_FALSE(edited([](auto& n) { n[6].node.epilogue.post_scale = 2; }));
  CHECK_FALSE(edited([](auto& n) { n[5].node.i[0] = 3; }));
  CHECK_FALSE(edited([](auto& n) { n[4].node.op = Op::kSoftmax; }));
}

}  // namespace spirkiln::test
