// SPDX-License-Identifier: Apache-2.0
#include "ocr/pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "ocr/guard.hpp"
#include "ocr/order.hpp"
#include "ocr/prepare.hpp"
#include "ocr/recognise.hpp"

namespace spirkiln {
namespace ocr {
namespace {

constexpr float kTall = 1.5f;  // height / width of a box whose text runs downwards
// Fonts have at least 5 rows of pixels: what is lower is a dash at most, and holds no text where it
// is longer than one. A strip of 2000 x 3 pixels would be 32000 pixels long for the recogniser.
constexpr float kLeastHeight = 5;
constexpr float kLongestDash = 16;  // in heights
// A line's length in heights up to which it is read: eight of the recogniser's widest inputs, about
// 400 Chinese characters or 900 Latin ones. So that no picture, however long, takes minutes.
constexpr float kLongest = 8.0f * kMaxWidth / kLineHeight;

class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// One way of reading a box.
struct Candidate {
  Quad quad;
  cv::Mat crop;
  float box_score = 0;
  float upside_down = 0;
  Reading reading;
};

OcrLine to_line(const Candidate& candidate) {
  OcrLine line;
  for (int i = 0; i < 4; ++i) line.box[i] = {candidate.quad[i].x, candidate.quad[i].y};
  line.box_score = candidate.box_score;
  line.angle = quad_angle(candidate.quad);
  line.rotation = static_cast<std::uint32_t>(std::lround(line.angle / 90.0f) + 4) % 4 * 90;
  line.text = candidate.reading.text;
  line.score = candidate.reading.score;
  return line;
}

cv::Mat crop_line(const cv::Mat& picture, const Quad& quad) {
  const cv::Mat crop = crop_quad(picture, quad);
  return crop.empty() ? crop : no_higher_than_needed(crop);
}

// Nothing is written in one colour. (Strips of blank paper would else be read twice.)
bool is_blank(const cv::Mat& crop) {
  const cv::Vec3b first = crop.at<cv::Vec3b>(0, 0);
  for (int y = 0; y < crop.rows; ++y) {
    const cv::Vec3b* row = crop.ptr<cv::Vec3b>(y);
    if (!std::all_of(row, row + crop.cols, [&](const cv::Vec3b& p) { return p == first; })) {
      return false;
    }
  }
  return true;
}

// The beginning of a line that is too long.
Quad shortened(const Quad& quad, float share) {
  return {quad[0], quad[0] + (quad[1] - quad[0]) * share, quad[3] + (quad[2] - quad[3]) * share,
          quad[3]};
}

std::string too_long(const Quad& quad) {
  const auto round = [](float v) { return std::to_string(std::lround(v)); };
  return "a line of " + round(quad_width(quad)) + " x " + round(quad_height(quad)) +
         " pixels is longer than " + round(kLongest) +
         " times its height: only its beginning is read; cut the picture into parts";
}

Candidate turned_over(const Candidate& line) {
  Candidate out;
  out.quad = turned(line.quad, 2);
  cv::rotate(line.crop, out.crop, cv::ROTATE_180);
  out.box_score = line.box_score;
  out.upside_down = 1 - line.upside_down;
  return out;
}

Status orient_all(const OcrNets& nets, std::vector<Candidate>& lines, const OcrOptions& options,
                  OcrTimings& timings) {
  if (!nets.orient || lines.empty()) return Ok{};
  const Stopwatch watch;
  std::vector<cv::Mat> crops;
  for (const Candidate& line : lines) crops.push_back(line.crop);
  const auto answer = orient(*nets.orient, crops, options);
  if (!answer) return answer.error();
  timings.orient += watch.ms();
  timings.orient_runs += answer->runs;
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i].upside_down = answer->upside_down[i];
  return Ok{};
}

Status recognise_all(const OcrNets& nets, const Dictionary& dictionary,
                     std::vector<Candidate>& lines, const OcrOptions& options,
                     OcrTimings& timings) {
  if (lines.empty()) return Ok{};
  const Stopwatch watch;
  std::vector<cv::Mat> crops;
  for (const Candidate& line : lines) crops.push_back(line.crop);
  auto answer = recognise(*nets.recognise, dictionary, crops, options);
  if (!answer) return answer.error();
  timings.recognise += watch.ms();
  timings.recognise_runs += answer->runs;
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i].reading = std::move(answer->readings[i]);
  return Ok{};
}

// +1 where the lines that the classifier is sure of agree that the page is upside down, -1 where
// they agree that it is not, 0 where they are few or differ.
int page_vote(const std::vector<Candidate>& lines) {
  int over = 0, upright = 0;
  for (const Candidate& line : lines) {
    if (line.upside_down > 0.95f) ++over;
    if (line.upside_down < 0.05f) ++upright;
  }
  if (over + upright < 3) return 0;
  if (over >= 5 * upright) return 1;
  return upright >= 5 * over ? -1 : 0;
}

// A box of one narrow character is as tall as a short line that runs downwards.
bool may_be_one_character(const Candidate& line) {
  return line.crop.cols < 2.5f * static_cast<float>(line.crop.rows);
}

std::size_t characters(const std::string& utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// Whether a second try says more than the first. Wrong ways round give short texts, sometimes with
// confidence. `agrees` is +1 where the second is what the page votes for, -1 where the first is.
bool is_better(const Reading& second, const Reading& first, int agrees) {
  constexpr float kSureEnough = 0.7f;
  if (second.score < kSureEnough) return false;
  if (characters(second.text) * 2 < characters(first.text) && first.score > 0.5f) return false;
  const float ahead = agrees < 0 ? 0.15f : agrees > 0 ? -0.02f : 0.0f;
  return second.score > first.score + ahead;
}

}  // namespace

Result<std::vector<OcrLine>> read_boxes(const OcrNets& nets, const Dictionary& dictionary,
                                        const cv::Mat& picture, const std::vector<Box>& boxes,
                                        const OcrOptions& options, OcrTimings& timings) {
  std::vector<Candidate> lines;
  std::vector<bool> tall;
  for (const Box& box : boxes) {
    Candidate line;
    const bool is_tall = quad_height(box.quad) >= kTall * quad_width(box.quad);
    line.quad = is_tall ? turned(box.quad, 1) : box.quad;
    const float width = quad_width(line.quad), height = quad_height(line.quad);
    if (height < kLeastHeight && width > kLongestDash * height) continue;
    if (width > kLongest * height) {
      if (options.message) options.message(Severity::kWarning, too_long(line.quad));
      line.quad = shortened(line.quad, kLongest * height / width);
    }
    line.crop = crop_line(picture, line.quad);
    line.box_score = box.score;
    if (line.crop.empty() || is_blank(line.crop)) continue;
    lines.push_back(std::move(line));
    tall.push_back(is_tall);
  }
  if (auto status = orient_all(nets, lines, options, timings); !status) return status.error();
  const int vote = page_vote(lines);
  std::vector<bool> unsure, over;
  for (Candidate& line : lines) {
    unsure.push_back(line.upside_down > 0.5f && line.upside_down < 0.98f);
    over.push_back(line.upside_down > options.orient_threshold);
    if (over.back()) line = turned_over(line);
  }
  if (auto status = recognise_all(nets, dictionary, lines, options, timings); !status) {
    return status.error();
  }

  // Second tries, all in one go.
  std::vector<Candidate> tries;
  std::vector<std::size_t> of_line;
  std::vector<int> agrees;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool poor = lines[i].reading.score < options.retry_score;
    // Short words look like others upside down ("about", "build"), and the classifier is sure of
    // it.
    const bool contradicts = over[i] ? vote < 0 : vote > 0;
    if (poor || unsure[i] || contradicts) {
      tries.push_back(turned_over(lines[i]));
      of_line.push_back(i);
      agrees.push_back(over[i] ? -vote : vote);
    }
    if (tall[i] && may_be_one_character(lines[i])) {
      Candidate upright;
      upright.quad = turned(lines[i].quad, over[i] ? 1 : -1);
      upright.crop = crop_line(picture, upright.quad);
      upright.box_score = lines[i].box_score;
      tries.push_back(std::move(upright));
      of_line.push_back(i);
      agrees.push_back(0);
    }
  }
  if (auto status = recognise_all(nets, dictionary, tries, options, timings); !status) {
    return status.error();
  }
  for (std::size_t k = 0; k < tries.size(); ++k) {
    Candidate& line = lines[of_line[k]];
    if (is_better(tries[k].reading, line.reading, agrees[k])) line = std::move(tries[k]);
  }

