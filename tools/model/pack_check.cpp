// SPDX-License-Identifier: Apache-2.0
#include "pack_check.hpp"

#include "pack_error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "table/checked_bytes.hpp"
#include "table/checksum.hpp"

namespace spirkiln::packer {
namespace {

using model::Op;

constexpr std::uint32_t kLastOp = static_cast<std::uint32_t>(Op::kSoftmax);
constexpr std::uint32_t kLastActivation = static_cast<std::uint32_t>(model::Activation::kGelu);

template <typename T>
std::vector<T> load(std::span<const std::uint8_t> bytes, const model::Section& s, const char* what,
                    std::uint64_t most = UINT32_MAX) {
  if (s.count > most) {
    fail_corrupt(
        fmt::format("the {} section has {} entries, at most {} are allowed", what, s.count, most));
  }
  if (s.stride != sizeof(T)) {
    fail_corrupt(fmt::format("the {} section has entries of {} bytes, {} are expected", what,
                             s.stride, sizeof(T)));
  }
  const std::uint64_t size = std::uint64_t{s.count} * sizeof(T);
  if (s.offset > bytes.size() || size > bytes.size() - s.offset) {
    fail_corrupt(fmt::format("the {} section ends beyond the file", what));
  }
  std::vector<T> items(s.count);
  if (s.count != 0) std::memcpy(items.data(), bytes.data() + s.offset, size);
  return items;
}

// That none overlaps another: what is copied out of them is then no more than the file.
void check_sections(const model::ModelHeader& h) {
  std::vector<Stretch> places = {{0, sizeof h}};
  for (const model::Section& s : {h.strings, h.exprs, h.constraints, h.tensors, h.nodes, h.refs,
                                  h.consts, h.outputs, h.data}) {
    const std::uint64_t size = std::uint64_t{s.count} * s.stride;
    if (s.offset > UINT64_MAX - size) fail_corrupt("a section ends beyond the file");
    places.push_back({s.offset, s.offset + size});
  }
  if (overlap(std::move(places))) fail_corrupt("two sections overlap");
}

class Checker {
 public:
  explicit Checker(PackContents& pack) : pack_(pack) {}

  void run() {
    strings();
    exprs();
    for (const auto& c : pack_.constraints) {
      expr(c.a, "a constraint");
      expr(c.b, "a constraint");
      string(c.message, "a constraint");
    }
    for (const auto& t : pack_.tensors) {
      string(t.name, "a tensor");
      for (const std::uint32_t d : t.dim) expr(d, "a tensor");
      const auto& c = pack_.exprs[t.dim[3]];
      if (c.op != model::ExprOp::kConst || c.a < 1 || c.a > model::kMaxChannels) {
        fail_corrupt(
            fmt::format("tensor '{}' has no fixed number of channels", pack_.string(t.name)));
      }
    }
    if (pack_.header.input_tensor >= pack_.tensors.size()) fail_corrupt("it has no input tensor");
    if (channels(pack_.header.input_tensor) != 3) fail_corrupt("its input has no 3 channels");
    constants();
    nodes();
    string(pack_.header.name, "the header");
    string(pack_.header.producer, "the header");
  }

 private:
  void strings() const {
    const auto& s = pack_.strings;
    if (s.empty() || s.front() != '\0' || s.back() != '\0') {
      fail_corrupt("the string section does not begin and end with a NUL");
    }
  }
  void string(std::uint32_t offset, const char* owner) const {
    if (!string_in(pack_.strings, offset, model::kMaxStringBytes)) {
      fail_corrupt(fmt::format("{} has a name beyond the string section, or longer than {} bytes",
                               owner, model::kMaxStringBytes));
    }
  }
  void expr(std::uint32_t index, const char* owner) const {
    if (index >= pack_.exprs.size()) {
      fail_corrupt(fmt::format("{} names expression {} of {}", owner, index, pack_.exprs.size()));
    }
  }
  int channels(std::uint32_t tensor) const { return pack_.exprs[pack_.tensors[tensor].dim[3]].a; }

