// SPDX-License-Identifier: Apache-2.0
// Extended GLSL to SPIR-V in process: for build tools and tests. A program that runs kernels links
// the runtime instead, which has no compiler.
//
// Option has the names that ncnn's has, and its defaults. An error is described by `message`, with
// the kernel's own file:line:column; without one it goes nowhere. All calls are safe from several
// threads at once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "spirkiln/layer_shader_type.h"
#include "spirkiln/result.hpp"

namespace spirkiln {

struct Option {
  // Storage wins over packed, and bf16 over fp16. Arithmetic needs fp16 storage or packed.
  bool use_fp16_packed = true;
  bool use_fp16_storage = true;
  bool use_fp16_arithmetic = true;
  bool use_fp16_uniform = true;  // profile ncnn-2026: fp16sau instead of fp16sa
  bool use_bf16_packed = false;  // profile ncnn-2026
  bool use_bf16_storage = false;
  bool use_int8_packed = true;
  bool use_int8_storage = true;
  bool use_int8_arithmetic = true;
  bool use_int16_packed = false;  // profile ncnn-2026
  bool use_int16_storage = false;
  bool use_image_storage = false;  // profile ncnn-2023
  bool use_shader_local_memory = true;
  bool use_subgroup_ops = false;  // raises the target to Vulkan 1.1
  bool use_cooperative_matrix = false;

  // Ours.
  std::string profile = "ncnn-2023";  // or "ncnn-2026"
  bool moltenvk = false;              // what NCNN_moltenvk says about the target
  bool strict = false;                // raw access to stored values is an error
  std::string name = "kernel.comp";   // in messages; local includes are looked for beside it
  std::vector<std::pair<std::string, std::string>> defines;  // further macros, ncnn_* among them
  MessageCallback message;
};

// The variant that the options choose: "fp16sa". Empty for a combination that does not exist.
std::string variant_name(const Option& option);

// 0, or -1 after an error; `spirv` is then empty. The words carry names, are valid, and not
// optimised. A kernel without a local size has 1 x 1 x 1.
int compile_spirv_module(const char* comp_string, const Option& option,
                         std::vector<std::uint32_t>& spirv);
// `size` in bytes. One NUL at the very end is not part of the text.
int compile_spirv_module(const char* comp_data, int size, const Option& option,
                         std::vector<std::uint32_t>& spirv);
// A kernel that comes with the library: LayerShaderType::convert_ycbcr.
int compile_spirv_module(int shader_type_index, const Option& option,
                         std::vector<std::uint32_t>& spirv);

}  // namespace spirkiln
