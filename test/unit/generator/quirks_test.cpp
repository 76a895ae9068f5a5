// SPDX-License-Identifier: Apache-2.0
#include "quirks.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

Result<gen::QuirkFile> parse(const std::string& text) {
  return gen::parse_quirks(gen::SourceFile{"q.toml", text, 0});
}

std::string fault(const std::string& text) {
  const auto parsed = parse(text);
  REQUIRE_FALSE(parsed.ok());
  return parsed.error().message;
}

// What every quirk has to say; the lines of a test stand behind it, from the sixth on.
std::string quirk(const std::string& more) {
  return "[[quirk]]\nkernels = [\"k\"]\nvendorID = 1\nreason = \"wrong\"\nsource = \"a page\"\n" +
         more + "\n";
}

gen::PackKernel kernel(const std::string& name, const std::vector<std::string>& values) {
  gen::PackKernel k;
  k.name = name;
  for (const std::string& value : values) {
    k.variants.emplace_back().name = name + "_" + value;
    k.variants.back().axis_values = {{"TILE", value}};
  }
  return k;
}

}  // namespace

TEST_CASE("quirks: every key", "[quirks]") {
  const auto file = parse(R"([[quirk]]
kernels = ["gemm", "conv"]
axis = { DIRECT = 0 }
forms = ["fp16s", "image_fp16sa", "fp32"]
vendorID = 0x5143
deviceID = { from = 0x43050000, to = 0x4305ffff }
driverID = "QUALCOMM_PROPRIETARY"
driverVersion = { from = "512.600", to = "512.762.40" }
reason = "wrong sums"
source = "a page"
[[quirk]]
axis = { WIDE = true }
driverID = "NVIDIA_PROPRIETARY"
driverVersion = "580.159"
deviceID = 7
reason = "r"
source = "s"
[[backend]]
deviceType = ["CPU", "OTHER"]
use = "cpu"
reason = "measured"
[[backend]]
use = "vulkan"
reason = "measured, too"
)");
  REQUIRE(file.ok());
  REQUIRE(file->quirks.size() == 2);
  const gen::QuirkSpec& q = file->quirks[0];
  CHECK(q.kernels == std::vector<std::string>{"gemm", "conv"});
  CHECK(q.axis == "DIRECT");
  CHECK(q.value == "0");
  CHECK(
      q.forms ==
      (table::form_bit(table::Storage::kFp16, table::Arithmetic::kFp32, table::Resource::kBuffer) |
       table::form_bit(table::Storage::kFp16, table::Arithmetic::kFp16, table::Resource::kImage) |
       table::form_bit(table::Storage::kFp32, table::Arithmetic::kFp32, table::Resource::kBuffer)));
  CHECK(q.vendor_id == 0x5143);
  CHECK(q.driver_id == 8);
  CHECK(q.first_device == 0x43050000);
  CHECK(q.last_device == 0x4305ffff);
  // VK_MAKE_API_VERSION's packing; what is left out is its least and its most.
  CHECK(q.first_driver == (512u << 22 | 600u << 12));
  CHECK(q.last_driver == (512u << 22 | 762u << 12 | 40u));
  CHECK(q.reason == "wrong sums");
  CHECK(q.kernel_positions[1].line == 2);
  const gen::QuirkSpec& second = file->quirks[1];
  CHECK(second.kernels.empty());
  CHECK(second.value == "1");
  CHECK(second.first_device == 7);
  CHECK(second.last_device == 7);
  // NVIDIA's: 10, 8, 8 and 6 bits. All of 580.159.
  CHECK(second.first_driver == (580u << 22 | 159u << 14));
  CHECK(second.last_driver == (580u << 22 | 159u << 14 | 0x3fff));
  REQUIRE(file->backends.size() == 2);
  CHECK(file->backends[0].types == (1u << 4 | 1u));
  CHECK(file->backends[0].cpu);
  CHECK(file->backends[1].types == ~0u);
  CHECK_FALSE(file->backends[1].cpu);
  CHECK(parse("").ok());
}

TEST_CASE("quirks: a device that is named wrongly is one error", "[quirks]") {
  const auto entry = [](const std::string& device) {
    const auto file =
        parse("[[quirk]]\nkernels = [\"k\"]\nreason = \"r\"\nsource = \"s\"\n" + device + "\n");
    return file.ok() ? "not refused" : file.error().message;
  };
  CHECK(entry("driverID = \"MESA_RADVV\"\ndriverVersion = \"25.0\"") ==
        "q.toml:5:12: error: no driver 'MESA_RADVV'; the nearest is 'MESA_RADV'");
  CHECK(entry("vendorID = -1") == "q.toml:5:12: error: 'vendorID' must be a number of 32 bits");
  CHECK(entry("vendorID = 0") ==
        "q.toml:1:1: error: [[quirk]] of every device: give 'vendorID' or 'driverID'");
}

