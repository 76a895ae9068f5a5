// SPDX-License-Identifier: Apache-2.0
// What a pack holds, as text and as JSON.
#include "model.hpp"
#include "pack_check.hpp"

#include <fmt/format.h>

namespace spirkiln::packer {
namespace {

using model::ExprOp;

class Dumper {
 public:
  explicit Dumper(const PackContents& pack) : pack_(pack) {
    // Expressions only refer to earlier ones; a cap keeps the text of shared ones from exploding.
    for (const auto& e : pack.exprs) texts_.push_back(expr_text(e));
  }

  std::string shape(std::uint32_t tensor) const {
    const auto& d = pack_.tensors[tensor].dim;
    return fmt::format("{} x {} x {} x {}", texts_[d[0]], texts_[d[1]], texts_[d[2]], texts_[d[3]]);
  }
  const std::string& expr(std::uint32_t i) const { return texts_[i]; }
  std::string tensor_name(std::uint32_t i) const { return pack_.string(pack_.tensors[i].name); }

  // The numbers of a node that matter for its operator, as "key value" pairs.
  std::vector<std::pair<std::string, std::string>> details(const model::Node& n) const {
    std::vector<std::pair<std::string, std::string>> out;
    const auto add = [&](const char* key, std::string value) {
      out.emplace_back(key, std::move(value));
    };
    const auto& i = n.i;
    const bool conv = n.op == model::Op::kConv || n.op == model::Op::kDepthwise;
    const bool pool = n.op == model::Op::kMaxPool || n.op == model::Op::kAvgPool;
    if (conv || pool || n.op == model::Op::kDeconv) {
      add("kernel", fmt::format("{}x{}", i[0], i[1]));
      add("stride", fmt::format("{}x{}", i[2], i[3]));
    }
    if (conv || pool) add("pads", fmt::format("{},{},{},{}", i[4], i[5], i[6], i[7]));
    if (conv && (i[8] != 1 || i[9] != 1)) add("dilation", fmt::format("{}x{}", i[8], i[9]));
    if (n.op == model::Op::kAvgPool) add("counts_padding", fmt::format("{}", i[8]));
    if (conv || n.op == model::Op::kDeconv) add("channels", fmt::format("{}->{}", i[10], i[11]));
    if (n.op == model::Op::kSqueezeExcite) {
      add("channels", fmt::format("{}->{}->{}", i[10], i[12], i[11]));
      add("middle", activation_name(static_cast<model::Activation>(i[13])));
    }
    if (n.op == model::Op::kBinary) {
      static const char* const names[] = {"add", "sub", "mul", "div"};
      add("op", names[i[0]]);
    }
    if (n.op == model::Op::kResize) add("factor", fmt::format("{}x{}", i[0], i[1]));
    if (n.op == model::Op::kLayerNorm) add("epsilon", fmt::format("{}", n.f[0]));
    if (n.op == model::Op::kAttention) {
      add("heads", fmt::format("{}", i[0]));
      add("dim", fmt::format("{}", i[1]));
      add("factor", fmt::format("{}", n.f[0]));
    }
    const auto& e = n.epilogue;
    if (e.act != model::Activation::kNone) {
      std::string text = activation_name(e.act);
      if (e.act == model::Activation::kClip || e.act == model::Activation::kHardSigmoid ||
          e.act == model::Activation::kHardSwish) {
        text += fmt::format("({}, {})", e.a, e.b);
      }
      add("act", text);
    }
    if (e.post_scale != 1) add("post_scale", fmt::format("{}", e.post_scale));
    if (e.post_bias != 0) add("post_bias", fmt::format("{}", e.post_bias));
    if ((n.flags & model::kHasResidual) != 0) {
      add("residual", (n.flags & model::kResidualBefore) != 0 ? "before" : "after");
    }
    return out;
  }

 private:
  std::string expr_text(const model::Expr& e) const {
    const auto arg = [&](std::int32_t x) { return texts_[static_cast<std::size_t>(x)]; };
    const auto binary = [&](const char* sign) {
      return fmt::format("({} {} {})", arg(e.a), sign, arg(e.b));
    };
    std::string text;
    switch (e.op) {
      case ExprOp::kConst:
        text = fmt::format("{}", e.a);
        break;
      case ExprOp::kInput:
        text = std::string(1, "NHW"[e.a]);
        break;
      case ExprOp::kAdd:
        text = binary("+");
        break;
      case ExprOp::kSub:
        text = binary("-");
        break;
      case ExprOp::kMul:
        text = binary("*");
        break;
      case ExprOp::kFloorDiv:
        text = fmt::format("floor({} / {})", arg(e.a), arg(e.b));
        break;
      case ExprOp::kCeilDiv:
        text = fmt::format("ceil({} / {})", arg(e.a), arg(e.b));
        break;
      case ExprOp::kExactDiv:
        text = fmt::format("exact({} / {})", arg(e.a), arg(e.b));
        break;
      case ExprOp::kMin:
        text = fmt::format("min({}, {})", arg(e.a), arg(e.b));
        break;
      case ExprOp::kMax:
        text = fmt::format("max({}, {})", arg(e.a), arg(e.b));
        break;
    }
    return text.size() <= 200 ? text : fmt::format("e{}", texts_.size());
  }

  const PackContents& pack_;
  std::vector<std::string> texts_;
};

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char ch : s) {
    const auto u = static_cast<unsigned char>(ch);
    if (ch == '"' || ch == '\\') {
      out += '\\';
      out += ch;
    } else if (u < 0x20) {
      out += fmt::format("\\u{:04x}", u);
    } else {
      out += ch;
    }
  }
  return out + "\"";
}

// Names may stand in many places, so a small pack can have a long text.
constexpr std::size_t kMaxText = std::size_t{128} << 20;

