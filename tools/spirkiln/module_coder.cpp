// SPDX-License-Identifier: Apache-2.0
#include "module_coder.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "parallel.hpp"
#include "spirv_operands.hpp"
#include "table/module_coding.hpp"

namespace spirkiln::gen {
namespace {

using table::OperandKind;

void put_varint(std::string& out, std::uint32_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_word(std::string& out, std::uint32_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint32_t zigzag(std::int64_t value) {
  return static_cast<std::uint32_t>((value << 1) ^ (value >> 63));
}

// Opcode, then a character for each operand.
std::string shape_key(const OperandModule& module, const OperandInstruction& instruction) {
  std::string key(reinterpret_cast<const char*>(&instruction.opcode), sizeof instruction.opcode);
  for (const OperandKind kind : module.kinds_of(instruction)) key += static_cast<char>(kind);
  return key;
}

class Coder {
 public:
  explicit Coder(const std::vector<std::optional<OperandModule>>& modules) { rank_shapes(modules); }

  // Coded, or nothing where ids are not as canonical_ids makes them.
  std::optional<std::string> code(const OperandModule& module);

  std::string dictionary() const {
    std::string out = shapes_bytes_;
    put_varint(out, global_count_);
    return out + globals_bytes_;
  }

 private:
  void rank_shapes(const std::vector<std::optional<OperandModule>>& modules);
  std::uint32_t shape(const OperandModule& module, const OperandInstruction& instruction) const {
    return shapes_.at(shape_key(module, instruction));
  }
  bool list_globals(const OperandModule& module);
  void put_operand(std::string& out, const OperandModule& module, std::size_t i,
                   std::uint32_t last_id) const;

  std::unordered_map<std::string, std::uint32_t> shapes_;
  std::string shapes_bytes_;
  // By shape, operands and, for equal ones within a module (two buffers of one type), their number.
  std::unordered_map<std::string, std::uint32_t> globals_;
  std::string globals_bytes_;
  std::uint32_t global_count_ = 0;
  // Of the module in hand: its globals in their order, which are its ids 1, 2, ...
  std::vector<std::uint32_t> listed_;
};

// The most frequent shapes take one byte.
void Coder::rank_shapes(const std::vector<std::optional<OperandModule>>& modules) {
  std::map<std::string, std::uint64_t> counts;
  for (const auto& module : modules) {
    if (!module) continue;
    for (const auto& instruction : module->instructions) ++counts[shape_key(*module, instruction)];
  }
  std::vector<std::pair<std::string, std::uint64_t>> ranked(counts.begin(), counts.end());
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  put_varint(shapes_bytes_, static_cast<std::uint32_t>(ranked.size()));
  for (const auto& [key, count] : ranked) {
    shapes_.emplace(key, static_cast<std::uint32_t>(shapes_.size()));
    const auto opcode = static_cast<std::uint32_t>(static_cast<unsigned char>(key[0])) |
                        static_cast<std::uint32_t>(static_cast<unsigned char>(key[1])) << 8;
    put_varint(shapes_bytes_, opcode);
    put_varint(shapes_bytes_, static_cast<std::uint32_t>(key.size() - 2));
    shapes_bytes_ += key.substr(2);
  }
}

bool Coder::list_globals(const OperandModule& module) {
  listed_.clear();
  std::unordered_map<std::string, std::uint32_t> equal_ones;
  for (const OperandInstruction& instruction : module.instructions) {
    std::uint32_t result = 0;
    for (std::size_t i = instruction.first; i < instruction.first + instruction.operands; ++i) {
      if (module.kinds[i] == OperandKind::kResult) result = module.words[i];
    }
    if (result == 0 || !module.is_global[result]) continue;
    if (result != listed_.size() + 1) return false;
    const std::uint32_t shape_index = shape(module, instruction);
    std::string key;
    put_word(key, shape_index);
    for (std::size_t i = instruction.first; i < instruction.first + instruction.operands; ++i) {
      if (module.kinds[i] == OperandKind::kResult) continue;
      put_word(key, module.kinds[i] == OperandKind::kId ? listed_[module.words[i] - 1]
                                                        : module.words[i]);
    }
    put_word(key, equal_ones[key]++);
    const auto [it, is_new] = globals_.emplace(key, global_count_);
    if (is_new) {
      put_varint(globals_bytes_, shape_index);
      for (std::size_t i = instruction.first; i < instruction.first + instruction.operands; ++i) {
        const std::uint32_t word = module.words[i];
        switch (module.kinds[i]) {
          case OperandKind::kResult:
            break;
          case OperandKind::kId:
            put_varint(globals_bytes_, global_count_ - listed_[word - 1]);
            break;
          case OperandKind::kNumber:
            put_varint(globals_bytes_, word);
            break;
          case OperandKind::kRaw:
            put_word(globals_bytes_, word);
            break;
        }
      }
      ++global_count_;
    }
    listed_.push_back(it->second);
  }
  return true;
}

void Coder::put_operand(std::string& out, const OperandModule& module, std::size_t i,
                        std::uint32_t last_id) const {
  const std::uint32_t word = module.words[i];
  switch (module.kinds[i]) {
    case OperandKind::kResult:
      return;
    case OperandKind::kId:
      if (word <= listed_.size()) return put_varint(out, listed_[word - 1] << 1 | 1);
      return put_varint(out, zigzag(std::int64_t{last_id} - word) << 1);
    case OperandKind::kNumber:
      return put_varint(out, word);
    case OperandKind::kRaw:
      return put_word(out, word);
  }
}

std::optional<std::string> Coder::code(const OperandModule& module) {
  if (module.schema != 0 || !list_globals(module)) return std::nullopt;
  std::string out;
  put_varint(out, module.version);
  put_varint(out, module.generator);
  put_varint(out, static_cast<std::uint32_t>(listed_.size()));
  std::int64_t expected = 0;
  for (const std::uint32_t global : listed_) {
    put_varint(out, zigzag(global - expected));
    expected = std::int64_t{global} + 1;
  }
  auto last_id = static_cast<std::uint32_t>(listed_.size());
  std::uint32_t run = 0;
  const auto end_run = [&] {
    if (run == 0) return;
    put_varint(out, 0);
    put_varint(out, run);
    run = 0;
  };
  for (const OperandInstruction& instruction : module.instructions) {
    const std::uint32_t before = last_id;
    bool is_global = false;
    for (std::size_t i = instruction.first; i < instruction.first + instruction.operands; ++i) {
      if (module.kinds[i] != OperandKind::kResult) continue;
      is_global = module.is_global[module.words[i]];
      if (!is_global && module.words[i] != ++last_id) return std::nullopt;
    }
    if (is_global) {
      ++run;
      continue;
    }
    end_run();
    put_varint(out, shape(module, instruction) + 1);
    for (std::size_t i = instruction.first; i < instruction.first + instruction.operands; ++i) {
      put_operand(out, module, i, before);
    }
  }
  end_run();
  if (module.bound != last_id + 1) return std::nullopt;
  return out;
}

}  // namespace

CodedModules code_modules(const std::vector<std::span<const std::uint32_t>>& modules,
                          unsigned threads) {
  std::vector<std::optional<OperandModule>> parsed(modules.size());
  parallel_for(modules.size(), threads,
               [&](std::size_t i) { parsed[i] = read_operands(modules[i]); });
  CodedModules out;
  out.modules.resize(modules.size());
  std::vector<char> raw(modules.size(), 0);  // not vector<bool>: written by several threads
  Coder coder(parsed);
  for (std::size_t i = 0; i < modules.size(); ++i) {
    auto coded = parsed[i] ? coder.code(*parsed[i]) : std::nullopt;
    raw[i] = coded ? 0 : 1;
    if (coded) out.modules[i] = *std::move(coded);
  }
  out.dictionary = coder.dictionary();
  const auto decoder = CodingDictionary::parse(std::as_bytes(std::span(out.dictionary)));
  parallel_for(modules.size(), threads, [&](std::size_t i) {
    std::vector<std::uint32_t> words(modules[i].size());
    if (raw[i] == 0 && decoder.ok() &&
        decoder->decode(std::as_bytes(std::span(out.modules[i])), words).ok() &&
        std::equal(words.begin(), words.end(), modules[i].begin())) {
      return;
    }
    raw[i] = 1;
    out.modules[i].assign(reinterpret_cast<const char*>(modules[i].data()), modules[i].size() * 4);
  });
  out.raw.assign(raw.begin(), raw.end());
  return out;
}

}  // namespace spirkiln::gen
