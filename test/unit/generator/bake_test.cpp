// SPDX-License-Identifier: Apache-2.0
// Whole bakes: what is compiled again when, what is written, and that bytes depend on content only.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <fstream>
#include <set>

#include "cache.hpp"
#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kTwoKernels =
    "[[kernel]]\nname = \"one\"\nsource = \"one.comp\"\n"
    "[[kernel]]\nname = \"two\"\nsource = \"two.comp\"\n"
    "[kernel.axes.TWICE]\nvalues = [0, 1]\n";

constexpr std::string_view kOne =
    "#version 450\n"
    "#if NCNN_fp16_arithmetic\n"
    "#include \"half.glsl\"\n"
    "#endif\n"
    "#ifndef FACTOR\n#define FACTOR 2.0\n#endif\n"
    "layout(binding = 0) buffer B { sfpvec4 b[]; };\n"
    "void main() {\n"
    "  uint i = gl_GlobalInvocationID.x;\n"
    "  buffer_st4(b, i, buffer_ld4(b, i) * afp(FACTOR));\n"
    "}\n";

constexpr std::string_view kTwo =
    "#version 450\n"
    "layout(binding = 0) buffer B { sfp b[]; };\n"
    "void main() {\n"
    "  uint i = gl_GlobalInvocationID.x;\n"
    "  afp v = buffer_ld1(b, i);\n"
    "#if TWICE\n  v += v;\n#endif\n"
    "  buffer_st1(b, i, v);\n"
    "}\n";

struct Project : test::Workspace {
  Project() {
    write("kernels/m.toml", kTwoKernels);
    write("kernels/one.comp", kOne);
    write("kernels/half.glsl", "#define FACTOR 3.0\n");
    write("kernels/two.comp", kTwo);
  }
  gen::BakeStats bake(const gen::BakeOptions& options) const {
    const auto run = test::run_bake(options);
    for (const auto& m : run.messages) UNSCOPED_INFO(m);
    INFO((run.result.ok() ? "" : run.result.error().message));
    REQUIRE(run.result.ok());
    return *run.result;
  }
  gen::BakeStats bake() const { return bake(options()); }
};

}  // namespace

TEST_CASE("bake: writes the table, the header, the assembly and the depfile", "[bake]") {
  const Project p;
  const auto stats = p.bake();
  CHECK(stats.kernels == 2);
  CHECK(stats.variants == 15);
  CHECK(stats.compiled == 15);
  CHECK(stats.cache_hits == 0);
  // Scalars are floats in fp32 as in fp16p, so those two kernels come to equal words.
  CHECK(stats.unique_blobs == 13);
  for (const char* name :
       {"out/test_table.bin", "out/test_table.hpp", "out/test_table.S", "out/test.d"}) {
    INFO(name);
    CHECK(p.exists(name));
  }
  CHECK_FALSE(p.exists("out/test_table.cpp"));
  const std::string header = p.read("out/test_table.hpp");
  CHECK_THAT(header, ContainsSubstring("enum class Kernel : ::std::uint32_t {\n  one,\n  two,\n}"));
  CHECK_THAT(header, ContainsSubstring("    \"two_fp16sa_twice\",\n"));
  // The depfile has every file of any variant, though the first variant reads fewer.
  const std::string depfile = p.read("out/test.d");
  for (const char* name : {"/kernels/one.comp", "/kernels/half.glsl", "/kernels/two.comp",
                           "/kernels/m.toml", "/kernels \\\n", "dialect/buffer.glsl"}) {
    INFO(name);
    CHECK_THAT(depfile, ContainsSubstring(name));
  }
}

