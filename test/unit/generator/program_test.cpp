// SPDX-License-Identifier: Apache-2.0
// The program: exit codes, which stream says what, and its commands.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>

#include "shell.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using test::Shell;

TEST_CASE("program: help and version", "[program]") {
  const Shell s;
  const auto help = s.run("--help");
  CHECK(help.status == 0);
  CHECK_THAT(help.out, ContainsSubstring("Examples:\n  spirkiln bake variants/kernels"));
  CHECK(help.err.empty());
  const auto version = s.run("--version");
  CHECK(version.status == 0);
  CHECK_THAT(version.out, StartsWith("spirkiln "));
  CHECK_THAT(version.out, ContainsSubstring("glslang"));
  CHECK(s.run("bake --help").status == 0);
}

TEST_CASE("program: wrong arguments", "[program]") {
  const Shell s;
  for (const char* arguments :
       {"", "cook", "bake", "bake m.toml --name t", "bake m.toml --nmae t",
        "bake m.toml --name t --out-dir o -j 0", "bake m.toml --name t --out-dir o --embed hex",
        "bake m.toml --name t --out-dir o --cache c --no-cache",
        "bake m.toml --name t --out-dir o --json", "dump x", "dump x y --asm --glsl"}) {
    INFO(arguments);
    const auto o = s.run(arguments);
    CHECK(o.status == 2);
    CHECK(o.out.empty());
    CHECK_THAT(o.err, StartsWith("spirkiln: error: "));
  }
}

TEST_CASE("program: bake, list and dump", "[program]") {
  const Shell s;
  const auto bake = s.run("bake m.toml --name demo --out-dir o --stats --explain " + s.glsl());
  INFO(bake.err);
  REQUIRE(bake.status == 0);
  CHECK_THAT(bake.out, ContainsSubstring("1 manifest, 1 kernel, 7 variants, 3 pruned"));
  CHECK_THAT(bake.err,
             ContainsSubstring("pruned scale_accafp by acc-afp-requires-fp16-arithmetic"));
  const auto again = s.run("bake m.toml --name demo --out-dir o --stats --json " + s.glsl());
  CHECK_THAT(again.out, ContainsSubstring("\"up_to_date\": true"));

  const auto list = s.run("list o/demo_table.bin");
  CHECK(list.status == 0);
  CHECK_THAT(list.out, StartsWith("table demo: 1 kernels, 7 variants, "));
  const auto json = s.run("list o/demo_table.bin --json");
  CHECK_THAT(json.out, ContainsSubstring("\"axes\": {\"acc\": \"afp\"}"));
  CHECK_THAT(json.out, ContainsSubstring("\"name\": \"n\", \"type\": \"uint\""));

  const auto explained = s.run("list --explain m.toml " + s.glsl());
  CHECK(explained.status == 0);
  CHECK_THAT(explained.out, StartsWith("scale (scale.comp)\n  kept scale_fp16s\n"));
  CHECK(explained.err.empty());
  s.write("asks.comp", "#version 450\n#if ncnn_subgroupSize >= 16\n#endif\nvoid main() {}\n");
  const auto axes = s.run("axes asks.comp scale.comp " + s.glsl());
  CHECK(axes.status == 0);
  CHECK_THAT(axes.out, StartsWith("asks.comp\n  ncnn_subgroupSize "));
  CHECK_THAT(axes.out, ContainsSubstring(">= 16"));
  CHECK_THAT(axes.out, ContainsSubstring("values 0 16, first at asks.comp:2:5\nscale.comp\n"));
  CHECK(s.run("axes none.comp").status == 1);
  CHECK(s.run("list a b").status == 2);

  CHECK_THAT(s.run("dump o/demo_table.bin scale").out, ContainsSubstring("OpEntryPoint GLCompute"));
  CHECK_THAT(s.run("dump o/demo_table.bin scale --glsl").out, StartsWith("#version 450"));
  CHECK_THAT(s.run("dump o/demo_table.bin scale --msl").out, ContainsSubstring("kernel void"));
  CHECK_THAT(s.run("dump o/demo_table.bin scale --hlsl").out, ContainsSubstring("numthreads"));
  CHECK_THAT(s.run("dump o/demo_table.bin scale --reflect").out,
             ContainsSubstring("\"push_bytes\": 8"));
  REQUIRE(s.run("dump o/demo_table.bin scale --spirv x.spv").status == 0);
  const std::string words = s.read("x.spv");
  REQUIRE(words.size() > 20);
  CHECK(words.substr(0, 4) == std::string("\x03\x02\x23\x07", 4));
  CHECK(s.run("dump o/demo_table.bin scale --spirv -").out == words);

  const auto none = s.run("dump o/demo_table.bin scael");
  CHECK(none.status == 1);
  CHECK_THAT(none.err, ContainsSubstring("has no variant 'scael'"));
  CHECK(s.run("list m.toml").status == 1);
  CHECK(s.run("list /nowhere").status == 1);
}

