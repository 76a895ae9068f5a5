// SPDX-License-Identifier: Apache-2.0
// A program whose kernels are in a library that it links: prints their names.
#include <cstdio>
#include <spirkiln/kernel_table.hpp>

#include "pieces_table.hpp"

int main() {
  const auto table =
      spirkiln::KernelTable::from_memory(spirkiln::tables::pieces::table(), "pieces");
  if (!table) {
    std::fprintf(stderr, "use: error: %s\n", table.error().message.c_str());
    return 1;
  }
  for (const auto& kernel : table->kernels()) {
    std::printf("%.*s\n", static_cast<int>(kernel.size()), kernel.data());
  }
  return 0;
}
