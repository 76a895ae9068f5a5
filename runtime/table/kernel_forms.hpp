// SPDX-License-Identifier: Apache-2.0
// The forms that a kernel is taken in where nobody names any.
#pragma once

#include <algorithm>
#include <vector>

#include "table/select.hpp"

namespace spirkiln {

// Those on buffers, in the table's order. Graphs choose otherwise (graph/plan.hpp), since all of
// their kernels share tensors.
inline std::vector<Form> forms_on_buffers(const Table& table, const table::KernelEntry& kernel) {
  std::vector<Form> forms;
  for (const table::VariantEntry& v : table.variants_of(kernel)) {
    const Form form = form_of(v);
    const bool known = std::find(forms.begin(), forms.end(), form) != forms.end();
    if (!known && !form.is_image()) forms.push_back(form);
  }
  return forms;
}

}  // namespace spirkiln
