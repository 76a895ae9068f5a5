// SPDX-License-Identifier: Apache-2.0
// The two phases as processes of their own: what compile reads and writes, and that link makes what
// a bake makes.
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <cstring>

#include "compile_object.hpp"
#include "files.hpp"
#include "kernel_compiler.hpp"
#include "kernel_object.hpp"
#include "link_objects.hpp"
#include "table/table.hpp"
#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kScale =
    "#version 450\n#include \"factor.glsl\"\n"
    "layout(constant_id = 0) const uint n = 0;\n"
    "layout(push_constant) uniform parameter { uint n; } p;\n"
    "layout(binding = 0) buffer B { sfpvec4 b[]; };\n"
    "void main() {\n  uint i = gl_GlobalInvocationID.x;\n  if (i >= psc(n)) return;\n"
    "  buffer_st4(b, i, buffer_ld4(b, i) * afp(FACTOR));\n}\n";
constexpr std::string_view kTwo =
    "#version 450\nlayout(binding = 0) buffer B { sfp b[]; };\n"
    "void main() {\n  uint i = gl_GlobalInvocationID.x;\n  afp v = buffer_ld1(b, i);\n"
    "#if TWICE\n  v += v;\n#endif\n  buffer_st1(b, i, v);\n}\n";

// Two manifests of three kernels, one of which comes before the others by its name alone.
struct Project : test::Workspace {
  Project() {
    write("kernels/m.toml",
          "[[kernel]]\nname = \"scale\"\nsource = \"scale.comp\"\n"
          "[kernel.axes.acc]\nvalues = [\"float\", \"afp\"]\n"
          "[[kernel]]\nname = \"all\"\nsource = \"two.comp\"\nresources = [\"buffer\"]\n"
          "defines = { TWICE = 1 }\n");
    write("kernels/n.toml",
          "[[kernel]]\nname = \"two\"\nsource = \"two.comp\"\n"
          "[kernel.axes.TWICE]\nvalues = [0, 1]\n");
    write("kernels/scale.comp", kScale);
    write("kernels/factor.glsl", "#define FACTOR 2.0\n");
    write("kernels/two.comp", kTwo);
  }
  gen::ObjectOptions object_options(std::string_view manifest, std::string_view output,
                                    const std::string& kernel = {}) const {
    gen::ObjectOptions options;
    options.inputs = {*this / ("kernels/" + std::string(manifest))};
    options.kernel = kernel;
    options.output = *this / output;
    options.depfile = options.output;
    *options.depfile += ".d";
    options.cache = *this / "cache";
    options.glsl = fs::path(SPIRKILN_SOURCE_ROOT) / "glsl";
    options.jobs = 1;
    return options;
  }
  gen::BakeStats compile(std::string_view manifest, std::string_view output,
                         const std::string& kernel = {}) const {
    const auto stats = gen::compile_object(object_options(manifest, output, kernel), {});
    INFO((stats.ok() ? "" : stats.error().message));
    REQUIRE(stats.ok());
    return *stats;
  }
  Result<gen::BakeStats> try_link(const std::vector<std::string>& objects) const {
    gen::LinkOptions options;
    for (const std::string& name : objects) options.objects.push_back(*this / name);
    options.name = "test";
    options.out_dir = *this / "linked";
    return gen::link_objects(options);
  }
  gen::BakeStats link(const std::vector<std::string>& objects) const {
    auto stats = try_link(objects);
    INFO((stats.ok() ? "" : stats.error().message));
    REQUIRE(stats.ok());
    return *stats;
  }
  void bake() const {
    const auto run = test::run_bake(options());
    INFO((run.result.ok() ? "" : run.result.error().message));
    REQUIRE(run.result.ok());
  }
  void check_linked_as_baked() const {
    for (const char* name : {"test_table.bin", "test_table.hpp", "test_table.S"}) {
      INFO(name);
      CHECK(read("linked/" + std::string(name)) == read("out/" + std::string(name)));
    }
  }
};

