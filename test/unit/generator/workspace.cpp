// SPDX-License-Identifier: Apache-2.0
#include "workspace.hpp"

#include <stdlib.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace spirkiln::test {
namespace fs = std::filesystem;

Workspace::Workspace() {
  std::string pattern = (fs::temp_directory_path() / "spirkiln-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  root_ = pattern;
}

Workspace::~Workspace() {
  std::error_code code;
  fs::remove_all(root_, code);
}

fs::path Workspace::write(std::string_view name, std::string_view text) const {
  const fs::path path = root_ / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string Workspace::read(std::string_view name) const {
  std::ifstream file(root_ / name, std::ios::binary);
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool Workspace::exists(std::string_view name) const { return fs::exists(root_ / name); }

gen::BakeOptions Workspace::options() const {
  gen::BakeOptions options;
  options.inputs = {root_ / "kernels"};
  options.name = "test";
  options.out_dir = root_ / "out";
  options.depfile = root_ / "out" / "test.d";
  options.cache = root_ / "cache";
  options.glsl = fs::path(SPIRKILN_SOURCE_ROOT) / "glsl";
  return options;
}

BakeRun run_bake(const gen::BakeOptions& options) {
  std::vector<std::string> messages;
  auto result =
      gen::bake(options, [&](Severity, std::string_view text) { messages.emplace_back(text); });
  return {std::move(result), std::move(messages)};
}

std::vector<std::uint32_t> words_of(const fs::path& path, std::string_view variant) {
  auto table = Table::from_file(path.string());
  INFO((table.ok() ? "" : table.error().message));
  REQUIRE(table.ok());
  const auto* entry = table->find_variant(variant);
  INFO("variant " << variant);
  REQUIRE(entry != nullptr);
  auto words = gen::module_of(*table, *entry);
  REQUIRE(words.ok());
  return *words;
}

}  // namespace spirkiln::test
