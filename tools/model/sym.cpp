// SPDX-License-Identifier: Apache-2.0
#include "sym.hpp"

#include "pack_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace spirkiln::packer {
namespace {

constexpr std::size_t kMaxTerms = 64;
constexpr std::size_t kMaxDegree = 8;
constexpr std::size_t kMaxAtoms = 65536;
constexpr int kMaxDepth = 64;   // bounds every recursion over atoms
constexpr int kTextDepth = 6;   // atoms deeper inside others are left out of messages
constexpr std::size_t kTextLength = 300;

[[noreturn]] void fail_range() {
  fail_unsupported("a shape expression of this graph does not fit into 64 bits");
}

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_add_overflow(a, b, &r)) fail_range();
  return r;
}
std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) fail_range();
  return r;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {  // b > 0
  const std::int64_t q = a / b;
  return a % b < 0 ? q - 1 : q;
}

// a without the factors of b, or nothing where b is no part of a.
std::optional<Sym::Monomial> without(const Sym::Monomial& a, const Sym::Monomial& b) {
  if (!std::includes(a.begin(), a.end(), b.begin(), b.end())) return std::nullopt;
  Sym::Monomial rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
  return rest;
}

}  // namespace

std::optional<std::int64_t> Sym::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

SymContext::SymContext() {
  for (int i = 0; i < 3; ++i) atoms_.push_back({AtomKind::kInput, i, {}, {}, 0, true});
}

void SymContext::add_term(Sym::Terms& terms, const Sym::Monomial& monomial,
                          std::int64_t coefficient) {
  auto [it, fresh] = terms.try_emplace(monomial, 0);
  it->second = checked_add(it->second, coefficient);
  if (it->second == 0) terms.erase(it);
  if (terms.size() > kMaxTerms || monomial.size() > kMaxDegree) {
    fail_unsupported("a shape expression of this graph is too complex");
  }
}

Sym SymContext::input(int which) const {
  Sym s;
  s.terms_[{static_cast<AtomId>(which)}] = 1;
  return s;
}

Sym SymContext::add(const Sym& a, const Sym& b) const {
  Sym r = a;
  for (const auto& [m, c] : b.terms_) add_term(r.terms_, m, c);
  return r;
}

Sym SymContext::sub(const Sym& a, const Sym& b) const {
  Sym r = a;
  for (const auto& [m, c] : b.terms_) add_term(r.terms_, m, checked_mul(c, -1));
  return r;
}

Sym SymContext::mul(const Sym& a, const Sym& b) const {
  Sym r;
  for (const auto& [ma, ca] : a.terms_) {
    for (const auto& [mb, cb] : b.terms_) {
      Sym::Monomial m;
      std::merge(ma.begin(), ma.end(), mb.begin(), mb.end(), std::back_inserter(m));
      add_term(r.terms_, m, checked_mul(ca, cb));
    }
  }
  return r;
}

Sym SymContext::atom_sym(AtomKind kind, const Sym& a, const Sym& b) {
  const auto key = std::make_pair(static_cast<int>(kind), std::make_pair(a, b));
  auto it = interned_.find(key);
  if (it == interned_.end()) {
    int depth = 0;
    for (const Sym* part : {&a, &b}) {
      for (const auto& [m, c] : part->terms_) {
        for (const AtomId id : m) depth = std::max(depth, atoms_[id].depth + 1);
      }
    }
    if (atoms_.size() >= kMaxAtoms || depth > kMaxDepth) {
      fail_unsupported("the shape expressions of this graph are too many or too deep");
    }
    it = interned_.emplace(key, static_cast<AtomId>(atoms_.size())).first;
    // Kept with the atom: asking again and again through shared parts would take for ever.
    const bool both = non_negative(a) && non_negative(b);
    const bool either = non_negative(a) || non_negative(b);
    atoms_.push_back({kind, 0, a, b, depth, kind == AtomKind::kMax ? either : both});
  }
  Sym s;
  s.terms_[{it->second}] = 1;
  return s;
}

std::optional<Sym> SymContext::quotient(const Sym& a, const Sym& b) const {
  if (b.terms_.empty()) return std::nullopt;
  // Long division by the leading term of a graded order: by degree, then by who has fewer of the
  // first atom. Products respect it, so an exact quotient is always found.
  const auto leading = [](const Sym& s) {
    return std::max_element(s.terms_.begin(), s.terms_.end(), [](const auto& x, const auto& y) {
      return std::make_pair(x.first.size(), x.first) < std::make_pair(y.first.size(), y.first);
    });
  };
  const auto lead_b = leading(b);
  Sym rest = a;
  Sym result;
  for (std::size_t step = 0; !rest.terms_.empty(); ++step) {
    if (step > kMaxTerms) return std::nullopt;
    const auto lead = leading(rest);
    const auto m = without(lead->first, lead_b->first);
    if (!m || lead->second % lead_b->second != 0) return std::nullopt;
    Sym part;
    part.terms_[*m] = lead->second / lead_b->second;
    result = add(result, part);
    rest = sub(rest, mul(part, b));
  }
  return result;
}

