// SPDX-License-Identifier: Apache-2.0
// Known answers where lowering takes another way than a case expects.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "families.hpp"

using namespace spirkiln;
using namespace spirkiln::answers;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

TEST_CASE("an answer that lowering has no use for is left out, and known by kernel and line",
          "[answers]") {
  Writer out;
  const Case product = pointwise(Numbers::kOrdinary);
  add_node(&out, "gemm_nc", product, gpu());
  CHECK(out.left_out.empty());
  CHECK_THAT(out.text, ContainsSubstring("kernel = \"gemm_nc\""));
  const std::string before = out.text;
  for (const DeviceTraits& traits : {gpu(), small_groups()}) {
    add_node(&out, "gemm_reg", product, traits);
  }
  add_node(&out, "gemm_subgroup", product, gpu());
  CHECK(out.text == before);
  REQUIRE(out.left_out.size() == 2);
  CHECK(out.left_out[0].kernel == "gemm_reg");
  CHECK_THAT(out.left_out[0].why, ContainsSubstring("lowering chose gemm_"));
  CHECK(out.left_out[0].count == 2);
  CHECK_THAT(out.left_out[0].file, EndsWith("left_out_test.cpp"));
  CHECK(out.left_out[1].line > out.left_out[0].line);
  CHECK(out.left_out[1].count == 1);

  // What lowering refuses altogether, with its reason.
  Case wide = pointwise(Numbers::kOrdinary);
  wide.dims[0].h += 1;
  add_node(&out, "gemm_nc", wide, gpu());
  CHECK(out.text == before);
  REQUIRE(out.left_out.size() == 3);
  CHECK_FALSE(out.left_out[2].why.empty());
  CHECK_FALSE(taken(&out, "gemm_nc", OfLowering(Lowered{})).has_value());
  CHECK(out.left_out.size() == 4);
}
