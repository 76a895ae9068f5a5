// SPDX-License-Identifier: Apache-2.0
#include "ocr/recognise.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <opencv2/imgproc.hpp>

#include "ocr/geometry.hpp"
#include "ocr/pack.hpp"

namespace spirkiln::ocr {
namespace {

// Each about a quarter wider than the one before.
constexpr std::uint32_t kBuckets[] = {160, 192,  256,  320,  416,  512,      640,
                                      800, 1024, 1280, 1600, 2048, kMaxWidth};

struct Piece {  // a crop, or a part of one that is too long
  std::size_t crop;
  cv::Mat pixels;  // kLineHeight rows
};

std::uint32_t line_width(const cv::Mat& crop) {
  return static_cast<std::uint32_t>(
      std::clamp(std::ceil(static_cast<double>(kLineHeight) * crop.cols / crop.rows), 8.0, 1.0e6));
}

// The column between `from` and `to` with the least contrast: a cut there goes through no
// character.
int calmest_column(const cv::Mat& line, int from, int to) {
  int best = from;
  double least = 1e30;
  for (int x = from; x < to; ++x) {
    cv::Scalar mean, deviation;
    cv::meanStdDev(line(cv::Rect(x, 0, std::min(4, line.cols - x), line.rows)), mean, deviation);
    const double sum = deviation[0] + deviation[1] + deviation[2];
    if (sum < least) least = sum, best = x;
  }
  return best;
}

void add_pieces(std::size_t crop, const cv::Mat& pixels, std::vector<Piece>& out) {
  const int width = static_cast<int>(line_width(pixels));
  if (width <= static_cast<int>(kMaxWidth)) {
    out.push_back({crop, scaled(pixels, {width, static_cast<int>(kLineHeight)})});
    return;
  }
  // Cut before scaling: a line of 3 x 60000 pixels would be 48 x 960000.
  const double zoom = static_cast<double>(kLineHeight) / pixels.rows;
  const int longest = std::max(1, static_cast<int>(kMaxWidth / zoom));
  for (int x = 0; x < pixels.cols;) {
    int end = std::min(pixels.cols, x + longest);
    if (end < pixels.cols) end = calmest_column(pixels, x + longest * 3 / 4, end) + 1;
    const cv::Mat part = pixels.colRange(x, end);
    const int part_width = static_cast<int>(std::min(line_width(part), kMaxWidth));
    out.push_back({crop, scaled(part, {part_width, static_cast<int>(kLineHeight)})});
    x = end;
  }
}

Error wrong_model(const char* what, const TensorF32& got, const std::string& expected) {
  return {ErrorCode::kUnsupported, std::string("the ") + what + " model answers " +
                                       std::to_string(got.values.size()) + " values, expected " +
                                       expected + ": is this the right model?"};
}

Error not_finite(const char* what) {
  return {ErrorCode::kNotFinite,
          std::string("the ") + what +
              " model answers values that are not numbers: the device computes this variant "
              "wrongly, force another one with SPIRKILN_VARIANT=fp32"};
}

}  // namespace

cv::Mat no_higher_than_needed(const cv::Mat& crop) {
  if (crop.rows <= static_cast<int>(kLineHeight)) return crop;
  return scaled(crop, {static_cast<int>(line_width(crop)), static_cast<int>(kLineHeight)});
}

std::uint32_t bucket_width(std::uint32_t width) {
  for (const std::uint32_t bucket : kBuckets) {
    if (width <= bucket) return bucket;
  }
  return kMaxWidth;
}

Steps best_classes(std::span<const float> values, std::uint32_t t, std::size_t classes) {
  Steps steps;
  steps.t = t;
  for (std::uint32_t step = 0; step < t; ++step) {
    const auto row = values.subspan(step * classes, classes);
    std::size_t best = 0;
    float sum = 0;  // of numbers, unless one is none
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (row[i] > row[best]) best = i;
      sum += row[i];
    }
    steps.classes.push_back(static_cast<std::uint32_t>(best));
    steps.probabilities.push_back(std::isfinite(sum) ? row[best] : sum);
  }
  return steps;
}

Steps given_classes(std::span<const float> pairs) {
  Steps steps;
  steps.t = static_cast<std::uint32_t>(pairs.size() / 2);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    // What is no class at all stays none: the caller looks.
    const bool known = pairs[i] >= 0 && pairs[i] < 0x1p24f;
    steps.classes.push_back(known ? static_cast<std::uint32_t>(pairs[i]) : UINT32_MAX);
    steps.probabilities.push_back(pairs[i + 1]);
  }
  return steps;
}

Reading collapse(const Steps& steps, const Dictionary& dictionary) {
  Reading reading;
  std::uint32_t before = 0;
  std::size_t kept = 0;
  double sum = 0;
  for (std::size_t i = 0; i < steps.classes.size(); ++i) {
    const std::uint32_t now = steps.classes[i];
    if (now != 0 && now != before) {
      reading.text += dictionary.character(now);
      sum += steps.probabilities[i];
      ++kept;
    }
    before = now;
  }
  if (kept > 0) reading.score = static_cast<float>(sum / static_cast<double>(kept));
  return reading;
}