TEST_CASE("bake: a target raises what every kernel needs, and the next bake notices", "[bake]") {
  const Project p;
  gen::BakeOptions options = p.options();
  const auto versions = [&] {
    std::set<std::uint32_t> found;
    auto table = Table::from_file((p / "out/test_table.bin").string());
    REQUIRE(table.ok());
    for (const auto& b : table->blobs()) found.insert(b.vulkan_version >> 12 & 0x3ff);
    return found;
  };
  p.bake(options);
  CHECK(versions() == std::set<std::uint32_t>{0});
  options.target = gen::VulkanTarget::k12;
  CHECK_FALSE(p.bake(options).up_to_date);
  CHECK(versions() == std::set<std::uint32_t>{2});
  CHECK(p.bake(options).up_to_date);
}

TEST_CASE("bake: progress counts every text once", "[bake]") {
  const Project p;
  gen::BakeOptions options = p.options();
  std::vector<std::size_t> seen;
  options.progress = [&](std::size_t done, std::size_t all) {
    CHECK(all == 15);
    seen.push_back(done);
  };
  options.jobs = 3;
  p.bake(options);
  REQUIRE(seen.size() == 15);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  CHECK(seen.back() == 15);
}

TEST_CASE("bake: nothing is done again when nothing changed", "[bake]") {
  const Project p;
  p.bake();
  CHECK(p.bake().up_to_date);
  SECTION("a missing or damaged output is written again") {
    const std::string table = p.read("out/test_table.bin");
    fs::remove(p / "out/test_table.bin");
    const auto stats = p.bake();
    CHECK_FALSE(stats.up_to_date);
    CHECK(stats.compiled == 0);
    CHECK(p.read("out/test_table.bin") == table);
    p.write("out/test_table.bin", "x");
    CHECK_FALSE(p.bake().up_to_date);
    CHECK(p.read("out/test_table.bin") == table);
  }
  SECTION("a new manifest in the folder counts") {
    p.write("kernels/n.toml",
            "[[kernel]]\nname = \"three\"\nsource = \"two.comp\"\n"
            "defines = { TWICE = 1 }\n");
    const auto stats = p.bake();
    CHECK_FALSE(stats.up_to_date);
    CHECK(stats.kernels == 3);
  }
  SECTION("a file that appears where an include was looked for counts") {
    p.write("kernels/one.comp",
            std::string(kOne).replace(13, 0, "#include \"dialect/psc.glsl\"\n"));
    p.bake();
    CHECK(p.bake().up_to_date);
    p.write("kernels/dialect/psc.glsl", "#define EARLIER\n");
    CHECK_FALSE(p.bake().up_to_date);
  }
  SECTION("other options count") {
    gen::BakeOptions options = p.options();
    options.embed = gen::EmbedForm::kArray;
    CHECK_FALSE(p.bake(options).up_to_date);
    CHECK(p.exists("out/test_table.cpp"));
  }
}

TEST_CASE("bake: an edit compiles what it changes, and no more", "[bake]") {
  const Project p;
  p.bake();
  SECTION("a comment or a blank line: nothing") {
    p.write("kernels/one.comp", "// words\n" + std::string(kOne) + "\n/* more\nwords */\n");
    const auto stats = p.bake();
    CHECK(stats.compiled == 0);
    CHECK(stats.cache_hits == 15);
  }
  SECTION("an include that two variants read: those two") {
    p.write("kernels/half.glsl", "#define FACTOR 4.0\n");
    const auto stats = p.bake();
    CHECK(stats.compiled == 2);
    CHECK(stats.cache_hits == 13);
  }
  SECTION("one value of an axis: its variants") {
    p.write("kernels/two.comp", std::string(kTwo).replace(kTwo.find("v += v"), 6, "v *= v"));
    CHECK(p.bake().compiled == 5);
  }
  SECTION("a define of one kernel: its variants") {
    p.write("kernels/m.toml", std::string(kTwoKernels) + "[kernel.defines]\nUNUSED = 1\n");
    CHECK(p.bake().compiled == 0);  // no text uses it
    p.write("kernels/m.toml",
            std::string(kTwoKernels)
                .insert(kTwoKernels.find("[[kernel]]", 1), "defines = { FACTOR = \"5.0\" }\n"));
    // half.glsl would redefine it.
    p.write("kernels/half.glsl", "\n");
    CHECK(p.bake().compiled == 5);
  }
}