  std::vector<OcrLine> read;
  for (const Candidate& line : lines) {
    if (line.reading.text.empty() || line.reading.score < options.text_threshold) continue;
    read.push_back(to_line(line));
  }
  std::vector<OcrLine> sorted;
  for (const std::size_t i : reading_order(read)) sorted.push_back(std::move(read[i]));
  return sorted;
}

Quad whole_picture(const cv::Mat& picture) {
  const float w = static_cast<float>(picture.cols), h = static_cast<float>(picture.rows);
  return {cv::Point2f(0, 0), cv::Point2f(w, 0), cv::Point2f(w, h), cv::Point2f(0, h)};
}

namespace {

// A picture that may be nothing but one line: long and low, or no larger than a word.
bool may_be_one_line(const cv::Mat& picture) {
  constexpr int kWordSide = 200;
  const int longer = std::max(picture.cols, picture.rows);
  const int shorter = std::min(picture.cols, picture.rows);
  return longer >= 4 * shorter || longer <= kWordSide;
}

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

// Lines that stand side by side, each with less room before it than a word would take.
bool is_one_row(const std::vector<OcrLine>& lines) {
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto &left = lines[i - 1].box, &right = lines[i].box;
    const float height = std::hypot(left[3].x - left[0].x, left[3].y - left[0].y);
    const float gap = std::hypot(right[0].x - left[1].x, right[0].y - left[1].y);
    if (lines[i].rotation != lines[0].rotation || gap > 1.5f * height) return false;
  }
  return true;
}

