// SPDX-License-Identifier: Apache-2.0
// The kernel that is looked at: compiled as a bake compiles it, with its lines.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glslang_front.hpp"
#include "reflect.hpp"
#include "run_kernel.hpp"
#include "second_compiler.hpp"
#include "spirkiln/result.hpp"

namespace spirkiln::access {

struct SubjectRequest {
  std::string kernel;   // a name of the manifests, or a file that ends in .comp
  std::string variant;  // "fp16s", "fp16s_direct", or the whole name; empty: fp32
  std::vector<std::filesystem::path> manifests;  // files or folders; of a kernel by name
  std::vector<std::pair<std::string, std::string>> defines;  // of a file
  std::optional<std::array<unsigned, 3>> local;  // of a file without a local size of its own
  std::filesystem::path glsl;
  std::optional<std::filesystem::path> second;  // folder of a second compiler
  MessageCallback message;
};

// A member of the push-constant block, nested ones as "e.lo".
struct PushMember {
  std::string name;
  std::uint32_t offset = 0;  // bytes
  std::uint32_t lanes = 1;   // of four bytes each; 0: of a type that --set cannot write
  bool is_float = false;
};

struct ImageNeedOf {
  VkFormat format = VK_FORMAT_UNDEFINED;  // undefined: a sampled image takes any
  std::uint32_t texel_bytes = 0;
  VkImageType type = VK_IMAGE_TYPE_2D;
};

struct Subject {
  std::string name;  // the variant's
  std::vector<std::uint32_t> words;
  gen::Reflection reflection;
  std::vector<PushMember> push;
  std::map<std::uint32_t, ImageNeedOf> images;        // by set << 16 | binding
  std::map<std::uint32_t, std::string> names;         // of all bindings
  std::vector<std::filesystem::path> sources;  // every file that was read for it
  // Whose tools know the module where the linked ones do not: null otherwise.
  std::shared_ptr<const gen::SecondCompiler> tools;
};

// The manifests that a kernel is looked for in where none is named: variants/kernels and
// glsl/examples beside the dialect's folder.
std::vector<std::filesystem::path> usual_manifests(const std::filesystem::path& glsl);

// What a module of this version of SPIR-V was made for.
gen::Target target_of(std::uint32_t spirv_version);

// Errors name the nearest kernel or variant.
Result<Subject> load_subject(const SubjectRequest& request);

// "file:line" as the text of that line, without its indent; empty where it cannot be read.
std::string line_text(const std::string& file, std::uint32_t line);

struct Texel {
  std::string_view name;
  VkFormat format;
  std::uint32_t bytes;
  std::uint32_t spirv;  // spv::ImageFormat
};
std::span<const Texel> texels();

}  // namespace spirkiln::access
