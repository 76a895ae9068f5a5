// SPDX-License-Identifier: Apache-2.0
#include "expr_writer.hpp"

#include "pack_error.hpp"

#include <cstdint>

namespace spirkiln::packer {

using model::ExprOp;

std::uint32_t ExprWriter::emit(ExprOp op, std::int64_t a, std::int64_t b) {
  if (a < INT32_MIN || a > INT32_MAX) {
    fail_unsupported("a shape expression holds a number beyond 32 bits");
  }
  const auto key = std::make_tuple(static_cast<std::uint32_t>(op), static_cast<std::int32_t>(a),
                                   static_cast<std::int32_t>(b));
  const auto [it, fresh] = known_.try_emplace(key, static_cast<std::uint32_t>(exprs_.size()));
  if (exprs_.size() > 1'000'000) fail_unsupported("the shapes of this graph are too complex");
  if (fresh) exprs_.push_back({op, std::get<1>(key), std::get<2>(key)});
  return it->second;
}

std::uint32_t ExprWriter::constant(std::int64_t value) { return emit(ExprOp::kConst, value, 0); }

std::uint32_t ExprWriter::atom(AtomId id) {
  if (const auto it = atoms_.find(id); it != atoms_.end()) return it->second;
  const Atom a = syms_.atom(id);
  std::uint32_t index = 0;
  if (a.kind == AtomKind::kInput) {
    index = emit(ExprOp::kInput, a.input, 0);
  } else {
    const ExprOp op = a.kind == AtomKind::kFloorDiv   ? ExprOp::kFloorDiv
                      : a.kind == AtomKind::kExactDiv ? ExprOp::kExactDiv
                      : a.kind == AtomKind::kMin      ? ExprOp::kMin
                                                      : ExprOp::kMax;
    const std::uint32_t x = add(a.a), y = add(a.b);
    index = emit(op, x, y);
  }
  atoms_[id] = index;
  return index;
}

std::uint32_t ExprWriter::add(const Sym& s) {
  if (const auto c = s.constant()) return constant(*c);
  bool started = false;
  std::uint32_t sum = 0;
  // Two rounds, so that a difference starts with what is added.
  for (const bool negative : {false, true}) {
    for (auto it = s.terms().rbegin(); it != s.terms().rend(); ++it) {
      const auto& [m, c] = *it;
      if ((c < 0) != negative) continue;
      const std::int64_t magnitude = negative ? -c : c;
      bool have = magnitude != 1 || m.empty();
      std::uint32_t term = have ? constant(magnitude) : 0;
      for (const AtomId id : m) {
        const std::uint32_t factor = atom(id);
        term = have ? emit(ExprOp::kMul, term, factor) : factor;
        have = true;
      }
      if (!started && negative) {
        sum = constant(0);
        started = true;
      }
      sum = started ? emit(negative ? ExprOp::kSub : ExprOp::kAdd, sum, term) : term;
      started = true;
    }
  }
  return sum;
}

}  // namespace spirkiln::packer
