// SPDX-License-Identifier: Apache-2.0
#include "manifest.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

namespace {

Result<gen::Manifest> parse(const std::string& text) {
  return gen::parse_manifest(gen::SourceFile{"m.toml", text, 0});
}

}  // namespace

TEST_CASE("manifest: defaults", "[manifest]") {
  auto m = parse("[[kernel]]\nname = \"add\"\nsource = \"add.comp\"\n");
  REQUIRE(m.ok());
  REQUIRE(m->kernels.size() == 1);
  const gen::KernelManifest& k = m->kernels[0];
  CHECK(k.name == "add");
  CHECK(k.profile == "ncnn-2023");
  CHECK(k.variants == std::vector<std::string>{"fp16s", "fp16p", "fp16sa", "fp16pa", "fp32"});
  CHECK(k.optimise == gen::Optimise::kPerformance);
  CHECK(k.target == gen::VulkanTarget::kAuto);
  CHECK(k.axes.empty());
  CHECK(k.strict);
  CHECK(k.optimise_required);
  CHECK(k.resources == std::vector{table::Resource::kBuffer});
  CHECK(k.int8 == std::vector{table::Int8::kNone});
}

TEST_CASE("manifest: every key", "[manifest]") {
  auto m = parse(R"([[kernel]]
name = "add"
source = "add.comp"
profile = "ncnn-2023"
variants = ["fp32", "fp16s"]
order = ["fp32", "fp16s"]
resources = ["image", "buffer"]
int8 = ["storage", "none"]
optimise = "size"
optimise_required = false
target = "vulkan1.1"
strict = false
defines = { N = 3, ON = true, T = "vec4" }
[kernel.axes.TILE]
values = [4, 8]
default = 8
interchangeable = true
[kernel.axes.acc]
values = ["float", "afp"]
)");
  REQUIRE(m.ok());
  const gen::KernelManifest& k = m->kernels[0];
  CHECK(k.variants == std::vector<std::string>{"fp32", "fp16s"});
  CHECK(k.optimise == gen::Optimise::kSize);
  // Buffers always come first, however bytes are read in the order of the list.
  CHECK(k.resources == std::vector{table::Resource::kBuffer, table::Resource::kImage});
  CHECK(k.int8 == std::vector{table::Int8::kStorage, table::Int8::kNone});
  CHECK(k.target == gen::VulkanTarget::k11);
  CHECK_FALSE(k.strict);
  CHECK_FALSE(k.optimise_required);
  CHECK(k.defines == std::map<std::string, std::string>{{"N", "3"}, {"ON", "1"}, {"T", "vec4"}});
  REQUIRE(k.axes.size() == 2);
  CHECK(k.axes[0].name == "TILE");
  CHECK(k.axes[0].default_value == "8");
  CHECK(k.axes[0].interchangeable);
  CHECK(k.axes[1].default_value == "float");
  CHECK_FALSE(k.axes[1].interchangeable);
}

TEST_CASE("manifest: budgets in bytes, thousands and 1024s", "[manifest]") {
  const std::string kernel = "[[kernel]]\nname = \"a\"\nsource = \"a.comp\"\n";
  const auto bytes = [&](const std::string& value) {
    auto m = parse("budget = " + value + "\n" + kernel);
    REQUIRE(m.ok());
    REQUIRE(m->budget);
    CHECK_FALSE(m->kernels[0].budget);
    CHECK(m->budget->position.line == 1);
    CHECK(m->budget->position.column == 10);
    return m->budget->bytes;
  };
  CHECK(bytes("40960") == 40960);
  CHECK(bytes("\"7 B\"") == 7);
  CHECK(bytes("\"40 KB\"") == 40000);
  CHECK(bytes("\"40kB\"") == 40000);
  CHECK(bytes("\"40 KiB\"") == 40960);
  CHECK(bytes("\"2 MB\"") == 2000000);
  CHECK(bytes("\"2 MiB\"") == 2097152);
  // Of each kernel, unless it has one of its own.
  auto m = parse("[defaults]\nbudget = 5\n" + kernel +
                 "[[kernel]]\nname = \"b\"\nsource = \"b.comp\"\nbudget = 6\n");
  REQUIRE(m.ok());
  CHECK_FALSE(m->budget);
  CHECK(m->kernels[0].budget->bytes == 5);
  CHECK(m->kernels[1].budget->bytes == 6);
}

