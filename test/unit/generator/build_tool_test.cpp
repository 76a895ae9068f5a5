// SPDX-License-Identifier: Apache-2.0
// What users of other generators reported, each on ours (test/README.md has the list).
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <cstring>

#include "spirkiln/kernel_table.hpp"
#include "table/device_rules.hpp"
#include "table/select.hpp"
#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kKernel =
    "#version 450\n"
    "#if NCNN_fp16_arithmetic\n#include \"half.glsl\"\n#endif\n"
    "#ifndef FACTOR\n#define FACTOR 2.0\n#endif\n"
    "layout(local_size_x_id = 233) in;\n"
    "layout(binding = 0) buffer B { sfpvec4 b[]; };\n"
    "void main() {\n"
    "  uint i = gl_GlobalInvocationID.x;\n"
    "  buffer_st4(b, i, buffer_ld4(b, i) * afp(FACTOR));\n"
    "}\n";

// The program in a folder of its own.
struct Program : test::Workspace {
  Program() {
    write("k.comp", kKernel);
    write("half.glsl", "#define FACTOR 3.0\n");
    write("m.toml", "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\n");
  }
  // Output in out.txt, errors in err.txt; 128 and more: by a signal.
  int run(const std::string& arguments, const std::string& before = {}) const {
    const std::string command = "cd '" + root().string() + "' && { " + before + " '" +
                                SPIRKILN_PROGRAM + "' " + arguments + "; } > out.txt 2> err.txt";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }
  std::string bake(const std::string& out, const std::string& options = "--no-cache") const {
    return "bake m.toml --name t --out-dir " + out + " --stats --json --glsl '" +
           SPIRKILN_SOURCE_ROOT + "/glsl' " + options;
  }
  // A counter of --stats --json.
  int counted(const std::string& name) const {
    const std::string text = read("out.txt");
    const auto at = text.find("\"" + name + "\": ");
    INFO(text);
    REQUIRE(at != std::string::npos);
    return std::atoi(text.c_str() + at + name.size() + 4);
  }
  int compiled_of_bake() const {
    REQUIRE(run(bake("o", "--cache c")) == 0);
    return counted("compiled");
  }
};

DeviceCaps any_device() {
  DeviceCaps caps;
  caps.api_version = make_version(1, 3);
  caps.spirv_version = 0x00010600;
  caps.float16 = caps.storage16 = true;
  return caps;
}

constexpr Form kFp32Only[] = {kFp32};

}  // namespace

// llama.cpp 20868: symbols were missing where processes could not be started.
TEST_CASE("build tool: without processes and threads it works, or says what it lacks", "[build]") {
  const Program p;
  REQUIRE(p.run(p.bake("o")) == 0);
  const std::string table = p.read("o/t_table.bin");
  const std::string preload = std::string(" LD_PRELOAD='") + SPIRKILN_FAULTS + "'";
  // The watchdog's thread alone: the caller does all work.
  REQUIRE(p.run(p.bake("o1", "--no-cache -j 8"), "SPIRKILN_THREADS=1" + preload) == 0);
  CHECK((p.read("o1/t_table.bin") == table));
  CHECK(p.run(p.bake("o0"), "SPIRKILN_THREADS=0" + preload) == 1);
  CHECK_THAT(p.read("err.txt"), ContainsSubstring("spirkiln: error: cannot start a thread: "));
  CHECK_FALSE(p.exists("o0"));
}

TEST_CASE("build tool: with little memory it is an error, or the table is whole", "[build]") {
  const Program p;
  REQUIRE(p.run(p.bake("o")) == 0);
  const std::string table = p.read("o/t_table.bin");
  int failed = 0;
  for (const int megabytes : {30, 45, 60, 75, 90, 110, 600}) {
    INFO(megabytes << " MB");
    const std::string out = "o" + std::to_string(megabytes);
    const int status = p.run(p.bake(out), "ulimit -v " + std::to_string(megabytes * 1000) + " && ");
    if (status == 0) {
      CHECK((p.read(out + "/t_table.bin") == table));
      CHECK(p.exists(out + "/t_table.S"));
      continue;
    }
    ++failed;
    CHECK(status < 128);
    CHECK_FALSE(p.read("err.txt").empty());
    CHECK_FALSE(p.exists(out));
  }
  CHECK(failed > 0);
}

