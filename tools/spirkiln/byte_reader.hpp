// SPDX-License-Identifier: Apache-2.0
// Numbers and strings of a stored form (little-endian), written and read without going beyond its
// end.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace spirkiln::gen {

inline void put_number(std::string& out, std::uint32_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline void put_string(std::string& out, std::string_view text) {
  put_number(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

// After the first read beyond the end, everything is 0 or empty and ok() is false.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  std::size_t left() const { return rest_.size(); }

  std::string_view take(std::size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::uint32_t number() {
    std::uint32_t value = 0;
    const std::string_view bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view string() { return take(number()); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace spirkiln::gen
