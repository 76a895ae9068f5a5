// SPDX-License-Identifier: Apache-2.0
// Where a pointer of a module leads: a resource, and how far from its beginning.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parsed_module.hpp"
#include "trace.hpp"

namespace spirkiln::access {

struct Root {
  Space space = Space::kBuffer;
  std::string name;
  std::uint32_t resource = 0;  // as Site::resource
  std::uint64_t bytes = 0;     // of a shared variable
};

struct PathStep {
  std::uint32_t index;   // id of an integer
  std::uint32_t stride;  // bytes
};

struct Path {
  std::optional<Root> root;  // nothing: no memory that is traced
  std::uint32_t constant = 0;
  std::vector<PathStep> steps;
  std::uint32_t bytes = 0;  // of what it points to
  std::string why;          // not empty: it cannot be followed
};

class AccessPaths {
 public:
  explicit AccessPaths(const ParsedModule& module) : module_(module) {}
  Path of_pointer(std::uint32_t id) const;
  // Of an image or sampled image; with `is_pointer` of a pointer to one.
  std::optional<Root> of_image(std::uint32_t id, bool is_pointer) const;
  // Bytes from the first to behind the last byte. `shared`: natural sizes where nothing says them.
  std::uint64_t size_of(std::uint32_t type, bool shared) const;

 private:
  struct Layout {  // of what a path has reached
    std::uint32_t type;
    std::uint32_t matrix_stride = 0;
    bool row_major = false;
  };
  void step(Path* path, Layout* at, std::uint32_t index, bool shared) const;
  std::uint64_t shared_align(std::uint32_t type) const;
  std::uint64_t member_offset(std::uint32_t type, std::uint32_t member, bool shared) const;

  const ParsedModule& module_;
};

}  // namespace spirkiln::access
