// SPDX-License-Identifier: Apache-2.0
#include "functions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace spirkiln::test {
namespace {

constexpr std::uint32_t kLanes = 65536;      // of a buffer
constexpr std::uint32_t kTexels = 4096;      // of an image
constexpr std::uint32_t kExtraLanes = 16;    // behind a buffer's, never touched
constexpr std::byte kSentinel{0x5a};         // in destinations before the run
constexpr std::uint32_t kLocalSize = 64;

std::uint32_t bits_of(float v) { return std::bit_cast<std::uint32_t>(v); }
float float_of(std::uint32_t v) { return std::bit_cast<float>(v); }

bool is_image(Side side) { return side == Side::kImage1 || side == Side::kImage4; }

const char* type_of(Side side) {
  switch (side) {
    case Side::kFloats:
      return "uint";
    case Side::kInts:
    case Side::kI16x2:
      return "int";
    case Side::kS1:
      return "sfp";
    case Side::kS2:
      return "sfpvec2";
    case Side::kS4:
      return "sfpvec4";
    case Side::kS8:
      return "sfpvec8";
    case Side::kS16:
      return "sfpmat4";
    case Side::kI8:
      return "sint8";
    case Side::kI8x4:
      return "sint8vec4";
    case Side::kI16:
      return "sint16";
    case Side::kI16x4:
      return "sint16vec4";
    default:
      return "";
  }
}

// Of lanes of 1 or 4: what a dimension of `dims` holds. None is like another.
ImageShape shape_of(std::uint32_t dims, Side side, const Variant& v, bool sampled) {
  ImageShape s;
  s.dims = dims;
  s.lanes = side == Side::kImage1 ? 1 : 4;
  s.half = codec_of(side, v) == Codec::kF16;
  s.w = dims == 1 ? kTexels : dims == 2 ? 128 : 32;
  s.h = dims == 1 ? 1 : dims == 2 ? 32 : 16;
  s.d = dims == 3 ? 8 : 1;
  s.sampled = sampled;
  return s;
}

std::string number(std::uint32_t v) { return std::to_string(v); }

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
  return text;
}

std::string declare(Side side, std::uint32_t dims, bool source) {
  const std::string binding = source ? "layout(binding = 0" : "layout(binding = 1";
  const std::string name = source ? "src" : "dst";
  if (!is_image(side)) {
    return binding + ") " + (source ? "readonly buffer A { " : "writeonly buffer B { ") +
           type_of(side) + " " + name + "[]; };\n";
  }
  if (source) return binding + ") uniform unfp sampler" + number(dims) + "D src;\n";
  return binding + ", " + (side == Side::kImage1 ? "imfmtc1" : "imfmtc4") +
         ") writeonly uniform unfp image" + number(dims) + "D dst;\n";
}

// Lanes between plain words and the types that functions take.
std::string helpers(const Function& f, bool is_2026) {
  std::string text;
  if (f.from == Side::kFloats) {
    text +=
        "float wide1(uint k) { return uintBitsToFloat(src[k]); }\n"
        "vec2 wide2(uint k) { return vec2(wide1(k * 2), wide1(k * 2 + 1)); }\n"
        "vec4 wide4(uint k) { return vec4(wide2(k * 2), wide2(k * 2 + 1)); }\n"
        "afp get1(uint k) { return afp(wide1(k)); }\n"
        "afpvec2 get2(uint k) { return afpvec2(wide2(k)); }\n"
        "afpvec4 get4(uint k) { return afpvec4(wide4(k)); }\n";
    if (!is_2026) {
      text += "afpvec8 get8(uint k) { return afpvec8(get4(k * 2), get4(k * 2 + 1)); }\n";
    }
  }
  if (f.from == Side::kInts) {
    text +=
        "int get1(uint k) { return src[k]; }\n"
        "ivec2 get2(uint k) { return ivec2(src[k * 2], src[k * 2 + 1]); }\n"
        "ivec4 get4(uint k) { return ivec4(get2(k * 2), get2(k * 2 + 1)); }\n";
  }
  if (f.to == Side::kFloats) {
    text +=
        "void put(uint k, afp v) { dst[k] = floatBitsToUint(float(v)); }\n"
        "void put(uint k, afpvec2 v) { put(k * 2, v.x); put(k * 2 + 1, v.y); }\n"
        "void put(uint k, afpvec4 v) { put(k * 2, v.xy); put(k * 2 + 1, v.zw); }\n";
    if (!is_2026) {
      text += "void put(uint k, afpvec8 v) { put(k * 2, v[0]); put(k * 2 + 1, v[1]); }\n";
    }
  }
  if (f.to == Side::kInts) {
    text +=
        "void put(uint k, int v) { dst[k] = v; }\n"
        "void put(uint k, ivec2 v) { put(k * 2, v.x); put(k * 2 + 1, v.y); }\n"
        "void put(uint k, ivec4 v) { put(k * 2, v.xy); put(k * 2 + 1, v.zw); }\n";
  }
  return text;
}

