// SPDX-License-Identifier: Apache-2.0
#include "graph/model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "loader/guard.hpp"
#include "table/checksum.hpp"
#include "table/read_file.hpp"

namespace spirkiln {

static_assert(std::endian::native == std::endian::little, "packs are little-endian");

namespace {

using namespace model;

bool halves_finite(std::span<const std::byte> plane) {
  // Eight bytes at a time: a half is infinite or NaN when its five exponent bits are all set, which
  // is when adding one at the lowest of them carries into the sign's place.
  constexpr std::uint64_t kExponent = 0x7c007c007c007c00ull, kOne = 0x0400040004000400ull;
  std::uint64_t bad = 0;
  for (std::size_t i = 0; i + 8 <= plane.size(); i += 8) {
    std::uint64_t v;
    std::memcpy(&v, plane.data() + i, 8);
    bad |= ((v & kExponent) + kOne) & 0x8000800080008000ull;
  }
  return bad == 0;
}

bool floats_finite(std::span<const std::byte> plane) {
  std::uint32_t bad = 0;
  for (std::size_t i = 0; i + 4 <= plane.size(); i += 4) {
    std::uint32_t v;
    std::memcpy(&v, plane.data() + i, 4);
    bad |= ((v & 0x7f800000u) + 0x00800000u) & 0x80000000u;
  }
  return bad == 0;
}

}  // namespace

std::string_view Model::State::string(std::uint32_t offset) const {
  return offset < strings.size() ? std::string_view(strings.data() + offset) : std::string_view();
}
std::span<const std::uint32_t> Model::State::inputs_of(const Node& n) const {
  return n.input_count == 0 ? std::span<const std::uint32_t>{}
                            : refs.subspan(n.first_input, n.input_count);
}
std::span<const std::uint32_t> Model::State::consts_of(const Node& n) const {
  return n.const_count == 0 ? std::span<const std::uint32_t>{}
                            : refs.subspan(n.first_const, n.const_count);
}
std::uint32_t Model::State::channels(std::uint32_t tensor) const {
  return static_cast<std::uint32_t>(exprs[tensors[tensor].dim[3]].a);
}
std::span<const std::byte> Model::State::plane(const Const& c, bool low) const {
  const std::uint64_t bytes_each = c.type == ConstType::kHalfPair ? 2 : 4;
  return std::span(bytes).subspan(low ? c.lo_offset : c.offset, c.elements * bytes_each);
}

namespace {

Error damaged(const std::string& origin, const std::string& what) {
  return Error{ErrorCode::kCorrupt, origin + ": the model pack is damaged: " + what +
                                        ". Make it again with spirkiln model"};
}

// Of a file that begins with `head`, before the rest of it is read.
Status check_head(std::span<const std::byte> head, std::uint64_t size, const std::string& origin) {
  if (head.size() < sizeof kMagic || std::memcmp(head.data(), kMagic, sizeof kMagic) != 0) {
    return Error{ErrorCode::kCorrupt, origin +
                                          " is no model pack (it does not begin with "
                                          "SPKMODEL). spirkiln model makes one from ONNX"};
  }
  if (head.size() < sizeof(ModelHeader)) return damaged(origin, "it ends inside its header");
  ModelHeader header;
  std::memcpy(&header, head.data(), sizeof header);
  if (header.version != kVersion) {
    return Error{ErrorCode::kCorrupt, origin + ": pack format " + std::to_string(header.version) +
                                          ", this library reads format " +
                                          std::to_string(kVersion) +
                                          ". Make it again with the matching spirkiln model"};
  }
  if (header.header_bytes != sizeof(ModelHeader)) return damaged(origin, "header size");
  if (header.total_bytes != size) {
    return damaged(origin, "it says " + std::to_string(header.total_bytes) + " bytes and has " +
                               std::to_string(size));
  }
  if (size > kMaxPackBytes) {
    return damaged(origin, "it has " + std::to_string(size) + " bytes, at most " +
                               std::to_string(kMaxPackBytes) + " are allowed");
  }
  return Ok{};
}

}  // namespace

Error Model::State::corrupt(const std::string& what) const { return damaged(origin, what); }

Status Model::State::parse() {
  const auto head = std::span(bytes).first(std::min(bytes.size(), sizeof header));
  if (auto s = check_head(head, bytes.size(), origin); !s) return s;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (file_checksum<ModelHeader>(bytes) != header.checksum) return corrupt("checksum");
  if (auto s = parse_sections(); !s) return s;
  for (const auto& check :
       {&State::check_exprs, &State::check_tensors, &State::check_consts, &State::check_nodes}) {
    if (auto s = (this->*check)(); !s) return s;
  }
  return Ok{};
}

Status Model::State::parse_sections() {
  std::vector<Stretch> sections;
  auto take = [&](auto* out, const Section& s, const char* name,
                  std::uint64_t most = UINT32_MAX) -> Status {
    using T = typename std::remove_pointer_t<decltype(out)>::value_type;
    const std::string section = std::string("section ") + name;
    if (s.stride != sizeof(T)) {
      return corrupt(section + " has entries of " + std::to_string(s.stride) + " bytes, expected " +
                     std::to_string(sizeof(T)));
    }
    if (s.count > most) {
      return corrupt(section + " has " + std::to_string(s.count) + " entries, at most " +
                     std::to_string(most) + " are allowed");
    }
    if (s.count != 0 && s.offset < sizeof(ModelHeader)) {
      return corrupt(section + " overlaps the header");
    }
    auto span = section_of<T>(bytes, s.offset, s.count);
    if (!span) return corrupt(section + " is out of bounds");
    *out = *span;
    sections.push_back({s.offset, s.offset + span->size_bytes()});
    return Ok{};
  };
  std::span<const std::byte> data;
  for (const Status& s :
       {take(&strings, header.strings, "strings"),
        take(&exprs, header.exprs, "expressions", kMaxExprs),
        take(&constraints, header.constraints, "constraints", kMaxConstraints),
        take(&tensors, header.tensors, "tensors", kMaxTensors),
        take(&nodes, header.nodes, "nodes", kMaxNodes), take(&refs, header.refs, "references"),
        take(&consts, header.consts, "constants", kMaxConsts),
        take(&outputs, header.outputs, "outputs", kMaxOutputs), take(&data, header.data, "data")}) {
    if (!s) return s;
  }
  if (overlap(std::move(sections))) return corrupt("two sections overlap");
  if (strings.empty() || strings.front() != '\0' || strings.back() != '\0') {
    return corrupt("the string section does not begin and end with a NUL byte");
  }
  if (!is_string(header.name) || !is_string(header.producer)) return corrupt("a header string");
  for (int i = 0; i < 4; ++i) {
    if (!std::isfinite(header.input_scale[i]) || !std::isfinite(header.input_shift[i])) {
      return corrupt("the input's scale or shift is not finite");
    }
  }
  return Ok{};
}

Status Model::State::check_exprs() const {
  for (std::size_t i = 0; i < exprs.size(); ++i) {
    const Expr& e = exprs[i];
    const std::string at = "expression " + std::to_string(i);
    if (e.op > ExprOp::kMax) return corrupt(at + " has an unknown operation");
    if (e.op == ExprOp::kConst) continue;
    if (e.op == ExprOp::kInput) {
      if (e.a < 0 || e.a > 2) return corrupt(at + " names no input dimension");
      continue;
    }
    const auto before = static_cast<std::int64_t>(i);
    if (e.a < 0 || e.a >= before || e.b < 0 || e.b >= before) {
      return corrupt(at + " uses one that does not stand before it");
    }
  }
  for (const Constraint& c : constraints) {
    if (c.a >= exprs.size() || c.b >= exprs.size() || !is_string(c.message)) {
      return corrupt("a constraint");
    }
  }
  return Ok{};
}

Status Model::State::check_tensors() const {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    const std::string at = "tensor " + std::to_string(i);
    if (!is_string(t.name)) return corrupt(at + ": name");
    for (const std::uint32_t d : t.dim) {
      if (d >= exprs.size()) return corrupt(at + ": dimension");
    }
    const Expr& c = exprs[t.dim[3]];
    if (c.op != ExprOp::kConst || c.a < 1 || c.a > kMaxChannels) {
      return corrupt(at + ": channels are not a constant from 1 to " +
                     std::to_string(kMaxChannels));
    }
  }
  if (header.input_tensor >= tensors.size()) return corrupt("the input tensor");
  if (channels(header.input_tensor) != 3) return corrupt("the input does not have 3 channels");
  return Ok{};
}

