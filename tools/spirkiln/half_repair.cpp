// SPDX-License-Identifier: Apache-2.0
#include "half_repair.hpp"

#include <spirv/unified1/spirv.hpp>

#include <charconv>
#include <optional>

#include "number_type.hpp"
#include "spirv_module.hpp"
#include "token_text.hpp"

namespace spirkiln::gen {
namespace {

// Conversions in one text at most, and bytes that are compiled on the way.
constexpr int kMaxTries = 1024;
constexpr std::size_t kMaxBytes = 64u << 20;
// Whole numbers up to here are exact in 16 bits.
constexpr unsigned long kMaxExact = 2048;

// The explicit extension makes double as good as float for a mixed call such as max(v, 0); the
// older one has the same types and prefers float.
constexpr std::string_view kExplicitHalf = "GL_EXT_shader_explicit_arithmetic_types_float16";
constexpr std::string_view kPlainHalf = "GL_AMD_gpu_shader_half_float";

// These do the same to mixed calls, floats as they are. A kernel that has no such whole numbers
// loses nothing by the extensions that only store them.
struct SmallIntegers {
  std::string_view extension, storage;
  std::string_view words[7];  // how they begin
};
constexpr SmallIntegers kSmallIntegers[] = {
    {"GL_EXT_shader_explicit_arithmetic_types_int8",
     "GL_EXT_shader_8bit_storage",
     {"int8_t", "uint8_t", "i8vec", "u8vec", "pack16", "pack32", "unpack8"}},
    {"GL_EXT_shader_explicit_arithmetic_types_int16",
     "GL_EXT_shader_16bit_storage",
     {"int16_t", "uint16_t", "i16vec", "u16vec", "pack32", "pack64", "unpack16"}}};

constexpr std::string_view kNarrow = "spk_half";
constexpr std::string_view kNarrowFunctions =
    "float16_t spk_half(float v) { return float16_t(v); } "
    "f16vec2 spk_half(vec2 v) { return f16vec2(v); } "
    "f16vec3 spk_half(vec3 v) { return f16vec3(v); } "
    "f16vec4 spk_half(vec4 v) { return f16vec4(v); } "
    "f16mat2x4 spk_half(mat2x4 v) { return f16mat2x4(v); } "
    "f16mat4 spk_half(mat4 v) { return f16mat4(v); }";

bool is_half_name(std::string_view name) {
  return name == "float16_t" || name.starts_with("f16vec") || name.starts_with("f16mat");
}

class Repair {
 public:
  explicit Repair(const std::string& text) : text_(text) {
    text_.replace_in_directives(kExplicitHalf, kPlainHalf);
    for (const SmallIntegers& integers : kSmallIntegers) {
      if (!uses(integers)) text_.replace_in_directives(integers.extension, integers.storage);
    }
  }

  std::string text() const { return text_.text(); }
  std::string rows() const { return text_.rows(); }

  // One conversion for an error in the last rows(). False: it is about something else.
  bool apply(const Diagnostic& error) {
    const auto at = text_.piece_at(error.line);
    if (!at) return false;
    const std::string_view said = error.text;
    if (said.find("wrong operand types") != std::string_view::npos) return operands(*at, said);
    if (said.starts_with("'assign': cannot convert")) return assignment(*at, said);
    if (said.starts_with("'=': cannot convert")) return initialiser(*at, said);
    if (said.starts_with("'const': non-matching")) return loosen_const(*at);
    if (said.starts_with("'constructor': cannot convert parameter")) return element(*at, said);
    if (said.starts_with("'return': type does not match")) return returned(*at);
    if (said.ends_with("no matching overloaded function found")) return call(*at);
    return false;
  }

 private:
  bool uses(const SmallIntegers& integers) const {
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const std::string_view word = text_[i];
      for (const std::string_view begin : integers.words) {
        if (word.starts_with(begin)) return true;
      }
      // 1s, 1us
      if (text_.is_number(i) && (word.ends_with('s') || word.ends_with('S'))) return true;
    }
    return false;
  }