std::string positions(const ImageShape& s, std::uint32_t lanes) {
  const std::string w = number(lanes == 8 ? s.w / 2 : s.w);
  const std::string h = number(s.h);
  switch (s.dims) {
    case 1:
      return "IDX pos(IDX k) { return k; }\nfloat posf(IDX k) { return float(k) + 0.25; }\n";
    case 2:
      return "IDX2 pos(IDX k) { return IDX2(k % " + w + ", k / " + w +
             "); }\nvec2 posf(IDX k) { return vec2(pos(k)) + 0.25; }\n";
    default:
      return "IDX3 pos(IDX k) { return IDX3(k % " + w + ", k / " + w + " % " + h + ", k / (" + w +
             " * " + h + ")); }\nvec3 posf(IDX k) { return vec3(pos(k)) + 0.25; }\n";
  }
}

std::uint32_t place(std::uint32_t unit, std::uint32_t units) {
  return (unit * 5 + 3) & (units - 1);
}

std::string text_of(const Function& f, const Variant& v, std::uint32_t dims, std::uint32_t lanes,
                    std::size_t index) {
  const std::string n = number(f.lanes / f.unit);
  const bool plain = index % 2 == 0;
  std::string text = "#version 450\nlayout(local_size_x = " + number(kLocalSize) + ") in;\n";
  text += declare(f.from, dims, true) + declare(f.to, dims, false);
  for (const char* name : {"lfp l1", "lfpvec4 l4", "lint16 m1", "lint16vec4 m4"}) {
    const std::string used = std::string(name).substr(std::string(name).find(' ') + 1) + "[";
    if (std::string(f.body).find(used) == std::string::npos) continue;
    text += "shared " + std::string(name) + "[" + number(kLocalSize) + "];\n";
  }
  text += helpers(f, v.is_2026());
  text += "IDX e(IDX k) { return (k * 5 + 3) & " + number(lanes / f.unit - 1) + "; }\n";
  if (dims != 0) {
    text += positions(shape_of(dims, is_image(f.from) ? f.from : f.to, v, false), f.lanes);
  }
  text +=
      "void main() {\n  IDX i = IDX(gl_GlobalInvocationID.x);\n"
      "  uint t = gl_LocalInvocationID.x;\n  IDX j = e(i);\n";
  if (f.unit != f.lanes) {
    text += "  IDX2 h = IDX2(e(i * " + n + "), e(i * " + n + " + 1));\n";
    for (const auto& [name, first] : {std::pair{"q", 0u}, std::pair{"r", 4u}}) {
      text += std::string("  IDX4 ") + name + " = IDX4(";
      for (std::uint32_t k = first; k < first + 4; ++k) {
        text += "e(i * " + n + " + " + number(k) + (k == first + 3 ? "));\n" : "), ");
      }
    }
  }
  text += "  " + std::string(f.body) + "\n}\n";
  text = replaced(text, "imageD_", "image" + number(dims) + "d_");
  for (const auto& [k, vec] : {std::pair{"4", "vec4"}, {"3", "vec3"}, {"2", "vec2"}}) {
    text = replaced(text, std::string("IDX") + k, (plain ? "i" : "u") + std::string(vec));
  }
  return replaced(text, "IDX", plain ? "int" : "uint");
}

// One lane's way. `c` says what conversions do.
class Model {
 public:
  Model(const Function& f, const Variant& v, const Conversions& c) : f_(f), v_(v), c_(c) {}