Result<Recognition> recognise(Net& net, const Dictionary& dictionary,
                              std::span<const cv::Mat> crops, const OcrOptions& options) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < crops.size(); ++i) add_pieces(i, crops[i], pieces);

  // Lines of one bucket share a run. A line's own pixels decide its bucket, so its neighbours
  // cannot change what it says.
  std::map<std::uint32_t, std::vector<std::size_t>> by_width;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    by_width[bucket_width(static_cast<std::uint32_t>(pieces[i].pixels.cols))].push_back(i);
  }

  Recognition out;
  const std::size_t classes = dictionary.classes();
  std::vector<Reading> read(pieces.size());
  for (const auto& [width, members] : by_width) {
    for (std::size_t first = 0; first < members.size();) {
      // Whole powers of two, so that few batch sizes are planned for.
      std::size_t count = 1;
      while (count * 2 <= std::max(1u, options.batch) && first + count * 2 <= members.size()) {
        count *= 2;
      }
      PictureBatch batch(static_cast<std::uint32_t>(count), kLineHeight, width);
      for (std::size_t i = 0; i < count; ++i) {
        batch.put(static_cast<std::uint32_t>(i), pieces[members[first + i]].pixels);
      }
      auto answer = net.run(batch.pictures());
      if (!answer) return answer.error();
      ++out.runs;
      const std::size_t one = answer->values.size() / count;
      const bool best_only = net.gives_best_class();
      const std::size_t a_step = best_only ? 2 : classes;
      if (one == 0 || one * count != answer->values.size() || one % a_step != 0) {
        return wrong_model("recognition", *answer,
                           "a multiple of " + std::to_string(a_step) +
                               (best_only ? "" : " (the dictionary)") + " a line");
      }
      for (std::size_t i = 0; i < count; ++i) {
        const auto values = std::span<const float>(answer->values).subspan(i * one, one);
        const auto t = static_cast<std::uint32_t>(one / a_step);
        const Steps steps = best_only ? given_classes(values) : best_classes(values, t, classes);
        if (std::any_of(steps.classes.begin(), steps.classes.end(),
                        [&](std::uint32_t c) { return c >= classes; })) {
          return wrong_model("recognition", *answer, "classes of the dictionary");
        }
        for (const float p : steps.probabilities) {
          if (!std::isfinite(p)) return not_finite("recognition");
        }
        read[members[first + i]] = collapse(steps, dictionary);
      }
      first += count;
    }
  }

  // Parts of one line, left to right.
  out.readings.resize(crops.size());
  std::vector<double> weight(crops.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Reading& line = out.readings[pieces[i].crop];
    if (read[i].text.empty()) continue;
    line.text += read[i].text;
    const double characters = static_cast<double>(read[i].text.size());
    line.score += static_cast<float>(read[i].score * characters);
    weight[pieces[i].crop] += characters;
  }
  for (std::size_t i = 0; i < crops.size(); ++i) {
    Reading& line = out.readings[i];
    if (weight[i] > 0) line.score /= static_cast<float>(weight[i]);
    // A space at an end is where the crop was wider than its text.
    line.text.erase(line.text.find_last_not_of(' ') + 1);
    line.text.erase(0, line.text.find_first_not_of(' '));
  }
  return out;
}

Result<Orientation> orient(Net& net, std::span<const cv::Mat> crops, const OcrOptions& options) {
  Orientation out;
  for (std::size_t first = 0; first < crops.size();) {
    std::size_t count = 1;
    while (count * 2 <= std::max(1u, options.batch) && first + count * 2 <= crops.size())
      count *= 2;
    PictureBatch batch(static_cast<std::uint32_t>(count), kLineHeight, kOrientWidth);
    for (std::size_t i = 0; i < count; ++i) {
      const cv::Mat& crop = crops[first + i];
      // Of a long line the first part: squeezed into the width, it would be unreadable.
      const cv::Mat part = line_width(crop) > kOrientWidth
                               ? crop.colRange(0, std::min(crop.cols, crop.rows * 4))
                               : crop;
      const int width = static_cast<int>(std::min(line_width(part), kOrientWidth));
      batch.put(static_cast<std::uint32_t>(i),
                scaled(part, {width, static_cast<int>(kLineHeight)}));
    }
    auto answer = net.run(batch.pictures());
    if (!answer) return answer.error();
    ++out.runs;
    if (answer->values.size() != count * 2) {
      return wrong_model("orientation", *answer, "two a line");
    }
    for (std::size_t i = 0; i < count; ++i) {
      const float p = answer->values[i * 2 + 1];
      if (!std::isfinite(p)) return not_finite("orientation");
      out.upside_down.push_back(p);
    }
    first += count;
  }
  return out;
}

}  // namespace spirkiln::ocr