// An object with other content under a checksum that fits.
std::string with_content(const std::string& object, const std::string& content) {
  const std::uint64_t sum = gen::hash_bytes(content);
  std::string out = object.substr(0, 16);
  out.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return out + content;
}

}  // namespace

TEST_CASE("link: makes of objects what a bake makes of their manifests", "[link]") {
  const Project p;
  p.bake();
  SECTION("one object a manifest") {
    const auto m = p.compile("m.toml", "m.spko");
    CHECK(m.kernels == 2);
    CHECK(m.variants == 12);
    p.compile("n.toml", "n.spko");
    const auto linked = p.link({"m.spko", "n.spko"});
    CHECK(linked.kernels == 3);
    CHECK(linked.variants == 22);
    p.check_linked_as_baked();
  }
  SECTION("one object a kernel, in any order") {
    CHECK(p.compile("m.toml", "scale.spko", "scale").kernels == 1);
    p.compile("m.toml", "all.spko", "all");
    p.compile("n.toml", "two.spko", "two");
    std::vector<std::string> objects = {"all.spko", "scale.spko", "two.spko"};
    do {
      fs::remove_all(p / "linked");
      p.link(objects);
      p.check_linked_as_baked();
    } while (std::next_permutation(objects.begin(), objects.end()));
  }
}

TEST_CASE("compile: reads what it declares, and no more", "[link]") {
  const Project p;
  // Not read, so not missed.
  fs::remove(p / "kernels/two.comp");
  p.compile("m.toml", "scale.spko", "scale");
  const std::string depfile = p.read("scale.spko.d");
  CHECK(depfile.starts_with((p / "scale.spko").string() + ":"));
  for (const char* name : {"/kernels/m.toml", "/kernels/scale.comp", "/kernels/factor.glsl",
                           "/dialect/dialect.glsl"}) {
    INFO(name);
    CHECK_THAT(depfile, ContainsSubstring(name));
  }
  CHECK(depfile.find("two.comp") == std::string::npos);
  CHECK(depfile.find("n.toml") == std::string::npos);
  const auto none = gen::compile_object(p.object_options("m.toml", "x.spko", "sclae"), {});
  REQUIRE_FALSE(none.ok());
  CHECK_THAT(none.error().message, ContainsSubstring("no kernel 'sclae' in "));
  CHECK_THAT(none.error().message, ContainsSubstring("which has scale, all"));
  auto folder = p.object_options("m.toml", "x.spko");
  folder.inputs = {p / "kernels"};
  const auto refused = gen::compile_object(folder, {});
  REQUIRE_FALSE(refused.ok());
  CHECK_THAT(refused.error().message, ContainsSubstring("is a folder"));
}

TEST_CASE("compile: the bytes depend on the content only", "[link]") {
  const Project p;
  const Project elsewhere;
  p.compile("m.toml", "m.spko");
  auto options = elsewhere.object_options("m.toml", "m.spko");
  options.jobs = 8;
  options.cache.reset();
  REQUIRE(gen::compile_object(options, {}).ok());
  const std::string object = p.read("m.spko");
  CHECK((elsewhere.read("m.spko") == object));
  CHECK(object.find(p.root().filename().string()) == std::string::npos);
  CHECK(object.find(SPIRKILN_SOURCE_ROOT) == std::string::npos);

  // By names from the folder itself, too.
  const std::string command = "cd '" + (p / "kernels").string() + "' && '" + SPIRKILN_PROGRAM +
                              "' compile m.toml -o ../here.spko --no-cache --glsl '" +
                              SPIRKILN_SOURCE_ROOT + "/glsl'";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK((p.read("here.spko") == object));

  // A comment changes neither the object nor its time.
  const auto time = fs::last_write_time(p / "m.spko");
  p.write("kernels/factor.glsl", "// twice\n#define FACTOR 2.0\n");
  CHECK(p.compile("m.toml", "m.spko").compiled == 0);
  CHECK(fs::last_write_time(p / "m.spko") == time);
}