TEST_CASE("bake: the bytes depend on the content only", "[bake]") {
  const Project p;
  gen::BakeOptions options = p.options();
  options.cache.reset();
  options.jobs = 1;
  p.bake(options);
  const std::string table = p.read("out/test_table.bin");
  const std::string header = p.read("out/test_table.hpp");
  const std::string assembly = p.read("out/test_table.S");
  const std::string depfile = p.read("out/test.d");
  SECTION("for any number of threads") {
    fs::remove_all(p / "out");
    options.jobs = 8;
    p.bake(options);
    CHECK(p.read("out/test.d") == depfile);
  }
  SECTION("from a cache") {
    fs::remove_all(p / "out");
    CHECK(p.bake().compiled == 15);
    fs::remove_all(p / "out");
    CHECK(p.bake().compiled == 0);
    CHECK(p.read("out/test.d") == depfile);
  }
  SECTION("in another folder, and without its path inside") {
    const Project other;
    gen::BakeOptions there = other.options();
    other.bake(there);
    CHECK(other.read("out/test_table.bin") == table);
    CHECK(other.read("out/test_table.hpp") == header);
    CHECK(other.read("out/test_table.S") == assembly);
    CHECK(table.find("spirkiln-test-") == std::string::npos);
    return;
  }
  CHECK(p.read("out/test_table.bin") == table);
  CHECK(p.read("out/test_table.hpp") == header);
  CHECK(p.read("out/test_table.S") == assembly);
}

TEST_CASE("bake: a damaged cache entry is not believed", "[bake]") {
  const Project p;
  p.bake();
  const std::string table = p.read("out/test_table.bin");
  std::size_t damaged = 0;
  for (const auto& entry : fs::recursive_directory_iterator(p / "cache")) {
    if (!entry.is_regular_file()) continue;
    if (damaged % 3 == 0) {
      fs::resize_file(entry.path(), entry.file_size() / 2);
    } else {
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(entry.file_size() / 2));
      const int byte = file.peek();
      file.put(static_cast<char>(byte ^ 0x40));
    }
    ++damaged;
  }
  REQUIRE(damaged >= 15);
  fs::remove_all(p / "out");
  CHECK(p.bake().compiled == 15);
  CHECK(p.read("out/test_table.bin") == table);
}

TEST_CASE("bake: after an error nothing is written, and what was there stays", "[bake]") {
  const Project p;
  p.write("kernels/two.comp", std::string(kTwo).replace(kTwo.find("v += v"), 6, "v += w"));
  const auto run = test::run_bake(p.options());
  REQUIRE_FALSE(run.result.ok());
  CHECK(run.result.error().message == "1 of 2 kernels failed; nothing was written");
  REQUIRE(run.messages.size() == 1);
  CHECK_THAT(run.messages[0], ContainsSubstring("two.comp:7:8: error: 'w': undeclared identifier\n"
                                                "  in 5 of 10 variants of two: "));
  CHECK_FALSE(p.exists("out"));

  p.write("kernels/two.comp", kTwo);
  p.bake();
  const std::string table = p.read("out/test_table.bin");
  p.write("kernels/two.comp", "#version 450\n");
  CHECK_FALSE(test::run_bake(p.options()).result.ok());
  CHECK(p.read("out/test_table.bin") == table);
}

