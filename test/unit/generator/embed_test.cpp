// SPDX-License-Identifier: Apache-2.0
// Both forms of embedding in a program, as the linker sees them: aligned behind data of odd size,
// nothing to run before main(), and gone where nobody uses the table.
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "workspace.hpp"

using namespace spirkiln;

namespace {

constexpr std::string_view kUses =
    "#include \"test_table.hpp\"\n#include <cstdint>\n"
    "int main() {\n  const auto t = spirkiln::tables::test::table();\n"
    "  return reinterpret_cast<std::uintptr_t>(t.data()) % 16 == 0 && t.size() > 64 ? 0 : 1;\n}\n";

struct Project : test::Workspace {
  Project() {
    write("kernels/m.toml", "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\n");
    write("kernels/k.comp",
          "#version 450\nlayout(binding = 0) buffer B { sfp b[]; };\n"
          "void main() { buffer_st1(b, 0, afp(1.0)); }\n");
    gen::BakeOptions both = options();
    REQUIRE(test::run_bake(both).result.ok());
    both.embed = gen::EmbedForm::kArray;
    REQUIRE(test::run_bake(both).result.ok());
    write("odd.S",
          "        .section .rodata\n        .globl odd\nodd:    .ascii \"abcde\"\n"
          "        .section .note.GNU-stack,\"\",%progbits\n");
    write("uses.cpp", kUses);
    write("none.cpp", "int main() { return 0; }\n");
  }
  bool run(const std::string& command) const {
    return std::system(
               ("cd '" + root().string() + "' && { " + command + "; } >> log 2>&1").c_str()) == 0;
  }
  void must(const std::string& command) const {
    const bool ok = run(command);
    INFO(command << "\n" << read("log"));
    REQUIRE(ok);
  }
};

}  // namespace

TEST_CASE("embed: aligned, without constructors, and gone where it is unused", "[embed]") {
  if (std::system("c++ --version > /dev/null 2>&1 && readelf --version > /dev/null 2>&1") != 0) {
    SKIP("no c++ or no readelf here");
  }
  const Project p;
  const std::string head = p.read("out/test_table.bin").substr(0, 8);
  for (const std::string form : {"S", "cpp"}) {
    INFO(form);
    p.must("c++ -std=c++20 -O2 -I out -c out/test_table." + form + " -o table.o");
    p.must("readelf -SW table.o > sections");
    CHECK(p.read("sections").find(".init_array") == std::string::npos);
    CHECK(p.read("sections").find(".ctors") == std::string::npos);
    // Data of odd size is laid before it.
    p.must("c++ -std=c++20 -O2 -I out uses.cpp odd.S table.o -o uses");
    p.must("./uses");
    CHECK(p.read("uses").find(head) != std::string::npos);
    // Another program links the same object and never asks for the table.
    p.must("c++ -std=c++20 -O2 -Wl,--gc-sections none.cpp table.o -o none");
    CHECK(p.read("none").find(head) == std::string::npos);
    p.must("c++ -std=c++20 -O2 -I out -Wl,--gc-sections uses.cpp table.o -o uses");
    CHECK(p.read("uses").find(head) != std::string::npos);
    p.must("./uses");
  }
}