TEST_CASE("compile: a failing kernel leaves no output behind", "[link]") {
  const Project p;
  p.write("kernels/scale.comp", "#version 450\nvoid main() {\n  x = 1;\n}\n");
  std::vector<std::string> messages;
  const auto failed =
      gen::compile_object(p.object_options("m.toml", "m.spko"),
                          [&](Severity, std::string_view text) { messages.emplace_back(text); });
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().message == "1 of 2 kernels failed; nothing was written");
  REQUIRE(messages.size() == 1);
  CHECK_THAT(messages[0], ContainsSubstring("scale.comp:3:3: error: 'x': undeclared identifier"));
  CHECK_FALSE(p.exists("m.spko"));
  CHECK_FALSE(p.exists("m.spko.d"));
  // The other kernel of the manifest is none of its business.
  p.compile("m.toml", "all.spko", "all");
}

TEST_CASE("compile: many at once with one cache", "[link]") {
  const Project p;
  std::string command = "cd '" + p.root().string() + "' || exit 1; ";
  for (int i = 0; i < 6; ++i) {
    command += "{ '" + std::string(SPIRKILN_PROGRAM) + "' compile kernels/m.toml -o m" +
               std::to_string(i) + ".spko --cache cache -j1 --glsl '" + SPIRKILN_SOURCE_ROOT +
               "/glsl' || : > failed; } & ";
  }
  REQUIRE(std::system((command + "wait").c_str()) == 0);
  CHECK_FALSE(p.exists("failed"));
  for (int i = 1; i < 6; ++i)
    CHECK((p.read("m" + std::to_string(i) + ".spko") == p.read("m0.spko")));
}

TEST_CASE("link: what kernels attach comes with them, in the order of the kernels", "[link]") {
  const Project p;
  for (const std::string name : {"m", "n"}) {
    p.compile(name + ".toml", name + ".spko");
    auto kernels = gen::decode_object(p.read(name + ".spko"), name);
    REQUIRE(kernels.ok());
    for (gen::PackKernel& k : *kernels) {
      k.parts = {{"notes", k.name + std::string("\0;", 2)}, {"none", ""}};
    }
    p.write(name + ".spko", gen::encode_object(*kernels));
  }
  p.link({"n.spko", "m.spko"});
  const auto table = Table::from_file((p / "linked/test_table.bin").string());
  REQUIRE(table.ok());
  const auto bytes = table->attachment("notes");
  REQUIRE(bytes.ok());
  CHECK(std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()) ==
        std::string_view("all\0;scale\0;two\0;", 17));
  CHECK(table->attachments().size() == 1);
}

TEST_CASE("link: refuses what does not belong together", "[link]") {
  const Project p;
  p.compile("m.toml", "m.spko");
  p.compile("m.toml", "scale.spko", "scale");
  const auto twice = p.try_link({"m.spko", "scale.spko"});
  REQUIRE_FALSE(twice.ok());
  CHECK_THAT(twice.error().message, ContainsSubstring("the kernel 'scale' is in "));
  const auto missing = p.try_link({"m.spko", "none.spko"});
  REQUIRE_FALSE(missing.ok());
  CHECK_THAT(missing.error().message, ContainsSubstring("none.spko"));
  CHECK_FALSE(p.exists("linked"));

  // scale with acc = afp is called scale_accafp.
  p.write("kernels/n.toml",
          "[[kernel]]\nname = \"scale_fp16pa\"\nsource = \"two.comp\"\nvariants = [\"fp32\"]\n"
          "order = [\"fp32\"]\n");
  p.compile("n.toml", "n.spko");
  const auto clash = p.try_link({"m.spko", "n.spko"});
  REQUIRE_FALSE(clash.ok());
  CHECK(
      clash.error().message ==
      "the kernels 'scale' and 'scale_fp16pa' both have a variant 'scale_fp16pa'; rename a kernel "
      "or an axis");
  CHECK_FALSE(p.exists("linked"));
}

