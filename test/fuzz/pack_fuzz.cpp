// SPDX-License-Identifier: Apache-2.0
// Model packs, by the runtime as far as it goes without a device, and by the packer's own check and
// "dump".
#include "input.hpp"
#include "model.hpp"
#include "support/table_writer.hpp"
#include "support/use_pack.hpp"

using namespace spirkiln;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto bytes = test::bytes_of(data, size);
  test::reseal_pack(bytes);
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const std::vector<std::uint8_t> copy(begin, begin + bytes.size());
  (void)test::use_pack(std::move(bytes)).ok();
  (void)packer::dump_text(copy).ok();
  (void)packer::dump_json(copy).ok();
  return 0;
}
