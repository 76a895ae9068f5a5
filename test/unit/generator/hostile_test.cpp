// SPDX-License-Identifier: Apache-2.0
// Tables that are made to cost memory, and SPIR-V behind fitting hashes that is no SPIR-V.
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

#include "compile_fixture.hpp"
#include "cross.hpp"
#include "files.hpp"
#include "forms.hpp"
#include "list.hpp"
#include "pack.hpp"
#include "spirv_tools.hpp"
#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr gen::Target kVulkan10{0x00400000, 0x00010000};

// A kernel with what SPIRV-Cross has to follow: a struct, a loop, a call, shared memory, constants.
constexpr std::string_view kKernel = R"(#version 450
layout (local_size_x_id = 233) in;
layout (constant_id = 0) const int n = 4;
layout (binding = 0) readonly buffer A { sfpvec4 a[]; };
layout (binding = 1) writeonly buffer B { sfpvec4 b[]; };
layout (push_constant) uniform parameter { int n; float s; } p;
shared lfpvec4 tmp[4];
afpvec4 twice(afpvec4 v) { return v * afp(2); }
void main()
{
    const int i = int(gl_GlobalInvocationID.x);
    if (i >= psc(n)) return;
    tmp[i & 3] = sfp2lfpvec4(a[i]);
    barrier();
    afpvec4 v = buffer_ld4(a, i);
    for (int k = 0; k < 4; k++) v += twice(lfp2afpvec4(tmp[k])) * afp(p.s);
    buffer_st4(b, i, v);
}
)";

std::vector<std::uint32_t> kernel_words() {
  auto compiled = test::compile_text(kKernel, gen::kProfile2023, "fp32");
  INFO(compiled.said);
  REQUIRE(compiled.ok);
  return compiled.words;
}

std::shared_ptr<gen::Blob> blob_of(std::vector<std::uint32_t> words) {
  auto b = std::make_shared<gen::Blob>();
  b->words = std::move(words);
  b->vulkan_version = kVulkan10.vulkan;
  b->reflection.spirv_version = kVulkan10.spirv;
  return b;
}

gen::PackKernel kernel_of(const std::string& name, std::size_t variants,
                          const std::shared_ptr<const gen::Blob>& blob) {
  gen::PackKernel k{name, 0, {}, {}};
  for (std::size_t i = 0; i < variants; ++i) {
    gen::Variant v;
    v.name = name + "_" + std::to_string(i);
    k.variants.push_back(v);
    k.blobs.push_back(blob);
  }
  return k;
}

Result<gen::PackedTable> pack(const std::vector<gen::PackKernel>& kernels) {
  return gen::pack_table("demo", "tool", kernels, 2, gen::Cache(std::nullopt));
}

Result<Table> open(const std::string& bytes) {
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return Table::from_bytes({first, first + bytes.size()}, "a test's table");
}

}  // namespace

TEST_CASE("dump: SPIR-V that is not valid is refused by name and with the validator's reason",
          "[hostile]") {
  const test::Workspace w;
  auto words = kernel_words();
  // The type of a function's parameter becomes an id that nothing defines.
  words[3] += 1;
  for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
    if ((words[at] & 0xffff) == 54) words[at + 4] = words[3] - 1;  // OpFunction
  }
  auto packed = pack({kernel_of("bad", 1, blob_of(words))});
  REQUIRE(packed.ok());
  w.write("t.bin", packed->bytes);
  for (const char* form : {"--glsl", "--msl", "--hlsl"}) {
    const std::string command = std::string("'") + SPIRKILN_PROGRAM + "' dump '" +
                                (w / "t.bin").string() + "' bad_0 " + form + " >'" +
                                (w / "out").string() + "' 2>'" + (w / "err").string() + "'";
    const int status = std::system(command.c_str());
    INFO(form << ": " << w.read("err"));
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 1);
    CHECK(w.read("out").empty());
    CHECK_THAT(w.read("err"), ContainsSubstring("variant 'bad_0': its SPIR-V is not valid") &&
                                  ContainsSubstring("SPIRV-Tools says: "));
  }
}

TEST_CASE("dump: words changed at random end in a text or in an error", "[hostile]") {
  const auto whole = kernel_words();
  REQUIRE(gen::cross_compile(whole, kVulkan10, gen::Language::kGlsl).ok());
  std::mt19937 random(11);
  std::size_t refused = 0;
  for (int round = 0; round < 1500; ++round) {
    auto words = whole;
    const std::size_t at = 3 + random() % (words.size() - 3);
    switch (random() % 3) {
      case 0:
        words[at] ^= 1u << (random() % 32);
        break;
      case 1:
        words[at] = words[3 + random() % (words.size() - 3)];
        break;
      default:
        words.resize(at);
    }
    const auto language = static_cast<gen::Language>(random() % 3);
    const auto text = gen::cross_compile(words, kVulkan10, language);
    if (!text.ok()) {
      ++refused;
      CHECK_FALSE(text.error().message.empty());
    }
    (void)gen::disassemble(words).ok();
  }
  CHECK(refused > 500);
  CHECK(refused < 1500);
}

TEST_CASE("list: variants that share a blob cannot make a text without end", "[hostile]") {
  auto blob = blob_of(kernel_words());
  for (std::uint32_t i = 0; i < table::kMaxListed; ++i) {
    blob->reflection.specs.push_back(
        {i, std::string(table::kMaxStringBytes, 'n'), table::SpecType::kUint, 0});
  }
  auto packed = pack({kernel_of("many", 4096, blob)});
  REQUIRE(packed.ok());
  CHECK(packed->bytes.size() < 400'000);
  const auto view = open(packed->bytes);
  REQUIRE(view.ok());
  const auto json = gen::list_json(*view);
  REQUIRE_FALSE(json.ok());
  CHECK_THAT(json.error().message, ContainsSubstring("takes more than 134217728 bytes"));
  CHECK(gen::list_text(*view).ok());
}

TEST_CASE("table: kernels that fill a frame go on in another", "[hostile]") {
  std::vector<gen::PackKernel> kernels;
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::vector<std::uint32_t> words(160'000, 0);  // no module, so stored as it is
    words[0] = 0x07230203;
    words[1] = kVulkan10.spirv;
    words[2] = i;
    kernels.push_back(kernel_of("k" + std::to_string(i), 1, blob_of(std::move(words))));
  }
  const auto packed = pack(kernels);
  REQUIRE(packed.ok());
  const auto view = open(packed->bytes);
  INFO((view.ok() ? std::string() : view.error().message));
  REQUIRE(view.ok());
  CHECK(view->frames().size() == 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto words = view->words(view->variants()[i].blob);
    REQUIRE(words.ok());
    CHECK((*words)[2] == i);
  }
}

TEST_CASE("table: what readers would refuse is not written", "[hostile]") {
  auto long_name = kernel_of(std::string(table::kMaxStringBytes + 1, 'k'), 1, blob_of({1, 2, 3}));
  CHECK_THAT(pack({long_name}).error().message, ContainsSubstring("more than a table may hold"));
  auto blob = blob_of({1, 2, 3});
  blob->reflection.capabilities.assign(table::kMaxListed + 1, 1);
  CHECK_THAT(pack({kernel_of("k", 1, blob)}).error().message, ContainsSubstring("variant k_0"));
  const auto many = kernel_of("k", table::kMaxVariants + 1, blob_of({1, 2, 3}));
  CHECK_THAT(pack({many}).error().message, ContainsSubstring("kernel k has 16385 variants"));
}