  bool operands(std::size_t at, std::string_view said) {
    const NumberType left = parse_number_type(quoted(said, "left-hand operand of type '"));
    const NumberType right = parse_number_type(quoted(said, "right operand of type '"));
    const bool widen_right = left.is_half() && right.is_int();
    if (!widen_right && !(right.is_half() && left.is_int())) return false;
    std::optional<Extent> range;
    if (text_[at] == "?") {
      const std::size_t colon = text_.colon_of(at);
      if (colon >= text_.size()) return false;
      range = widen_right ? text_.expression(colon + 1) : Extent{at + 1, colon};
    } else {
      range = widen_right ? text_.right_operand(at) : text_.left_operand(at);
    }
    if (!range || range->begin == range->end) return false;
    const NumberType& whole = widen_right ? right : left;
    text_.wrap(*range, (is_exact(*range) ? whole.as_half() : whole.as_float()).name());
    return true;
  }

  // A literal that 16 bits hold exactly. Anything else is converted to 32 bits, and the result
  // narrowed where it is kept.
  bool is_exact(Extent range) const {
    if (range.end != range.begin + 1) return false;
    std::string_view digits = text_[range.begin];
    if (digits.ends_with('u') || digits.ends_with('U')) digits.remove_suffix(1);
    unsigned long value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} && stop == digits.data() + digits.size() && value <= kMaxExact;
  }

  bool assignment(std::size_t at, std::string_view said) {
    const NumberType from = parse_number_type(quoted(said, "cannot convert from '"));
    const NumberType to = parse_number_type(quoted(said, "to '"));
    if (!to.is_half() || !from.is_number()) return false;
    const Extent right = text_.expression(at + 1);
    if (right.begin == right.end) return false;
    if (text_[at] == "=") {
      if (!from.same_shape(to)) return false;
      text_.wrap(right, to.name());
      return true;
    }
    // Lanes by lanes, lanes by a scalar, or a vector times a matrix.
    const bool times_matrix =
        text_[at] == "*=" && from.columns == from.rows && from.rows == to.rows && to.columns == 1;
    const bool scalar = from.same_shape({});
    const auto left = text_.left_operand(at);
    if (!left || from.is_half() || !(scalar || times_matrix || from.same_shape(to))) return false;
    std::string target;
    bool repeatable = true;
    for (std::size_t i = left->begin; i < left->end; ++i) {
      const std::string_view word = text_[i];
      if (word == "(" || word == "++" || word == "--") repeatable = false;
      target += word;
      target += ' ';
    }
    if (!repeatable) {
      text_.wrap(right, from.as_half().name());
      return true;
    }
    // `a *= b` as `a = T(a * (b))`: computed in 32 bits, narrowed once.
    const std::string op(text_[at].substr(0, text_[at].size() - 1));
    text_.insert(right.end, ") )");
    text_.insert(right.begin, to.name() + " ( " + target + op + " (");
    text_.set_text(at, "=");
    return true;
  }

  bool initialiser(std::size_t at, std::string_view said) {
    const NumberType from = parse_number_type(quoted(said, "cannot convert from '"));
    const NumberType to = parse_number_type(quoted(said, "to '"));
    if (!to.is_half() || !from.is_number() || !from.same_shape(to) || !text_.is_name(at)) {
      return false;
    }
    if (text_[at + 1] != "=") return false;
    text_.wrap(text_.expression(at + 2), to.name());
    // A const that was taken away to learn the types.
    for (std::size_t i = at; i-- > 0;) {
      if (text_[i].empty()) text_.set_text(i, "const");
      if (text_[i] == ";" || text_[i] == "{" || text_[i] == "}") break;
    }
    return true;
  }

  // The compiler names no types for a const: without the word it does.
  bool loosen_const(std::size_t at) {
    bool half = false;
    for (std::size_t i = at; i-- > 0;) {
      if (text_[i] == ";" || text_[i] == "{" || text_[i] == "}") return false;
      half = half || is_half_name(text_[i]);
      if (half && text_[i] == "const") {
        text_.set_text(i, "");
        return true;
      }
    }
    return false;
  }

