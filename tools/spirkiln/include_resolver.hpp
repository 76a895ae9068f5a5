// SPDX-License-Identifier: Apache-2.0
// Resolves #include for glslang, out of the store that records every file of a bake.
#pragma once

#include <glslang/Public/ShaderLang.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "files.hpp"

namespace spirkiln::gen {

// Where a name may lie, in the order in which it is looked for: what compose() includes is
// `dialect`; others lie in `folder`, that of the including file, or in one of `folders`.
std::vector<std::filesystem::path> include_candidates(
    std::string_view name, const std::filesystem::path& folder,
    const std::vector<std::filesystem::path>& folders, const std::filesystem::path& dialect);

// `dialect` is the file that compose() includes; `folders` are searched, in order, behind the
// folder of the including file.
class IncludeResolver final : public glslang::TShader::Includer {
 public:
  IncludeResolver(SourceStore& sources, const std::filesystem::path& dialect,
                  const std::vector<std::filesystem::path>& folders)
      : sources_(sources), dialect_(dialect), folders_(folders) {}

  IncludeResult* includeLocal(const char* name, const char* includer, std::size_t depth) override;
  IncludeResult* includeSystem(const char* name, const char* includer, std::size_t depth) override;
  void releaseInclude(IncludeResult* result) override;

  // Every text that was included, but for the dialect's own.
  const std::vector<std::shared_ptr<const SourceFile>>& included() const { return included_; }

 private:
  IncludeResult* resolve(std::string_view name, const std::filesystem::path& folder,
                         std::size_t depth);
  IncludeResult* fail(std::string text);

  SourceStore& sources_;
  const std::filesystem::path& dialect_;
  const std::vector<std::filesystem::path>& folders_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  std::vector<std::shared_ptr<const SourceFile>> included_;
  bool failed_ = false;
  std::string local_failure_;
};

}  // namespace spirkiln::gen