// Whether the whole picture, read as one line, says more than the lines that were found in it.
bool whole_is_better(const OcrLine& whole, const std::vector<OcrLine>& found) {
  constexpr float kSureEnough = 0.7f;
  if (whole.score < kSureEnough) return false;
  if (found.empty()) return true;
  if (found.size() > 1) {  // the same text in parts
    std::string parts;
    for (const OcrLine& line : found) parts += line.text;
    return is_one_row(found) && without_spaces(parts) == without_spaces(whole.text);
  }
  const std::size_t more = characters(whole.text), less = characters(found[0].text);
  return more >= less && whole.score * static_cast<float>(more) >
                             (found[0].score + 0.02f) * static_cast<float>(less);
}

}  // namespace

Result<std::vector<OcrLine>> read_picture(const OcrNets& nets, const Dictionary& dictionary,
                                          const cv::Mat& picture, const OcrOptions& options,
                                          OcrTimings& timings) {
  constexpr std::size_t kMostParts = 4;
  const Stopwatch watch;
  auto found = detect(*nets.detect, picture, options);
  if (!found) return found.error();
  timings.detect += watch.ms();
  timings.detect_runs += found->runs;
  auto lines = read_boxes(nets, dictionary, picture, found->boxes, options, timings);
  if (!lines || !may_be_one_line(picture) || lines->size() > kMostParts) {
    return lines;
  }
  auto whole =
      read_boxes(nets, dictionary, picture, {{whole_picture(picture), 1.0f}}, options, timings);
  if (!whole) return whole.error();
  if (!whole->empty() && whole_is_better(whole->front(), *lines)) return whole;
  return lines;
}

}  // namespace ocr

struct OcrReader::State {
  OcrNets nets;
  Dictionary dictionary;
  OcrOptions options;
  ocr::Preparation preparation;
};

Result<OcrReader> OcrReader::create(OcrNets nets, Dictionary dictionary,
                                    const OcrOptions& options) {
  return make(std::move(nets), std::move(dictionary), options, false);
}

Result<OcrReader> OcrReader::make(OcrNets nets, Dictionary dictionary, const OcrOptions& options,
                                  bool prepare) {
  if (!nets.detect || !nets.recognise) {
    return Error{ErrorCode::kInvalidArgument, "a reader needs a detection and a recognition graph"};
  }
  auto preparation = prepare ? ocr::Preparation(nets.orient, nets.recognise) : ocr::Preparation();
  OcrReader reader;
  reader.state_ = std::make_shared<const State>(
      State{std::move(nets), std::move(dictionary), options, std::move(preparation)});
  return reader;
}

namespace {

// Everything that both ways of reading share. `read_lines` gets the pixels and the timings.
template <typename ReadLines>
Result<OcrPage> read_page(const Picture& picture, ReadLines read_lines) {
  constexpr std::uint32_t kMaxSide = 1u << 20;
  if (picture.width == 0 || picture.height == 0 || picture.width > kMaxSide ||
      picture.height > kMaxSide ||
      picture.bgr.size() != std::size_t{picture.width} * picture.height * 3) {
    return Error{ErrorCode::kInvalidArgument,
                 "a picture of " + std::to_string(picture.width) + " x " +
                     std::to_string(picture.height) + " pixels with " +
                     std::to_string(picture.bgr.size()) +
                     " bytes: expected width * height * 3 bytes, at least one pixel and sides of "
                     "at most " +
                     std::to_string(kMaxSide)};
  }
  return ocr::guarded([&]() -> Result<OcrPage> {
    const ocr::Stopwatch watch;
    OcrPage page;
    page.width = picture.width;
    page.height = picture.height;
    Result<std::vector<OcrLine>> lines = read_lines(ocr::as_mat(picture), page.timings);
    if (!lines) return std::move(lines).error();
    page.lines = std::move(*lines);
    page.timings.total = watch.ms();
    return page;
  });
}

}  // namespace

Result<OcrPage> OcrReader::read(const Picture& picture) const {
  return read_page(picture, [&](const cv::Mat& pixels, OcrTimings& timings) {
    return ocr::read_picture(state_->nets, state_->dictionary, pixels, state_->options, timings);
  });
}

Result<OcrPage> OcrReader::read_line(const Picture& picture) const {
  return read_page(picture, [&](const cv::Mat& pixels, OcrTimings& timings) {
    return ocr::read_boxes(state_->nets, state_->dictionary, pixels,
                           {{ocr::whole_picture(pixels), 1.0f}}, state_->options, timings);
  });
}

const OcrNets& OcrReader::nets() const { return state_->nets; }

}  // namespace spirkiln
