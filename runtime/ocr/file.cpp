// SPDX-License-Identifier: Apache-2.0
#include "ocr/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

namespace spirkiln::ocr {

namespace fs = std::filesystem;

Result<std::vector<std::uint8_t>> read_file(const std::string& path, std::uint64_t max_bytes,
                                            const std::string& expected) {
  std::error_code ec;
  // Of what a link leads to.
  const fs::file_type type = fs::status(path, ec).type();
  if (type == fs::file_type::directory) {
    return Error{ErrorCode::kIo, path + ": is a folder, expected " + expected};
  }
  if (type == fs::file_type::fifo || type == fs::file_type::character) {
    return Error{ErrorCode::kIo, path + ": is a pipe or device, expected " + expected};
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) {
    return Error{ErrorCode::kIo, path + ": cannot be opened: " + std::strerror(errno)};
  }
  // Read in pieces: a file may grow, or lie about its size.
  std::vector<std::uint8_t> bytes;
  constexpr std::size_t kPiece = 1u << 16;
  const std::uintmax_t size = fs::file_size(path, ec);
  if (!ec)
    bytes.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(size, max_bytes)) + kPiece);
  for (;;) {
    const std::size_t have = bytes.size();
    bytes.resize(have + kPiece);
    const std::size_t got = std::fread(bytes.data() + have, 1, kPiece, file.get());
    bytes.resize(have + got);
    if (bytes.size() > max_bytes) {
      const std::string limit = std::to_string(max_bytes);
      return Error{ErrorCode::kOutOfMemory,
                   path + ": larger than the limit of " + limit + " bytes, expected " + expected};
    }
    if (got < kPiece) break;
  }
  if (std::ferror(file.get()) != 0) {
    return Error{ErrorCode::kIo, path + ": cannot be read: " + std::strerror(errno)};
  }
  return bytes;
}

}  // namespace spirkiln::ocr