  // A member or element in a constructor or list.
  bool element(std::size_t at, std::string_view said) {
    const NumberType from = parse_number_type(quoted(said, " from '"));
    const NumberType to = parse_number_type(quoted(said, " to '"));
    if (!to.is_half() || !from.is_number() || !from.same_shape(to)) return false;
    said.remove_prefix(std::string_view("'constructor': cannot convert parameter ").size());
    std::size_t number = 0;
    std::from_chars(said.data(), said.data() + said.size(), number);
    // The place is a comma between elements, or somewhere in the first one.
    std::size_t open = text_.enclosing(at);
    while (open < text_.size() && !holds_elements(open)) open = text_.enclosing(open);
    if (open >= text_.size()) return false;
    const auto list = text_.arguments(open);
    if (number == 0 || number > list.size() || list[number - 1].begin == list[number - 1].end) {
      return false;
    }
    text_.wrap(list[number - 1], to.name());
    return true;
  }

  // Whether the bracket is a list's, or that of a constructor of an array or structure.
  bool holds_elements(std::size_t open) const {
    if (text_[open] == "{") return true;
    if (text_[open] != "(" || open == 0) return false;
    if (text_[open - 1] == "]") return true;
    for (std::size_t i = 1; i < open; ++i) {
      if (text_[i - 1] == "struct" && text_[i] == text_[open - 1]) return true;
    }
    return false;
  }

  bool returned(std::size_t at) {
    std::size_t body = text_.enclosing(at);
    while (body < text_.size() && text_.enclosing(body) < text_.size()) {
      body = text_.enclosing(body);
    }
    if (body >= text_.size() || body == 0 || text_[body - 1] != ")") return false;
    const std::size_t open = text_.opening(body - 1);
    if (open < 2 || open >= text_.size() || !is_half_name(text_[open - 2])) return false;
    return narrow(text_.expression(at + 1));
  }

  // A function of the kernel, or of the dialect, that takes 16-bit floats.
  bool call(std::size_t at) {
    const std::size_t open = text_[at] == ")" ? text_.opening(at) : text_.size();
    if (open == 0 || open >= text_.size()) return false;
    const std::string name(text_[open - 1]);
    const auto arguments = text_.arguments(open);
    std::vector<bool> narrows(arguments.size());
    for (std::size_t i = 2; i + 1 < open; ++i) {
      if (text_[i] != "(" || text_[i - 1] != name || !text_.is_name(i - 2)) continue;
      const std::string_view after = text_[text_.closing(i) + 1];
      if (after != "{" && after != ";") continue;
      const auto parameters = text_.arguments(i);
      if (parameters.size() != arguments.size()) continue;
      for (std::size_t k = 0; k < parameters.size(); ++k) narrows[k] = takes_half(parameters[k]);
    }
    bool changed = false;
    for (std::size_t k = arguments.size(); k-- > 0;) {
      if (!narrows[k] || text_[arguments[k].begin] == kNarrow) continue;
      changed = narrow(arguments[k]) || changed;
    }
    return changed;
  }

  bool takes_half(Extent parameter) const {
    bool half = false;
    for (std::size_t i = parameter.begin; i < parameter.end; ++i) {
      if (text_[i] == "out" || text_[i] == "inout" || text_[i] == "[") return false;
      half = half || is_half_name(text_[i]);
    }
    return half;
  }

  bool narrow(Extent range) {
    if (range.begin >= range.end) return false;
    text_.wrap(range, kNarrow);
    if (!has_narrow_) text_.insert(0, kNarrowFunctions);
    has_narrow_ = true;
    return true;
  }

  TokenText text_;
  bool has_narrow_ = false;
};

const Diagnostic* first_error(const FrontResult& result) {
  for (const Diagnostic& d : result.diagnostics) {
    if (d.severity == Severity::kError) return &d;
  }
  return nullptr;
}

bool has_capability(const FrontResult& result, std::uint32_t capability) {
  // Capabilities come first in a module.
  for (std::size_t i = 5; i + 1 < result.words.size(); i += 2) {
    if ((result.words[i] & 0xffffu) != spv::OpCapability) break;
    if (result.words[i + 1] == capability) return true;
  }
  return false;
}