TEST_CASE("quirks: each mistake is an error at its place", "[quirks]") {
  struct Case {
    std::string text, message;
  };
  const Case cases[] = {
      {"[[quirks]]\n",
       "q.toml:1:3: error: unknown key 'quirks' in a file of quirks; the nearest is "
       "'quirk'"},
      {"quirk = 1\n", "q.toml:1:9: error: 'quirk' must be written as [[quirk]]"},
      {"[[quirk]\n", "q.toml:1:9: error: "},
      {quirk("vendorid = 1"),
       "q.toml:6:1: error: unknown key 'vendorid' in [[quirk]]; the nearest "
       "is 'vendorID'"},
      {quirk("forms = [\"fp16\"]"), "q.toml:6:10: error: expected one of \"fp32\""},
      {quirk("axis = { A = 1, B = 2 }"),
       "q.toml:6:8: error: 'axis' must be one axis with its value"},
      {quirk("axis = \"A\""), "q.toml:6:8: error: 'axis' must be one axis with its value"},
      {quirk("deviceID = -1"), "q.toml:6:12: error: 'deviceID' must be a number of 32 bits"},
      {quirk("deviceID = { from = 2, to = 1 }"), "q.toml:6:12: error: 'deviceID' ends before it"},
      {quirk("deviceID = { form = 2 }"), "q.toml:6:14: error: unknown key 'form' in 'deviceID'"},
      {quirk("driverID = \"MESA_RADVV\""),
       "q.toml:6:12: error: no driver 'MESA_RADVV'; the nearest is 'MESA_RADV'"},
      {quirk("driverID = 3"), "q.toml:6:12: error: 'driverID' must be a name of VkDriverId"},
      {quirk("driverVersion = \"1.2\""), "q.toml:6:17: error: which numbers a version has"},
      {quirk("driverID = \"MESA_RADV\"\ndriverVersion = \"25.0.7.1\""),
       "q.toml:7:17: error: '25.0.7.1' is no version: expected up to 3 numbers"},
      {quirk("driverID = \"MESA_RADV\"\ndriverVersion = \"25.\""),
       "q.toml:7:17: error: '25.' is no"},
      {quirk("driverID = \"MESA_RADV\"\ndriverVersion = \"2000\""),
       "q.toml:7:17: error: '2000' is"},
      {quirk("driverID = \"NVIDIA_PROPRIETARY\"\ndriverVersion = \"580.300\""),
       "q.toml:7:17: error: '580.300' is no version: expected up to 4 numbers"},
      {"[[quirk]]\nkernels = [\"k\"]\nreason = \"r\"\nsource = \"s\"\n",
       "q.toml:1:1: error: [[quirk]] of every device"},
      {"[[quirk]]\nvendorID = 1\nreason = \"r\"\nsource = \"s\"\n",
       "q.toml:1:1: error: [[quirk]] of everything"},
      {"[[quirk]]\nkernels = [\"k\", \"k\"]\nvendorID = 1\nreason = \"r\"\nsource = \"s\"\n",
       "q.toml:2:17: error: 'k' is listed twice"},
      {"[[quirk]]\nkernels = []\nvendorID = 1\nreason = \"r\"\nsource = \"s\"\n",
       "q.toml:2:11: error: 'kernels' must be a list of one or more"},
      {"[[quirk]]\nkernels = [\"k\"]\nvendorID = 1\nsource = \"s\"\n",
       "q.toml:1:1: error: [[quirk]] without 'reason'"},
      {"[[quirk]]\nkernels = [\"k\"]\nvendorID = 1\nreason = \"r\"\n",
       "q.toml:1:1: error: [[quirk]] without 'source'"},
      {"[[quirk]]\nkernels = [\"k\"]\nvendorID = 1\nreason = \"\"\nsource = \"a\\nb\"\n",
       "q.toml:4:10: error: 'reason' must be one line of 1 to 1024 bytes\nq.toml:5:10: error: "
       "'source' must be one line"},
      {"[[backend]]\nuse = \"gpu\"\nreason = \"r\"\n",
       "q.toml:2:7: error: 'use' must be \"vulkan\" or \"cpu\""},
      {"[[backend]]\nreason = \"r\"\n", "q.toml:1:1: error: [[backend]] without 'use'"},
      {"[[backend]]\nuse = \"cpu\"\ndeviceType = [\"cpu\"]\nreason = \"r\"\n",
       "q.toml:3:15: error: expected one of \"OTHER\", \"INTEGRATED_GPU\""},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    CHECK_THAT(fault(c.text), StartsWith(c.message));
  }
}

TEST_CASE("quirks: what they name must be there", "[quirks]") {
  const std::vector<gen::PackKernel> kernels = {kernel("conv", {"4", "8"}), kernel("gemm", {"4"}),
                                                kernel("matrix", {})};
  const auto encode = [&](const std::string& body, bool all = true) {
    const auto file = parse("[[quirk]]\nvendorID = 1\nreason = \"r\"\nsource = \"s\"\n" + body);
    REQUIRE(file.ok());
    const auto bytes = gen::encode_quirks(*file, kernels, all);
    return bytes.ok() ? std::string() : bytes.error().message;
  };
  CHECK(encode("kernels = [\"gemm\"]").empty());
  CHECK(encode("kernels = [\"gemm\"]\naxis = { TILE = 4 }").empty());
  CHECK(encode("axis = { TILE = 8 }").empty());
  CHECK(encode("kernels = [\"gem\"]") ==
        "q.toml:5:12: error: no kernel 'gem'; the nearest is 'gemm'");
  CHECK(encode("kernels = [\"gemm\"]\naxis = { TIEL = 4 }") ==
        "q.toml:6:10: error: no axis 'TIEL'; the nearest is 'TILE'");
  CHECK(encode("kernels = [\"gemm\"]\naxis = { TILE = 8 }") ==
        "q.toml:6:10: error: no value 'TILE=8'; there are 4");
  // Its compiler is not there: nobody knows its axes.
  CHECK(encode("kernels = [\"matrix\"]\naxis = { M = 8 }").empty());
  // A bake of one kernel of many.
  CHECK(encode("kernels = [\"other\"]", false).empty());
}
