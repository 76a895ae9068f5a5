// SPDX-License-Identifier: Apache-2.0
#include "audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <spirv/unified1/spirv.hpp>

#include "capability_names.hpp"
#include "manifest_rules.hpp"
#include "newer_spirv.hpp"

namespace spirkiln::gen {
namespace {

// "Capabilities that are always supported" of the Vulkan specification's appendix on SPIR-V, as far
// as a compute kernel can declare them.
constexpr std::uint32_t kEverywhere[] = {
    spv::CapabilityMatrix,     spv::CapabilityShader,        spv::CapabilitySampled1D,
    spv::CapabilityImage1D,    spv::CapabilitySampledBuffer, spv::CapabilityImageBuffer,
    spv::CapabilityImageQuery,
};

struct MacroPromise {
  std::string_view macro;  // without "ncnn_"
  std::vector<std::uint32_t> capabilities;
};

const std::vector<MacroPromise>& macro_promises() {
  static const std::vector<MacroPromise> promises = {
      {"VK_KHR_cooperative_matrix",
       {kCapabilityCooperativeMatrixKhr, spv::CapabilityVulkanMemoryModel}},
      {"shaderFloat16", {spv::CapabilityFloat16}},
      {"shaderFloat64", {spv::CapabilityFloat64}},
      {"shaderInt16", {spv::CapabilityInt16}},
      {"shaderInt64", {spv::CapabilityInt64}},
      {"shaderInt8", {spv::CapabilityInt8}},
      {"shaderIntegerDotProduct",
       {spv::CapabilityDotProduct, spv::CapabilityDotProductInputAll,
        spv::CapabilityDotProductInput4x8Bit, spv::CapabilityDotProductInput4x8BitPacked}},
      {"shaderStorageImageExtendedFormats", {spv::CapabilityStorageImageExtendedFormats}},
      {"shaderStorageImageReadWithoutFormat", {spv::CapabilityStorageImageReadWithoutFormat}},
      {"shaderStorageImageWriteWithoutFormat", {spv::CapabilityStorageImageWriteWithoutFormat}},
      {"storageBuffer16BitAccess", {spv::CapabilityStorageBuffer16BitAccess}},
      {"storageBuffer8BitAccess", {spv::CapabilityStorageBuffer8BitAccess}},
      {"subgroup_arithmetic", {spv::CapabilityGroupNonUniformArithmetic}},
      {"subgroup_ballot", {spv::CapabilityGroupNonUniformBallot}},
      {"subgroup_basic", {spv::CapabilityGroupNonUniform}},
      {"subgroup_clustered", {spv::CapabilityGroupNonUniformClustered}},
      {"subgroup_quad", {spv::CapabilityGroupNonUniformQuad}},
      {"subgroup_shuffle", {spv::CapabilityGroupNonUniformShuffle}},
      {"subgroup_shuffle_relative", {spv::CapabilityGroupNonUniformShuffleRelative}},
      {"subgroup_vote", {spv::CapabilityGroupNonUniformVote}},
  };
  return promises;
}

void add_storage(const Variant& variant, std::vector<std::uint32_t>& out) {
  if (variant.storage == table::Storage::kFp16 || variant.storage == table::Storage::kBf16) {
    out.push_back(spv::CapabilityStorageBuffer16BitAccess);
  }
  if (variant.storage == table::Storage::kBf16) out.push_back(kCapabilityBFloat16TypeKhr);
  if (variant.arithmetic == table::Arithmetic::kFp16) out.push_back(spv::CapabilityFloat16);
  if (variant.int8 == table::Int8::kStorage) {
    out.push_back(spv::CapabilityStorageBuffer8BitAccess);
  }
}

void add_macros(const std::vector<std::pair<std::string, std::string>>& macros,
                std::vector<std::uint32_t>& out) {
  constexpr std::string_view kPrefix = "ncnn_";
  for (const auto& [name, value] : macros) {
    if (!name.starts_with(kPrefix) || value == "0") continue;
    for (const MacroPromise& p : macro_promises()) {
      if (name.substr(kPrefix.size()) != p.macro) continue;
      out.insert(out.end(), p.capabilities.begin(), p.capabilities.end());
    }
  }
}

}  // namespace

std::vector<std::uint32_t> promised_capabilities(const KernelManifest& kernel,
                                                 const Variant& variant, const std::string& form,
                                                 const std::vector<std::string>& values) {
  std::vector<std::uint32_t> out(std::begin(kEverywhere), std::end(kEverywhere));
  add_storage(variant, out);
  add_macros(variant.macros, out);
  for (const Needs& needs : kernel.needs) {
    if (!matches(needs.when, kernel, form, values)) continue;
    out.insert(out.end(), needs.capabilities.begin(), needs.capabilities.end());
  }
  // All other subgroup capabilities imply the basic one (SPIR-V specification, "Capability").
  if (std::any_of(out.begin(), out.end(), [](std::uint32_t c) {
        return c > spv::CapabilityGroupNonUniform && c <= spv::CapabilityGroupNonUniformQuad;
      })) {
    out.push_back(spv::CapabilityGroupNonUniform);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<Diagnostic> audit(const KernelManifest& kernel, const Variant& variant,
                              const Reflection& reflection) {
  std::vector<std::string> names;
  for (const std::uint32_t capability : reflection.capabilities) {
    if (std::binary_search(variant.promised.begin(), variant.promised.end(), capability)) continue;
    names.push_back(capability_name(capability));
  }
  if (names.empty()) return {};
  Diagnostic d = kernel.position;
  d.text = fmt::format(
      "{} needs {} of SPIR-V, which the values of its axes do not promise; name {} in "
      "[[kernel.needs]] if that is meant, else take the use out of the source",
      kernel.source, fmt::join(names, ", "), names.size() == 1 ? "it" : "them");
  return {std::move(d)};
}

}  // namespace spirkiln::gen