TEST_CASE("program: a failing bake says where, and writes nothing", "[program]") {
  const Shell s;
  s.write("scale.comp", "#version 450\nvoid main() {\n  x = 1;\n}\n");
  const auto o = s.run("bake m.toml --name demo --out-dir o --depfile o/d " + s.glsl());
  CHECK(o.status == 1);
  CHECK(o.out.empty());
  CHECK(o.err ==
        "scale.comp:3:3: error: 'x': undeclared identifier\n"
        "  in all 7 variants of scale\n"
        "spirkiln: error: 1 of 1 kernels failed; nothing was written\n");
  CHECK_FALSE(s.exists("o"));
}

TEST_CASE("program: macros that expand without end are given up", "[program]") {
  const Shell s;
  std::string text = "#version 450\n#define a0 x x x x x x x x\n";
  for (int i = 0; i < 12; ++i) {
    const std::string previous = " a" + std::to_string(i);
    text += "#define a" + std::to_string(i + 1);
    for (int n = 0; n < 8; ++n) text += previous;
    text += "\n";
  }
  s.write("scale.comp", text + "void main() { a12; }\n");
  const auto o = s.run("bake m.toml --name demo --out-dir o --time-limit 1 " + s.glsl());
  CHECK(o.status == 1);
  CHECK_THAT(o.err, ContainsSubstring("scale.comp: error: "));
  CHECK_THAT(o.err, ContainsSubstring("given up"));
  CHECK_FALSE(s.exists("o"));
}

// Parts of the compilers set themselves up on first use, so each round is a fresh process.
TEST_CASE("program: no input is written over", "[program]") {
  const Shell s;
  REQUIRE(s.run("bake m.toml --name t --out-dir o " + s.glsl()).status == 0);
  std::filesystem::create_hard_link(s / "scale.comp", s / "hard.spv");
  std::filesystem::create_symlink("m.toml", s / "link.d");
  s.write("part.glsl", "#define PART 1\n");
  s.write("with_part.comp", "#version 450\n#include \"part.glsl\"\nvoid main() {}\n");
  const char* kept[] = {"m.toml", "scale.comp", "part.glsl", "o/t_table.bin"};
  std::vector<std::string> before;
  for (const char* name : kept) before.push_back(s.read(name));
  const std::string glsl = " " + s.glsl();
  for (const std::string& arguments :
       {"spirv scale.comp --variant fp32 -o scale.comp" + glsl,
        "spirv scale.comp --variant fp32 -o hard.spv" + glsl,
        "spirv with_part.comp --variant fp32 -o part.glsl" + glsl,
        std::string("dump o/t_table.bin scale --spirv o/t_table.bin"),
        "bake m.toml --name n --out-dir n --depfile m.toml" + glsl,
        "bake m.toml --name n --out-dir n --depfile link.d" + glsl,
        "bake . --name n --out-dir n --depfile m.toml" + glsl,
        "bake m.toml --name n --out-dir n --depfile scale.comp" + glsl}) {
    INFO(arguments);
    const auto o = s.run(arguments);
    CHECK(o.status == 1);
    CHECK_THAT(o.err, StartsWith("spirkiln: error: the output '"));
    CHECK_THAT(o.err, ContainsSubstring("' is an input as well"));
    CHECK_FALSE(s.exists("n"));
    for (std::size_t i = 0; i < before.size(); ++i) CHECK(s.read(kept[i]) == before[i]);
  }
}