// llama.cpp 16341, Cauldron 25, o3de 11394.
TEST_CASE("build tool: counters say what an edit compiled", "[build]") {
  const Program p;
  CHECK(p.compiled_of_bake() == 5);
  CHECK(p.counted("variants") == 5);
  p.write("half.glsl", "#define FACTOR 4.0\n");
  CHECK(p.compiled_of_bake() == 2);  // fp16sa and fp16pa
  p.write("half.glsl", "// four\n#define FACTOR 4.0\n");
  CHECK(p.compiled_of_bake() == 0);
  CHECK(p.counted("cache_hits") == 5);
  CHECK(p.compiled_of_bake() == 0);
  CHECK_THAT(p.read("out.txt"), ContainsSubstring("\"up_to_date\": true"));

  // Forty of one variant, and one of them edited.
  const auto forty = [&](const std::string& of_the_seventh) {
    std::string manifest = "[defaults]\nvariants = [\"fp32\"]\n";
    for (int i = 0; i < 40; ++i) {
      const std::string factor = i == 7 ? of_the_seventh : std::to_string(i) + ".5";
      manifest += "[[kernel]]\nname = \"k" + std::to_string(i) +
                  "\"\nsource = \"k.comp\"\ndefines = { FACTOR = \"" + factor + "\" }\n";
    }
    p.write("m.toml", manifest);
    return p.compiled_of_bake();
  };
  CHECK(forty("7.5") == 40);
  CHECK(p.counted("variants") == 40);
  CHECK(forty("99.0") == 1);
  CHECK(p.counted("cache_hits") == 39);
}

// llama.cpp 11052, ncnn 1618: thirty syntax errors, of which none named the extension.
TEST_CASE("build tool: an extension of a newer compiler is one message with its release",
          "[build]") {
  const Program p;
  // The releases are those of glslang's own list of changes.
  const auto said = [&](const std::string& extension) {
    p.write("k.comp",
            "#version 450\n#extension " + extension +
                " : require\nlayout(binding = 0) buffer B { sfp b[]; };\n"
                "void main() { coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m; }\n");
    CHECK(p.run(p.bake("o", "--no-cache --glslc none")) == 1);
    CHECK_FALSE(p.exists("o"));
    return p.read("err.txt");
  };
  const std::string matrix = said("GL_KHR_cooperative_matrix");
  CHECK_THAT(matrix,
             ContainsSubstring("k.comp:2:12: warning: 'GL_KHR_cooperative_matrix': left out, "));
  CHECK_THAT(matrix, ContainsSubstring("; glslang 13.0 is the first that does\n"));
  // That, in which variants, and the end.
  CHECK(std::count(matrix.begin(), matrix.end(), '\n') == 3);
  CHECK_THAT(said("GL_EXT_integer_dot_product"), ContainsSubstring("; glslang 15.1 is the first"));
  const std::string none = said("GL_EXT_no_such_thing");
  CHECK_THAT(none, ContainsSubstring("k.comp:2:") && ContainsSubstring("GL_EXT_no_such_thing"));
  CHECK(std::count(none.begin(), none.end(), '\n') == 3);
}

