// SPDX-License-Identifier: Apache-2.0
// Crops of lines to text.
#pragma once

#include <opencv2/core.hpp>
#include <span>
#include <string>
#include <vector>

#include "spirkiln/ocr.hpp"

namespace spirkiln::ocr {

// Of both graphs' input.
constexpr std::uint32_t kLineHeight = 48;
constexpr std::uint32_t kOrientWidth = 192;
// The widest input of the recogniser: a longer line is cut into parts.
constexpr std::uint32_t kMaxWidth = 2560;

struct Reading {
  std::string text;
  float score = 0;  // mean probability of the characters, 0 without any
};

struct Steps {  // what the best class of every step says
  std::uint32_t t = 0;
  std::vector<std::uint32_t> classes;
  std::vector<float> probabilities;
};

// Best class of each of `t` steps of `classes` probabilities. Of equals the first wins. The
// probability of a step is not finite where any of its values is not.
Steps best_classes(std::span<const float> values, std::uint32_t t, std::size_t classes);

// The same from pairs of class and probability (Net::gives_best_class).
Steps given_classes(std::span<const float> pairs);

// CTC, greedy: repeats count once, then blanks go.
Reading collapse(const Steps& steps, const Dictionary& dictionary);

// Input width of a line that is `width` pixels wide at the graph's height. Few widths, so that few
// plans are made; the same line always gets the same one.
std::uint32_t bucket_width(std::uint32_t width);

// A crop no higher than the graphs want it: what a page's crops weigh is then bounded by its lines,
// not by its pixels.
cv::Mat no_higher_than_needed(const cv::Mat& crop);

struct Recognition {
  std::vector<Reading> readings;  // one for each crop
  std::uint32_t runs = 0;
};
Result<Recognition> recognise(Net& net, const Dictionary& dictionary,
                              std::span<const cv::Mat> crops, const OcrOptions& options);

// Probability that each crop is upside down.
struct Orientation {
  std::vector<float> upside_down;
  std::uint32_t runs = 0;
};
Result<Orientation> orient(Net& net, std::span<const cv::Mat> crops, const OcrOptions& options);

}  // namespace spirkiln::ocr