TEST_CASE("program: what a table needs is found from inside the manifest's folder", "[program]") {
  const Shell s;
  std::filesystem::create_directories(s / "project/variants/kernels");
  std::filesystem::create_directory_symlink(std::string(SPIRKILN_SOURCE_ROOT) + "/glsl",
                                            s / "project/glsl");
  for (const char* name : {"m.toml", "scale.comp"}) {
    std::filesystem::copy_file(s / name, s / "project/variants/kernels" / name);
  }
  for (const char* input : {"m.toml", ".", "./", "./m.toml", "../kernels", "../kernels/m.toml"}) {
    INFO(input);
    const auto o = s.run(std::string("list --explain ") + input, "project/variants/kernels");
    INFO(o.err);
    CHECK(o.status == 0);
    CHECK_THAT(o.out, ContainsSubstring("kept scale_fp16s\n"));
  }
  const auto o = s.run("spirv scale.comp --variant fp32 -o -", "project/variants/kernels");
  CHECK(o.status == 0);
}

TEST_CASE("program: sources with any name, and messages of one line", "[program]") {
  const Shell s;
  const std::string folder = "q\"u\\o\nte%41:7: d";
  s.write(folder + "/m.toml", "[[kernel]]\nname = \"k\"\nsource = \"k:1.comp\"\n");
  const std::string good = "#version 450\n#include \"in.glsl\"\nvoid main() { f(); }\n";
  s.write(folder + "/k:1.comp", good);
  s.write(folder + "/in.glsl", "void f() {}\n");
  const std::string bake = "bake '" + folder + "' --name t --out-dir o " + s.glsl();
  const auto fine = s.run(bake);
  INFO(fine.err);
  REQUIRE(fine.status == 0);

  const std::string shown = "q\"u\\o\\nte%41:7: d/";
  s.write(folder + "/in.glsl", "void f() {\n  bogus = 1;\n}\n");
  CHECK(s.run(bake).err == shown +
                               "in.glsl:2:3: error: 'bogus': undeclared identifier\n"
                               "  in all 5 variants of k\n"
                               "spirkiln: error: 1 of 1 kernels failed; nothing was written\n");
  s.write(folder + "/in.glsl", "void f() { f(); }\n");
  CHECK_THAT(s.run(bake).err, StartsWith(shown + "in.glsl:1:6: error: 'f': this function calls "
                                                 "itself; GLSL has no recursion\n"));
  s.write(folder + "/k:1.comp", "#version 450\n#include \"none.glsl\"\nvoid main() {}\n");
  const auto none = s.run(bake);
  CHECK_THAT(none.err, StartsWith(shown + "k:1.comp:2:"));
  CHECK_THAT(none.err, ContainsSubstring("no such file; looked for '" + shown + "none.glsl', '"));
  s.write(folder + "/m.toml", "name = 1\n");
  CHECK(s.run(bake).err == shown + "m.toml:1:1: error: 'name' stands below a line [[kernel]]\n");
  CHECK(s.run("list 'a\nb'").err ==
        "spirkiln: error: cannot read a\\nb: No such file or directory\n");
  CHECK(s.run("bake 'a\nb.toml' --name t --out-dir o").err ==
        "spirkiln: error: there is no file 'a\\nb.toml'\n");
}

TEST_CASE("program: a pipe is no input", "[program]") {
  const Shell s;
  for (const char* name : {"pipe", "pipes/p.toml", "pipe.comp"}) {
    std::filesystem::create_directories((s / name).parent_path());
    REQUIRE(::mkfifo((s / name).c_str(), 0600) == 0);
  }
  s.write("inc.comp", "#version 450\n#include \"pipe\"\nvoid main() {}\n");
  for (const std::string& arguments :
       {std::string("list pipe"), std::string("dump pipe x"),
        "bake pipes --name t --out-dir o " + s.glsl(), "bake pipe --name t --out-dir o " + s.glsl(),
        "axes pipe.comp " + s.glsl(), "spirv pipe.comp --variant fp32 -o x " + s.glsl(),
        "spirv inc.comp --variant fp32 -o x " + s.glsl()}) {
    INFO(arguments);
    const auto o = s.run(arguments);
    CHECK(o.status == 1);
    CHECK_THAT(o.err, ContainsSubstring("regular file"));
  }
}