// FidelityFX's shader compiler: a value of two bits that no variant has found the first entry.
TEST_CASE("build tool: a value that an axis does not have is not found", "[build]") {
  const Program p;
  p.write("k.comp",
          "#version 450\nlayout(binding = 0) buffer B { sfp b[]; };\n"
          "void main() { buffer_st1(b, 0, afp(TAPS) + afp(0.5)); }\n");
  p.write("m.toml",
          "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\nvariants = [\"fp32\"]\n"
          "[kernel.axes.TAPS]\nvalues = [0, 1, 2]\n");
  REQUIRE(p.run(p.bake("o")) == 0);
  const auto table = Table::from_file((p / "o/t_table.bin").string());
  REQUIRE(table.ok());
  std::vector<std::uint32_t> blobs;
  for (const char* value : {"0", "1", "2"}) {
    const AxisRequest request[] = {{"TAPS", value}};
    const auto found = select_blob(*table, {"k", kFp32Only, request}, any_device());
    REQUIRE(found);
    blobs.push_back(table->variants()[found->variant].blob);
  }
  CHECK(blobs == std::vector<std::uint32_t>{0, 1, 2});
  for (const char* value : {"3", "", "00", "-1"}) {
    INFO(value);
    const AxisRequest request[] = {{"TAPS", value}};
    const auto found = select_blob(*table, {"k", kFp32Only, request}, any_device());
    REQUIRE_FALSE(found);
    CHECK(found.error().code == ErrorCode::kNoVariant);
  }
  const auto by_name = KernelTable::open((p / "o/t_table.bin").string());
  REQUIRE(by_name.ok());
  CHECK(by_name->words("k_taps2").ok());
  CHECK_FALSE(by_name->words("k_taps3").ok());
}

// ShaderMake 11: an axis more broke every request that did not name it.
TEST_CASE("build tool: an axis more changes nothing for who does not know it", "[build]") {
  const Program p;
  const auto baked = [&](const std::string& manifest) {
    p.write("m.toml", "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\n" + manifest);
    REQUIRE(p.run(p.bake("o")) == 0);
    auto table = Table::from_file((p / "o/t_table.bin").string());
    REQUIRE(table.ok());
    return *table;
  };
  p.write("k.comp",
          "#version 450\nlayout(binding = 0) buffer B { sfpvec4 b[]; };\n"
          "void main() {\n  afpvec4 v = buffer_ld4(b, 0);\n"
          "#if WIDE\n  v += v;\n#endif\n#if SUBGROUP\n  v *= v;\n#endif\n"
          "  buffer_st4(b, 0, v);\n}\n");
  const std::string wide = "[kernel.axes.WIDE]\nvalues = [0, 1]\n";
  const Table before = baked(wide);
  const Table after = baked(wide + "[kernel.axes.SUBGROUP]\nvalues = [0, 1]\n");
  CHECK(after.variants().size() == 2 * before.variants().size());
  const AxisRequest request[] = {{"WIDE", "1"}};
  for (const Form form : {kFp32, kFp16s, kFp16sa, kFp16p, kFp16pa}) {
    INFO(form_name(form));
    const Form forms[] = {form};
    const auto old = select_blob(before, {"k", forms, request}, any_device());
    const auto now = select_blob(after, {"k", forms, request}, any_device());
    REQUIRE(old);
    REQUIRE(now);
    const auto& a = before.variants()[old->variant];
    const auto& b = after.variants()[now->variant];
    CHECK(before.string(a.name) == after.string(b.name));
    CHECK(before.blobs()[a.blob].hash == after.blobs()[b.blob].hash);
  }
}