TEST_CASE("manifest: each mistake is one error at its place", "[manifest]") {
  const std::string head = "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\n";
  struct Case {
    std::string text;
    std::string expected;
  };
  const Case cases[] = {
      {"", "m.toml: error: no [[kernel]] entry"},
      {"kernel = 3\n", "m.toml:1:10: error: 'kernel' must be written as [[kernel]]"},
      {"[kernle]\n",
       "m.toml:1:2: error: unknown key 'kernle' in a manifest; the nearest is 'kernel'"},
      {"strict = true\n" + head, "m.toml:1:1: error: 'strict' stands below a line [[kernel]]"},
      {head + "optimize = \"size\"\n",
       "m.toml:4:1: error: unknown key 'optimize' in [[kernel]]; the nearest is 'optimise'"},
      {head + "[kernel.axes.A]\nvalues = [0, 1]\ndefualt = 1\n",
       "m.toml:6:1: error: unknown key 'defualt' in an axis; the nearest is 'default'"},
      {head + "[kernel.axes.A]\nvalues = [0, 1]\ninterchangeable = 1\n",
       "m.toml:6:19: error: 'interchangeable' must be true or false"},
      {head + "[kernel.axes.acc]\nvalues = [\"float\", \"afp\"]\ninterchangeable = true\n",
       "m.toml:6:19: error: the values of 'acc' are not interchangeable: sums differ"},
      {head + "[kernel.defines]\nUNROLL = 1\n[kernel.axes.UNROLL]\nvalues = [0, 1]\n",
       "m.toml:5:1: error: 'UNROLL' is an axis of this kernel as well"},
      {"budget = 0\n" + head, "m.toml:1:10: error: 'budget' must be a number of bytes from 1"},
      {head + "budget = \"40 kb\"\n", "m.toml:4:10: error: 'budget' must be"},
      {head + "budget = \"KB\"\n", "m.toml:4:10: error: 'budget' must be"},
      {head + "budget = \"1000000000000 MiB\"\n", "m.toml:4:10: error: 'budget' must be"},
      {head + "budget = 1.5\n", "m.toml:4:10: error: 'budget' must be"},
      {"[[kernel]]\nsource = \"k.comp\"\n", "m.toml:1:1: error: [[kernel]] without 'name'"},
      {"[[kernel]]\nname = \"k\"\n", "m.toml:1:1: error: [[kernel]] without 'source'"},
      {"[[kernel]]\nname = \"K\"\nsource = \"k\"\n", "m.toml:2:8: error: kernel name 'K'"},
      {"[[kernel]]\nname = 1\nsource = \"k\"\n", "m.toml:2:8: error: 'name' must be a string"},
      {"[[kernel]]\nname = \"k\"\nsource = \"a\\\\b\"\n", "m.toml:3:10: error: 'source' separates"},
      {head + "colour = 1\n", "m.toml:4:1: error: unknown key 'colour' in [[kernel]]"},
      {head + "name = \"l\"\n", "m.toml:4:"},  // TOML's own: a repeated key
      {head + "variants = [\"fp64\"]\n", "m.toml:4:13: error: expected one of \"fp32\""},
      {head + "variants = []\n", "m.toml:4:12: error: 'variants' must be a list"},
      {head + "variants = [\"fp32\", \"fp32\"]\n", "m.toml:4:21: error: 'fp32' is listed twice"},
      {head + "resources = [\"texture\"]\n",
       "m.toml:4:14: error: expected one of \"buffer\", \"image\""},
      {head + "resources = \"image\"\n", "m.toml:4:13: error: 'resources' must be a list"},
      {head + "resources = [\"image\", 3]\n", "m.toml:4:23: error: expected one of \"buffer\""},
      {head + "int8 = [\"none\", \"none\"]\n", "m.toml:4:17: error: 'none' is listed twice"},
      {head + "int8 = [\"arithmetic\"]\n",
       "m.toml:4:9: error: expected one of \"none\", \"packed\", \"storage\""},
      {head + "profile = \"ncnn-2026\"\nresources = [\"buffer\", \"image\"]\n",
       "m.toml:5:13: error: profile ncnn-2026 has no image variants"},
      {head + "order = [\"fp32\"]\n", "m.toml:4:9: error: 'order' must list each variant"},
      {head + "profile = \"ncnn-1999\"\n", "m.toml:4:11: error: unknown profile 'ncnn-1999'"},
      {head + "optimise = \"fast\"\n", "m.toml:4:12: error: 'fast': expected \"performance\""},
      {head + "target = \"vulkan2\"\n", "m.toml:4:10: error: 'vulkan2': expected"},
      {head + "optimise_required = \"no\"\n",
       "m.toml:4:21: error: 'optimise_required' must be true or false"},
      {head + "strict = 1\n", "m.toml:4:10: error: 'strict' must be true or false"},
      {head + "defines = 1\n", "m.toml:4:1: error: 'defines' must be a table"},
      {head + "defines = { NCNN_x = 1 }\n", "m.toml:4:13: error: the name 'NCNN_x' is reserved"},
      {head + "defines = { \"a b\" = 1 }\n", "m.toml:4:13: error: 'a b' is not a macro name"},
      {head + "defines = { A = 1.5 }\n", "m.toml:4:17: error: expected an integer"},
      {head + "defines = { A = \"1\\n2\" }\n",
       "m.toml:4:17: error: a macro's value must be one line"},
      {head + "defines = { A = \"1\\r\" }\n",
       "m.toml:4:17: error: a macro's value must be one line"},
      {head + "defines = { A = \"/* x\" }\n",
       "m.toml:4:17: error: a macro's value opens a comment"},
      {head + "defines = { A = \"x\\\\\" }\n", "m.toml:4:17: error: a macro's value ends in"},
      {head + "defines = { A__B = 1 }\n", "m.toml:4:13: error: the name 'A__B' is reserved"},
      {head + "[kernel.axes.A]\nvalues = [1, \"-\"]\n",
       "m.toml:5:14: error: '-': an axis value is an integer"},
      {head + "[kernel.axes.A]\nvalues = [1, \"a-b\"]\n",
       "m.toml:5:14: error: 'a-b': an axis value is an integer"},
      {head + "[kernel.axes.A]\nvalues = [1, \"0.5\"]\n",
       "m.toml:5:14: error: '0.5': an axis value is an integer"},
      {head + "[kernel.axes.A]\nvalues = [1, \"\"]\n", "m.toml:5:14: error: '': an axis value"},
      {head + "[kernel.axes]\nA = 1\n", "m.toml:5:1: error: axis 'A' must be a table"},
      {head + "[kernel.axes.A]\n", "m.toml:4:14: error: axis 'A' without 'values'"},
      {head + "[kernel.axes.A]\nvalues = [1]\n", "m.toml:5:10: error: 'values' must be a list"},
      {head + "[kernel.axes.A]\nvalues = [1, 1]\n", "m.toml:5:14: error: the value '1' is listed"},
      {head + "[kernel.axes.A]\nvalues = [1, 2]\ndefault = 3\n",
       "m.toml:6:11: error: the default '3' is not among the values: 1, 2"},
      {head + "[kernel.axes.A]\nvalues = [1, 2]\nvalue = 3\n",
       "m.toml:6:1: error: unknown key 'value'"},
      {head + "[kernel.axes.acc]\nvalues = [1, 2]\n", "m.toml:4:14: error: the axis 'acc'"},
      {head + "[kernel.axes.acc]\nvalues = [\"afp\", \"float\"]\n",
       "m.toml:4:14: error: the default of the axis 'acc' is"},
      {"a = [\n", "m.toml:1:"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    const auto m = parse(c.text);
    REQUIRE_FALSE(m.ok());
    CHECK_THAT(m.error().message, ContainsSubstring(c.expected));
    // One mistake, one line.
    CHECK(m.error().message.find('\n') == std::string::npos);
  }
}

TEST_CASE("manifest: kernels begin with the defaults and override them", "[manifest]") {
  auto m = parse(R"([defaults]
strict = false
optimise = "size"
variants = ["fp32", "fp16s"]
order = ["fp32", "fp16s"]
defines = { N = 3, M = 4 }
[defaults.axes.TILE]
values = [4, 8]
[[kernel]]
name = "a"
source = "a.comp"
[[kernel]]
name = "b"
source = "b.comp"
strict = true
variants = ["fp16s"]
defines = { N = 5 }
[kernel.axes.TILE]
values = [1, 2]
[kernel.axes.WIDE]
values = [0, 1]
[[kernel]]
name = "c"
source = "c.comp"
variants = ["fp16p", "fp32"]
)");
  INFO((m.ok() ? "" : m.error().message));
  REQUIRE(m.ok());
  REQUIRE(m->kernels.size() == 3);
  const auto& a = m->kernels[0];
  CHECK_FALSE(a.strict);
  CHECK(a.optimise == gen::Optimise::kSize);
  CHECK(a.variants == std::vector<std::string>{"fp32", "fp16s"});
  CHECK(a.axes.size() == 1);
  const auto& b = m->kernels[1];
  CHECK(b.strict);
  CHECK(b.optimise == gen::Optimise::kSize);
  CHECK(b.variants == std::vector<std::string>{"fp16s"});
  CHECK(b.defines == std::map<std::string, std::string>{{"M", "4"}, {"N", "5"}});
  REQUIRE(b.axes.size() == 2);
  CHECK(b.axes[0].values == std::vector<std::string>{"1", "2"});
  // The file's order does not know fp16p; the dialect's does.
  CHECK(m->kernels[2].variants == std::vector<std::string>{"fp16p", "fp32"});
}

TEST_CASE("manifest: mistakes in defaults and rules", "[manifest]") {
  const std::string head =
      "[[kernel]]\nname = \"k\"\nsource = \"k\"\naxes = { A = { values = [1, 2] } }\n";
  struct Case {
    std::string text;
    std::string expected;
  };
  const Case cases[] = {
      {"defaults = 1\n" + head, "m.toml:1:12: error: 'defaults' must be a table"},
      {"[defaults]\nname = \"k\"\n" + head, "m.toml:2:1: error: unknown key 'name' in [defaults]"},
      {"[defaults]\nstrict = 2\n" + head, "m.toml:2:10: error: 'strict' must be true or false"},
      {head + "excludes = 1\n",
       "m.toml:5:12: error: 'excludes' must be written as [[kernel.exclud"},
      {head + "[[kernel.excludes]]\nwhen = { A = 1 }\n",
       "m.toml:5:1: error: [[kernel.excludes]] without 'reason'"},
      {head + "[[kernel.excludes]]\nreason = \"r\"\n",
       "m.toml:5:1: error: [[kernel.excludes]] without 'when'"},
      {head + "[[kernel.requires]]\nwhen = { A = 1 }\nreason = \"r\"\n",
       "m.toml:5:1: error: [[kernel.requires]] without 'then'"},
      {head + "[[kernel.excludes]]\nwhen = { A = 1 }\nthen = { A = 1 }\nreason = \"r\"\n",
       "m.toml:7:1: error: unknown key 'then' in [[kernel.excludes]]; the nearest is"},
      {head + "[[kernel.excludes]]\nwhen = { B = 1 }\nreason = \"r\"\n",
       "m.toml:6:10: error: 'B' is no axis of 'k'; its axes are: variant, A"},
      {head + "[[kernel.excludes]]\nwhen = { A = 3 }\nreason = \"r\"\n",
       "m.toml:6:14: error: '3' is not among the values of 'A': 1, 2"},
      {head + "[[kernel.excludes]]\nwhen = { variant = [\"fp64\"] }\nreason = \"r\"\n",
       "m.toml:6:21: error: 'fp64' is not among the values of 'variant'"},
      {head + "[[kernel.excludes]]\nwhen = { A = 1.5 }\nreason = \"r\"\n",
       "m.toml:6:14: error: expected an integer"},
      {head + "[[kernel.excludes]]\nwhen = { A = [] }\nreason = \"r\"\n",
       "m.toml:6:14: error: a list of one or more values"},
      {head + "[[kernel.excludes]]\nwhen = {}\nreason = \"r\"\n",
       "m.toml:6:8: error: 'when' must be a table"},
      {head + "[[kernel.excludes]]\nwhen = { A = 1 }\nreason = \"\"\n",
       "m.toml:7:10: error: 'reason' must be one line of text"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    const auto m = parse(c.text);
    REQUIRE_FALSE(m.ok());
    CHECK_THAT(m.error().message, ContainsSubstring(c.expected));
    CHECK(m.error().message.find('\n') == std::string::npos);
  }
}

TEST_CASE("manifest: several mistakes are all reported, in order of place", "[manifest]") {
  const auto m = parse("[[kernel]]\nname = \"k\"\nzzz = 1\nsource = 2\naaa = 1\n");
  REQUIRE_FALSE(m.ok());
  const std::string& text = m.error().message;
  const auto first = text.find(":3:1:");
  const auto second = text.find(":4:10:");
  const auto third = text.find(":5:1:");
  REQUIRE(third != std::string::npos);
  CHECK(first < second);
  CHECK(second < third);
}

TEST_CASE("manifest: a key of many parts is an error and no crash", "[manifest]") {
  std::string key = "a";
  for (int i = 0; i < 100000; ++i) key += ".a";
  const std::string kernel = "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\n";
  struct Case {
    std::string text;
    const char* position;
  };
  const Case cases[] = {
      {kernel + key + " = 1\n", "m.toml:4:1: "},
      {kernel + "\n[" + key + "]\n", "m.toml:5:2: "},
      {kernel + "[[" + key + "]]\n", "m.toml:4:3: "},
      {kernel + "defines = { X = 1, " + key + " = 2 }\n", "m.toml:4:20: "},
      {kernel + "  \"a # ' \\\" b\" . 'c = [' ." + key + " = 1\n", "m.toml:4:3: "},
      {kernel + "defines = '" + key + "'\n" + key + " = 1\n", "m.toml:5:1: "},
      {kernel + "x = \"\"\"\n" + key + "\"\"\"\"\"\n" + key + " = 1\n", "m.toml:6:1: "}};
  for (const Case& c : cases) {
    INFO(c.position);
    const auto m = parse(c.text);
    REQUIRE_FALSE(m.ok());
    CHECK(m.error().message ==
          std::string(c.position) +
              "error: a key of more than 16 parts; those of a manifest have at "
              "most five");
  }
  // Dots that make no key.
  auto m = parse(kernel + "# " + key + "\n[kernel.defines]\nX = \"" + key.substr(0, 999) +
                 "\"\nY = '''\n" + key.substr(0, 999) + "'''\n");
  CHECK(m.ok());
}

TEST_CASE("manifest: values that are nested without end are an error and no crash", "[manifest]") {
  const std::string head = "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\nvariants = ";
  std::string tables;
  for (int i = 0; i < 100000; ++i) tables += "{a=";
  for (const std::string& value :
       {std::string(100000, '['), tables, std::string(200, '[') + std::string(200, ']')}) {
    const auto m = parse(head + value + "\n");
    REQUIRE_FALSE(m.ok());
    CHECK_THAT(m.error().message, ContainsSubstring("m.toml:4:"));
  }
}

TEST_CASE("manifest: what no kernel can have so many of", "[manifest]") {
  const std::string kernel = "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\n";
  std::string values;
  for (int i = 0; i < 100000; ++i) values += std::to_string(i) + ",";
  std::string axes;
  std::string wrong;
  for (int i = 0; i < 300; ++i) {
    axes += "ncnn_x" + std::to_string(i) + " = [0]\n";
    wrong += "unknown" + std::to_string(i) + " = 1\n";
  }
  std::string rules;
  for (int i = 0; i < 1025; ++i) {
    rules += "[[kernel.excludes]]\nwhen = { variant = \"fp32\" }\nreason = \"r\"\n";
  }
  struct Case {
    std::string text;
    const char* said;
  };
  const Case cases[] = {
      {"[kernel.axes.N]\nvalues = [" + values + "]\n",
       "m.toml:5:10: error: N: 100000 values; a kernel has at most 4096 variants"},
      {"[kernel.device]\nncnn_subgroupSize = [" + values + "]\n",
       "m.toml:5:21: error: ncnn_subgroupSize: 100000 values; a kernel has at most 4096 variants"},
      {"[[kernel.excludes]]\nreason = \"r\"\nwhen = { variant = [" + values + "] }\n",
       "m.toml:6:20: error: 100000 values; a kernel has at most 4096 variants"},
      {rules, "1025 rules; a kernel has at most 1024"},
      {wrong, "m.toml: error: 200 more mistakes"},
  };
  for (const Case& c : cases) {
    INFO(c.said);
    const auto m = parse(kernel + c.text);
    REQUIRE_FALSE(m.ok());
    CHECK_THAT(m.error().message, ContainsSubstring(c.said));
    CHECK(m.error().message.size() < 32768);
  }
}

TEST_CASE("manifest: a source's name without a NUL", "[manifest]") {
  const auto m = parse("[[kernel]]\nname = \"k\"\nsource = \"k.comp\\u0000x\"\n");
  REQUIRE_FALSE(m.ok());
  CHECK(m.error().message ==
        "m.toml:3:10: error: 'source' holds a NUL character; no file's name does");
}