TEST_CASE("program: an empty name is a mistake", "[program]") {
  const Shell s;
  for (const char* arguments :
       {"bake '' --name t --out-dir o", "bake m.toml --name t --out-dir ''",
        "bake m.toml --name t --out-dir o --depfile ''", "list ''", "dump '' x", "axes ''",
        "spirv '' --variant fp32 -o x", "spirv scale.comp --variant fp32 -o ''"}) {
    INFO(arguments);
    const auto o = s.run(arguments);
    CHECK(o.status == 2);
    CHECK_THAT(o.err, ContainsSubstring("an empty name names no file"));
  }
}

TEST_CASE("program: outputs to streams and through links", "[program]") {
  const Shell s;
  const std::string spirv = "spirv scale.comp --variant fp32 " + s.glsl();
  REQUIRE(s.run(spirv + "-o x.spv").status == 0);
  const std::string words = s.read("x.spv");
  CHECK(s.run(spirv + "-o -").out == words);
  CHECK(s.run(spirv + "-o /dev/stdout").out == words);
  s.write("behind", "old");
  std::filesystem::create_symlink("behind", s / "link");
  REQUIRE(s.run(spirv + "-o link").status == 0);
  CHECK(std::filesystem::is_symlink(s / "link"));
  CHECK(s.read("behind") == words);
  // A depfile that nobody keeps.
  REQUIRE(::mkfifo((s / "pipe").c_str(), 0600) == 0);
  const std::string reader =
      "cat '" + (s / "pipe").string() + "' > '" + (s / "depfile").string() + "' &";
  REQUIRE(std::system(reader.c_str()) == 0);
  const auto o = s.run("bake m.toml --name t --out-dir o --depfile pipe " + s.glsl());
  CHECK(o.status == 0);
  CHECK_THAT(s.read("depfile"), StartsWith("o/t_table.bin o/t_table.hpp o/t_table.S: \\\n"));
  CHECK(std::filesystem::is_fifo(s / "pipe"));
}

TEST_CASE("program: a local size of one to three numbers", "[program]") {
  const Shell s;
  s.write("k.comp", "#version 450\nvoid main() {}\n");
  const std::string spirv = "spirv k.comp --variant fp32 -o - " + s.glsl() + "--local-size ";
  const std::string full = s.run(spirv + "8,8,1").out;
  CHECK_FALSE(full.empty());
  CHECK(s.run(spirv + "8,8").out == full);
  CHECK(s.run(spirv + "8").out != full);
  for (const char* wrong : {"8,", "0", "8,8,8,8", "8,-1", "8x8"}) {
    INFO(wrong);
    const auto o = s.run(spirv + wrong);
    CHECK(o.status == 1);
    CHECK_THAT(o.err, ContainsSubstring("expected X, X,Y or X,Y,Z"));
  }
  CHECK_THAT(s.run("spirv --help").out, ContainsSubstring("X, X,Y or X,Y,Z"));
}

TEST_CASE("program: many threads from the first moment", "[program]") {
  const Shell s;
  std::string first;
  for (int round = 0; round < 12; ++round) {
    REQUIRE(s.run("bake m.toml --name demo --out-dir o" + std::to_string(round) +
                  " --no-cache -j 8 " + s.glsl())
                .status == 0);
    const std::string table = s.read("o" + std::to_string(round) + "/demo_table.bin");
    if (round == 0) first = table;
    CHECK(table == first);
  }
}

TEST_CASE("program: a missing packer is one error", "[program]") {
  const Shell s;
  // Its own folder may hold the packer, so only the message of a failed start is looked at.
  const auto o = s.run("model --version");
  if (o.status != 0) CHECK_THAT(o.err, ContainsSubstring("spirkiln-model"));
}