// 64-bit floats that nobody asked for.
bool has_stray_double(const FrontResult& result, const std::string& text) {
  if (!result.ok || !has_capability(result, spv::CapabilityFloat64)) return false;
  for (const Token& t : tokenize(text)) {
    if (t.text == "double" || t.text.starts_with("dvec") || t.text.starts_with("dmat")) {
      return false;
    }
    if (t.kind == TokenKind::kNumber && (t.text.ends_with("lf") || t.text.ends_with("LF"))) {
      return false;
    }
  }
  return true;
}

// Constants of 16 bits in a module that may only store such values: it is not valid.
bool has_stray_constant(const FrontResult& result) {
  if (!result.ok || has_capability(result, spv::CapabilityFloat16)) return false;
  const auto module = SpirvModule::parse(result.words);
  if (!module.ok()) return false;
  for (const auto& inst : module->instructions()) {
    if (inst.op < spv::OpConstantTrue || inst.op > spv::OpSpecConstantOp) continue;
    const auto* type = module->definition(inst.operands[0]);
    if (type != nullptr && type->op == spv::OpTypeVector) {
      type = module->definition(type->operands[1]);
    }
    if (type != nullptr && type->op == spv::OpTypeFloat && type->operands[1] == 16) return true;
  }
  return false;
}

// What a 16-bit float is made of goes through a function of the dialect, so that it is no constant.
FrontResult without_stray_constants(const std::string& text, const std::string& name,
                                    const Target& target, SourceStore& sources,
                                    const CompileFunction& compile) {
  TokenText pieces(text);
  for (std::size_t i = pieces.size(); i-- > 0;) {
    const std::string_view function = pieces[i] == "float16_t" ? "spk_afp"
                                      : pieces[i] == "f16vec2" ? "spk_afpvec2"
                                      : pieces[i] == "f16vec4" ? "spk_afpvec4"
                                                               : "";
    if (function.empty() || pieces[i + 1] != "(") continue;
    const auto arguments = pieces.arguments(i + 1);
    if (arguments.size() == 1) pieces.wrap(arguments[0], function);
  }
  return compile(pieces.text(), name, target, sources);
}

bool has_half_types(const std::string& text) {
  return text.find(kPlainHalf) != std::string::npos ||
         text.find(kExplicitHalf) != std::string::npos ||
         text.find("GL_EXT_shader_16bit_storage") != std::string::npos;
}

// `text` becomes what was compiled.
FrontResult compile_converted(std::string& text, const std::string& name, const Target& target,
                              SourceStore& sources, const CompileFunction& compile) {
  FrontResult first = compile(text, name, target, sources);
  if ((first.ok && !has_stray_double(first, text)) || !has_half_types(text)) return first;
  Repair repair(text);
  Diagnostic last;
  std::size_t bytes = 0;
  for (int tries = 0; tries < kMaxTries && bytes < kMaxBytes; ++tries) {
    const std::string rows = repair.rows();
    bytes += rows.size();
    const FrontResult attempt = compile(rows, "<rows>", target, sources);
    const Diagnostic* error = first_error(attempt);
    if (error == nullptr || *error == last || !repair.apply(*error)) break;
    last = *error;
  }
  std::string converted = repair.text();
  if (converted == text) return first;
  FrontResult result = compile(converted, name, target, sources);
  if (!result.ok && first.ok) return first;
  text = std::move(converted);
  return result;
}

}  // namespace

FrontResult compile_with_repair(const std::string& text, const std::string& name,
                                const Target& target, SourceStore& sources,
                                const CompileFunction& compile) {
  std::string now = text;
  FrontResult result = compile_converted(now, name, target, sources, compile);
  if (!has_half_types(text) || !has_stray_constant(result)) return result;
  FrontResult other = without_stray_constants(now, name, target, sources, compile);
  return other.ok && !has_stray_constant(other) ? other : result;
}

}  // namespace spirkiln::gen
