// SPDX-License-Identifier: Apache-2.0
#include "pack_writer.hpp"

#include "const_writer.hpp"
#include "expr_writer.hpp"
#include "pack_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <span>

#include "table/checksum.hpp"

namespace spirkiln::packer {
namespace {

static_assert(std::endian::native == std::endian::little, "packs are written little-endian");

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph), exprs_(graph.syms) { strings_.push_back(0); }

  std::vector<std::uint8_t> run(const PackOptions& options);

 private:
  std::uint32_t string(const std::string& s);
  std::uint32_t tensor(int index);
  std::uint32_t add_floats(const std::string& name, const std::vector<float>& lanes);
  std::uint32_t add_weights(const std::string& name, const WeightBlock& block);
  std::uint64_t append(const void* bytes, std::size_t size);
  void add_node(const Node& n);
  void scaled(const Node& n, const Weights& w, const WeightBlock& block,
              const std::vector<double>& scale, const std::vector<double>& bias, int channels,
              std::vector<std::uint32_t>* consts);
  float number(const Node& n, double v, const char* what) const;

  const Graph& graph_;
  ExprWriter exprs_;
  std::vector<char> strings_;
  std::map<std::string, std::uint32_t> known_strings_;
  std::vector<model::Constraint> constraints_;
  std::vector<model::Tensor> tensors_;
  std::map<int, std::uint32_t> tensor_index_;
  std::vector<model::Node> nodes_;
  std::vector<std::uint32_t> refs_;
  std::vector<model::Const> consts_;
  std::vector<std::uint8_t> data_;
};

std::uint32_t Writer::string(const std::string& s) {
  if (s.empty()) return 0;
  // Names are for messages; one that is longer than readers allow is cut between two characters.
  std::size_t size = std::min({s.size(), s.find('\0'), std::size_t{model::kMaxStringBytes}});
  if (size == model::kMaxStringBytes && size < s.size()) {
    while (size > 0 && (static_cast<unsigned char>(s[size]) & 0xc0) == 0x80) --size;
  }
  const std::string clean = s.substr(0, size);
  const auto [it, fresh] =
      known_strings_.try_emplace(clean, static_cast<std::uint32_t>(strings_.size()));
  if (fresh) strings_.insert(strings_.end(), clean.c_str(), clean.c_str() + clean.size() + 1);
  return it->second;
}

std::uint32_t Writer::tensor(int index) {
  const auto it = tensor_index_.find(index);
  if (it != tensor_index_.end()) return it->second;
  const Tensor& t = graph_.tensors[static_cast<std::size_t>(index)];
  model::Tensor out{};
  out.name = string(t.name);
  for (std::size_t d = 0; d < 4; ++d) out.dim[d] = exprs_.add(t.dims[d]);
  tensors_.push_back(out);
  return tensor_index_[index] = static_cast<std::uint32_t>(tensors_.size() - 1);
}

std::uint64_t Writer::append(const void* bytes, std::size_t size) {
  const std::uint64_t at = data_.size();
  const auto* b = static_cast<const std::uint8_t*>(bytes);
  data_.insert(data_.end(), b, b + size);
  data_.resize((data_.size() + 15) / 16 * 16, 0);
  return at;
}

std::uint32_t Writer::add_floats(const std::string& name, const std::vector<float>& lanes) {
  model::Const c{};
  c.name = string(name);
  c.type = model::ConstType::kFloat32;
  c.elements = lanes.size();
  c.offset = append(lanes.data(), lanes.size() * sizeof(float));
  consts_.push_back(c);
  return static_cast<std::uint32_t>(consts_.size() - 1);
}

std::uint32_t Writer::add_weights(const std::string& name, const WeightBlock& block) {
  const HalfPlanes planes = to_half_pair(block.values);
  model::Const c{};
  c.name = string(name);
  c.type = model::ConstType::kHalfPair;
  c.elements = planes.hi.size();
  c.offset = append(planes.hi.data(), planes.hi.size() * 2);
  c.lo_offset = append(planes.lo.data(), planes.lo.size() * 2);
  consts_.push_back(c);
  return static_cast<std::uint32_t>(consts_.size() - 1);
}

