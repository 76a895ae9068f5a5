// SPDX-License-Identifier: Apache-2.0
// Kernel tables: the bytes as a file, as the decoded index of a good table (what is compressed
// would hardly ever be reached), and as a dictionary with a module. Checksums are made to fit.
#include "input.hpp"
#include "list.hpp"
#include "support/table_writer.hpp"
#include "support/use_table.hpp"
#include "table/module_coding.hpp"

using namespace spirkiln;

namespace {

void use(Result<Table> table) {
  if (!table) return;
  test::use_table(*table);
  (void)gen::list_text(*table).ok();
  (void)gen::list_json(*table).ok();
}

// A dictionary's length in its first two bytes, the dictionary, a module.
void use_coding(std::span<const std::byte> bytes) {
  if (bytes.size() < 2) return;
  const std::size_t asked = static_cast<std::size_t>(bytes[0]) | static_cast<std::size_t>(bytes[1])
                                                                     << 8;
  bytes = bytes.subspan(2);
  const std::size_t length = std::min(asked, bytes.size());
  const auto dictionary = CodingDictionary::parse(bytes.first(length));
  if (!dictionary) return;
  for (const std::size_t words : {5, 20, 300}) {
    std::vector<std::uint32_t> out(words);
    (void)dictionary->decode(bytes.subspan(length), out).ok();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = test::bytes_of(data, size);
  (void)test::decoded_answers(bytes);
  use_coding(bytes);
  static const auto good = test::write_table({{"k", {{"k"}}}});
  use(Table::from_bytes(test::with_index(good, bytes), "fuzz"));
  auto file = bytes;
  test::reseal_table(file);
  use(Table::from_bytes(std::move(file), "fuzz"));
  return 0;
}
