// SPDX-License-Identifier: Apache-2.0
// Everything that an opened table offers, as a user of it would walk it: for tables that were
// damaged on purpose.
#pragma once

#include "table/answers.hpp"
#include "table/module_reader.hpp"
#include "table/select.hpp"

namespace spirkiln::test {

// Those that the bytes hold, whatever the attachment is called.
inline std::vector<Answer> decoded_answers(std::span<const std::byte> bytes) {
  auto decoded = decode_answers(bytes);
  return decoded ? std::move(decoded->answers) : std::vector<Answer>();
}

inline void use_table(const Table& t) {
  for (const auto& a : t.attachments()) {
    if (const auto bytes = t.attachment(t.string(a.name))) {
      std::uint64_t sum = 0;
      for (const std::byte b : *bytes) sum += std::to_integer<std::uint64_t>(b);
      for (const Answer& answer : decoded_answers(*bytes)) {
        for (const AnswerBuffer& b : answer.buffers) {
          for (std::uint32_t i = 0; i < b.count; ++i) sum += b.value(i) > 0 ? 1 : 0;
        }
      }
      volatile std::uint64_t keep = sum;
      (void)keep;
    }
  }
  DeviceCaps caps;
  caps.name = "x";
  const Form forms[] = {kFp16s, kFp32};
  for (const auto& k : t.kernels()) {
    (void)t.find(t.string(k.name));
    (void)select_blob(t, {t.string(k.name), forms, {}}, caps).ok();
    for (const auto& v : t.variants_of(k)) {
      for (const auto& a : t.axis_values_of(v)) (void)t.string(a.axis).size();
      const auto& b = t.blobs()[v.blob];
      (void)missing_requirement(t, b, caps);
      std::uint64_t sum = 0;
      for (const auto& x : t.bindings_of(b)) sum += x.binding;
      for (const auto& x : t.specs_of(b)) sum += x.id + t.string(x.name).size();
      for (const auto& x : t.extensions_of(b)) sum += t.string(x).size();
      if (auto words = t.words(v.blob)) {
        for (const std::uint32_t w : *words) sum += w;
        if (auto module = read_module(*words)) sum += module->bindings.size();
      }
      volatile std::uint64_t keep = sum;
      (void)keep;
    }
  }
}

}  // namespace spirkiln::test