TEST_CASE("bake: raw access to stored values is an error unless the manifest allows it", "[bake]") {
  const test::Workspace w;
  const std::string manifest = "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\n";
  w.write("kernels/m.toml", manifest);
  // The array is declared here and touched in the file that is included.
  w.write("kernels/k.comp",
          "#version 450\n"
          "layout(binding = 0) buffer A { sfpvec4 a[]; };\n"
          "layout(binding = 1) buffer B { sfpvec4 other[2], b[]; };\n"
          "shared lfpvec4 t[4];\n"
          "#include \"rest.glsl\"\n"
          "void main() {\n"
          "  t[0] = sfp2lfpvec4(a[1]);\n"
          "  b[2] = b[3];\n"
          "  touch();\n"
          "}\n");
  w.write("kernels/rest.glsl", "void touch() {\n  a[0] = a[1];\n}\n");
  const auto run = test::run_bake(w.options());
  REQUIRE_FALSE(run.result.ok());
  CHECK(run.result.error().message == "1 of 1 kernels failed; nothing was written");
  const std::string folder = (w / "kernels/").string();
  const std::string tail =
      "stored values are touched through the dialect's functions only (strict)\n"
      "  in all 5 variants of k";
  CHECK(run.messages == std::vector<std::string>{
                            folder + "k.comp:8:3: error: 'b': " + tail,
                            folder + "k.comp:8:10: error: 'b': " + tail,
                            folder + "rest.glsl:2:3: error: 'a': " + tail,
                            folder + "rest.glsl:2:10: error: 'a': " + tail,
                        });
  w.write("kernels/m.toml", manifest + "strict = false\n");
  CHECK(test::run_bake(w.options()).result.ok());
}

TEST_CASE("bake: what cannot be written is one error", "[bake]") {
  const Project p;
  gen::BakeOptions options = p.options();
  options.out_dir = p.write("file", "") / "out";
  const auto run = test::run_bake(options);
  REQUIRE_FALSE(run.result.ok());
  CHECK_THAT(run.result.error().message,
             ContainsSubstring("/file/out/test_table.bin': Not a directory"));
  options = p.options();
  options.name = "Bad-Name";
  CHECK_FALSE(test::run_bake(options).result.ok());
}

TEST_CASE("bake: two kernels of one name, in one manifest or two", "[bake]") {
  const Project p;
  p.write("kernels/n.toml", "\n[[kernel]]\nname = \"one\"\nsource = \"two.comp\"\n");
  const auto run = test::run_bake(p.options());
  REQUIRE_FALSE(run.result.ok());
  CHECK_THAT(run.result.error().message,
             ContainsSubstring("n.toml:2:1: error: a second kernel 'one'; "
                               "the first is at "));
}

TEST_CASE("bake: both forms of embedding hold the table's bytes", "[bake]") {
  if (std::system("c++ --version > /dev/null 2>&1") != 0) SKIP("no c++ here");
  const Project p;
  p.bake();
  gen::BakeOptions options = p.options();
  options.embed = gen::EmbedForm::kArray;
  p.bake(options);
  p.write("main.cpp",
          "#include \"test_table.hpp\"\n#include <cstdint>\n#include <cstdio>\n"
          "int main() {\n  auto t = spirkiln::tables::test::table();\n"
          "  if (reinterpret_cast<std::uintptr_t>(t.data()) % 16 != 0) return 1;\n"
          "  return std::fwrite(t.data(), 1, t.size(), stdout) == t.size() ? 0 : 1;\n}\n");
  const std::string table = p.read("out/test_table.bin");
  // The array form has C linkage of the same symbols, the assembly form finds the table by -I.
  for (const char* form : {"test_table.S", "test_table.cpp"}) {
    INFO(form);
    const std::string folder = p.root().string();
    const std::string command = "cd / && c++ -std=c++20 -I '" + folder + "/out' '" + folder +
                                "/main.cpp' '" + folder + "/out/" + form + "' -o '" + folder +
                                "/main' && '" + folder + "/main' > '" + folder + "/copy'";
    REQUIRE(std::system(command.c_str()) == 0);
    CHECK(p.read("copy") == table);
  }
}

