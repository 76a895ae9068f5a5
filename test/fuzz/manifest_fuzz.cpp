// SPDX-License-Identifier: Apache-2.0
// Manifests: TOML, its keys, and the product of the axes.
#include "expand.hpp"
#include "input.hpp"
#include "manifest.hpp"

using namespace spirkiln;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gen::SourceStore sources;
  const auto file = sources.put("fuzz.toml", test::text_of(data, size));
  if (!file.ok()) return 0;
  const auto manifest = gen::parse_manifest(**file);
  if (!manifest.ok()) return 0;
  for (const auto& kernel : manifest->kernels) (void)gen::expand(kernel).ok();
  return 0;
}
