// SPDX-License-Identifier: Apache-2.0
#include "device_macros.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tokens.hpp"

namespace spirkiln::gen {
namespace {

// What a variant's name says.
constexpr std::string_view kForms[] = {"NCNN_bf16_packed", "NCNN_bf16_storage",
                                       "NCNN_fp16_arithmetic", "NCNN_fp16_packed",
                                       "NCNN_fp16_storage"};
// What it does not.
constexpr std::string_view kOptions[] = {
    "NCNN_fp16_uniform",  "NCNN_image_shader",    "NCNN_int16_packed",       "NCNN_int16_storage",
    "NCNN_int16_uniform", "NCNN_int8_arithmetic", "NCNN_int8_packed",        "NCNN_int8_storage",
    "NCNN_int8_uniform",  "NCNN_moltenvk",        "NCNN_shader_local_memory"};
// Behind "ncnn_": members of Vulkan's structures of features and properties, sorted.
constexpr std::string_view kDevice[] = {
    "alphaToOne",
    "apiVersion",
    "bufferImageGranularity",
    "computeFullSubgroups",
    "conformanceVersion_major",
    "conformanceVersion_minor",
    "conformanceVersion_patch",
    "conformanceVersion_subminor",
    "cooperativeMatrix",
    "cooperativeMatrixBlockLoads",
    "cooperativeMatrixConversions",
    "cooperativeMatrixFlexibleDimensions",
    "cooperativeMatrixPerElementOperations",
    "cooperativeMatrixReductions",
    "cooperativeMatrixRobustBufferAccess",
    "cooperativeMatrixSupportedStages",
    "cooperativeMatrixTensorAddressing",
    "cooperativeMatrixWorkgroupScope",
    "cooperativeVector",
    "cooperativeVectorTraining",
    "denormBehaviorIndependence",
    "depthBiasClamp",
    "depthBounds",
    "depthClamp",
    "deviceID",
    "deviceType",
    "discreteQueuePriorities",
    "drawIndirectFirstInstance",
    "driverID",
    "driverVersion",
    "dualSrcBlend",
    "enable_validation_layer",
    "fillModeNonSolid",
    "fragmentStoresAndAtomics",
    "framebufferColorSampleCounts",
    "framebufferDepthSampleCounts",
    "framebufferNoAttachmentsSampleCounts",
    "framebufferStencilSampleCounts",
    "fullDrawIndexUint32",
    "geometryShader",
    "glsl_version",
    "imageCubeArray",
    "independentBlend",
    "inheritedQueries",
    "integerDotProduct16BitMixedSignednessAccelerated",
    "integerDotProduct16BitSignedAccelerated",
    "integerDotProduct16BitUnsignedAccelerated",
    "integerDotProduct32BitMixedSignednessAccelerated",
    "integerDotProduct32BitSignedAccelerated",
    "integerDotProduct32BitUnsignedAccelerated",
    "integerDotProduct4x8BitPackedMixedSignednessAccelerated",
    "integerDotProduct4x8BitPackedSignedAccelerated",
    "integerDotProduct4x8BitPackedUnsignedAccelerated",
    "integerDotProduct64BitMixedSignednessAccelerated",
    "integerDotProduct64BitSignedAccelerated",
    "integerDotProduct64BitUnsignedAccelerated",
    "integerDotProduct8BitMixedSignednessAccelerated",
    "integerDotProduct8BitSignedAccelerated",
    "integerDotProduct8BitUnsignedAccelerated",
    "integerDotProductAccumulatingSaturating16BitMixedSignednessAccelerated",
    "integerDotProductAccumulatingSaturating16BitSignedAccelerated",
    "integerDotProductAccumulatingSaturating16BitUnsignedAccelerated",
    "integerDotProductAccumulatingSaturating32BitMixedSignednessAccelerated",
    "integerDotProductAccumulatingSaturating32BitSignedAccelerated",
    "integerDotProductAccumulatingSaturating32BitUnsignedAccelerated",
    "integerDotProductAccumulatingSaturating4x8BitPackedMixedSignednessAccelerated",
    "integerDotProductAccumulatingSaturating4x8BitPackedSignedAccelerated",
    "integerDotProductAccumulatingSaturating4x8BitPackedUnsignedAccelerated",
    "integerDotProductAccumulatingSaturating64BitMixedSignednessAccelerated",
    "integerDotProductAccumulatingSaturating64BitSignedAccelerated",
    "integerDotProductAccumulatingSaturating64BitUnsignedAccelerated",
    "integerDotProductAccumulatingSaturating8BitMixedSignednessAccelerated",
    "integerDotProductAccumulatingSaturating8BitSignedAccelerated",
    "integerDotProductAccumulatingSaturating8BitUnsignedAccelerated",
    "largePoints",
    "lineWidthGranularity",
    "lineWidthRange_0",
    "lineWidthRange_1",
    "logicOp",
    "maxBoundDescriptorSets",
    "maxClipDistances",
    "maxColorAttachments",
    "maxCombinedClipAndCullDistances",
    "maxComputeSharedMemorySize",
    "maxComputeWorkGroupCount_0",
    "maxComputeWorkGroupCount_1",
    "maxComputeWorkGroupCount_2",
    "maxComputeWorkGroupInvocations",
    "maxComputeWorkGroupSize_0",
    "maxComputeWorkGroupSize_1",
    "maxComputeWorkGroupSize_2",
    "maxComputeWorkgroupSubgroups",
    "maxCullDistances",
    "maxDescriptorSetInputAttachments",
    "maxDescriptorSetSampledImages",
    "maxDescriptorSetSamplers",
    "maxDescriptorSetStorageBuffers",
    "maxDescriptorSetStorageBuffersDynamic",
    "maxDescriptorSetStorageImages",
    "maxDescriptorSetUniformBuffers",
    "maxDescriptorSetUniformBuffersDynamic",
    "maxDrawIndexedIndexValue",
    "maxDrawIndirectCount",
    "maxFragmentCombinedOutputResources",
    "maxFragmentDualSrcAttachments",
    "maxFragmentInputComponents",
    "maxFragmentOutputAttachments",
    "maxFramebufferHeight",
    "maxFramebufferLayers",
    "maxFramebufferWidth",
    "maxGeometryInputComponents",
    "maxGeometryOutputComponents",
    "maxGeometryOutputVertices",
    "maxGeometryShaderInvocations",
    "maxGeometryTotalOutputComponents",
    "maxImageArrayLayers",
    "maxImageDimension1D",
    "maxImageDimension2D",
    "maxImageDimension3D",
    "maxImageDimensionCube",
    "maxInterpolationOffset",
    "maxMemoryAllocationCount",
    "maxPerStageDescriptorInputAttachments",
    "maxPerStageDescriptorSampledImages",
    "maxPerStageDescriptorSamplers",
    "maxPerStageDescriptorStorageBuffers",
    "maxPerStageDescriptorStorageImages",
    "maxPerStageDescriptorUniformBuffers",
    "maxPerStageResources",
    "maxPushConstantsSize",
    "maxSampleMaskWords",
    "maxSamplerAllocationCount",
    "maxSamplerAnisotropy",
    "maxSamplerLodBias",
    "maxStorageBufferRange",
    "maxSubgroupSize",
    "maxTessellationControlPerPatchOutputComponents",
    "maxTessellationControlPerVertexInputComponents",
    "maxTessellationControlPerVertexOutputComponents",
    "maxTessellationControlTotalOutputComponents",
    "maxTessellationEvaluationInputComponents",
    "maxTessellationEvaluationOutputComponents",
    "maxTessellationGenerationLevel",
    "maxTessellationPatchSize",
    "maxTexelBufferElements",
    "maxTexelGatherOffset",
    "maxTexelOffset",
    "maxUniformBufferRange",
    "maxVertexInputAttributeOffset",
    "maxVertexInputAttributes",
    "maxVertexInputBindingStride",
    "maxVertexInputBindings",
    "maxVertexOutputComponents",
    "maxViewportDimensions_0",
    "maxViewportDimensions_1",
    "maxViewports",
    "minInterpolationOffset",
    "minMemoryMapAlignment",
    "minStorageBufferOffsetAlignment",
    "minSubgroupSize",
    "minTexelBufferOffsetAlignment",
    "minTexelGatherOffset",
    "minTexelOffset",
    "minUniformBufferOffsetAlignment",
    "mipmapPrecisionBits",
    "multiDrawIndirect",
    "multiViewport",
    "nonCoherentAtomSize",
    "nullDescriptor",
    "occlusionQueryPrecise",
    "optimalBufferCopyOffsetAlignment",
    "optimalBufferCopyRowPitchAlignment",
    "pipelineStatisticsQuery",
    "pointSizeGranularity",
    "pointSizeRange_0",
    "pointSizeRange_1",
    "quadOperationsInAllStages",
    "requiredSubgroupSizeStages",
    "residencyAlignedMipSize",
    "residencyNonResidentStrict",
    "residencyStandard2DBlockShape",
    "residencyStandard2DMultisampleBlockShape",
    "residencyStandard3DBlockShape",
    "robustBufferAccess",
    "robustBufferAccess2",
    "robustImageAccess2",
    "robustStorageBufferAccessSizeAlignment",
    "robustUniformBufferAccessSizeAlignment",
    "roundingModeIndependence",
    "sampleRateShading",
    "sampledImageColorSampleCounts",
    "sampledImageDepthSampleCounts",
    "sampledImageIntegerSampleCounts",
    "sampledImageStencilSampleCounts",
    "samplerAnisotropy",
    "samplerYcbcrConversion",
    "shaderBFloat16CooperativeMatrix",
    "shaderBFloat16DotProduct",
    "shaderBFloat16Type",
    "shaderBufferFloat16AtomicAdd",
    "shaderBufferFloat16AtomicMinMax",
    "shaderBufferFloat16Atomics",
    "shaderBufferFloat32AtomicAdd",
    "shaderBufferFloat32AtomicMinMax",
    "shaderBufferFloat32Atomics",
    "shaderBufferFloat64AtomicAdd",
    "shaderBufferFloat64AtomicMinMax",
    "shaderBufferFloat64Atomics",
    "shaderClipDistance",
    "shaderCullDistance",
    "shaderDenormFlushToZeroFloat16",
    "shaderDenormFlushToZeroFloat32",
    "shaderDenormFlushToZeroFloat64",
    "shaderDenormPreserveFloat16",
    "shaderDenormPreserveFloat32",
    "shaderDenormPreserveFloat64",
    "shaderFloat16",
    "shaderFloat64",
    "shaderFloat8",
    "shaderFloat8CooperativeMatrix",
    "shaderFloatControls2",
    "shaderImageFloat32AtomicAdd",
    "shaderImageFloat32AtomicMinMax",
    "shaderImageFloat32Atomics",
    "shaderImageGatherExtended",
    "shaderInt16",
    "shaderInt64",
    "shaderInt8",
    "shaderIntegerDotProduct",
    "shaderResourceMinLod",
    "shaderResourceResidency",
    "shaderRoundingModeRTEFloat16",
    "shaderRoundingModeRTEFloat32",
    "shaderRoundingModeRTEFloat64",
    "shaderRoundingModeRTZFloat16",
    "shaderRoundingModeRTZFloat32",
    "shaderRoundingModeRTZFloat64",
    "shaderSampledImageArrayDynamicIndexing",
    "shaderSharedFloat16AtomicAdd",
    "shaderSharedFloat16AtomicMinMax",
    "shaderSharedFloat16Atomics",
    "shaderSharedFloat32AtomicAdd",
    "shaderSharedFloat32AtomicMinMax",
    "shaderSharedFloat32Atomics",
    "shaderSharedFloat64AtomicAdd",
    "shaderSharedFloat64AtomicMinMax",
    "shaderSharedFloat64Atomics",
    "shaderSignedZeroInfNanPreserveFloat16",
    "shaderSignedZeroInfNanPreserveFloat32",
    "shaderSignedZeroInfNanPreserveFloat64",
    "shaderStorageBufferArrayDynamicIndexing",
    "shaderStorageImageArrayDynamicIndexing",
    "shaderStorageImageExtendedFormats",
    "shaderStorageImageMultisample",
    "shaderStorageImageReadWithoutFormat",
    "shaderStorageImageWriteWithoutFormat",
    "shaderSubgroupExtendedTypes",
    "shaderSubgroupRotate",
    "shaderSubgroupRotateClustered",
    "shaderTessellationAndGeometryPointSize",
    "shaderUniformBufferArrayDynamicIndexing",
    "sparseAddressSpaceSize",
    "sparseBinding",
    "sparseImageFloat32AtomicAdd",
    "sparseImageFloat32AtomicMinMax",
    "sparseImageFloat32Atomics",
    "sparseResidency16Samples",
    "sparseResidency2Samples",
    "sparseResidency4Samples",
    "sparseResidency8Samples",
    "sparseResidencyAliased",
    "sparseResidencyBuffer",
    "sparseResidencyImage2D",
    "sparseResidencyImage3D",
    "standardSampleLocations",
    "storageBuffer16BitAccess",
    "storageBuffer8BitAccess",
    "storageImageSampleCounts",
    "storageInputOutput16",
    "storagePushConstant16",
    "storagePushConstant8",
    "strictLines",
    "subPixelInterpolationOffsetBits",
    "subPixelPrecisionBits",
    "subTexelPrecisionBits",
    "subgroupSize",
    "subgroupSizeControl",
    "subgroup_arithmetic",
    "subgroup_ballot",
    "subgroup_basic",
    "subgroup_clustered",
    "subgroup_partitioned",
    "subgroup_quad",
    "subgroup_rotate",
    "subgroup_rotate_relative",
    "subgroup_shuffle",
    "subgroup_shuffle_relative",
    "subgroup_vote",
    "supportedOperations",
    "supportedStages",
    "tessellationShader",
    "textureCompressionASTC_LDR",
    "textureCompressionBC",
    "textureCompressionETC2",
    "timestampComputeAndGraphics",
    "timestampPeriod",
    "uniformAndStorageBuffer16BitAccess",
    "uniformAndStorageBuffer8BitAccess",
    "variableMultisampleRate",
    "vendorID",
    "vertexPipelineStoresAndAtomics",
    "viewportBoundsRange_0",
    "viewportBoundsRange_1",
    "viewportSubPixelBits",
    "vulkanMemoryModel",
    "vulkanMemoryModelAvailabilityVisibilityChains",
    "vulkanMemoryModelDeviceScope",
    "wideLines",
};

bool is_device_macro(std::string_view name) {
  if (!name.starts_with("ncnn_")) return false;
  name.remove_prefix(5);
  // Extensions are too many, and every year has new ones.
  if (name.starts_with("VK_") && name.size() > 6) {
    return std::all_of(name.begin(), name.end(),
                       [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  }
  return std::binary_search(std::begin(kDevice), std::end(kDevice), name);
}

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0u);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t up = row[j];
      row[j] = std::min({up + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = up;
    }
  }
  return row[b.size()];
}

bool is_condition(std::string_view word) {
  return word == "if" || word == "elif" || word == "ifdef" || word == "ifndef";
}

bool looks_like_ours(std::string_view name) {
  return name.starts_with("NCNN_") || name.starts_with("ncnn_");
}

// The tokens of #if lines that may be such a name.
std::vector<Token> tested(const std::vector<Token>& tokens) {
  std::vector<Token> found;
  bool condition = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.directive && t.text == "#" && i + 1 < tokens.size()) {
      condition = is_condition(tokens[i + 1].text);
    }
    if (t.directive && condition && t.kind == TokenKind::kName && looks_like_ours(t.text)) {
      found.push_back(t);
    }
  }
  return found;
}

}  // namespace