Status Model::State::check_consts() const {
  const Section& data = header.data;
  std::vector<Stretch> planes;
  for (std::size_t i = 0; i < consts.size(); ++i) {
    const Const& c = consts[i];
    const std::string at = "constant " + std::to_string(i);
    if (!is_string(c.name)) return corrupt(at + ": name");
    if (c.type > ConstType::kHalfPair) return corrupt(at + ": type");
    const bool half = c.type == ConstType::kHalfPair;
    if (c.elements == 0 || c.elements % 4 != 0 || c.elements > data.count) {
      return corrupt(at + ": number of elements");
    }
    // A plane ends at a multiple of 16 bytes, since kernels load whole vectors of four lanes.
    const std::uint64_t bytes_needed = (c.elements * (half ? 2 : 4) + 15) / 16 * 16;
    auto lies_inside = [&](std::uint64_t offset) {
      return offset % 16 == 0 && offset >= data.offset && offset - data.offset <= data.count &&
             bytes_needed <= data.count - (offset - data.offset);
    };
    if (!lies_inside(c.offset)) return corrupt(at + ": position");
    if (half ? !lies_inside(c.lo_offset) : c.lo_offset != 0) {
      return corrupt(at + ": position of the second plane");
    }
    planes.push_back({c.offset, c.offset + bytes_needed});
    if (half) planes.push_back({c.lo_offset, c.lo_offset + bytes_needed});
  }
  // Before their numbers are read: all of them together are then no more than the file.
  if (overlap(std::move(planes))) return corrupt("two constants overlap");
  for (const Const& c : consts) {
    const bool finite = c.type == ConstType::kHalfPair
                            ? halves_finite(plane(c)) && halves_finite(plane(c, true))
                            : floats_finite(plane(c));
    if (!finite) {
      return Error{ErrorCode::kNotFinite,
                   origin + ": constant " + std::string(string(c.name)) + " holds NaN or infinity"};
    }
  }
  return Ok{};
}