TEST_CASE("build tool: quirks come from a file into a table, by bake and by link", "[build]") {
  const Program p;
  p.write("k.comp",
          "#version 450\nlayout(binding = 0) buffer B { sfp b[]; };\n"
          "void main() { buffer_st1(b, 0, afp(WIDE)); }\n");
  p.write("m.toml",
          "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\nvariants = [\"fp32\"]\n"
          "[kernel.axes.WIDE]\nvalues = [0, 1]\ninterchangeable = true\n");
  const std::string quirks =
      "[[quirk]]\nkernels = [\"k\"]\naxis = { WIDE = 0 }\ndriverID = \"MESA_RADV\"\n"
      "driverVersion = { to = \"25.0\" }\nreason = \"wrong\"\nsource = \"here\"\n"
      "[[backend]]\ndeviceType = [\"CPU\"]\nuse = \"cpu\"\nreason = \"slow\"\n";
  p.write("q.toml", quirks);
  REQUIRE(p.run(p.bake("o", "--cache c --quirks q.toml --depfile o/d")) == 0);
  CHECK_THAT(p.read("o/d"), ContainsSubstring("q.toml"));
  const auto table = Table::from_file((p / "o/t_table.bin").string());
  REQUIRE(table.ok());
  const auto chosen = [&](const DeviceCaps& caps) {
    const auto rules = select_rules(*table, caps);
    REQUIRE(rules);
    const auto found = select_blob(*table, {"k", kFp32Only, {}}, caps, *rules);
    REQUIRE(found);
    return std::string(table->string(table->variants()[found->variant].name));
  };
  DeviceCaps caps = any_device();
  CHECK(chosen(caps) == "k");
  caps.driver_id = 3;
  caps.driver_version = 25u << 22 | 7;  // 25.0.7
  CHECK(chosen(caps) == "k_wide");
  caps.driver_version = 25u << 22 | 1u << 12;
  CHECK(chosen(caps) == "k");
  const auto rules = device_rules(*table);
  REQUIRE(rules);
  CHECK(backend_for(rules->backends, "cpu").reason == "slow");

  REQUIRE(p.run("compile m.toml -o m.spko --no-cache --glsl '" + std::string(SPIRKILN_SOURCE_ROOT) +
                "/glsl'") == 0);
  REQUIRE(p.run("link m.spko --name t --out-dir l --no-cache --quirks q.toml") == 0);
  CHECK((p.read("l/t_table.bin") == p.read("o/t_table.bin")));

  // A change of the file alone is one of the table; a wrong one leaves it as it is.
  CHECK(p.run(p.bake("o", "--cache c --quirks q.toml --depfile o/d")) == 0);
  CHECK_THAT(p.read("out.txt"), ContainsSubstring("\"up_to_date\": true"));
  const std::string before = p.read("o/t_table.bin");
  p.write("q.toml", quirks +
                        "[[quirk]]\nkernels = [\"kk\"]\nvendorID = 1\nreason = \"r\"\n"
                        "source = \"s\"\n");
  CHECK(p.run(p.bake("o", "--cache c --quirks q.toml --depfile o/d")) == 1);
  CHECK_THAT(p.read("err.txt"),
             ContainsSubstring("q.toml:13:12: error: no kernel 'kk'; the nearest is 'k'"));
  CHECK((p.read("o/t_table.bin") == before));
  CHECK(p.run("link m.spko --name t --out-dir l --no-cache --quirks q.toml") == 1);
  p.write("q.toml", "");
  CHECK(p.run(p.bake("o", "--cache c --quirks q.toml --depfile o/d")) == 0);
  CHECK_FALSE((p.read("o/t_table.bin") == before));
  CHECK(p.run(p.bake("o", "--cache c --quirks none.toml")) == 1);
  CHECK_THAT(p.read("err.txt"), ContainsSubstring("none.toml"));
}

// vuh 54, vulkano 2191: words at odd addresses.
TEST_CASE("build tool: a table behind bytes of any number", "[build]") {
  const Program p;
  REQUIRE(p.run(p.bake("o")) == 0);
  const std::string bytes = p.read("o/t_table.bin");
  const auto whole = KernelTable::open((p / "o/t_table.bin").string());
  REQUIRE(whole.ok());
  std::vector<unsigned char> room(bytes.size() + 32);
  for (std::size_t offset = 0; offset < 17; ++offset) {
    INFO(offset);
    std::memcpy(room.data() + offset, bytes.data(), bytes.size());
    const auto table = KernelTable::from_memory({room.data() + offset, bytes.size()}, "odd");
    REQUIRE(table.ok());
    for (const auto variant : table->variants("k")) {
      const auto words = table->words(variant);
      const auto expected = whole->words(variant);
      REQUIRE(words.ok());
      REQUIRE(expected.ok());
      CHECK(std::equal(words->begin(), words->end(), expected->begin(), expected->end()));
      CHECK(reinterpret_cast<std::uintptr_t>(words->data()) % alignof(std::uint32_t) == 0);
    }
  }
}
