// SPDX-License-Identifier: Apache-2.0
// JSON, as little as these programs need: values read from a text, strings written into one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "quoted.hpp"
#include "spirkiln/result.hpp"

namespace spirkiln::json {

struct Value {
  enum class Type { kNull, kBool, kNumber, kString, kArray, kObject };
  Type type = Type::kNull;
  bool boolean = false;
  double number = 0;
  std::string string;
  std::vector<Value> array;
  std::map<std::string, Value> object;

  // The member of that name, or null.
  const Value* find(const std::string& name) const;
};

// `name` stands in messages, with line and column of what is wrong.
Result<Value> parse(std::string_view text, const std::string& name);
Result<Value> read_file(const std::string& path);

using tool::quoted;

}  // namespace spirkiln::json