  std::uint32_t operator()(std::uint32_t bits) const {
    const Codec from = codec_of(f_.from, v_), to = codec_of(f_.to, v_);
    switch (f_.path) {
      case Path::kBits:
        return bits;
      case Path::kCopy:
        if (from == to) return bits;
        if (to == Codec::kF16) return narrow_half(float_of(bits), c_.pack);
        return bits_of(widen_half(half(bits), c_.unpack_flushes));
      case Path::kLoad:
        return bits_of(arithmetic(loaded(bits, from)));
      case Path::kStore:
        return stored(arithmetic(float_of(bits)), to, v_.half_arithmetic);
      case Path::kWide:
        return stored(float_of(bits), to, false);
      case Path::kLocal1:
        return bits_of(arithmetic(float_of(bits)));
      case Path::kLocal4:
        return bits_of(arithmetic(local4(arithmetic(float_of(bits)))));
      case Path::kThrough:
        if (is_image(f_.from)) return put(arithmetic(fetched(bits, from)), to);
        return stored(arithmetic(loaded(bits, from)), to, v_.half_arithmetic);
      case Path::kFetch:
        return bits_of(arithmetic(fetched(bits, from)));
      case Path::kPut:
        return put(arithmetic(float_of(bits)), to);
      case Path::kMove:
        return put(fetched(bits, from), to);
      case Path::kInteger:
        return cut(extended(bits, from), to);
      case Path::kRound8:
        return static_cast<std::uint32_t>(round8(float_of(bits)));
    }
    return 0;
  }

 private:
  static std::uint16_t half(std::uint32_t bits) { return static_cast<std::uint16_t>(bits); }

  float arithmetic(float v) const {
    if (!v_.half_arithmetic || c_.excess) return v;
    return widen_half(narrow_half(v, c_.convert), c_.convert_flushes);
  }
  float loaded(std::uint32_t bits, Codec codec) const {
    if (codec == Codec::kF32) return float_of(bits);
    if (codec == Codec::kBf16) return widen_bf16(half(bits));
    const bool unpacks = v_.packed && !v_.half_arithmetic;
    return widen_half(half(bits), unpacks ? c_.unpack_flushes : c_.convert_flushes);
  }
  std::uint32_t stored(float v, Codec codec, bool is_half) const {
    if (codec == Codec::kF32) return bits_of(v);
    if (codec == Codec::kBf16) return narrow_bf16(v);
    if (is_half) return narrow_half(v);  // exact
    return narrow_half(v, v_.packed ? c_.pack : c_.convert);
  }
  // Through a local vector, which is stored as vectors in buffers are, but packed by words.
  float local4(float v) const {
    if (v_.vector == Codec::kF32 || v_.half_arithmetic) return v;
    if (v_.vector == Codec::kBf16) return widen_bf16(narrow_bf16(v));
    return widen_half(narrow_half(v, c_.pack), c_.unpack_flushes);
  }
  float fetched(std::uint32_t bits, Codec codec) const {
    return codec == Codec::kF32 ? float_of(bits) : widen_half(half(bits), c_.fetch_flushes);
  }
  std::uint32_t put(float v, Codec codec) const {
    return codec == Codec::kF32 ? bits_of(v) : narrow_half(v, c_.image);
  }
  static std::int32_t extended(std::uint32_t bits, Codec codec) {
    if (codec == Codec::kI8) return static_cast<std::int8_t>(bits);
    if (codec == Codec::kI16) return static_cast<std::int16_t>(bits);
    return static_cast<std::int32_t>(bits);
  }
  static std::uint32_t cut(std::int32_t v, Codec codec) {
    if (codec == Codec::kI8) return static_cast<std::uint8_t>(v);
    if (codec == Codec::kI16) return static_cast<std::uint16_t>(v);
    return static_cast<std::uint32_t>(v);
  }
  // Half away from zero; the half is added in single precision.
  static std::int32_t round8(float v) {
    const float moved = v + (v < 0 ? -0.5f : 0.5f);
    return static_cast<std::int32_t>(std::clamp(moved, -127.0f, 127.0f));
  }

  const Function& f_;
  const Variant& v_;
  const Conversions& c_;
};

}  // namespace

