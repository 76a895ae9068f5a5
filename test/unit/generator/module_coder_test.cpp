// SPDX-License-Identifier: Apache-2.0
// The coded form of modules: held against table_format.hpp by bytes written by hand, and against
// every module of the OCR kernels by kernels_test.cpp.
#include "module_coder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <random>

#include "canonical_ids.hpp"
#include "newer_operands.hpp"
#include "spirv_tools.hpp"
#include "table/module_coding.hpp"

#include <spirv-tools/libspirv.hpp>

using namespace spirkiln;

namespace {

using Words = std::vector<std::uint32_t>;

Words assemble(const std::string& text) {
  Words words;
  const spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_0);
  REQUIRE(tools.Assemble(text, &words, SPV_TEXT_TO_BINARY_OPTION_PRESERVE_NUMERIC_IDS));
  return words;
}

// A kernel that stores 7 (or another constant) through a loop-free function; ids as given.
std::string kernel(const std::string& constant, const std::string& f, const std::string& label) {
  return "OpCapability Shader\n"
         "OpMemoryModel Logical GLSL450\n"
         "OpEntryPoint GLCompute " +
         f +
         " \"main\"\n"
         "OpExecutionMode " +
         f +
         " LocalSize 1 1 1\n"
         "%90 = OpTypeVoid\n"
         "%91 = OpTypeFunction %90\n"
         "%92 = OpTypeInt 32 0\n"
         "%93 = OpConstant %92 " +
         constant + "\n" + f + " = OpFunction %90 None %91\n" + label +
         " = OpLabel\n"
         "%99 = OpIAdd %92 %93 %93\n"
         "OpReturn\nOpFunctionEnd\n";
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

TEST_CASE("canonical ids: modules that differ in ids alone are the same", "[coding]") {
  const auto a = gen::canonical_ids(assemble(kernel("7", "%3", "%4")));
  const auto b = gen::canonical_ids(assemble(kernel("7", "%77", "%1")));
  REQUIRE(a);
  REQUIRE(b);
  CHECK(*a == *b);
  CHECK((*a)[3] == 8);  // four globals, function, label, sum
  CHECK(gen::validate(*a, gen::kTargets[0]).ok());
  CHECK(gen::canonical_ids(*a) == a);
  CHECK(gen::canonical_ids(assemble(kernel("8", "%3", "%4"))) != a);
}

TEST_CASE("canonical ids: an unknown instruction leaves a module alone", "[coding]") {
  Words words = assemble(kernel("7", "%3", "%4"));
  words.push_back(1u << 16 | 65000u);
  CHECK_FALSE(gen::canonical_ids(words));
}

TEST_CASE("coding: the decoder reads what the format says", "[coding]") {
  // Shapes: 0 = OpTypeVoid (19) result; 1 = OpConstant (43) type id, result, number;
  // 2 = OpTypeInt (21) result, number, number; 3 = OpReturnValue (254) id; 4 = OpName (5) id, raw.
  const std::string dictionary{
      "\x05"
      "\x13\x01\x00"
      "\x2b\x03\x01\x00\x02"
      "\x15\x03\x00\x02\x02"
      "\xfe\x01\x01\x01"
      "\x05\x02\x01\x03"
      // Globals: 0 = void, 1 = int 32 1, 2 = constant of 1 (one back), 300.
      "\x03"
      "\x00"
      "\x02\x20\x01"
      "\x01\x01\xac\x02",
      31};
  const auto decoder = CodingDictionary::parse(bytes_of(dictionary));
  REQUIRE(decoder.ok());
  // Version 1.0, generator 7; two globals, 1 and 2 (differences 1 and 0 from the expected next);
  // both here; OpReturnValue of global 2; OpTypeVoid as an ordinary result; OpReturnValue of it.
  const std::string module{
      "\x80\x80\x04\x07"
      "\x02\x02\x00"
      "\x00\x02"
      "\x04\x05"
      "\x01"
      "\x04\x00"
      "\x05\x00"
      "abcd",
      20};
  Words words(5 + 4 + 4 + 2 + 2 + 2 + 3);
  const Status decoded = decoder->decode(bytes_of(module), words);
  REQUIRE(decoded.ok());
  CHECK(words == Words{0x07230203,     0x00010000, 7,         4,   0,  //
                       4u << 16 | 21,  1,          32,        1,  //
                       4u << 16 | 43,  1,          2,         300,  //
                       2u << 16 | 254, 2,  //
                       2u << 16 | 19,  3,  //
                       2u << 16 | 254, 3,  //
                       3u << 16 | 5,   3,          0x64636261});
  for (const std::size_t length : {words.size() - 1, words.size() + 1, std::size_t{4}}) {
    Words other(length);
    CHECK_FALSE(decoder->decode(bytes_of(module), other).ok());
  }
  for (std::size_t size = 0; size < module.size(); ++size) {
    CHECK_FALSE(decoder->decode(bytes_of(module).first(size), words).ok());
  }
  for (std::size_t size = 0; size < dictionary.size(); ++size) {
    CHECK_FALSE(CodingDictionary::parse(bytes_of(dictionary).first(size)).ok());
  }
  CHECK_FALSE(CodingDictionary::parse(bytes_of(dictionary + '\0')).ok());
}

TEST_CASE("coding: modules come back word for word, like ones in few bytes", "[coding]") {
  std::vector<Words> modules;
  for (const char* constant : {"7", "8", "9", "100000"}) {
    modules.push_back(*gen::canonical_ids(assemble(kernel(constant, "%3", "%4"))));
  }
  modules.push_back(assemble(kernel("7", "%3", "%4")));  // ids of its own: stored as words
  Words unknown = modules[0];
  unknown.push_back(1u << 16 | 65000u);
  modules.push_back(unknown);
  const std::vector<std::span<const std::uint32_t>> spans(modules.begin(), modules.end());
  const gen::CodedModules coded = gen::code_modules(spans, 2);
  CHECK(coded.raw == std::vector<bool>{false, false, false, false, true, true});
  const auto decoder = CodingDictionary::parse(bytes_of(coded.dictionary));
  REQUIRE(decoder.ok());
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(coded.modules[i].size() * 4 < modules[i].size() * 4);
    Words words(modules[i].size());
    REQUIRE(decoder->decode(bytes_of(coded.modules[i]), words).ok());
    CHECK(words == modules[i]);
  }
  CHECK(coded.modules[5].size() == unknown.size() * 4);
  CHECK(gen::code_modules(spans, 1).modules == coded.modules);
}

