// SPDX-License-Identifier: Apache-2.0
// The kernels that this library was built with.
#include "table/table.hpp"

#include <cstdlib>

#ifdef SPIRKILN_HAVE_OCR_TABLE
#include "ocr_table.hpp"
#endif

namespace spirkiln {

Result<Table> Table::built_in() {
#ifdef SPIRKILN_HAVE_OCR_TABLE
  static const Result<Table> table =
      Table::from_static(std::as_bytes(tables::ocr::table()), "the built-in kernel table");
  return table;
#else
  return Error{ErrorCode::kUnsupported,
               "this libspirkiln was built without kernels: bake a table with spirkiln and name it "
               "in $SPIRKILN_TABLE"};
#endif
}

Result<Table> open_table(const std::string& path) {
  if (!path.empty()) return Table::from_file(path);
  if (const char* env = std::getenv("SPIRKILN_TABLE"); env != nullptr && *env != '\0') {
    return Table::from_file(env);
  }
  return Table::built_in();
}

}  // namespace spirkiln
