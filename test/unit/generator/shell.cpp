// SPDX-License-Identifier: Apache-2.0
#include "shell.hpp"

#include <sys/wait.h>

#include <cstdlib>

namespace spirkiln::test {

Shell::Shell() {
  write("m.toml",
        "[[kernel]]\nname = \"scale\"\nsource = \"scale.comp\"\n"
        "[kernel.axes.acc]\nvalues = [\"float\", \"afp\"]\n");
  write("scale.comp",
        "#version 450\nlayout(local_size_x_id = 233) in;\n"
        "layout(constant_id = 0) const uint n = 0;\n"
        "layout(push_constant) uniform parameter { uint n; float s; } p;\n"
        "layout(binding = 0) readonly buffer A { sfpvec4 a[]; };\n"
        "layout(binding = 1) writeonly buffer B { sfpvec4 b[]; };\n"
        "void main() {\n  uint i = gl_GlobalInvocationID.x;\n  if (i >= psc(n)) return;\n"
        "  acpvec4 v = acpvec4(buffer_ld4(a, i)) * acp(p.s);\n"
        "  buffer_st4(b, i, afpvec4(v));\n}\n");
}

Outcome Shell::run(const std::string& arguments, const std::string& folder) const {
  return line("cd '" + folder + "' && '" + SPIRKILN_PROGRAM + "' " + arguments);
}

Outcome Shell::line(const std::string& command) const {
  const std::string root = this->root().string();
  const std::string folder = std::filesystem::path(SPIRKILN_PROGRAM).parent_path().string();
  const std::string whole = "cd '" + root + "' && export SPIRKILN_CACHE='" + root +
                            "/cache' PATH='" + folder + "':\"$PATH\" && { " + command + "\n} > '" +
                            root + "/out.txt' 2> '" + root + "/err.txt'";
  const int status = std::system(whole.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("out.txt"), read("err.txt")};
}

std::string Shell::glsl() const {
  return std::string("--glsl '") + SPIRKILN_SOURCE_ROOT + "/glsl' ";
}

}  // namespace spirkiln::test
