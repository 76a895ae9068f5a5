// SPDX-License-Identifier: Apache-2.0
// A program with kernels of its own: opens the table that is linked in, and prints each kernel with
// its variants. With an argument, the table in that file.
#include <cstdio>
#include <cstring>
#include <spirkiln/kernel_table.hpp>

#include "demo_table.hpp"

namespace {

int fail(const spirkiln::Error& error) {
  std::fprintf(stderr, "table: error: %s\n", error.message.c_str());
  return 1;
}

int show(std::string_view kernel, const spirkiln::KernelTable& table) {
  const auto variants = table.variants(kernel);
  std::printf("%.*s", static_cast<int>(kernel.size()), kernel.data());
  for (const auto& variant : variants) {
    const auto words = table.words(variant);
    if (!words) return fail(words.error());
    if (words->size() < 5 || (*words)[0] != 0x07230203u) {
      std::fprintf(stderr, "table: error: no SPIR-V\n");
      return 1;
    }
    std::printf(" %.*s", static_cast<int>(variant.size()), variant.data());
  }
  std::printf("\n");
  return variants.empty() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto table =
      argc > 1 ? spirkiln::KernelTable::open(argv[1])
               : spirkiln::KernelTable::from_memory(spirkiln::tables::demo::table(), "demo");
  if (!table) return fail(table.error());
  const auto kernels = table->kernels();
  // What the generated header says is what the table has.
  if (kernels.size() != spirkiln::tables::demo::kKernelNames.size()) return 1;
  for (const auto& kernel : kernels) {
    if (const int status = show(kernel, *table); status != 0) return status;
  }
  const auto none = table->words("scale_fp64");
  if (none || none.error().code != spirkiln::ErrorCode::kNoVariant) {
    std::fprintf(stderr, "table: error: a variant that is not there must be an error\n");
    return 1;
  }
  return 0;
}