namespace {

// What was measured, then what an optimiser may make of it.
std::vector<Conversions> ways_to_convert(const Variant& v) {
  Conversions measured = conversions();
  measured.excess = false;
  Conversions kept = measured;
  kept.pack.flush = kept.convert.flush = kept.image.flush = false;
  kept.unpack_flushes = kept.convert_flushes = kept.fetch_flushes = false;
  std::vector<Conversions> ways = {measured};
  if (kept != measured) ways.push_back(kept);
  kept.excess = v.half_arithmetic && conversions().excess;
  if (kept.excess) ways.push_back(kept);
  return ways;
}

}  // namespace

Codec codec_of(Side side, const Variant& v) {
  switch (side) {
    case Side::kFloats:
      return Codec::kF32;
    case Side::kInts:
      return Codec::kI32;
    case Side::kS1:
      return v.scalar;
    case Side::kI8:
    case Side::kI8x4:
      return Codec::kI8;
    case Side::kI16:
    case Side::kI16x4:
      return v.int16;
    case Side::kI16x2:
      return Codec::kI16;
    case Side::kImage1:
      return v.image1;
    case Side::kImage4:
      return v.image4;
    default:
      return v.vector;
  }
}

bool exists(const Function& f, const Variant& v) {
  if (f.edition != 0 && (f.edition == 2026) != v.is_2026()) return false;
  switch (f.where) {
    case Where::kHalfArithmetic:
      return v.half_arithmetic;
    case Where::kMatrices:
      return v.has_matrices();
    case Where::kNotTight:
      return !v.is_2026() || !v.packed || !v.defines.empty();
    case Where::kMatrixOfEight:  // where it is a struct, it is for buffer_*8 alone
      return v.has_matrices() || v.packed;
    case Where::kInt16:
      return v.int16_form != "storage" || !v.defines.empty();
    default:
      return true;
  }
}

std::uint32_t read_from(const Function& f, std::uint32_t lane, std::uint32_t lanes) {
  return place(lane / f.unit, lanes / f.unit) * f.unit + lane % f.unit;
}

Trial make_trial(const Function& f, const Variant& v, std::uint32_t dims, std::size_t index) {
  const bool narrow = f.from == Side::kImage1 || f.to == Side::kImage1;
  const std::uint32_t lanes = dims == 0 ? kLanes : narrow ? kTexels : kTexels * 4;
  const std::uint32_t extra = dims == 0 ? kExtraLanes : 0;
  const Codec from = codec_of(f.from, v);
  Trial t;
  t.lanes = lanes;
  t.codec = codec_of(f.to, v);
  t.exact = f.path == Path::kBits || f.path == Path::kInteger ||
            (f.path == Path::kCopy && from == t.codec);
  t.text = text_of(f, v, dims, lanes, index);
  t.before = values_of(from, lanes);
  t.before.resize(lanes + extra);
  const auto untouched =
      unpack_lanes(t.codec, std::vector<std::byte>((lanes + extra) * bytes_of(t.codec), kSentinel));
  t.checked.assign(untouched.size(), true);

  const std::vector<Conversions> ways = ways_to_convert(v);
  t.allowed.assign(ways.size(), untouched);
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    const std::uint32_t moved = read_from(f, lane, lanes);
    const std::uint32_t s = (f.scatter ? lane : moved) + (f.from == Side::kInts ? 0 : f.shift);
    const std::uint32_t d = (f.scatter ? moved : lane) + (f.to == Side::kInts ? 0 : f.shift);
    if (f.path == Path::kRound8 && std::isnan(float_of(t.before[s]))) {
      t.checked[d] = false;  // what a NaN becomes as an integer is not defined
      continue;
    }
    for (std::size_t k = 0; k < ways.size(); ++k) {
      t.allowed[k][d] = Model(f, v, ways[k])(t.before[s]);
    }
  }

  Binding in{pack_lanes(from, t.before), {}};
  Binding out{std::vector<std::byte>((lanes + extra) * bytes_of(t.codec), kSentinel), {}};
  if (is_image(f.from)) in.image = shape_of(dims, f.from, v, true);
  if (is_image(f.to)) out.image = shape_of(dims, f.to, v, false);
  t.job.name = v.title() + ": " + replaced(f.name, "imageD_", "image" + number(dims) + "d_");
  t.job.bindings = {std::move(in), std::move(out)};
  t.job.groups = {lanes / f.lanes / kLocalSize, 1, 1};
  return t;
}

}  // namespace spirkiln::test
