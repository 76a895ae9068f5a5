// SPDX-License-Identifier: Apache-2.0
// The kernel that comes with the library: the call with its index gives what a bake of its file
// gives, and it does what it says.
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "bake.hpp"
#include "canonical_ids.hpp"
#include "glslang_front.hpp"
#include "list.hpp"
#include "skipped.hpp"
#include "spirv_tools.hpp"
#include "variants.hpp"
#include "vulkan_run.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
namespace fs = std::filesystem;

namespace {

std::vector<std::uint32_t> builtin(const Variant& v) {
  Option opt = option_of(v);
  std::string said;
  opt.message = [&](Severity, std::string_view line) { said += line; };
  std::vector<std::uint32_t> words;
  const int code = compile_spirv_module(LayerShaderType::convert_ycbcr, opt, words);
  INFO(v.title() << " " << said);
  REQUIRE(code == 0);
  return words;
}

// As the document calls it.
std::vector<std::uint32_t> builtin_by_default() {
  int shader_type_index = LayerShaderType::convert_ycbcr;

  Option opt;

  std::vector<uint32_t> spirv;
  int retc = compile_spirv_module(shader_type_index, opt, spirv);

  REQUIRE(retc == 0);
  REQUIRE(variant_name(opt) == "fp16sa");
  return spirv;
}

// A table has no names, and ids in an order of its own.
std::vector<std::uint32_t> as_in_a_table(const std::vector<std::uint32_t>& words) {
  const auto stripped = gen::strip(words, gen::kTargets[0]);
  REQUIRE(stripped.ok());
  const auto canonical = gen::canonical_ids(*stripped);
  REQUIRE(canonical);
  return *canonical;
}

struct Folder {
  fs::path path = fs::temp_directory_path() / ("spirkiln-builtin-" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }
};

struct Picture {
  static constexpr std::uint32_t kWidth = 7, kHeight = 5;
  std::vector<std::byte> bytes;
  Picture() {
    for (std::uint32_t i = 0; i < kWidth * kHeight * 4; ++i) bytes.push_back(std::byte(i * 53 + 9));
  }
  double channel(std::uint32_t x, std::uint32_t y, std::uint32_t c) const {
    return std::to_integer<int>(bytes[(y * kWidth + x) * 4 + c]);
  }
};

struct Turn {
  std::uint32_t type_to, orientation;
};

// Pixel x, y of the turned picture, by Exif's words: where the first row and column are seen.
std::pair<std::uint32_t, std::uint32_t> source_of(std::uint32_t orientation, std::uint32_t x,
                                                  std::uint32_t y) {
  const std::uint32_t right = Picture::kWidth - 1, bottom = Picture::kHeight - 1;
  switch (orientation) {
    case 2:  // mirrored
      return {right - x, y};
    case 3:  // half a turn
      return {right - x, bottom - y};
    case 4:
      return {x, bottom - y};
    case 5:  // over the diagonal
      return {y, x};
    case 6:  // a quarter to the right
      return {y, bottom - x};
    case 7:
      return {right - y, bottom - x};
    case 8:  // a quarter to the left
      return {right - y, x};
    default:
      return {x, y};
  }
}

std::uint32_t planes(std::uint32_t type_to) { return type_to == 3 ? 1 : type_to >= 4 ? 4 : 3; }

// Planes one after the other, each a little apart from the next.
std::vector<double> converted(const Picture& picture, Turn turn, std::uint32_t step) {
  const bool turned = turn.orientation >= 5;
  const std::uint32_t w = turned ? Picture::kHeight : Picture::kWidth;
  const std::uint32_t h = turned ? Picture::kWidth : Picture::kHeight;
  std::vector<double> out(step * planes(turn.type_to), -1);
  for (std::uint32_t y = 0; y < h; ++y) {
    for (std::uint32_t x = 0; x < w; ++x) {
      const auto [sx, sy] = source_of(turn.orientation, x, y);
      double rgb[3] = {picture.channel(sx, sy, 0), picture.channel(sx, sy, 1),
                       picture.channel(sx, sy, 2)};
      if (turn.type_to == 2 || turn.type_to == 5) std::swap(rgb[0], rgb[2]);
      const std::uint32_t i = y * w + x;
      if (turn.type_to == 3) {
        out[i] = rgb[0] * 0.299 + rgb[1] * 0.587 + rgb[2] * 0.114;
        continue;
      }
      for (std::uint32_t c = 0; c < 3; ++c) out[c * step + i] = rgb[c];
      if (turn.type_to >= 4) out[3 * step + i] = 255;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("builtin: the index gives what is baked", "[builtin]") {
  const Folder folder;
  const fs::path glsl = fs::path(SPIRKILN_SOURCE_ROOT) / "glsl";
  fs::copy_file(glsl / "builtin" / "convert_ycbcr.comp", folder.path / "convert_ycbcr.comp");
  // The library's call does not optimise.
  std::ofstream(folder.path / "builtin.toml")
      << "[[kernel]]\nname = \"convert_ycbcr\"\nsource = \"convert_ycbcr.comp\"\n"
         "optimise = \"none\"\n";
  gen::BakeOptions options;
  options.inputs = {folder.path / "builtin.toml"};
  options.name = "builtin";
  options.out_dir = folder.path;
  options.glsl = glsl;
  options.embed = gen::EmbedForm::kNone;
  std::string said;
  const auto stats = gen::bake(
      options, [&](Severity, std::string_view line) { said += std::string(line) + "\n"; });
  INFO(said);
  REQUIRE(stats.ok());
  const auto table = Table::from_file((folder.path / "builtin_table.bin").string());
  REQUIRE(table.ok());
  std::size_t compared = 0;
  for (const Variant& v : variants()) {
    if (v.is_2026() || v.on_images()) continue;
    const auto* entry =
        table->find_variant(v.name == "fp32" ? "convert_ycbcr" : "convert_ycbcr_" + v.name);
    REQUIRE(entry != nullptr);
    const auto baked = gen::module_of(*table, *entry);
    REQUIRE(baked.ok());
    INFO(v.title());
    CHECK(as_in_a_table(builtin(v)) == *baked);
    if (v.name == "fp16sa") CHECK(as_in_a_table(builtin_by_default()) == *baked);
    ++compared;
  }
  CHECK(compared == 5);
}

TEST_CASE("builtin: convert_ycbcr turns and orders a picture", "[builtin]") {
  constexpr std::uint32_t kStep = 40;
  const Picture picture;
  ImageShape shape{.dims = 2, .w = Picture::kWidth, .h = Picture::kHeight};
  shape.sampled = shape.bytes = true;
  std::vector<Job> jobs;
  std::vector<Turn> turns;
  std::vector<const Variant*> of;
  for (const Variant& v : variants()) {
    const auto words = builtin(v);
    if (const auto missing = lacks(device()->state()->caps, words)) {
      skipped()[v.title() + ": convert_ycbcr"] = *missing;
      continue;
    }
    std::vector<Turn> tried = {{5, 6}, {3, 1}};
    if (&v == &variants().front()) {
      for (std::uint32_t o = 0; o <= 8; ++o) tried.push_back({1 + o % 5, o});
    }
    for (const Turn& turn : tried) {
      const bool turned = turn.orientation >= 5;
      const std::uint32_t w = turned ? Picture::kHeight : Picture::kWidth;
      const std::uint32_t h = turned ? Picture::kWidth : Picture::kHeight;
      Job job;
      job.name = v.title() + ": convert_ycbcr";
      job.words = words;
      std::vector<std::uint32_t> before(std::size_t{kStep} * planes(turn.type_to));
      const auto minus_one = v.scalar == Codec::kF32    ? std::bit_cast<std::uint32_t>(-1.0f)
                             : v.scalar == Codec::kBf16 ? narrow_bf16(-1.0f)
                                                        : narrow_half(-1.0f);
      std::fill(before.begin(), before.end(), minus_one);
      job.bindings = {{picture.bytes, shape}, {pack_lanes(v.scalar, before), {}}};
      job.specs = {{0, turn.type_to}, {1, turn.orientation}};
      job.push = {Picture::kWidth, Picture::kHeight, w, h, kStep};
      // A kernel without a local size has one invocation a workgroup; one more tries its bounds.
      job.groups = {w + 1, h + 1, 1};
      jobs.push_back(std::move(job));
      turns.push_back(turn);
      of.push_back(&v);
    }
  }
  const Status status = run_jobs(*device(), jobs);
  if (!status) FAIL(status.error().message);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const Variant& v = *of[j];
    const auto got = unpack_lanes(v.scalar, jobs[j].bindings[1].bytes);
    const auto want = converted(picture, turns[j], kStep);
    // Half an ulp at 255, or a whole one where a device cuts.
    const double most = v.scalar == Codec::kBf16                       ? 1
                        : v.scalar == Codec::kF16 || v.half_arithmetic ? 0.126
                                                                       : 1e-3;
    double worst = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      const auto half = static_cast<std::uint16_t>(got[i]);
      const double value = v.scalar == Codec::kF32    ? std::bit_cast<float>(got[i])
                           : v.scalar == Codec::kBf16 ? widen_bf16(half)
                                                      : widen_half(half);
      worst = std::max(worst, std::abs(value - want[i]));
    }
    INFO(v.title() << ": type " << turns[j].type_to << ", orientation " << turns[j].orientation);
    CHECK(worst <= most);
  }
}
