// SPDX-License-Identifier: Apache-2.0
// The second compiler: what is asked of it, how its words are read, and, where it is installed,
// that a kernel of cooperative matrices goes through it into a table.
#include "second_compiler.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>

#include "capability_names.hpp"
#include "compile_phase.hpp"
#include "kernel_compiler.hpp"
#include "list.hpp"
#include "newer_extensions.hpp"
#include "newer_spirv.hpp"
#include "spirv_tools.hpp"
#include "variant_command.hpp"
#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
namespace fs = std::filesystem;

namespace {

// A folder whose programs are scripts. `compiling` is what glslc does but for --version.
struct Fake : test::Workspace {
  explicit Fake(std::string_view compiling) {
    program("glslc",
            "case \"$*\" in --version)\n"
            "printf 'shaderc 9.9\\nspirv-tools 8.8\\nglslang 7.7\\n'; exit 0 ;;\nesac\n" +
                std::string(compiling));
    for (const char* name : {"spirv-dis", "spirv-opt", "spirv-val"}) program(name, "cat\n");
  }
  void program(const std::string& name, const std::string& script) const {
    const fs::path path = write("bin/" + name, "#!/bin/sh\n" + script);
    ::chmod(path.c_str(), 0755);
  }
  Result<std::shared_ptr<const gen::SecondCompiler>> open() const {
    return gen::SecondCompiler::open(root());
  }
};

// Answers the question for the extensions that it knows; knows one.
constexpr std::string_view kKnowsOne =
    "cat > \"$PWD/in\"\n"
    "if grep -q '^#extension GL_KHR_cooperative_matrix : enable' in; then\n"
    "  i=1\n"
    "  grep '^#extension' in | while read -r _ name _; do\n"
    "    i=$((i + 1))\n"
    "    case $name in GL_KHR_cooperative_matrix) continue ;; esac\n"
    "    printf \"<stdin>:%d: warning: '#extension' : extension not supported: %s\\n\" $i $name "
    ">&2\n"
    "  done\n"
    "  printf '\\003\\002\\043\\007'; exit 0\n"
    "fi\n";

std::string opening_error(const Fake& fake) {
  const auto second = fake.open();
  REQUIRE_FALSE(second.ok());
  return second.error().message;
}

// Where the real one is; nothing where scripts/fetch-glslc.sh has not been run.
std::optional<fs::path> real_folder() { return gen::second_folder(""); }
constexpr const char* kNoSecond = "no second compiler here: scripts/fetch-glslc.sh fetches one";

constexpr std::string_view kMatrixKernel =
    "#version 450\n"
    "#if MATRIX\n"
    "#extension GL_KHR_cooperative_matrix : require\n"
    "#extension GL_KHR_memory_scope_semantics : require\n"
    "#endif\n"
    "layout(local_size_x = 32) in;\n"
    "layout(binding = 0) buffer B { sfpvec4 b[]; };\n"
    "layout(constant_id = 7) const int offset = 3;\n"
    "void main() {\n"
    "  afpvec4 v = buffer_ld4(b, offset);\n"
    "  buffer_st4(b, 0, max(v, 0) * 2);\n"
    "}\n";

constexpr std::string_view kMatrixManifest =
    "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\nvariants = [\"fp32\", \"fp16sa\"]\n"
    "[kernel.axes.MATRIX]\nvalues = [0, 1]\n";

struct Project : test::Workspace {
  explicit Project(std::string_view kernel = kMatrixKernel) {
    write("kernels/m.toml", kMatrixManifest);
    write("kernels/k.comp", kernel);
  }
  gen::BakeOptions with(const std::optional<fs::path>& second) const {
    gen::BakeOptions options = this->options();
    options.second = second;
    return options;
  }
};

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const std::size_t at = out.find(from);
  REQUIRE(at != std::string::npos);
  return out.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("second: what a text requires of newer compilers", "[second]") {
  const std::string text =
      "#version 450\n"
      "#extension GL_KHR_cooperative_matrix : require\n"
      "#extension GL_EXT_bfloat16 : enable\n"
      "#extension GL_EXT_shader_16bit_storage : require\n"
      "#line 9 \"other.glsl\"\n"
      "#extension GL_NV_cooperative_vector : require\n";
  const auto required = gen::required_newer(text);
  REQUIRE(required.size() == 2);
  CHECK(required[0].name == "GL_KHR_cooperative_matrix");
  CHECK(required[1].name == "GL_NV_cooperative_vector");
  gen::SourceStore sources;
  const auto place = gen::place_of(required[1], text, "k.comp", sources);
  CHECK(place.file == "other.glsl");
  CHECK(place.line == 9);
  CHECK(std::is_sorted(gen::newer_extensions().begin(), gen::newer_extensions().end()));
  CHECK(gen::knows_extension("GL_EXT_control_flow_attributes"));
  CHECK_FALSE(gen::knows_extension("GL_EXT_no_such"));
}

TEST_CASE("second: a folder that is none, and programs that do not answer", "[second]") {
  const Fake fake{std::string(kKnowsOne)};
  SECTION("works") {
    const auto second = fake.open();
    INFO((second.ok() ? "" : second.error().message));
    REQUIRE(second.ok());
    CHECK((*second)->version() == "glslc 9.9 (glslang 7.7, spirv-tools 8.8)");
    CHECK((*second)->knows("GL_KHR_cooperative_matrix"));
    CHECK_FALSE((*second)->knows("GL_EXT_bfloat16"));
    const std::string before = (*second)->fingerprint();
    fake.program("spirv-opt", "cat #\n");
    const auto changed = fake.open();
    REQUIRE(changed.ok());
    CHECK((*changed)->fingerprint() != before);
  }
  SECTION("a program is missing") {
    fs::remove(fake / "bin/spirv-val");
    CHECK_THAT(opening_error(fake), ContainsSubstring("bin/spirv-val' is missing"));
  }
  SECTION("a program that is none") {
    fake.write("bin/spirv-val", "");
    ::chmod((fake / "bin/spirv-val").c_str(), 0644);
    CHECK_THAT(opening_error(fake), ContainsSubstring("bin/spirv-val': cannot be started"));
  }
  SECTION("a program that fails") {
    fake.program("spirv-opt", "echo no library >&2; exit 127\n");
    CHECK_THAT(opening_error(fake), ContainsSubstring("bin/spirv-opt' does not start: no library"));
  }
  SECTION("a compiler that compiles nothing") {
    fake.program("glslc", "echo 'glslc: error: broken' >&2; [ $1 = --version ]\n");
    CHECK_THAT(opening_error(fake), ContainsSubstring("compiles nothing: broken"));
  }
}

TEST_CASE("second: its words are read as the first one's", "[second]") {
  const Fake fake(std::string(kKnowsOne) +
                  "cat <<'END' >&2\n"
                  "s0:7: warning: 'old' : deprecated\n"
                  "s1:12: error: 'bogus' : undeclared identifier\n"
                  "s1:12: error: '' : compilation terminated\n"
                  "<stdin>:2: error: '*' :  wrong operand types: left is 'a   b'\n"
                  "1 warning and 3 errors generated.\n"
                  "END\n"
                  "exit 1\n");
  const fs::path kernel = fake.write("a:5: k.comp", "\n\n\n\n\n\n\n\n\n\n\n  x = bogus;\n");
  const auto second = fake.open();
  REQUIRE(second.ok());
  gen::SourceStore sources;
  const std::string text = "#version 450\nvoid main() {}\n#line 3 \"in c.glsl\"\n#line 12 \"" +
                           kernel.string() + "\"\nx = bogus;\n";
  const auto result = (*second)->compile(text, "whole.comp", gen::kTargets[1], sources);
  CHECK_FALSE(result.ok);
  // It never sees a name of ours.
  CHECK_THAT(fake.read("in"), ContainsSubstring("#line 3 \"s0\"\n#line 12 \"s1\"\n"));
  std::vector<std::string> said;
  for (const auto& d : result.diagnostics) said.push_back(gen::to_string(d));
  CHECK(said ==
        std::vector<std::string>{"in c.glsl:7: warning: 'old': deprecated",
                                 kernel.string() + ":12:7: error: 'bogus': undeclared identifier",
                                 "whole.comp:2: error: '*': wrong operand types: left is 'a b'"});
}

TEST_CASE("second: whatever it does, a failure is an error with words", "[second]") {
  gen::SourceStore sources;
  const auto compiled = [&](const std::string& script) {
    const Fake fake(std::string(kKnowsOne) + script);
    const auto second = fake.open();
    REQUIRE(second.ok());
    const auto result = (*second)->compile("#version 450\n", "k.comp", gen::kTargets[0], sources);
    CHECK_FALSE(result.ok);
    REQUIRE(result.diagnostics.size() == 1);
    return gen::to_string(result.diagnostics[0]);
  };
  CHECK_THAT(compiled("echo text\n"), ContainsSubstring("is no SPIR-V module"));
  CHECK_THAT(compiled("exit 0\n"), ContainsSubstring("is no SPIR-V module"));
  CHECK_THAT(compiled("echo strange >&2; exit 2\n"), ContainsSubstring("failed: strange"));
  CHECK_THAT(compiled("kill -11 $$\n"), ContainsSubstring("ended by signal 11"));
  CHECK(compiled("printf '%s' '<stdin>: error: Linking compute stage: Missing entry point: "
                 "Each stage requires one' >&2; exit 1\n") ==
        "k.comp: error: no 'void main()'; every kernel has one");
  const Fake fake{std::string(kKnowsOne)};
  fake.program("spirv-opt", "[ $1 = --version ] || { echo 'error: 5: bad' >&2; exit 1; }\n");
  const auto second = fake.open();
  REQUIRE(second.ok());
  const auto words = (*second)->strip({0x07230203}, gen::kTargets[0]);
  REQUIRE_FALSE(words.ok());
  CHECK(words.error().message == "5: bad");
}

TEST_CASE("second: without one, or with one that knows as little, a variant is left out",
          "[second]") {
  const Project p;
  gen::BakeOptions options = p.with(std::nullopt);
  auto run = test::run_bake(options);
  REQUIRE(run.result.ok());
  CHECK(run.result->left_out == 2);
  CHECK(run.result->by_second == 0);
  REQUIRE(run.messages.size() == 1);
  CHECK_THAT(run.messages[0],
             ContainsSubstring("k.comp:3:12: warning: ") &&
                 ContainsSubstring(gen::glslang_version() + " does not know this extension"));

  p.write("kernels/k.comp",
          replaced(kMatrixKernel, "GL_KHR_memory_scope_semantics", "GL_NV_cooperative_vector"));
  const Fake fake{std::string(kKnowsOne)};
  run = test::run_bake(p.with(fake.root()));
  REQUIRE(run.result.ok());
  CHECK(run.result->left_out == 2);
  REQUIRE(run.messages.size() == 1);
  CHECK_THAT(run.messages[0],
             StartsWith((p / "kernels/k.comp").string() +
                        ":4:12: warning: 'GL_NV_cooperative_vector': left out, neither ") &&
                 ContainsSubstring(" nor glslc 9.9 (glslang 7.7, spirv-tools 8.8) knows this"));

  run = test::run_bake(p.with(p / "nowhere"));
  REQUIRE_FALSE(run.result.ok());
  CHECK_THAT(run.result.error().message, ContainsSubstring("nowhere/bin/glslc' is missing"));
}

// llama.cpp 16860, shaderc 1590: the optimiser fails where the front end did not.
TEST_CASE("second: what the optimiser fails at is an error, or kept where the manifest says so",
          "[second]") {
  const Project p;
  const Fake fake(std::string(kKnowsOne) + "cat module.spv\n");
  gen::SourceStore sources;
  const auto module = gen::compile(
      "#version 450\nlayout(local_size_x = 32) in;\n"
      "layout(std430, binding = 0) buffer B { vec4 b[]; };\n"
      "void main() { b[0] = b[1] * 2.0; }\n",
      "module", gen::kTargets[1], sources);
  REQUIRE(module.ok);
  fake.write("module.spv", {reinterpret_cast<const char*>(module.words.data()),
                            module.words.size() * sizeof(std::uint32_t)});
  fake.program("spirv-opt",
               "case \" $* \" in *' -O '*) cat > unused; echo 'error: 0: a pass' >&2; exit 1 ;; "
               "esac\ncat\n");
  auto run = test::run_bake(p.with(fake.root()));
  REQUIRE_FALSE(run.result.ok());
  CHECK_FALSE(p.exists("out"));
  REQUIRE(run.messages.size() == 1);
  CHECK_THAT(run.messages[0],
             ContainsSubstring("k.comp: error: optimising failed: 0: a pass\n"
                               "  in 2 of 4 variants of k: k_fp16sa_matrix, k_matrix"));

  p.write("kernels/m.toml",
          "[defaults]\noptimise_required = false\n" + std::string(kMatrixManifest));
  // The second time all else comes from the cache, and the warning is there again.
  for (const bool again : {false, true}) {
    INFO(again);
    fs::remove_all(p / "out");
    run = test::run_bake(p.with(fake.root()));
    REQUIRE(run.result.ok());
    CHECK(run.result->variants == 4);
    CHECK(run.result->unoptimised == 2);
    CHECK(run.result->cache_hits == (again ? 2 : 0));
    REQUIRE(run.messages.size() == 1);
    CHECK_THAT(run.messages[0],
               ContainsSubstring("k.comp: warning: not optimised, since that failed: 0: a pass\n"
                                 "  in 2 of 4 variants of k: "));
  }
  auto table = Table::from_file((p / "out/test_table.bin").string());
  REQUIRE(table.ok());
  for (const auto& v : table->variants()) {
    const std::string name(table->string(v.name));
    INFO(name);
    const bool kept = name.ends_with("_matrix");
    CHECK(((table->blobs()[v.blob].flags & table::kUnoptimised) != 0) == kept);
    const auto words = gen::module_of(*table, v);
    REQUIRE(words.ok());
    CHECK(gen::validate(*words, gen::kTargets[1]).ok());
  }
  const auto text = gen::list_text(*table);
  REQUIRE(text.ok());
  CHECK_THAT(*text, ContainsSubstring("  unoptimised\n"));
  CHECK_THAT(gen::reflection_json(*table, *table->find_variant("k_matrix")),
             ContainsSubstring("\"unoptimised\": true}"));

  // The command that makes such a module again does not ask the optimiser either.
  gen::SourceOptions one = p.with(fake.root());
  one.variant = "k_matrix";
  const auto compiled =
      gen::compile_kernels(one, gen::Cache(one.cache), sources, [](Severity, std::string_view) {});
  REQUIRE(compiled.ok());
  const auto& kernel = compiled->kernels.front();
  const std::string command = gen::variant_command(kernel, kernel.expansion.variants.front(), one,
                                                   compiled->jobs.front().blob.get());
  CHECK_THAT(command, ContainsSubstring(" --optimise none "));
  CHECK_THAT(command, ContainsSubstring(" --glslc "));
}

TEST_CASE("second: reflection carries what it does not know by number", "[second]") {
  const std::vector<std::uint32_t> words = {0x07230203,
                                            0x00010300,
                                            0,
                                            10,
                                            0,
                                            0x00020011,
                                            1,      // OpCapability Shader
                                            0x00020011,
                                            99999,  // one of the future
                                            0x00020011,
                                            gen::kCapabilityCooperativeMatrixKhr,
                                            0x0005000f,
                                            5,
                                            4,
                                            0x6e69616d,
                                            0,  // OpEntryPoint GLCompute %4 "main"
                                            (7u << 16) | gen::kOpTypeCooperativeMatrixKhr,
                                            9,
                                            5,
                                            6,
                                            7,
                                            7,
                                            8};
  const auto reflection = gen::reflect(words);
  INFO((reflection.ok() ? "" : reflection.error().message));
  REQUIRE(reflection.ok());
  CHECK(reflection->capabilities == std::vector<std::uint32_t>{1, 6022, 99999});
  CHECK((reflection->flags & table::kUsesCooperativeMatrix) != 0);
  CHECK(reflection->spirv_version == 0x00010300);
  CHECK(gen::capability_name(6022) == "CooperativeMatrixKHR");
  CHECK(gen::capability_name(99999) == "99999");
}

TEST_CASE("second: a kernel goes through it as through the first", "[second]") {
  const auto folder = real_folder();
  if (!folder) SKIP(kNoSecond);
  const Project p;
  auto run = test::run_bake(p.with(folder));
  INFO((run.result.ok() ? "" : run.result.error().message));
  REQUIRE(run.result.ok());
  CHECK(run.messages.empty());
  CHECK(run.result->left_out == 0);
  CHECK(run.result->by_second == 2);
  CHECK(run.result->compiled == 4);
  auto table = Table::from_file((p / "out/test_table.bin").string());
  REQUIRE(table.ok());
  CHECK_THAT(std::string(table->tool_version()),
             StartsWith(gen::tool_versions() + "; 2 variants by glslc "));
  // The extension alone changes nothing: constants, bindings and sizes are those of the other.
  for (const std::string form : {"k", "k_fp16sa"}) {
    const auto* first = table->find_variant(form);
    const auto* second = table->find_variant(form + "_matrix");
    REQUIRE(first != nullptr);
    REQUIRE(second != nullptr);
    const auto& a = table->blobs()[first->blob];
    const auto& b = table->blobs()[second->blob];
    CHECK(b.vulkan_version == 0x00401000);
    CHECK(b.spirv_version == 0x00010300);
    REQUIRE(b.spec_count == 1);
    CHECK(table->string(table->specs_of(b)[0].name) == "offset");
    CHECK(table->specs_of(b)[0].id == 7);
    CHECK(a.binding_count == b.binding_count);
    CHECK(b.local_size[0] == 32);
  }
  // The depfile has the compiler, and so has the stamp.
  CHECK_THAT(p.read("out/test.d"), ContainsSubstring("/bin/spirv-opt"));
  CHECK(test::run_bake(p.with(folder)).result->up_to_date);
  const auto without = test::run_bake(p.with(std::nullopt));
  REQUIRE(without.result.ok());
  CHECK(without.result->left_out == 2);
  run = test::run_bake(p.with(folder));
  REQUIRE(run.result.ok());
  CHECK(run.result->cache_hits == 4);
  CHECK(run.result->by_second == 2);

  // The bytes depend on the content only.
  const std::string bytes = p.read("out/test_table.bin");
  fs::remove_all(p / "out");
  gen::BakeOptions fresh = p.with(folder);
  fresh.cache.reset();
  fresh.jobs = 1;
  REQUIRE(test::run_bake(fresh).result.ok());
  CHECK(p.read("out/test_table.bin") == bytes);

  const auto explained = gen::explain(p.with(folder), [](Severity, std::string_view) {});
  REQUIRE(explained.ok());
  CHECK_THAT(gen::explain_text(*explained),
             ContainsSubstring("kept k_fp16sa_matrix (compiled by glslc ") &&
                 ContainsSubstring("kept k_fp16sa\n"));
}

TEST_CASE("second: its errors name the kernel's own line and word", "[second]") {
  const auto folder = real_folder();
  if (!folder) SKIP(kNoSecond);
  const Project p(replaced(kMatrixKernel, "max(v, 0) * 2", "max(v, 0) * bogus"));
  const auto run = test::run_bake(p.with(folder));
  REQUIRE_FALSE(run.result.ok());
  // One message for the variants of both compilers.
  CHECK(run.messages == std::vector<std::string>{(p / "kernels/k.comp").string() +
                                                 ":11:32: error: 'bogus': undeclared identifier\n"
                                                 "  in all 4 variants of k"});
}

TEST_CASE("second: the product by cooperative matrices is baked", "[second]") {
  const auto folder = real_folder();
  if (!folder) SKIP(kNoSecond);
  const test::Workspace w;
  gen::BakeOptions options = w.options();
  options.inputs = {fs::path(SPIRKILN_SOURCE_ROOT) / "variants/kernels/matrix.toml"};
  options.second = folder;
  const auto run = test::run_bake(options);
  for (const auto& m : run.messages) UNSCOPED_INFO(m);
  INFO((run.result.ok() ? "" : run.result.error().message));
  REQUIRE(run.result.ok());
  CHECK(run.result->by_second == 70);
  const auto second = gen::SecondCompiler::open(*folder);
  REQUIRE(second.ok());
  auto table = Table::from_file((w / "out/test_table.bin").string());
  REQUIRE(table.ok());
  CHECK(table->variants().size() == 70);
  // Workgroup memory of the constants' defaults, worked out by hand: vectors of halves for the
  // tiles (64 x 10 and 32 x 10; 32 x 18; 32 x 10 and 32 x 10), vectors of floats for the sums.
  for (const auto& [name, shared] :
       {std::pair("gemm_coopmat_fp16s", 64u * 10 * 8 + 32 * 10 * 8 + 4 * 16 * 5 * 16),
        std::pair("gemm_coopmat_fp16p_matrix8080808", 32u * 10 * 8 + 32 * 10 * 8 + 4 * 8 * 5 * 16),
        std::pair("gemm_coopmat_fp16s_matrix16161664",
                  64u * 10 * 8 + 32 * 18 * 8 + 4 * 16 * 9 * 16)}) {
    INFO(name);
    const auto* variant = table->find_variant(name);
    REQUIRE(variant != nullptr);
    const auto& blob = table->blobs()[variant->blob];
    const auto needs = table->capabilities_of(blob);
    for (const std::uint32_t capability : {1u, 9u, 5345u, 6022u}) {
      INFO(capability);
      CHECK(std::count(needs.begin(), needs.end(), capability) == 1);
    }
    const bool packed = std::string_view(name).find("fp16p") != std::string_view::npos;
    CHECK(std::count(needs.begin(), needs.end(), 4433u) == (packed ? 0 : 1));
    CHECK(needs.size() == (packed ? 4 : 5));
    std::vector<std::string> extensions;
    for (const std::uint32_t e : table->extensions_of(blob))
      extensions.emplace_back(table->string(e));
    CHECK(std::count(extensions.begin(), extensions.end(), "SPV_KHR_cooperative_matrix") == 1);
    CHECK((blob.flags & table::kUsesCooperativeMatrix) != 0);
    CHECK(blob.vulkan_version == 0x00401000);
    CHECK(blob.spirv_version == 0x00010300);
    CHECK(blob.local_size_id[0] == 233);
    CHECK(blob.binding_count == 6);
    CHECK(blob.push_bytes == 44);
    CHECK(blob.shared_bytes == shared);
    CHECK((blob.flags & table::kRawWords) == 0);
    const auto words = test::words_of(w / "out/test_table.bin", name);
    CHECK((*second)->validate(words, gen::kTargets[1]).ok());
    CHECK_FALSE((*second)->validate(words, gen::kTargets[0]).ok());  // it can tell
    const auto text = (*second)->disassemble(words);
    REQUIRE(text.ok());
    CHECK_THAT(*text, ContainsSubstring("OpCooperativeMatrixMulAddKHR"));
    CHECK_THAT(*text, !ContainsSubstring("OpName"));
  }
  // `dump` shows it, with the other's disassembler where its own does not know the words.
  const std::string command = "'" SPIRKILN_PROGRAM "' dump '" +
                              (w / "out/test_table.bin").string() + "' gemm_coopmat_fp16s --glslc ";
  CHECK(std::system((command + "'" + folder->string() + "' | grep -q OpCooperativeMatrixLoadKHR")
                        .c_str()) == 0);
  if (!gen::disassemble(test::words_of(w / "out/test_table.bin", "gemm_coopmat_fp16s")).ok()) {
    CHECK(std::system(
              (command + "none 2>&1 | grep -q 'fetch-glslc.sh fetches a newer one'").c_str()) == 0);
  }
}