TEST_CASE("coding: damaged bytes are refused or decoded, and nothing is read outside", "[coding]") {
  const Words module = *gen::canonical_ids(assemble(kernel("7", "%3", "%4")));
  const gen::CodedModules coded = gen::code_modules({module, module}, 1);
  std::mt19937 random(3);
  const auto damage = [&](std::string text) {
    for (int flips = 0; flips < 2; ++flips) {
      const std::size_t at = random() % text.size();
      text[at] = static_cast<char>(text[at] ^ (1 << (random() % 8)));
    }
    return text;
  };
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto decoder = CodingDictionary::parse(bytes_of(damage(coded.dictionary)));
    Words words(module.size());
    if (!decoder.ok() || !decoder->decode(bytes_of(damage(coded.modules[0])), words).ok()) {
      ++refused;
    }
  }
  CHECK(refused > 10000);
}

TEST_CASE("newer operands: the instructions of cooperative matrices, by their own tables",
          "[module]") {
  using Kinds = std::vector<table::OperandKind>;
  using enum table::OperandKind;
  const auto kinds = [](std::uint16_t opcode, std::vector<std::uint32_t> operands) {
    return gen::newer_operand_kinds(opcode, operands);
  };
  // SPV_KHR_cooperative_matrix: type; load and store with and without stride and memory operands
  // (Aligned 2 brings a number, MakePointerVisible 16 a scope); multiply with a mask; length.
  CHECK(kinds(4456, {9, 2, 3, 4, 4, 5}) == Kinds{kResult, kId, kId, kId, kId, kId});
  CHECK(kinds(4457, {1, 9, 2, 3}) == Kinds{kId, kResult, kId, kId});
  CHECK(kinds(4457, {1, 9, 2, 3, 4}) == Kinds{kId, kResult, kId, kId, kId});
  CHECK(kinds(4457, {1, 9, 2, 3, 4, 2, 16}) ==
        Kinds{kId, kResult, kId, kId, kId, kNumber, kNumber});
  CHECK(kinds(4457, {1, 9, 2, 3, 4, 18, 16, 7}) ==
        Kinds{kId, kResult, kId, kId, kId, kNumber, kNumber, kId});
  CHECK(kinds(4458, {2, 8, 3, 4, 8, 7}) == Kinds{kId, kId, kId, kId, kNumber, kId});
  CHECK(kinds(4459, {1, 9, 2, 3, 4}) == Kinds{kId, kResult, kId, kId, kId});
  CHECK(kinds(4459, {1, 9, 2, 3, 4, 16}) == Kinds{kId, kResult, kId, kId, kId, kNumber});
  CHECK(kinds(4460, {1, 9, 2}) == Kinds{kId, kResult, kId});
  CHECK(kinds(17, {6022}) == Kinds{kNumber});
  // Others are SPIRV-Tools', and what does not fit is nobody's.
  CHECK_FALSE(kinds(17, {1}));
  CHECK_FALSE(kinds(128, {1, 9, 2, 3}));
  CHECK_FALSE(kinds(4456, {9, 2, 3}));
  CHECK_FALSE(kinds(4457, {1, 9, 2}));
  CHECK_FALSE(kinds(4457, {1, 9, 2, 3, 4, 2}));
  CHECK_FALSE(kinds(4459, {1, 9, 2, 3, 4, 16, 5}));
  CHECK_FALSE(kinds(4460, {}));
}