  void exprs() const {
    for (std::size_t i = 0; i < pack_.exprs.size(); ++i) {
      const auto& e = pack_.exprs[i];
      const auto op = static_cast<std::uint32_t>(e.op);
      const bool leaf = e.op == model::ExprOp::kConst || e.op == model::ExprOp::kInput;
      const auto earlier = [i](std::int32_t x) {
        return x >= 0 && static_cast<std::size_t>(x) < i;
      };
      const bool ok = op <= static_cast<std::uint32_t>(model::ExprOp::kMax) &&
                      (e.op != model::ExprOp::kInput || (e.a >= 0 && e.a < 3)) &&
                      (leaf || (earlier(e.a) && earlier(e.b)));
      if (!ok) fail_corrupt(fmt::format("expression {} is malformed", i));
    }
  }

  void constants() const {
    const auto& data = pack_.header.data;
    std::vector<Stretch> planes;
    for (const auto& c : pack_.consts) {
      string(c.name, "a constant");
      const bool half = c.type == model::ConstType::kHalfPair;
      if ((!half && c.type != model::ConstType::kFloat32) || c.elements == 0 ||
          c.elements % 4 != 0 || c.elements > data.count) {
        fail_corrupt(fmt::format("constant '{}' is malformed", pack_.string(c.name)));
      }
      const std::uint64_t size = (c.elements * (half ? 2 : 4) + 15) / 16 * 16;
      const auto plane = [&](std::uint64_t offset) {
        const bool inside = offset >= data.offset && offset - data.offset <= data.count &&
                            size <= data.count - (offset - data.offset);
        if (!inside || offset % 16 != 0) {
          fail_corrupt(fmt::format("constant '{}' lies outside the data or at an odd place",
                                   pack_.string(c.name)));
        }
        planes.push_back({offset, offset + size});
      };
      plane(c.offset);
      if (half) plane(c.lo_offset);
    }
    // Before their numbers are read: all of them together are then no more than the file.
    if (overlap(std::move(planes))) fail_corrupt("two constants overlap");
    for (const auto& c : pack_.consts) finite(c);
  }

  void finite(const model::Const& c) const {
    const bool half = c.type == model::ConstType::kHalfPair;
    for (std::uint64_t i = 0; i < c.elements; ++i) {
      bool finite = true;
      if (half) {
        for (const std::uint64_t at : {c.offset, c.lo_offset}) {
          std::uint16_t h = 0;
          std::memcpy(&h, pack_.bytes.data() + at + 2 * i, 2);
          finite = finite && (h & 0x7c00) != 0x7c00;
        }
      } else {
        float f = 0;
        std::memcpy(&f, pack_.bytes.data() + c.offset + 4 * i, 4);
        finite = std::isfinite(f);
      }
      if (!finite) {
        throw PackError(ErrorCode::kNotFinite, fmt::format("constant '{}' holds an infinity or NaN",
                                                           pack_.string(c.name)));
      }
    }
  }

  void nodes() {
    std::vector<bool> made(pack_.tensors.size(), false);
    made[pack_.header.input_tensor] = true;
    for (const auto& n : pack_.nodes) {
      string(n.name, "a node");
      const std::string where = fmt::format("node '{}'", pack_.string(n.name));
      const auto wrong = [&](const std::string& text) { fail_corrupt(where + ": " + text); };
      if (static_cast<std::uint32_t>(n.op) > kLastOp) wrong("unknown operator");
      if (static_cast<std::uint32_t>(n.epilogue.act) > kLastActivation) wrong("unknown activation");
      if ((n.flags & ~3u) != 0) wrong("unknown flags");
      if (n.input_count > model::kMaxNodeInputs || n.const_count > model::kMaxNodeConsts) {
        wrong(fmt::format("it has {} inputs and {} constants", n.input_count, n.const_count));
      }
      const std::uint64_t refs = pack_.refs.size();
      if (n.first_input > refs || n.input_count > refs - n.first_input || n.first_const > refs ||
          n.const_count > refs - n.first_const) {
        wrong("its inputs lie beyond the section");
      }
      for (std::uint32_t i = 0; i < n.input_count; ++i) {
        const std::uint32_t t = pack_.refs[n.first_input + i];
        if (t >= made.size() || !made[t]) wrong("it reads a tensor that is not made yet");
      }
      for (std::uint32_t i = 0; i < n.const_count; ++i) {
        if (pack_.refs[n.first_const + i] >= pack_.consts.size()) wrong("unknown constant");
      }
      if (n.output >= made.size() || made[n.output]) wrong("its output is made twice");
      made[n.output] = true;
      shape(n, wrong);
      for (const float f : {n.epilogue.a, n.epilogue.b, n.epilogue.post_scale, n.epilogue.post_bias,
                            n.f[0], n.f[1], n.f[2], n.f[3]}) {
        if (!std::isfinite(f)) wrong("a number is not finite");
      }
    }
    if (pack_.outputs.empty()) fail_corrupt("it has no output");
    for (const std::uint32_t t : pack_.outputs) {
      if (t >= made.size() || !made[t]) fail_corrupt("an output is made by no node");
    }
  }

