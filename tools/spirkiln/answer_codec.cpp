// SPDX-License-Identifier: Apache-2.0
#include "answer_codec.hpp"

#include <bit>

namespace spirkiln::gen {
namespace {

void put_small(std::string& out, std::uint32_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_word(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift);
}

void put_real(std::string& out, float value) { put_word(out, std::bit_cast<std::uint32_t>(value)); }

void put_text(std::string& out, const std::string& text) {
  put_small(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

void put_buffer(std::string& out, const AnswerBuffer& b) {
  put_small(out, b.binding);
  out += static_cast<char>(b.kind);
  put_small(out, b.count);
  out += static_cast<char>(b.values.empty() ? 0 : 1);
  for (const float v : b.values) {
    if (b.kind == AnswerKind::kBytes) {
      out += static_cast<char>(static_cast<int>(v));
    } else {
      put_real(out, v);
    }
  }
  if (!b.values.empty()) return;
  const AnswerSeed& s = b.seed;
  for (const std::uint32_t v : {s.seed, s.steps, s.row, s.used, s.rows, s.used_rows}) {
    put_small(out, v);
  }
  for (const float v : {s.centre, s.range, s.rest}) put_real(out, v);
}

void put_result(std::string& out, const AnswerResult& r) {
  put_small(out, r.binding);
  out += static_cast<char>(r.kind);
  put_small(out, static_cast<std::uint32_t>(r.values.size()));
  put_real(out, r.scale);
  put_real(out, r.bound);
  for (const float t : r.tolerance) put_real(out, t);
  for (const std::int16_t v : r.values) out += static_cast<char>(v);
  for (const std::int16_t v : r.values) out += static_cast<char>(v >> 8);
}

}  // namespace

std::string encode_answers(std::span<const Answer> answers) {
  std::string out;
  for (const Answer& a : answers) {
    put_text(out, a.kernel);
    put_small(out, static_cast<std::uint32_t>(a.axes.size()));
    for (const auto& [axis, value] : a.axes) {
      put_text(out, axis);
      put_text(out, value);
    }
    put_small(out, a.subnormal ? 1 : 0);
    put_small(out, a.subgroup);
    for (const std::uint32_t v : a.local_size) put_small(out, v);
    for (const std::uint32_t v : a.groups) put_small(out, v);
    put_small(out, static_cast<std::uint32_t>(a.constants.size()));
    for (const auto& [name, bits] : a.constants) {
      put_text(out, name);
      put_word(out, bits);
    }
    put_small(out, static_cast<std::uint32_t>(a.push.size()));
    for (const std::uint32_t v : a.push) put_word(out, v);
    put_small(out, static_cast<std::uint32_t>(a.buffers.size()));
    for (const AnswerBuffer& b : a.buffers) put_buffer(out, b);
    put_result(out, a.result);
  }
  return out;
}

}  // namespace spirkiln::gen
