// SPDX-License-Identifier: Apache-2.0
// What of a source is visible in outputs: nothing, or all of it with --debug.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <spirv/unified1/spirv.hpp>

#include "shell.hpp"
#include "spirv_module.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Debug {
  std::size_t names = 0;
  std::size_t lines = 0;
  std::size_t sources = 0;
  std::vector<std::string> strings;
};

Debug debug_of(const std::vector<std::uint32_t>& words) {
  const auto module = gen::SpirvModule::parse(words);
  REQUIRE(module.ok());
  Debug found;
  for (const auto& inst : module->instructions()) {
    found.names += inst.op == spv::OpName || inst.op == spv::OpMemberName;
    found.lines += inst.op == spv::OpLine;
    found.sources += inst.op == spv::OpSource || inst.op == spv::OpSourceContinued ||
                     inst.op == spv::OpSourceExtension || inst.op == spv::OpModuleProcessed;
    if (inst.op == spv::OpString) {
      found.strings.push_back(gen::spirv_string(inst.operands.subspan(1)));
    }
  }
  return found;
}

std::vector<std::uint32_t> as_words(const std::string& bytes) {
  std::vector<std::uint32_t> words(bytes.size() / 4);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(words.data()));
  return words;
}

}  // namespace

TEST_CASE("debug: release outputs show nothing of the sources or their folder", "[debug]") {
  const test::Shell s;
  const std::string folder = s.root().string();
  // Named by its whole path, as build systems do.
  REQUIRE(s.run("bake '" + folder + "/m.toml' --name t --embed array --out-dir '" + folder +
                "/o' " + s.glsl())
              .status == 0);
  REQUIRE(s.run("compile '" + folder + "/m.toml' -o m.spko " + s.glsl()).status == 0);
  REQUIRE(s.run("spirv '" + folder + "/scale.comp' --variant fp16s -o k.spv " + s.glsl()).status ==
          0);
  const auto table = Table::from_file((s / "o/t_table.bin").string());
  REQUIRE(table.ok());
  std::string all;
  for (const auto& v : table->variants()) {
    const auto words = gen::module_of(*table, v);
    REQUIRE(words.ok());
    const Debug found = debug_of(*words);
    CHECK(found.names + found.lines + found.sources + found.strings.size() == 0);
    all.append(reinterpret_cast<const char*>(words->data()), words->size() * 4);
  }
  const Debug found = debug_of(as_words(s.read("k.spv")));
  CHECK(found.names + found.lines + found.sources + found.strings.size() == 0);
  for (const char* file : {"o/t_table.bin", "o/t_table.hpp", "o/t_table.cpp", "m.spko", "k.spv"}) {
    all += s.read(file);
  }
  CHECK(all.find(folder) == std::string::npos);
  CHECK(all.find("scale.comp") == std::string::npos);
  CHECK(all.find(SPIRKILN_SOURCE_ROOT) == std::string::npos);
}

TEST_CASE("debug: names, lines and the files as they were given", "[debug]") {
  const test::Shell s;
  const std::string bake = "bake m.toml --name t --out-dir o " + s.glsl();
  REQUIRE(s.run(bake).status == 0);
  const std::string release = s.read("o/t_table.bin");
  // The stamp does not take one for the other, nor does the cache.
  REQUIRE(s.run(bake + "--debug").status == 0);
  const Debug found = debug_of(test::words_of(s / "o/t_table.bin", "scale_fp16s"));
  CHECK(found.names > 0);
  CHECK(found.lines > 0);
  CHECK(found.sources > 0);
  CHECK(std::find(found.strings.begin(), found.strings.end(), "scale.comp") != found.strings.end());
  for (const std::string& text : found.strings) {
    CHECK(text.find(s.root().string()) == std::string::npos);
  }
  REQUIRE(s.run(bake).status == 0);
  CHECK(s.read("o/t_table.bin") == release);

  REQUIRE(s.run("compile m.toml -o m.spko --debug " + s.glsl()).status == 0);
  REQUIRE(s.run("link m.spko --name t --out-dir linked").status == 0);
  CHECK(debug_of(test::words_of(s / "linked/t_table.bin", "scale")).lines > 0);
  REQUIRE(s.run("spirv scale.comp --variant fp32 --debug -o k.spv " + s.glsl()).status == 0);
  CHECK(debug_of(as_words(s.read("k.spv"))).lines > 0);
}