// The words are those of C++'s standard, [lex.key] with its alternative tokens, up to C++23; the
// last two are macros of GCC and Clang on Linux outside strict modes.
TEST_CASE("bake: the header compiles whatever kernels and tables are called", "[bake]") {
  if (std::system("c++ --version > /dev/null 2>&1") != 0) SKIP("no c++ here");
  const std::string names[] = {"alignas",      "alignof",      "and",           "and_eq",
                               "asm",          "auto",         "bitand",        "bitor",
                               "bool",         "break",        "case",          "catch",
                               "char",         "char16_t",     "char32_t",      "char8_t",
                               "class",        "co_await",     "co_return",     "co_yield",
                               "compl",        "concept",      "const",         "const_cast",
                               "consteval",    "constexpr",    "constinit",     "continue",
                               "decltype",     "default",      "delete",        "do",
                               "double",       "dynamic_cast", "else",          "enum",
                               "explicit",     "export",       "extern",        "false",
                               "float",        "for",          "friend",        "goto",
                               "if",           "inline",       "int",           "int_",
                               "long",         "mutable",      "namespace",     "new",
                               "noexcept",     "not",          "not_eq",        "nullptr",
                               "operator",     "or",           "or_eq",         "private",
                               "protected",    "public",       "register",      "reinterpret_cast",
                               "requires",     "return",       "short",         "signed",
                               "sizeof",       "static",       "static_assert", "static_cast",
                               "struct",       "switch",       "template",      "this",
                               "thread_local", "throw",        "true",          "try",
                               "typedef",      "typeid",       "typename",      "union",
                               "unsigned",     "using",        "virtual",       "void",
                               "volatile",     "wchar_t",      "while",         "xor",
                               "xor_eq",       "import",       "module",        "std",
                               "spirkiln",     "table",        "errno",         "stdout",
                               "linux",        "unix",         "int__",         "scale"};
  const test::Workspace w;
  std::string manifest = "[defaults]\nvariants = [\"fp32\"]\n";
  for (const std::string& name : names) {
    manifest += "[[kernel]]\nname = \"" + name + "\"\nsource = \"k.comp\"\n";
  }
  w.write("kernels/m.toml", manifest);
  w.write("kernels/k.comp",
          "#version 450\nlayout(binding = 0) buffer B { sfp b[]; };\n"
          "void main() { buffer_st1(b, 0, afp(1.0)); }\n");
  gen::BakeOptions options = w.options();
  options.embed = gen::EmbedForm::kArray;
  std::string uses = "#include <cerrno>\n#include <cstdio>\n";
  const auto bake = [&](const std::string& table) {
    options.name = table;
    const auto run = test::run_bake(options);
    INFO((run.result.ok() ? "" : run.result.error().message));
    REQUIRE(run.result.ok());
    uses += "#include \"" + table + "_table.hpp\"\n";
  };
  bake("class");
  w.write("kernels/m.toml",
          "[[kernel]]\nname = \"int\"\nsource = \"k.comp\"\nvariants = [\"fp32\"]\n");
  for (const char* table : {"std", "linux", "int_", "spirkiln", "tables", "xor_eq"}) bake(table);
  // A word gets a '_', and a name that looks like that another: they stay apart.
  uses +=
      "using namespace spirkiln::tables::class_;\n"
      "constexpr auto name(Kernel k) { return kKernelNames[unsigned(k)]; }\n"
      "constexpr auto name(Variant v) { return kVariantNames[unsigned(v)]; }\n"
      "static_assert(name(Kernel::int_) == \"int\" && name(Variant::int_) == \"int\");\n"
      "static_assert(name(Kernel::int__) == \"int_\" && name(Kernel::int___) == \"int__\");\n"
      "static_assert(name(Kernel::unix_) == \"unix\" && name(Kernel::scale) == \"scale\");\n"
      "static_assert(unsigned(spirkiln::tables::std::Kernel::int_) == 0);\n"
      "static_assert(unsigned(spirkiln::tables::linux_::Kernel::int_) == 0);\n"
      "static_assert(unsigned(spirkiln::tables::int__::Kernel::int_) == 0);\n"
      "static_assert(unsigned(spirkiln::tables::xor_eq_::Kernel::int_) == 0);\n"
      "int main() { return 0; }\n";
  w.write("uses.cpp", uses);
  const std::string folder = w.root().string();
  for (const char* standard : {"c++20", "gnu++20"}) {
    INFO(standard);
    const std::string command = std::string("c++ -fsyntax-only -Wall -Wextra -Werror -std=") +
                                standard + " -I '" + folder + "/out' '" + folder + "/uses.cpp' '" +
                                folder + "/out/std_table.cpp' > '" + folder + "/log' 2>&1";
    const int status = std::system(command.c_str());
    INFO(w.read("log"));
    CHECK(status == 0);
  }
}

