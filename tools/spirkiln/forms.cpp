// SPDX-License-Identifier: Apache-2.0
#include "forms.hpp"

#include <algorithm>

namespace spirkiln::gen {

std::vector<std::string_view> form_names(std::string_view profile) {
  if (profile == kProfile2023) {
    return {"fp32",  "fp16p",       "fp16pa",       "fp16s",       "fp16sa",
            "image", "image_fp16p", "image_fp16pa", "image_fp16s", "image_fp16sa"};
  }
  if (profile == kProfile2026) {
    return {"fp32", "fp16p", "fp16pa", "fp16s", "fp16sa", "fp16sau", "bf16p", "bf16s"};
  }
  return {};
}

std::optional<Form> find_form(std::string_view profile, std::string_view name) {
  const auto names = form_names(profile);
  if (std::find(names.begin(), names.end(), name) == names.end()) return std::nullopt;
  Form form;
  const auto define = [&](std::string_view macro) { form.macros.emplace_back(macro, "1"); };
  if (profile == kProfile2026) form.macros.emplace_back("SPIRKILN_profile", "2026");
  if (name.starts_with("image")) {
    form.resource = table::Resource::kImage;
    define("NCNN_image_shader");
    name.remove_prefix(std::min(name.size(), std::string_view("image_").size()));
  }
  if (name.starts_with("fp16p")) {
    form.storage = table::Storage::kFp16Packed;
    define("NCNN_fp16_packed");
  } else if (name.starts_with("fp16s")) {
    form.storage = table::Storage::kFp16;
    define("NCNN_fp16_storage");
  } else if (name == "bf16p") {
    define("NCNN_bf16_packed");
  } else if (name == "bf16s") {
    define("NCNN_bf16_storage");
  }
  if (name.ends_with("a") || name.ends_with("au")) {
    form.arithmetic = table::Arithmetic::kFp16;
    define("NCNN_fp16_arithmetic");
  }
  if (name.ends_with("au")) define("NCNN_fp16_uniform");
  return form;
}

}  // namespace spirkiln::gen