Status Model::State::check_nodes() const {
  for (const std::uint32_t t : outputs) {
    if (t >= tensors.size()) return corrupt("an output tensor");
  }
  if (outputs.empty()) return corrupt("it has no output");
  std::vector<bool> made(tensors.size(), false);
  made[header.input_tensor] = true;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& n = nodes[i];
    const std::string at = "node " + std::to_string(i);
    if (!is_string(n.name)) return corrupt(at + ": name");
    if (n.op > Op::kSoftmax) return corrupt(at + ": unknown operator");
    if ((n.flags & ~static_cast<std::uint32_t>(kHasResidual | kResidualBefore)) != 0) {
      return corrupt(at + ": unknown flags");
    }
    if (n.input_count > kMaxNodeInputs || n.const_count > kMaxNodeConsts) {
      return corrupt(at + ": " + std::to_string(n.input_count) + " inputs and " +
                     std::to_string(n.const_count) + " constants");
    }
    if (!range_in(n.first_input, n.input_count, refs.size()) ||
        !range_in(n.first_const, n.const_count, refs.size())) {
      return corrupt(at + ": references");
    }
    for (const std::uint32_t t : inputs_of(n)) {
      if (t >= tensors.size() || !made[t]) {
        return corrupt(at + ": it reads a tensor that no node before it has made");
      }
    }
    for (const std::uint32_t c : consts_of(n)) {
      if (c >= consts.size()) return corrupt(at + ": constant");
    }
    if (n.output >= tensors.size() || made[n.output]) {
      return corrupt(at + ": output, or it is made twice");
    }
    const Epilogue& e = n.epilogue;
    if (e.act > Activation::kGelu) return corrupt(at + ": unknown activation");
    for (const float v : {e.a, e.b, e.post_scale, e.post_bias, n.f[0], n.f[1], n.f[2], n.f[3]}) {
      if (!std::isfinite(v)) return corrupt(at + ": a number that is not finite");
    }
    if (const std::string wrong = check_operator(*this, n); !wrong.empty()) {
      return corrupt(at + " (" + std::string(op_name(n.op)) + " " + std::string(string(n.name)) +
                     "): " + wrong);
    }
    made[n.output] = true;
  }
  for (const std::uint32_t t : outputs) {
    if (!made[t]) return corrupt("an output that no node makes");
  }
  return Ok{};
}

Result<Model> Model::from_bytes(std::vector<std::byte> bytes, std::string name) {
  return guarded([&]() -> Result<Model> {
    auto state = std::make_shared<State>();
    state->bytes = std::move(bytes);
    state->origin = std::move(name);
    if (auto s = state->parse(); !s) return std::move(s).error();
    Model model;
    model.state_ = std::move(state);
    return model;
  });
}

Result<Model> Model::open(const std::string& path) {
  auto bytes = guarded([&] {
    return read_file(path, kMaxPackBytes, {sizeof(ModelHeader), [&](auto head, std::uint64_t size) {
                                             return check_head(head, size, path);
                                           }});
  });
  if (!bytes) return std::move(bytes).error();
  return from_bytes(*std::move(bytes), path);
}

}  // namespace spirkiln
