// SPDX-License-Identifier: Apache-2.0
// A folder that lives as long as a test, and a bake in it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bake.hpp"
#include "list.hpp"

namespace spirkiln::test {

class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path operator/(std::string_view name) const { return root_ / name; }
  // Parent folders are made. Returns the path.
  std::filesystem::path write(std::string_view name, std::string_view text) const;
  std::string read(std::string_view name) const;
  bool exists(std::string_view name) const;

  // Bakes "kernels/" into "out/" with the project's dialect, a cache in "cache/" and a depfile.
  gen::BakeOptions options() const;

 private:
  std::filesystem::path root_;
};

struct BakeRun {
  Result<gen::BakeStats> result;
  std::vector<std::string> messages;  // in order
};
BakeRun run_bake(const gen::BakeOptions& options);

// The words of a variant in a baked table.
std::vector<std::uint32_t> words_of(const std::filesystem::path& table, std::string_view variant);

}  // namespace spirkiln::test
