// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "families.hpp"

namespace spirkiln::answers {
namespace {

// Bytes of a picture and what they stand for. Below the colours' 8 bits every multiple of 2^-24 is
// a subnormal.
struct Picture {
  float scale[4] = {0.0171f, 0.0175f, 0.0174f, 5}, shift[4] = {-2.1f, -2.0f, -1.8f, 7};
  Data bytes;
  oracle::Tensor colours;
  double mag = 0;

  Picture(const Dims& dims, Numbers numbers, std::uint32_t seed)
      : bytes{AnswerKind::kBytes, static_cast<std::uint32_t>(dims.pixels() * 4), {}} {
    if (numbers == Numbers::kSubnormal) {
      constexpr float kSmall[4] = {0x1p-24f, 0x1p-23f, 0x1p-24f, 5}, kNone[4] = {0, 0, 0, 7};
      std::copy(std::begin(kSmall), std::end(kSmall), scale);
      std::copy(std::begin(kNone), std::end(kNone), shift);
    }
    // Colours and validity 255; in the last three pixels of eight all four are 0.
    bytes.seed.seed = seed;
    bytes.seed.rows = 8;
    bytes.seed.used_rows = 5;
    colours.dims = dims;
    for (std::uint32_t i = 0; i < bytes.count; ++i) {
      const std::uint32_t lane = i % 4;
      if (lane == 3) continue;
      const double v = value_of(bytes, i) * double{scale[lane]};
      const bool valid = value_of(bytes, i / 4 * 4 + 3) != 0;
      colours.v.push_back(valid ? v + double{shift[lane]} : 0);
      mag = std::max(mag, std::abs(v) + std::abs(double{shift[lane]}));
    }
  }
};

// Floats as bytes_out.glsl has them.
Result as_bytes(const Result& floats, const Dispatch& d) {
  Result r{AnswerKind::kBytes, {}, floats.mag, 255};
  for (const double v : floats.values) {
    r.values.push_back(std::floor(std::clamp(v, 0.0, 1.0) * 255 + 0.5));
  }
  // What fills the last word, and a word for each workgroup: nothing was no number.
  const std::size_t groups = std::size_t{d.groups[0]} * d.groups[1] * d.groups[2];
  r.values.resize((r.values.size() + 3) / 4 * 4 + groups * 4, 0);
  return r;
}

}  // namespace

void add_picture(Writer* out, Numbers numbers) {
  Case c;
  c.subnormal = numbers == Numbers::kSubnormal;
  c.output = {2, 5, 7, 3};
  if (c.subnormal) c.step = 0x1p-24;
  const Picture picture(c.output, numbers, 250);
  auto lowered = lower_input(c.output, picture.scale, picture.shift, small_groups());
  if (!lowered) die(lowered.error().message);
  Result r;
  for (std::size_t i = 0; i < picture.colours.v.size(); ++i) {
    r.values.push_back(picture.colours.v[i]);
    if (i % 3 == 2) r.values.push_back(0);  // the padding lane
  }
  r.mag = picture.mag;
  out->add(lowered->dispatches[0], 0, c, r, [&](const BufferRef& ref) -> const Data* {
    return ref.kind == BufferKind::kBytesIn ? &picture.bytes : nullptr;
  });
}

void add_stem(Writer* out, Numbers numbers, std::optional<model::Activation> act) {
  const Picture picture({2, 10, 17, 3}, numbers, 255);
  Case c = stem(numbers, picture.bytes);
  if (act) c.node.epilogue.act = *act;
  const auto d =
      taken(out, "stem",
            lower_stem({c.node, c.dims, c.output, small_groups()}, picture.scale, picture.shift));
  if (!d) return;
  out->add(*d, 0, c, result_of(c, {picture.colours}), [&](const BufferRef& ref) -> const Data* {
    if (ref.kind == BufferKind::kBytesIn) return &picture.bytes;
    return ref.kind == BufferKind::kConst ? &c.consts.at(ref.index) : nullptr;
  });
}

void add_head(Writer* out, const Case& c, bool bytes) {
  const auto d =
      taken(out, bytes ? "deconv_bytes" : "deconv_floats",
            (bytes ? lower_head_bytes : lower_head)({c.node, c.dims, c.output, small_groups()}));
  if (!d) return;
  const Result lanes = result_of(c);
  Result r{AnswerKind::kFloat, {}, lanes.mag};
  for (std::size_t i = 0; i < lanes.values.size(); i += 4) r.values.push_back(lanes.values[i]);
  if (bytes) r = as_bytes(r, *d);
  out->add(*d, 0, c, r, bind_case(c));
}

void add_floats(Writer* out, Numbers numbers, bool bytes) {
  Case c;
  c.subnormal = numbers == Numbers::kSubnormal;
  const Dims x{1, 5, 7, 6};
  c.step = c.subnormal ? 0x1p-24 : 0x1p-10;
  auto lowered = (bytes ? lower_output_bytes : lower_output)(x, small_groups());
  if (!lowered) die(lowered.error().message);
  const Data data = tensor(x, 260, numbers);
  Result r{AnswerKind::kFloat, tight(data, x).v, 0};
  for (const double v : r.values) r.mag = std::max(r.mag, std::abs(v));
  if (bytes) {
    c.step = 1;
    r = as_bytes(r, lowered->dispatches[0]);
  }
  out->add(lowered->dispatches[0], 0, c, r, [&](const BufferRef& ref) -> const Data* {
    return ref.kind == BufferKind::kInput ? &data : nullptr;
  });
}

// The best of a row's channels, and its share. Of subnormals that count as 0, the first is the
// best.
void add_best(Writer* out, Numbers numbers) {
  Case c;
  c.subnormal = numbers == Numbers::kSubnormal;
  const Dims x{1, 1, 5, 37};
  auto lowered = lower_best(x, true, gpu());
  if (!lowered) die(lowered.error().message);
  Data data = tensor(x, 270, numbers);
  data.seed.range = c.subnormal ? 0x1p-14f : 4;
  if (c.subnormal) data.seed.steps = 1024;
  const oracle::Tensor t = tight(data, x);
  Result r{AnswerKind::kFloat, {}, 0};
  for (std::uint32_t p = 0; p < x.w; ++p) {
    const auto row = t.v.begin() + p * x.c;
    const auto best = std::max_element(row, row + x.c);
    if (std::count(row, row + x.c, *best) != 1) die("two channels are the best; take another seed");
    double sum = 0;
    for (auto v = row; v != row + x.c; ++v) sum += std::exp(*v - *best);
    r.values.push_back(static_cast<double>(best - row));
    r.values.push_back(1 / sum);
    r.mag = std::max(r.mag, (1 + 2 * double{data.seed.range}) / sum);
  }
  out->add(lowered->dispatches[0], 0, c, r, [&](const BufferRef& ref) -> const Data* {
    return ref.kind == BufferKind::kInput ? &data : nullptr;
  });
}

}  // namespace spirkiln::answers
