// SPDX-License-Identifier: Apache-2.0
// One variant out of a manifest: its text at each stage, and the command that makes it again.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "shell.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

// All that a variant can be made of: image forms, bytes, acc, axes, device macros, defines with
// spaces and quotes, a target, a policy.
struct Project : test::Shell {
  Project() {
    write("m.toml",
          "[[kernel]]\nname = \"scale\"\nsource = \"scale.comp\"\ntarget = \"vulkan1.1\"\n"
          "variants = [\"fp32\", \"fp16sa\"]\n"
          "[kernel.axes.acc]\nvalues = [\"float\", \"afp\"]\n"
          "[kernel.device]\nncnn_subgroupSize = [0, 4]\n"
          "[kernel.defines]\nFACTOR = \"(2.0 + 1.0)\"\n\n"
          "[[kernel]]\nname = \"bytes\"\nsource = \"it's/bytes.comp\"\nstrict = false\n"
          "optimise = \"size\"\nresources = [\"buffer\", \"image\"]\n"
          "int8 = [\"packed\", \"none\"]\nvariants = [\"fp16sa\"]\n"
          "[kernel.axes.STEP]\nvalues = [-1, 2]\n"
          "[[kernel.needs]]\ncapabilities = [\"StorageImageExtendedFormats\"]\n");
    write("scale.comp",
          "#version 450\n"
          "layout(constant_id = 0) const uint n = 0;\n"
          "layout(push_constant) uniform parameter { uint n; float s; } p;\n"
          "layout(binding = 0) buffer A { sfpvec4 a[]; };\n"
          "#include \"inc/half.glsl\"\n"
          "void main() {\n"
          "  uint i = gl_GlobalInvocationID.x;\n"
          "  if (i >= psc(n)) return;\n"
          "  acpvec4 v = acpvec4(buffer_ld4(a, i)) * acp(p.s * FACTOR);\n"
          "#if ncnn_subgroupSize == 4\n"
          "  v += v;\n"
          "#endif\n"
          "  buffer_st4(a, i, afpvec4(half_of(v)));\n"
          "}\n");
    write("more/inc/half.glsl", "acpvec4 half_of(acpvec4 v) { return v * acp(0.5); }\n");
    write("it's/bytes.comp",
          "#version 450\n"
          "layout(local_size_x = 8) in;\n"
          "#if NCNN_image_shader\n"
          "layout(binding = 0) uniform unfp sampler3D a;\n"
          "layout(binding = 1, imfmtc1) writeonly uniform unfp image3D b;\n"
          "#else\n"
          "layout(binding = 0) buffer A { sfp a[]; };\n"
          "layout(binding = 1) buffer B { sfp b[]; };\n"
          "#endif\n"
          "void main() {\n"
          "  int i = int(gl_GlobalInvocationID.x) + STEP;\n"
          "#if NCNN_image_shader\n"
          "  image3d_st1(b, ivec3(i, 0, 0), image3d_ld1(a, ivec3(i, 0, 0)));\n"
          "#elif NCNN_int8_packed\n"
          "  buffer_st1(b, i, buffer_ld1(a, i) + afp(1));\n"
          "#else\n"
          "  buffer_st1(b, i, buffer_ld1(a, i));\n"
          "#endif\n"
          "}\n");
  }
  std::string options() const { return glsl() + "-I more "; }
};

}  // namespace

TEST_CASE("dump: the printed command makes the words of the table", "[dump]") {
  const Project p;
  const auto bake = p.run("bake m.toml --name t --out-dir o " + p.options());
  INFO(bake.err);
  REQUIRE(bake.status == 0);
  const auto table = Table::from_file((p / "o/t_table.bin").string());
  REQUIRE(table.ok());
  REQUIRE(table->kernels().size() == 2);
  // Of 'scale' one with acc and subgroups, one with subgroups alone; of 'bytes' one in both
  // resources and both forms of bytes, each in two steps.
  REQUIRE(table->variants().size() == 2 * 2 + 2 + 2 * 2 * 2);
  std::string script;
  for (const auto& v : table->variants()) {
    script += "eval \"$(spirkiln dump m.toml " + std::string(table->string(v.name)) +
              " --command --glsl-dir '" + SPIRKILN_SOURCE_ROOT + "/glsl' -I more)\" || exit 1\n";
  }
  const auto all = p.line(script);
  INFO(all.err);
  REQUIRE(all.status == 0);
  for (const auto& v : table->variants()) {
    const std::string name(table->string(v.name));
    INFO(name);
    const auto words = gen::module_of(*table, v);
    REQUIRE(words.ok());
    const std::string bytes(reinterpret_cast<const char*>(words->data()), words->size() * 4);
    CHECK(p.read(name + ".spv") == bytes);
  }
}