TEST_CASE("bake: constants called as C's macros are not in the header's way", "[bake]") {
  const test::Workspace w;
  std::string source = "#version 450\nlayout(binding = 0) buffer B { float b[]; };\n";
  std::string constants, sum = "0u",
                         uses =
                             "#include <cerrno>\n#include <climits>\n#include <cmath>\n"
                             "#include <cstdint>\n#include <cstdio>\n#include <cstdlib>\n"
                             "#include <csignal>\n#include <complex.h>\n"
                             "#include \"test_table.hpp\"\nint main() {}\n";
  std::uint32_t id = 0;
  for (const char* name : {"NULL", "INT8_MAX", "INT_MAX", "EOF", "BUFSIZ", "RAND_MAX", "NAN",
                           "HUGE_VAL", "I", "SIGINT", "SEEK_SET", "TILE_MAX", "SIGMOID"}) {
    source += "layout(constant_id = " + std::to_string(id++) + ") const uint " + name + " = 1;\n";
    constants += std::string(name) + " = {}\n";
    sum += std::string(" + ") + name;
  }
  w.write("kernels/k.comp", source + "void main() { b[0] = float(" + sum + "); }\n");
  w.write("kernels/m.toml",
          "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\nvariants = [\"fp32\"]\n"
          "strict = false\n[kernel.constants]\n" +
              constants);
  const auto run = test::run_bake(w.options());
  for (const auto& m : run.messages) UNSCOPED_INFO(m);
  INFO((run.result.ok() ? "" : run.result.error().message));
  REQUIRE(run.result.ok());
  w.write("uses.cpp", uses);
  const std::string folder = w.root().string();
  CHECK(std::system(
            ("c++ -fsyntax-only -std=gnu++20 -I '" + folder + "/out' '" + folder + "/uses.cpp'")
                .c_str()) == 0);
  const std::string header = w.read("out/test_table.hpp");
  CHECK_THAT(header, ContainsSubstring(" TILE_MAX ") && ContainsSubstring(" NULL_ "));
}

// Each entry's own checksum is right: its writer was wrong, not the disk.
TEST_CASE("bake: a cache entry that no compiler wrote is not believed", "[bake]") {
  const Project p;
  p.bake();
  const std::string table = p.read("out/test_table.bin");
  const gen::Cache cache(p / "cache");
  std::vector<std::string> keys;
  for (const auto& entry : fs::recursive_directory_iterator(p / "cache")) {
    if (!entry.is_regular_file()) continue;
    keys.push_back(entry.path().parent_path().filename().string() + entry.path().stem().string());
  }
  REQUIRE(keys.size() > 15);
  std::sort(keys.begin(), keys.end());
  SECTION("made up") {
    std::size_t n = 0;
    for (const std::string& key : keys) {
      auto bytes = cache.load(key);
      REQUIRE(bytes);
      // A module's entry: Vulkan's version, an empty text (no second compiler), the number of
      // words, the words; a frame's is zstd's.
      constexpr std::size_t kWords = 12;
      switch (n++ % 6) {
        case 0:
          bytes->resize(bytes->size() - 4);
          break;
        case 1:
          (*bytes)[kWords] ^= 1;
          break;  // the magic number
        case 2:
          (*bytes)[2] ^= 1;
          break;  // Vulkan 1.0 becomes another
        case 3:
          bytes->replace(kWords + 20, 4, 4, '\0');
          break;  // the first instruction
        case 4:
          bytes->clear();
          break;
        case 5:
          (*bytes)[kWords + 12] = 1;
          (*bytes)[kWords + 13] = 0;
          break;  // the bound of ids
      }
      cache.store(key, *bytes);
    }
  }
  SECTION("of another key") {
    const std::string first = cache.load(keys[0]).value();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const fs::path own = cache.entry_path(keys[i]);
      fs::remove(own);
      fs::rename(cache.entry_path(keys[(i + 1) % keys.size()]), own);
      if (i == 0) cache.store(keys[1], first);  // the last takes the first's
    }
  }
  fs::remove_all(p / "out");
  CHECK(p.bake().compiled == 15);
  CHECK((p.read("out/test_table.bin") == table));
}