TEST_CASE("link: an object that another version made", "[link]") {
  const Project p;
  p.compile("n.toml", "n.spko");
  const std::string object = p.read("n.spko");
  std::string content = object.substr(24);
  const std::size_t version = content.find("spirkiln ");
  REQUIRE(version == 4);
  content[version + 9] ^= 1;
  p.write("n.spko", with_content(object, content));
  const auto other = p.try_link({"n.spko"});
  REQUIRE_FALSE(other.ok());
  CHECK_THAT(other.error().message, ContainsSubstring("it was made by 'spirkiln "));
  CHECK_THAT(other.error().message,
             ContainsSubstring("this is '" + gen::tool_versions() + "'; compile it again"));
  std::string format = object;
  format[8] = 9;
  p.write("n.spko", format);
  CHECK_THAT(p.try_link({"n.spko"}).error().message, ContainsSubstring("its format is version 9"));
}

TEST_CASE("link: a damaged or hostile object is an error", "[link]") {
  const Project p;
  // The smallest that has everything: a constant with a name, an axis.
  p.write("kernels/m.toml",
          "[[kernel]]\nname = \"scale\"\nsource = \"scale.comp\"\nvariants = [\"fp32\"]\n"
          "order = [\"fp32\"]\n[kernel.axes.T]\nvalues = [0, 1]\n");
  p.compile("m.toml", "m.spko");
  const std::string object = p.read("m.spko");
  const std::string content = object.substr(24);
  const auto fault_of = [&](const std::string& bytes) {
    p.write("x.spko", bytes);
    const auto linked = p.try_link({"x.spko"});
    return linked.ok() ? std::string() : linked.error().message;
  };
  CHECK_THAT(fault_of(""), ContainsSubstring("it is no object of 'spirkiln compile'"));
  CHECK_THAT(fault_of("SPKOBJEC"), ContainsSubstring("it ends too early"));
  CHECK_THAT(fault_of(object.substr(0, object.size() - 1)), ContainsSubstring("its checksum"));
  CHECK_THAT(fault_of(with_content(object, content + '\0')),
             ContainsSubstring("bytes follow its end"));
  // Under a right checksum: every shorter one (in steps; modules are long), and single bytes.
  for (std::size_t size = 0; size < content.size(); size += 1 + size / 24) {
    INFO(size);
    CHECK_FALSE(fault_of(with_content(object, content.substr(0, size))).empty());
  }
  std::size_t refused = 0;
  const std::size_t names = content.rfind("\5\0\0\0scale");  // where the kernels begin, nearly
  REQUIRE(names != std::string::npos);
  for (std::size_t i = 0; i < content.size(); i += i < 256 || i + 256 > content.size() ? 3 : 97) {
    std::string changed = content;
    changed[i] = static_cast<char>(changed[i] ^ 0x80);
    refused += !fault_of(with_content(object, changed)).empty();  // and nothing breaks
  }
  CHECK(refused > 0);
  // What the table's header would not survive.
  std::string bad = content;
  bad[content.rfind("scale_t")] = 'S';
  CHECK_THAT(fault_of(with_content(object, bad)),
             ContainsSubstring("the name of a variant does not begin with the kernel's"));
  // A module that says a second compiler made it (an empty string stands behind Vulkan 1.0) is
  // validated all the same where it is known here: OpReturn made OpKill belongs to no kernel.
  const std::size_t compiler = content.find(std::string("\0\0\x40\0\0\0\0\0", 8));
  REQUIRE(compiler != std::string::npos);
  const auto claimed = [&](const std::string& who, bool kill) {
    std::string text = content;
    if (kill) {
      const std::size_t at = text.find(std::string("\xfd\0\x01\0", 4));
      REQUIRE(at != std::string::npos);
      text[at] = '\xfc';
    }
    const auto size = static_cast<char>(who.size());
    text.replace(compiler + 4, 4, std::string{size, 0, 0, 0} + who);
    return with_content(object, text);
  };
  CHECK(fault_of(claimed("glslc 1", false)).empty());
  CHECK_FALSE(fault_of(claimed("glslc 1", true)).empty());
  CHECK_FALSE(fault_of(claimed("a\nb", false)).empty());  // it would break the table's "made by"
  CHECK_FALSE(p.exists("linked/test_table.S.tmp"));
}