void Writer::scaled(const Node& n, const Weights& w, const WeightBlock& block,
                    const std::vector<double>& scale, const std::vector<double>& bias, int channels,
                    std::vector<std::uint32_t>* consts) {
  std::vector<double> full(static_cast<std::size_t>(channels));
  for (std::size_t c = 0; c < full.size(); ++c) {
    full[c] = scale[scale.size() == 1 ? 0 : c] * block.inverse[c];
  }
  consts->push_back(add_weights(w.name, block));
  consts->push_back(add_floats(n.name + " scale", to_lanes(n, full, channels, "scale")));
  consts->push_back(add_floats(n.name + " bias", to_lanes(n, bias, channels, "bias")));
}

float Writer::number(const Node& n, double v, const char* what) const {
  const auto f = static_cast<float>(v);
  if (!std::isfinite(f)) {
    throw PackError(ErrorCode::kNotFinite,
                    fmt::format("node '{}' ({}): its {} becomes {}", n.name, n.op_type, what, f));
  }
  return f;
}

void Writer::add_node(const Node& n) {
  model::Node out{};
  out.name = string(n.name);
  out.flags = (n.has_residual ? model::kHasResidual : 0u) |
              (n.has_residual && n.residual_before ? model::kResidualBefore : 0u);
  out.epilogue = {n.act, number(n, n.act_a, "activation"), number(n, n.act_b, "activation"),
                  number(n, n.post_scale, "factor"), number(n, n.post_bias, "offset")};
  std::vector<std::uint32_t> consts;
  const auto window = [&] {
    const ConvParams& p = n.conv;
    const int values[10] = {p.kernel_h, p.kernel_w,   p.stride_h,  p.stride_w,   p.pad_top,
                            p.pad_left, p.pad_bottom, p.pad_right, p.dilation_h, p.dilation_w};
    for (int i = 0; i < 10; ++i) out.i[i] = values[i];
  };
  const auto channels = [&] {
    out.i[10] = n.channels_in;
    out.i[11] = n.channels_out;
  };
  switch (n.kind) {
    case Kind::kConv:
      out.op = model::Op::kConv;
      window();
      channels();
      scaled(n, n.weights, conv_weights(n), n.scale, n.bias, n.channels_out, &consts);
      break;
    case Kind::kDepthwise:
      out.op = model::Op::kDepthwise;
      window();
      channels();
      scaled(n, n.weights, depthwise_weights(n), n.scale, n.bias, n.channels_out, &consts);
      break;
    case Kind::kDeconv:
      out.op = model::Op::kDeconv;
      window();
      channels();
      scaled(n, n.weights, deconv_weights(n), n.scale, n.bias, n.channels_out, &consts);
      break;
    case Kind::kMaxPool:
    case Kind::kAvgPool:
      out.op = n.kind == Kind::kMaxPool ? model::Op::kMaxPool : model::Op::kAvgPool;
      window();
      out.i[8] = n.count_include_pad ? 1 : 0;
      out.i[9] = 0;
      break;
    case Kind::kGlobalMean:
      out.op = model::Op::kGlobalMean;
      break;
    case Kind::kSqueezeExcite:
      out.op = model::Op::kSqueezeExcite;
      channels();
      out.i[12] = n.channels_mid;
      out.i[13] = static_cast<std::int32_t>(n.mid_act);
      out.f[0] = number(n, n.mid_a, "activation");
      out.f[1] = number(n, n.mid_b, "activation");
      scaled(n, n.weights, fc_weights(n.weights.values, n.channels_in, n.channels_mid), n.scale,
             n.bias, n.channels_mid, &consts);
      scaled(n, n.weights2, fc_weights(n.weights2.values, n.channels_mid, n.channels_out), n.scale2,
             n.bias2, n.channels_out, &consts);
      break;
    case Kind::kBinary:
      out.op = model::Op::kBinary;
      out.i[0] = static_cast<std::int32_t>(n.binary);
      break;
    case Kind::kAffine: {
      out.op = model::Op::kAffine;
      const auto c =
          static_cast<int>(*graph_.tensors[static_cast<std::size_t>(n.output)].dims[kC].constant());
      consts.push_back(add_floats(n.name + " scale", to_lanes(n, n.scale, c, "scale")));
      consts.push_back(add_floats(n.name + " bias", to_lanes(n, n.bias, c, "bias")));
      break;
    }
    case Kind::kResize:
      out.op = model::Op::kResize;
      out.i[0] = n.factor_h;
      out.i[1] = n.factor_w;
      break;
    case Kind::kConcat:
      out.op = model::Op::kConcat;
      out.i[0] = static_cast<std::int32_t>(n.inputs.size());
      break;
    case Kind::kLayerNorm: {
      out.op = model::Op::kLayerNorm;
      out.f[0] = number(n, n.epsilon, "epsilon");
      const auto c = static_cast<int>(n.scale.size());
      consts.push_back(add_floats(n.name + " gamma", to_lanes(n, n.scale, c, "gamma")));
      consts.push_back(add_floats(n.name + " beta", to_lanes(n, n.bias, c, "beta")));
      break;
    }
    case Kind::kAttention:
      out.op = model::Op::kAttention;
      out.i[0] = n.heads;
      out.i[1] = n.head_dim;
      out.f[0] = number(n, n.score_factor, "score factor");
      break;
    case Kind::kSoftmax:
      out.op = model::Op::kSoftmax;
      break;
    default:
      fail_unsupported(fmt::format("node '{}' ({}) has no packed form", n.name, n.op_type));
  }
  out.first_input = static_cast<std::uint32_t>(refs_.size());
  out.input_count = static_cast<std::uint32_t>(n.inputs.size());
  for (const int t : n.inputs) refs_.push_back(tensor(t));
  out.first_const = static_cast<std::uint32_t>(refs_.size());
  out.const_count = static_cast<std::uint32_t>(consts.size());
  refs_.insert(refs_.end(), consts.begin(), consts.end());
  out.output = tensor(n.output);
  nodes_.push_back(out);
}