  static std::uint64_t pad(std::int64_t c) { return static_cast<std::uint64_t>((c + 3) / 4 * 4); }

  template <typename Wrong>
  void shape(const model::Node& n, const Wrong& wrong) const {
    const std::uint32_t extra = (n.flags & model::kHasResidual) != 0 ? 1 : 0;
    std::uint32_t inputs = 1 + extra;
    if (n.op == Op::kBinary) inputs = 2 + extra;
    if (n.op == Op::kConcat) inputs = static_cast<std::uint32_t>(n.i[0]);
    if (n.input_count != inputs || n.input_count == 0) {
      wrong(fmt::format("it has {} inputs", n.input_count));
    }
    const auto in = [&](std::uint32_t i) { return channels(pack_.refs[n.first_input + i]); };
    const int out = channels(n.output);
    std::vector<std::uint64_t> sizes;
    const auto window = [&] {
      for (int k = 0; k < 4; ++k) {
        if (n.i[k] < 1 || n.i[k] > model::kMaxWindow) wrong("its window is malformed");
      }
      for (int k = 4; k < 8; ++k) {
        if (n.i[k] < 0 || n.i[k] > model::kMaxWindow) wrong("its padding is out of range");
      }
    };
    const std::uint64_t taps = static_cast<std::uint64_t>(std::max(n.i[0], 0)) *
                               static_cast<std::uint64_t>(std::max(n.i[1], 0));
    bool ok = true;
    switch (n.op) {
      case Op::kConv:
      case Op::kDepthwise:
        window();
        ok = n.i[10] == in(0) && n.i[11] == out && n.i[8] > 0 && n.i[9] > 0;
        sizes = {taps * (n.op == Op::kConv ? pad(n.i[10]) : 1) * pad(n.i[11]), pad(out), pad(out)};
        break;
      case Op::kDeconv:
        window();
        ok = n.i[10] == in(0) && n.i[11] == out;
        sizes = {taps * pad(n.i[10]) * pad(n.i[11]), pad(out), pad(out)};
        break;
      case Op::kMaxPool:
      case Op::kAvgPool:
        window();
        ok = in(0) == out;
        break;
      case Op::kSqueezeExcite:
        ok = n.i[10] == in(0) && n.i[11] == out && n.i[12] > 0 && n.i[12] <= model::kMaxChannels &&
             n.i[13] >= 0 && static_cast<std::uint32_t>(n.i[13]) <= kLastActivation;
        if (ok) {
          sizes = {pad(n.i[10]) * pad(n.i[12]), pad(n.i[12]), pad(n.i[12]),
                   pad(n.i[12]) * pad(n.i[11]), pad(out),     pad(out)};
        }
        break;
      case Op::kBinary:
        ok = n.i[0] >= 0 && n.i[0] <= 3 && in(0) == out;
        break;
      case Op::kAffine:
      case Op::kLayerNorm:
        ok = in(0) == out;
        sizes = {pad(out), pad(out)};
        break;
      case Op::kResize:
        ok = in(0) == out && n.i[0] > 0 && n.i[1] > 0;
        break;
      case Op::kConcat: {
        std::int64_t sum = 0;
        for (std::uint32_t i = 0; i < n.input_count; ++i) sum += in(i);
        ok = sum == out && n.input_count <= 8;
        break;
      }
      case Op::kAttention:
        ok = n.i[0] > 0 && n.i[1] > 0 && std::int64_t{n.i[0]} * n.i[1] == out &&
             in(0) == 3 * std::int64_t{out};
        break;
      case Op::kGlobalMean:
      case Op::kSoftmax:
        ok = in(0) == out;
        break;
    }
    if (!ok) wrong("its numbers do not fit its tensors");
    if (n.const_count != sizes.size()) wrong(fmt::format("it has {} constants", n.const_count));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto& c = pack_.consts[pack_.refs[n.first_const + i]];
      // Weights come first, and the second product of a squeeze-excite has its own.
      const bool weights = sizes.size() >= 3 && i % 3 == 0;
      if (c.elements != sizes[i] || (c.type == model::ConstType::kHalfPair) != weights) {
        wrong(fmt::format("its constant {} has another size or type than it needs", i));
      }
    }
  }

