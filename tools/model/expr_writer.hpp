// SPDX-License-Identifier: Apache-2.0
// Expressions in the pack's form; equal ones are stored once.
#pragma once

#include "sym.hpp"

#include <spirkiln/model_format.hpp>

#include <map>
#include <tuple>
#include <vector>

namespace spirkiln::packer {

class ExprWriter {
 public:
  explicit ExprWriter(const SymContext& syms) : syms_(syms) {}
  std::uint32_t add(const Sym& s);  // the index
  const std::vector<model::Expr>& exprs() const { return exprs_; }

 private:
  std::uint32_t emit(model::ExprOp op, std::int64_t a, std::int64_t b);
  std::uint32_t constant(std::int64_t value);
  std::uint32_t atom(AtomId id);

  const SymContext& syms_;
  std::vector<model::Expr> exprs_;
  std::map<std::tuple<std::uint32_t, std::int32_t, std::int32_t>, std::uint32_t> known_;
  std::map<AtomId, std::uint32_t> atoms_;
};

}  // namespace spirkiln::packer
