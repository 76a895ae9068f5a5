// SPDX-License-Identifier: Apache-2.0
#include "depfile.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "workspace.hpp"

using namespace spirkiln;

TEST_CASE("depfile: what Make treats specially is escaped", "[depfile]") {
  auto text = gen::emit_depfile({"out/a b"}, {"x$y", "p q", "h#i", "c:d", "b\\s"});
  REQUIRE(text.ok());
  CHECK(*text == "out/a\\ b: \\\n  x$$y \\\n  p\\ q \\\n  h\\#i \\\n  c\\:d \\\n  b\\s\n");
  CHECK_FALSE(gen::emit_depfile({"o"}, {"a\nb"}).ok());
}

// Ninja reads the file, so Ninja judges it: a second run does nothing, and an edit of a source
// whose path needs escaping is seen.
TEST_CASE("depfile: Ninja understands paths of any kind", "[depfile]") {
  if (std::system("ninja --version > /dev/null 2>&1") != 0) SKIP("no ninja here");
  const test::Workspace w;
  w.write("a b$c#d/kernels/m.toml", "[[kernel]]\nname = \"k\"\nsource = \"k:1.comp\"\n");
  w.write("a b$c#d/kernels/k:1.comp",
          "#version 450\n#include \"in c.glsl\"\nlayout(binding = 0) buffer B { sfp b[]; };\n"
          "void main() { buffer_st1(b, 0, afp(X)); }\n");
  w.write("a b$c#d/kernels/in c.glsl", "#define X 1.0\n");
  w.write("build.ninja", std::string("rule bake\n  command = '") + SPIRKILN_PROGRAM +
                             "' bake 'a b$$c#d/kernels' --name t --out-dir out --glsl '" +
                             SPIRKILN_SOURCE_ROOT +
                             "/glsl' --depfile t.d --no-cache --embed none\n  depfile = t.d\n"
                             "  deps = gcc\n  restat = 1\nbuild out/t_table.bin: bake\n");
  const std::string ninja = "cd '" + w.root().string() + "' && ninja > log 2>&1";
  const auto run = [&] {
    const int status = std::system(ninja.c_str());
    const std::string log = w.read("log");
    INFO(log);
    REQUIRE(status == 0);
    return log;
  };
  run();
  const std::string first = w.read("out/t_table.bin");
  CHECK(run().find("no work to do") != std::string::npos);
  // What Ninja took from the depfile are the files' real names.
  REQUIRE(std::system(("cd '" + w.root().string() + "' && ninja -t deps > deps").c_str()) == 0);
  const std::string deps = w.read("deps");
  for (const char* name : {"m.toml", "k:1.comp", "in c.glsl"}) {
    INFO(deps);
    CHECK(deps.find("    a b$c#d/kernels/" + std::string(name) + "\n") != std::string::npos);
  }
  w.write("a b$c#d/kernels/in c.glsl", "#define X 2.0\n");
  std::filesystem::last_write_time(
      w / "a b$c#d/kernels/in c.glsl",
      std::filesystem::file_time_type::clock::now() + std::chrono::seconds(2));
  CHECK(run().find("no work to do") == std::string::npos);
  CHECK(w.read("out/t_table.bin") != first);
  w.write("a b$c#d/kernels/k:1.comp",
          "#version 450\nlayout(binding = 0) buffer B { sfp b[]; };\n"
          "void main() { buffer_st1(b, 0, afp(3.0)); }\n");
  std::filesystem::last_write_time(
      w / "a b$c#d/kernels/k:1.comp",
      std::filesystem::file_time_type::clock::now() + std::chrono::seconds(4));
  CHECK(run().find("no work to do") == std::string::npos);
}