TEST_CASE("program: an unknown command, and help of one command alone", "[program]") {
  const Shell s;
  const auto cook = s.run("bakee m.toml");
  CHECK(cook.status == 2);
  CHECK(cook.err ==
        "spirkiln: error: there is no command 'bakee'; the nearest is 'bake'\n"
        "Try 'spirkiln --help'.\n");
  const auto help = s.run("lock --help");
  CHECK_THAT(help.out, ContainsSubstring("Example:\n  spirkiln lock "));
  CHECK_THAT(help.out, !ContainsSubstring("spirkiln bake"));
  CHECK_THAT(s.run("--help").out, ContainsSubstring("spirkiln lock "));
}

TEST_CASE("program: a manifest is no kernel", "[program]") {
  const Shell s;
  const auto o = s.run("axes m.toml " + s.glsl());
  CHECK(o.status == 1);
  CHECK(o.err ==
        "spirkiln: error: 'm.toml' is a manifest, and 'axes' reads kernels; 'spirkiln list "
        "--explain m.toml' shows what the kernels of a manifest test\n");
}

TEST_CASE("program: the dialect is found for every command alike", "[program]") {
  const Shell s;  // outside of any project
  CHECK(s.run("spirv scale.comp --variant fp32 -o k.spv").status == 0);
  CHECK(s.run("bake m.toml --name t --out-dir o").status == 0);
  CHECK(s.run("compile m.toml -o m.spko").status == 0);
  CHECK(s.run("axes scale.comp").status == 0);
}

TEST_CASE("program: no output replaces a file of arguments", "[program]") {
  const Shell s;
  const std::string arguments = "scale.comp --variant fp32 -o args\n" + s.glsl();
  s.write("args", arguments);
  const auto o = s.run("spirv @args");
  CHECK(o.status == 1);
  CHECK_THAT(o.err, ContainsSubstring("the output 'args' is an input as well"));
  CHECK(s.read("args") == arguments);
}

TEST_CASE("program: a lock of another compiler is a count and a few modules", "[program]") {
  const Shell s;
  REQUIRE(s.run("bake m.toml --name t --out-dir o " + s.glsl()).status == 0);
  REQUIRE(s.run("lock o/t_table.bin -o t.lock").status == 0);
  std::string lock = s.read("t.lock");
  const auto replace_all = [&](std::string_view from, std::string_view to) {
    std::size_t count = 0;
    for (std::size_t at = lock.find(from); at != lock.npos; at = lock.find(from, at + to.size())) {
      lock.replace(at, from.size(), to);
      ++count;
    }
    return count;
  };
  REQUIRE(replace_all("made by spirkiln", "made by another") == 1);
  REQUIRE(replace_all(" bytes shared", "0 bytes shared") == 7);
  s.write("t.lock", lock);
  const auto check = s.run("lock o/t_table.bin --check t.lock");
  CHECK(check.status == 0);
  CHECK(check.err.empty());
  CHECK_THAT(check.out, StartsWith("note: the lock was made by another"));
  CHECK_THAT(check.out, ContainsSubstring("\nnote: scale: module "));
  CHECK(std::count(check.out.begin(), check.out.end(), '\n') == 5);
  CHECK_THAT(check.out, ContainsSubstring("\nnote: 4 modules more differ\n"));
}

TEST_CASE("program: messages stay in their line, and few", "[program]") {
  const Shell s;
  const auto name = s.run("bake m.toml --name 'a\nb' --out-dir o " + s.glsl());
  CHECK(name.status == 1);
  CHECK_THAT(name.err, StartsWith("spirkiln: error: the table name 'a\\nb' must be "));
  const auto objects = s.run("link 1.spko 2.spko 3.spko 4.spko 5.spko --name t --out-dir o");
  CHECK(objects.status == 1);
  CHECK_THAT(objects.err, ContainsSubstring("'3.spko'"));
  CHECK_THAT(objects.err,
             ContainsSubstring("\n2 more objects cannot be read; were they compiled?\n"));
  CHECK_THAT(objects.err, !ContainsSubstring("'4.spko'"));
  const auto stats = s.run("bake m.toml --name t --out-dir o --stats " + s.glsl());
  CHECK_THAT(stats.out, StartsWith("1 manifest, 1 kernel, "));
}
