// SPDX-License-Identifier: Apache-2.0
// Known answers as a table stores them (table/answers.hpp).
#pragma once

#include <span>
#include <string>

#include "table/answers.hpp"

namespace spirkiln::gen {

// One behind the other, so that those of several kernels together are their parts put together.
std::string encode_answers(std::span<const Answer> answers);

}  // namespace spirkiln::gen