bool is_axis_macro(std::string_view name) {
  return std::find(std::begin(kOptions), std::end(kOptions), name) != std::end(kOptions) ||
         is_device_macro(name);
}

bool is_dialect_macro(std::string_view name) {
  return std::find(std::begin(kForms), std::end(kForms), name) != std::end(kForms) ||
         is_axis_macro(name);
}

std::string nearest_dialect_macro(std::string_view name) {
  std::string best;
  std::size_t fewest = ~std::size_t{0};
  const auto consider = [&](const std::string& known) {
    const std::size_t d = distance(name, known);
    if (d < fewest) {
      fewest = d;
      best = known;
    }
  };
  for (std::string_view known : kForms) consider(std::string(known));
  for (std::string_view known : kOptions) consider(std::string(known));
  for (std::string_view known : kDevice) consider("ncnn_" + std::string(known));
  return best;
}

std::vector<std::string> tested_dialect_macros(std::string_view source) {
  std::vector<std::string> names;
  const auto tokens = tokenize(source);
  for (const Token& t : tested(tokens)) {
    if (std::find(names.begin(), names.end(), t.text) == names.end()) names.emplace_back(t.text);
  }
  return names;
}

std::vector<Diagnostic> check_dialect_macros(const SourceFile& file) {
  std::vector<Diagnostic> errors;
  // Most texts test none, and most that do test known ones.
  if (file.text.find("NCNN_") == std::string::npos && file.text.find("ncnn_") == std::string::npos)
    return errors;
  const auto tokens = tokenize(file.text);
  std::set<std::string_view> own;
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i].directive && tokens[i].text == "#" && tokens[i + 1].text == "define") {
      own.insert(tokens[i + 2].text);
    }
  }
  std::set<std::string_view> said;
  for (const Token& t : tested(tokens)) {
    if (is_dialect_macro(t.text) || own.count(t.text) != 0 || !said.insert(t.text).second) continue;
    const std::string shown(t.text.substr(0, 80));
    errors.push_back({Severity::kError, file.path.string(), t.line, t.column,
                      fmt::format("'{}': no such macro; the nearest is '{}'", shown,
                                  nearest_dialect_macro(shown))});
    if (errors.size() == 20) break;
  }
  return errors;
}

}  // namespace spirkiln::gen