TEST_CASE("bake: a pipe or a link in the cache's folder is no entry, and goes", "[bake]") {
  const Project p;
  p.bake();
  const std::string table = p.read("out/test_table.bin");
  const fs::path precious = p.write("precious", "words");
  std::vector<fs::path> entries;
  for (const auto& entry : fs::recursive_directory_iterator(p / "cache")) {
    if (entry.is_regular_file()) entries.push_back(entry.path());
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    fs::remove(entries[i]);
    if (i % 2 == 0) {
      REQUIRE(::mkfifo(entries[i].c_str(), 0600) == 0);
    } else {
      fs::create_symlink(precious, entries[i]);
    }
  }
  fs::remove_all(p / "out");
  CHECK(p.bake().compiled == 15);
  CHECK(p.read("out/test_table.bin") == table);
  CHECK(p.read("precious") == "words");
  for (const fs::path& entry : entries) CHECK(fs::is_regular_file(fs::symlink_status(entry)));
}

TEST_CASE("bake: no more variants in a table than can be compiled", "[bake]") {
  const test::Workspace w;
  std::string values;
  for (int i = 0; i < 800; ++i) values += (i == 0 ? "" : ",") + std::to_string(i);
  std::string manifest = "[defaults.axes.N]\nvalues = [" + values + "]\n";
  for (int i = 0; i < 20; ++i) {
    manifest += "[[kernel]]\nname = \"k" + std::to_string(i) + "\"\nsource = \"k.comp\"\n";
  }
  w.write("kernels/m.toml", manifest);
  w.write("kernels/k.comp", "#version 450\nvoid main() {}\n");
  const auto run = test::run_bake(w.options());
  REQUIRE_FALSE(run.result.ok());
  // 800 values in five forms are 4000 variants; 16 kernels have 64000.
  CHECK_THAT(run.result.error().message,
             ContainsSubstring("m.toml:51:1: error: with 'k16' the table has more than 65536 "
                               "variants; bake several tables"));
}

TEST_CASE("cache: the oldest entries go when it grows too large", "[cache]") {
  const test::Workspace w;
  const gen::Cache cache(w / "cache");
  for (int i = 0; i < 4; ++i) {
    const std::string key = gen::cache_key(std::to_string(i));
    cache.store(key, std::string(1000, 'x'));
    fs::last_write_time(cache.entry_path(key),
                        fs::file_time_type::clock::now() - std::chrono::hours(10 - i));
  }
  cache.trim(2100);
  CHECK_FALSE(cache.load(gen::cache_key("0")));
  CHECK_FALSE(cache.load(gen::cache_key("1")));
  CHECK(cache.load(gen::cache_key("2")));
  CHECK(cache.load(gen::cache_key("3")) == std::string(1000, 'x'));
  CHECK_FALSE(gen::Cache(std::nullopt).load(gen::cache_key("3")));
}