TEST_CASE("dump: the text of each stage", "[dump]") {
  const Project p;
  const std::string folder = std::string("--glsl-dir '") + SPIRKILN_SOURCE_ROOT + "/glsl' -I more";
  const std::string dump = "dump m.toml scale_fp16sa_accafp_subgroupsize4 " + folder;
  const auto expanded = p.run(dump + " --expanded");
  INFO(expanded.err);
  REQUIRE(expanded.status == 0);
  CHECK_THAT(expanded.out, StartsWith("#version 450\n"));
  CHECK_THAT(expanded.out, ContainsSubstring("#define NCNN_fp16_storage 1\n"));
  CHECK_THAT(expanded.out, ContainsSubstring("#define FACTOR (2.0 + 1.0)\n"));
  CHECK_THAT(expanded.out, ContainsSubstring("#define SPIRKILN_DIALECT\n"));
  CHECK_THAT(expanded.out, ContainsSubstring("#line 1 \"more/inc/half.glsl\"\nacpvec4 half_of("));
  CHECK_THAT(expanded.out, ContainsSubstring("#line 6 \"scale.comp\"\nvoid main() {\n"));
  CHECK(expanded.out.find("\n#include") == std::string::npos);

  const auto preprocessed = p.run(dump + " --preprocessed");
  REQUIRE(preprocessed.status == 0);
  CHECK(preprocessed.out.find("#define") == std::string::npos);
  CHECK(preprocessed.out.find("acpvec4") == std::string::npos);
  CHECK_THAT(preprocessed.out, ContainsSubstring("f16vec4 half_of("));
  CHECK_THAT(preprocessed.out, ContainsSubstring("(2.0 + 1.0)"));

  CHECK_THAT(p.run(dump).out, ContainsSubstring("OpEntryPoint GLCompute"));
  CHECK_THAT(p.run(dump + " --debug").out, ContainsSubstring("OpLine %"));
  CHECK_THAT(p.run(dump + " --reflect").out, ContainsSubstring("\"name\": \"n\""));
  CHECK_THAT(p.run("dump m.toml scale --glsl " + folder).out, StartsWith("#version 450\n"));
  CHECK_THAT(p.run("dump m.toml scale --essl " + folder).out, StartsWith("#version 310 es\n"));
  CHECK_THAT(p.run("dump m.toml scale --msl " + folder).out, ContainsSubstring("kernel void"));
  CHECK_THAT(p.run("dump m.toml scale --hlsl " + folder).out, ContainsSubstring("numthreads"));
}

TEST_CASE("dump: what is not there", "[dump]") {
  const Project p;
  const std::string folder = std::string("--glsl-dir '") + SPIRKILN_SOURCE_ROOT + "/glsl' -I more";
  const auto typo = p.run("dump m.toml scale_fp16as " + folder);
  CHECK(typo.status == 1);
  CHECK_THAT(typo.err, ContainsSubstring("no variant 'scale_fp16as'; the nearest is 'scale_fp16"));
  const auto pruned = p.run("dump m.toml scale_accafp --command " + folder);
  CHECK(pruned.status == 1);
  CHECK_THAT(pruned.err, ContainsSubstring("it is pruned by acc-afp-requires-fp16-arithmetic"));
  REQUIRE(p.run("bake m.toml --name t --out-dir o " + p.options()).status == 0);
  for (const char* form : {"--expanded", "--preprocessed", "--command"}) {
    const auto o = p.run("dump o/t_table.bin scale " + std::string(form));
    CHECK(o.status == 1);
    CHECK_THAT(o.err, ContainsSubstring("a table holds no sources: name the manifest"));
  }
  CHECK_THAT(p.run("dump o/t_table.bin scale --essl").out, StartsWith("#version 310 es\n"));
}