Error too_long() {
  return Error{ErrorCode::kUnsupported,
               fmt::format("what it holds takes more than {} bytes to print", kMaxText)};
}

const char* const_type(const model::Const& c) {
  return c.type == model::ConstType::kHalfPair ? "half pair" : "float32";
}

}  // namespace

Result<std::string> dump_text(const std::vector<std::uint8_t>& bytes) {
  const auto opened = open_pack(bytes);
  if (!opened) return opened.error();
  const PackContents& pack = *opened;
  const Dumper d(pack);
  const auto& h = pack.header;
  std::string out;
  const auto line = [&]<typename... T>(fmt::format_string<T...> f, T&&... args) {
    out += fmt::format(f, std::forward<T>(args)...) + "\n";
  };
  line("pack       {}, version {}, {} bytes, by {}", pack.string(h.name), h.version, h.total_bytes,
       pack.string(h.producer));
  line("input      {} ({}), scale {} {} {}, shift {} {} {}", d.tensor_name(h.input_tensor),
       d.shape(h.input_tensor), h.input_scale[0], h.input_scale[1], h.input_scale[2],
       h.input_shift[0], h.input_shift[1], h.input_shift[2]);
  for (const std::uint32_t t : pack.outputs)
    line("output     {} ({})", d.tensor_name(t), d.shape(t));
  for (const auto& c : pack.constraints) {
    line("requires   {} = {}: {}", d.expr(c.a), d.expr(c.b), pack.string(c.message));
    if (out.size() > kMaxText) return too_long();
  }
  line("{} nodes, {} tensors, {} constants, {} expressions", pack.nodes.size(), pack.tensors.size(),
       pack.consts.size(), pack.exprs.size());
  for (std::size_t i = 0; i < pack.nodes.size(); ++i) {
    const auto& n = pack.nodes[i];
    std::string text = fmt::format("{:4} {:14} {}", i, op_name(n.op), pack.string(n.name));
    for (const auto& [key, value] : d.details(n)) text += fmt::format(" {}={}", key, value);
    line("{}", text);
    for (std::uint32_t k = 0; k < n.input_count; ++k) {
      const std::uint32_t t = pack.refs[n.first_input + k];
      line("       <- {} ({})", d.tensor_name(t), d.shape(t));
    }
    line("       -> {} ({})", d.tensor_name(n.output), d.shape(n.output));
    for (std::uint32_t k = 0; k < n.const_count; ++k) {
      const auto& c = pack.consts[pack.refs[n.first_const + k]];
      line("        : {} [{}] {}", pack.string(c.name), c.elements, const_type(c));
    }
    if (out.size() > kMaxText) return too_long();
  }
  return out;
}

Result<std::string> dump_json(const std::vector<std::uint8_t>& bytes) {
  const auto opened = open_pack(bytes);
  if (!opened) return opened.error();
  const PackContents& pack = *opened;
  const Dumper d(pack);
  const auto& h = pack.header;
  const auto tensor = [&](std::uint32_t t) {
    const auto& dim = pack.tensors[t].dim;
    return fmt::format("{{\"name\":{},\"shape\":[{},{},{},{}]}}", quoted(d.tensor_name(t)),
                       quoted(d.expr(dim[0])), quoted(d.expr(dim[1])), quoted(d.expr(dim[2])),
                       quoted(d.expr(dim[3])));
  };
  // Cut where it is too long already.
  const auto list = [](std::size_t count, const auto& item) {
    std::string out = "[";
    for (std::size_t i = 0; i < count && out.size() <= kMaxText; ++i) {
      out += (i == 0 ? "" : ",") + item(i);
    }
    return out + "]";
  };
  std::string out = fmt::format(
      "{{\"name\":{},\"producer\":{},\"version\":{},\"bytes\":{},\"input\":{},\"input_scale\":[{},{"
      "},"
      "{}],\"input_shift\":[{},{},{}]",
      quoted(pack.string(h.name)), quoted(pack.string(h.producer)), h.version, h.total_bytes,
      tensor(h.input_tensor), h.input_scale[0], h.input_scale[1], h.input_scale[2],
      h.input_shift[0], h.input_shift[1], h.input_shift[2]);
  out += ",\"outputs\":" +
         list(pack.outputs.size(), [&](std::size_t i) { return tensor(pack.outputs[i]); });
  out += ",\"constraints\":" + list(pack.constraints.size(), [&](std::size_t i) {
           const auto& c = pack.constraints[i];
           return fmt::format("{{\"a\":{},\"b\":{},\"message\":{}}}", quoted(d.expr(c.a)),
                              quoted(d.expr(c.b)), quoted(pack.string(c.message)));
         });
  out += ",\"nodes\":" + list(pack.nodes.size(), [&](std::size_t i) {
           const auto& n = pack.nodes[i];
           std::string text = fmt::format("{{\"op\":{},\"name\":{}", quoted(op_name(n.op)),
                                          quoted(pack.string(n.name)));
           for (const auto& [key, value] : d.details(n))
             text += fmt::format(",{}:{}", quoted(key), quoted(value));
           text += ",\"inputs\":" + list(n.input_count, [&](std::size_t k) {
                     return tensor(pack.refs[n.first_input + k]);
                   });
           text += ",\"output\":" + tensor(n.output);
           text +=
               ",\"constants\":" + list(n.const_count, [&](std::size_t k) {
                 const auto& c = pack.consts[pack.refs[n.first_const + k]];
                 return fmt::format("{{\"name\":{},\"elements\":{},\"type\":{}}}",
                                    quoted(pack.string(c.name)), c.elements, quoted(const_type(c)));
               });
           return text + "}";
         });
  if (out.size() > kMaxText) return too_long();
  return out + "}\n";
}

}  // namespace spirkiln::packer