std::vector<std::uint8_t> Writer::run(const PackOptions& options) {
  model::ModelHeader header{};
  std::memcpy(header.magic, model::kMagic, sizeof header.magic);
  header.version = model::kVersion;
  header.header_bytes = sizeof header;
  header.name = string(options.name);
  header.producer = string("spirkiln-model " SPIRKILN_VERSION);
  for (std::size_t c = 0; c < 3; ++c) {
    header.input_scale[c] = static_cast<float>(1 / (255 * options.std[c]));
    header.input_shift[c] = static_cast<float>(0 - options.mean[c] / options.std[c]);
  }
  header.input_tensor = tensor(graph_.input);
  for (const Node& n : graph_.nodes) add_node(n);
  std::vector<std::uint32_t> outputs;
  for (const int t : graph_.outputs) outputs.push_back(tensor(t));
  for (const Requirement& r : graph_.requirements) {
    constraints_.push_back({exprs_.add(r.a), exprs_.add(r.b), string(r.message)});
  }

  std::vector<std::uint8_t> bytes(sizeof header, 0);
  const auto section = [&](const auto& items) {
    using Item = typename std::decay_t<decltype(items)>::value_type;
    bytes.resize((bytes.size() + 15) / 16 * 16, 0);
    model::Section s{bytes.size(), static_cast<std::uint32_t>(items.size()), sizeof(Item)};
    if (items.size() > UINT32_MAX) fail_unsupported("a section of the pack becomes too large");
    const auto* raw = reinterpret_cast<const std::uint8_t*>(items.data());
    bytes.insert(bytes.end(), raw, raw + items.size() * sizeof(Item));
    return s;
  };
  header.strings = section(strings_);
  header.exprs = section(exprs_.exprs());
  header.constraints = section(constraints_);
  header.tensors = section(tensors_);
  header.nodes = section(nodes_);
  header.refs = section(refs_);
  header.outputs = section(outputs);
  // The data comes last; constants count their offsets from the start of the pack.
  const std::size_t consts_at = (bytes.size() + 15) / 16 * 16;
  const std::size_t data_at = (consts_at + consts_.size() * sizeof(model::Const) + 15) / 16 * 16;
  for (model::Const& c : consts_) {
    c.offset += data_at;
    if (c.type == model::ConstType::kHalfPair) c.lo_offset += data_at;
  }
  header.consts = section(consts_);
  header.data = section(data_);
  if (header.data.offset != data_at) fail_corrupt("internal error: the data moved");
  header.total_bytes = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof header);
  header.checksum = file_checksum<model::ModelHeader>(std::as_bytes(std::span(bytes)));
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

}  // namespace

std::vector<std::uint8_t> write_pack(const Graph& graph, const PackOptions& options) {
  return Writer(graph).run(options);
}

}  // namespace spirkiln::packer