Sym SymContext::floor_div(const Sym& a, const Sym& b) {
  const auto divisor = b.constant();
  if (!divisor) {
    if (const auto q = quotient(a, b)) return *q;
    return atom_sym(AtomKind::kFloorDiv, a, b);
  }
  std::int64_t d = *divisor;
  if (d <= 0) fail_unsupported(fmt::format("a shape is divided by {}", d));
  if (d == 1) return a;

  // Terms that d divides, and whole multiples of d in the constant, leave the quotient.
  Sym whole, rest;
  for (const auto& [m, c] : a.terms_) {
    if (m.empty()) {
      const std::int64_t q = floor_quotient(c, d);
      if (q != 0) whole.terms_[m] = q;
      if (c - q * d != 0) rest.terms_[m] = c - q * d;
    } else if (c % d == 0) {
      whole.terms_[m] = c / d;
    } else {
      rest.terms_[m] = c;
    }
  }
  std::int64_t shift = 0;
  if (const auto it = rest.terms_.find({}); it != rest.terms_.end()) {
    shift = it->second;
    rest.terms_.erase(it);
  }
  if (rest.terms_.empty()) return whole;  // 0 <= shift < d

  // floor((g x + c) / (g d)) = floor((x + floor(c / g)) / d)
  std::int64_t g = d;
  for (const auto& [m, c] : rest.terms_) g = std::gcd(g, c);
  if (g > 1) {
    for (auto& [m, c] : rest.terms_) c /= g;
    shift = floor_quotient(shift, g);
    d /= g;
    if (d == 1) return add(whole, add(rest, shift));
  }

  // floor((floor(x / e) + c) / d) = floor((x + e c) / (e d))
  if (rest.terms_.size() == 1 && rest.terms_.begin()->first.size() == 1 &&
      rest.terms_.begin()->second == 1) {
    const Atom inner = atoms_[rest.terms_.begin()->first[0]];
    const auto e = inner.b.constant();
    if (inner.kind == AtomKind::kFloorDiv && e) {
      const Sym numerator = add(inner.a, checked_mul(*e, shift));
      return add(whole, floor_div(numerator, checked_mul(*e, d)));
    }
  }
  return add(whole, atom_sym(AtomKind::kFloorDiv, add(rest, shift), d));
}

Sym SymContext::ceil_div(const Sym& a, const Sym& b) { return floor_div(sub(add(a, b), 1), b); }

Sym SymContext::exact_div(const Sym& a, const Sym& b) {
  if (const auto q = quotient(a, b)) return *q;
  if (const auto d = b.constant(); d && *d <= 0) {
    fail_unsupported(fmt::format("a shape is divided by {}", *d));
  }
  if (a.constant() && b.constant()) {
    fail_unsupported(
        fmt::format("a shape needs {} / {}, which is not whole", *a.constant(), *b.constant()));
  }
  return atom_sym(AtomKind::kExactDiv, a, b);
}

Sym SymContext::min(const Sym& a, const Sym& b) {
  if (const auto c = sub(a, b).constant()) return *c < 0 ? a : b;
  return a < b ? atom_sym(AtomKind::kMin, a, b) : atom_sym(AtomKind::kMin, b, a);
}

Sym SymContext::max(const Sym& a, const Sym& b) {
  if (const auto c = sub(a, b).constant()) return *c < 0 ? b : a;
  return a < b ? atom_sym(AtomKind::kMax, a, b) : atom_sym(AtomKind::kMax, b, a);
}

bool SymContext::non_negative(const Sym& a) const {
  for (const auto& [m, c] : a.terms_) {
    if (c < 0) return false;
    for (const AtomId id : m) {
      if (!atoms_[id].non_negative) return false;
    }
  }
  return true;
}

std::string SymContext::to_string(const Sym& a, int depth) const {
  if (a.terms_.empty()) return "0";
  const auto atom_text = [this, depth](AtomId id) -> std::string {
    const Atom& atom = atoms_[id];
    if (depth >= kTextDepth) return "(...)";
    const std::string x = to_string(atom.a, depth + 1), y = to_string(atom.b, depth + 1);
    switch (atom.kind) {
      case AtomKind::kInput:
        return std::string(1, "NHW"[atom.input]);
      case AtomKind::kFloorDiv:
        return fmt::format("floor(({}) / ({}))", x, y);
      case AtomKind::kExactDiv:
        return fmt::format("(({}) / ({}))", x, y);
      case AtomKind::kMin:
        return fmt::format("min({}, {})", x, y);
      case AtomKind::kMax:
        return fmt::format("max({}, {})", x, y);
    }
    return "?";
  };
  std::string text;
  for (auto it = a.terms_.rbegin(); it != a.terms_.rend(); ++it) {
    if (text.size() > kTextLength) return text + " + ...";
    const auto& [m, c] = *it;
    const bool negative = c < 0;
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    const std::string magnitude = fmt::format("{}", c).substr(negative ? 1 : 0);
    std::string product;
    for (const AtomId id : m) product += (product.empty() ? "" : "*") + atom_text(id);
    if (product.empty()) {
      text += magnitude;
    } else {
      text += magnitude == "1" ? product : magnitude + "*" + product;
    }
  }
  return text;
}

std::optional<std::int64_t> SymContext::evaluate(const Sym& a,
                                                 const std::array<std::int64_t, 3>& nhw) const {
  std::int64_t sum = 0;
  for (const auto& [m, c] : a.terms_) {
    std::int64_t product = c;
    for (const AtomId id : m) {
      const Atom& atom = atoms_[id];
      std::int64_t value = 0;
      if (atom.kind == AtomKind::kInput) {
        value = nhw[static_cast<std::size_t>(atom.input)];
      } else {
        const auto x = evaluate(atom.a, nhw), y = evaluate(atom.b, nhw);
        if (!x || !y) return std::nullopt;
        switch (atom.kind) {
          case AtomKind::kFloorDiv:
            if (*y <= 0) return std::nullopt;
            value = floor_quotient(*x, *y);
            break;
          case AtomKind::kExactDiv:
            if (*y <= 0 || *x % *y != 0) return std::nullopt;
            value = *x / *y;
            break;
          case AtomKind::kMin:
            value = std::min(*x, *y);
            break;
          case AtomKind::kMax:
            value = std::max(*x, *y);
            break;
          case AtomKind::kInput:
            break;
        }
      }
      if (__builtin_mul_overflow(product, value, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

}  // namespace spirkiln::packer
