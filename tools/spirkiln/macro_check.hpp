// SPDX-License-Identifier: Apache-2.0
// Which names and values a macro may have, whether a manifest or -D gives it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace spirkiln::gen {

// What is wrong with a macro's name, or nothing. NCNN_* and ncnn_* are judged elsewhere.
std::optional<std::string> bad_macro_name(std::string_view name);

// What is wrong with the text behind it, or nothing: it must stay one line, and leave what follows
// alone.
std::optional<std::string> bad_macro_value(std::string_view value);

}  // namespace spirkiln::gen
