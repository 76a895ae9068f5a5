// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "glslang_front.hpp"
#include "spirkiln/compile.hpp"
#include "spirv_tools.hpp"

using namespace spirkiln;

// shaderc 945, glslang 1429 and 2438: compilers that were not made for threads. With clang's thread
// sanitizer by scripts/sanitize-threads, which asks for more rounds.
TEST_CASE("threads: many threads compile what one compiles", "[threads]") {
  const char* asked = std::getenv("SPIRKILN_ROUNDS");
  const int rounds = asked != nullptr ? std::atoi(asked) : 10;
  constexpr std::size_t kThreads = 8;
  struct Kind {
    std::string text;
    Option option;
    std::vector<std::uint32_t> words;
  };
  std::vector<Kind> kinds;
  for (int i = 0; i < 4; ++i) {
    Kind& kind = kinds.emplace_back();
    kind.text =
        "#version 450\nlayout(binding = 0) buffer B { sfpvec4 b[]; };\n"
        "void main() { buffer_st4(b, 0, max(buffer_ld4(b, 1), 0) * " +
        std::to_string(i + 1) + "); }\n";
    kind.option.use_fp16_storage = i % 2 == 0;
    kind.option.use_fp16_arithmetic = i < 2;
    kind.option.use_int8_packed = kind.option.use_int8_storage = false;
    kind.option.message = [](Severity, std::string_view text) { UNSCOPED_INFO(text); };
    REQUIRE(compile_spirv_module(kind.text.c_str(), kind.option, kind.words) == 0);
    kind.option.message = {};
    const auto optimised = gen::optimise(kind.words, gen::Optimise::kPerformance, gen::kTargets[0]);
    REQUIRE(optimised.ok());
    kind.words = *optimised;
  }
  std::array<int, kThreads> wrong{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        const Kind& kind = kinds[(t + static_cast<std::size_t>(i)) % kinds.size()];
        std::vector<std::uint32_t> words;
        bool same = compile_spirv_module(kind.text.c_str(), kind.option, words) == 0;
        const auto optimised = gen::optimise(words, gen::Optimise::kPerformance, gen::kTargets[0]);
        same = same && optimised.ok() && *optimised == kind.words &&
               gen::validate(*optimised, gen::kTargets[0]).ok();
        wrong[t] += !same;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::array<int, kThreads>{});
}
