// SPDX-License-Identifier: Apache-2.0
// Integer expressions of the input's N, H and W, kept in a normal form so that two shapes that
// were computed along different ways compare equal.
//
// A Sym is a polynomial with integer coefficients over atoms. An atom is an input dimension, or a
// quotient, minimum or maximum that could not be simplified away.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace spirkiln::packer {

using AtomId = std::uint32_t;

class Sym {
 public:
  using Monomial = std::vector<AtomId>;  // sorted, with repetition; empty = the constant term
  using Terms = std::map<Monomial, std::int64_t>;

  Sym() = default;  // zero
  Sym(std::int64_t value) {
    if (value != 0) terms_[{}] = value;
  }

  const Terms& terms() const { return terms_; }
  std::optional<std::int64_t> constant() const;
  bool is(std::int64_t value) const { return constant() == value; }
  bool operator==(const Sym& other) const { return terms_ == other.terms_; }
  bool operator<(const Sym& other) const { return terms_ < other.terms_; }

 private:
  friend class SymContext;
  Terms terms_;  // no zero coefficients
};

enum class AtomKind { kInput, kFloorDiv, kExactDiv, kMin, kMax };

struct Atom {
  AtomKind kind;
  int input = 0;  // of kInput: 0 N, 1 H, 2 W
  Sym a, b;       // of the others
  int depth = 0;  // of atoms inside atoms
  bool non_negative = true;
};

// Owns the atoms. All arithmetic is checked: a coefficient beyond 64 bits or an expression that
// grows beyond all reason throws PackError.
class SymContext {
 public:
  SymContext();

  Sym input(int which) const;
  Sym add(const Sym& a, const Sym& b) const;
  Sym sub(const Sym& a, const Sym& b) const;
  Sym mul(const Sym& a, const Sym& b) const;
  Sym floor_div(const Sym& a, const Sym& b);
  Sym ceil_div(const Sym& a, const Sym& b);
  // a / b where b is known, or will be required, to divide a.
  Sym exact_div(const Sym& a, const Sym& b);
  // The quotient if b divides a for every input, else nothing.
  std::optional<Sym> quotient(const Sym& a, const Sym& b) const;
  Sym min(const Sym& a, const Sym& b);
  Sym max(const Sym& a, const Sym& b);

  // True where no input with N, H, W >= 1 makes it negative; false also where that is unknown.
  bool non_negative(const Sym& a) const;

  const Atom& atom(AtomId id) const { return atoms_[id]; }
  // For messages: what is long or deep is cut short.
  std::string to_string(const Sym& a, int depth = 0) const;
  // Nothing where a divisor is not positive or does not divide.
  std::optional<std::int64_t> evaluate(const Sym& a, const std::array<std::int64_t, 3>& nhw) const;

 private:
  Sym atom_sym(AtomKind kind, const Sym& a, const Sym& b);
  static void add_term(Sym::Terms& terms, const Sym::Monomial& monomial, std::int64_t coefficient);

  std::vector<Atom> atoms_;
  std::map<std::pair<int, std::pair<Sym, Sym>>, AtomId> interned_;
};

}  // namespace spirkiln::packer