  PackContents& pack_;
};

}  // namespace

Status check_pack_head(std::span<const std::uint8_t> head, std::uint64_t size) {
  const auto corrupt = [](std::string text) { return Error{ErrorCode::kCorrupt, std::move(text)}; };
  model::ModelHeader h;
  if (head.size() < sizeof h) {
    return corrupt(fmt::format("this is no model pack: it has {} bytes", size));
  }
  std::memcpy(&h, head.data(), sizeof h);
  if (std::memcmp(h.magic, model::kMagic, sizeof h.magic) != 0) {
    return corrupt("this is no model pack: it does not begin with SPKMODEL");
  }
  if (h.version != model::kVersion || h.header_bytes != sizeof h) {
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("the pack has version {}, this program reads {}", h.version, model::kVersion)};
  }
  if (h.total_bytes != size) {
    return corrupt(
        fmt::format("the pack has {} bytes where its header says {}", size, h.total_bytes));
  }
  if (size > model::kMaxPackBytes) {
    return corrupt(
        fmt::format("the pack has {} bytes, at most {} are allowed", size, model::kMaxPackBytes));
  }
  return Ok{};
}

Result<PackContents> open_pack(std::span<const std::uint8_t> bytes) {
  if (const Status s = check_pack_head(bytes, bytes.size()); !s) return s.error();
  try {
    PackContents pack;
    pack.bytes = bytes;
    auto& h = pack.header;
    std::memcpy(&h, bytes.data(), sizeof h);
    if (file_checksum<model::ModelHeader>(std::as_bytes(bytes)) != h.checksum) {
      fail_corrupt("the pack is damaged: its checksum does not fit");
    }
    for (int c = 0; c < 3; ++c) {
      if (!std::isfinite(h.input_scale[c]) || !std::isfinite(h.input_shift[c])) {
        fail_corrupt("the input's normalisation is not finite");
      }
    }
    check_sections(h);
    pack.strings = load<char>(bytes, h.strings, "string");
    pack.exprs = load<model::Expr>(bytes, h.exprs, "expression", model::kMaxExprs);
    pack.constraints =
        load<model::Constraint>(bytes, h.constraints, "constraint", model::kMaxConstraints);
    pack.tensors = load<model::Tensor>(bytes, h.tensors, "tensor", model::kMaxTensors);
    pack.nodes = load<model::Node>(bytes, h.nodes, "node", model::kMaxNodes);
    pack.refs = load<std::uint32_t>(bytes, h.refs, "reference");
    pack.consts = load<model::Const>(bytes, h.consts, "constant", model::kMaxConsts);
    pack.outputs = load<std::uint32_t>(bytes, h.outputs, "output", model::kMaxOutputs);
    if (h.data.stride != 1 || h.data.offset > bytes.size() ||
        h.data.count > bytes.size() - h.data.offset) {
      fail_corrupt("the data section ends beyond the file");
    }
    Checker(pack).run();
    return pack;
  } catch (const PackError& e) {
    return e.error();
  }
}

const char* op_name(model::Op op) {
  static const char* const names[] = {
      "conv",   "depthwise", "deconv", "max_pool", "avg_pool",   "global_mean", "squeeze_excite",
      "binary", "affine",    "resize", "concat",   "layer_norm", "attention",   "softmax"};
  return names[static_cast<std::uint32_t>(op)];
}

const char* activation_name(model::Activation activation) {
  static const char* const names[] = {"none",       "relu",    "clip",  "hard_sigmoid",
                                      "hard_swish", "sigmoid", "swish", "gelu"};
  return names[static_cast<std::uint32_t>(activation)];
}

}  // namespace spirkiln::packer
