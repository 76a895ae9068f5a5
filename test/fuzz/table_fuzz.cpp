// SPDX-License-Identifier: Apache-2.0
// Kernel tables, by the runtime's reader and by that of "list" and "dump". The checksum is made to
// fit, or nothing behind it would ever be reached.
#include "input.hpp"
#include "list.hpp"
#include "support/table_writer.hpp"
#include "support/use_table.hpp"

using namespace spirkiln;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto bytes = test::bytes_of(data, size);
  test::reseal_table(bytes);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const auto table = Table::from_bytes(std::move(bytes), "fuzz")) test::use_table(*table);
  if (const auto view = gen::TableView::parse(text); view.ok()) {
    (void)gen::list_text(*view).ok();
    (void)gen::list_json(*view).ok();
    for (const auto& b : view->blobs()) (void)view->words(b).ok();
  }
  return 0;
}
