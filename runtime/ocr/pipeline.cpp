// SPDX-License-Identifier: Apache-2.0
#include "ocr/pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "ocr/order.hpp"
#include "ocr/recognise.hpp"

namespace spirkiln {
namespace ocr {
namespace {

constexpr float kTall = 1.5f;  // height / width of a box whose text runs downwards

class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct Candidate {
  Quad quad;
  cv::Mat crop;
  float box_score = 0;
  float upside_down = 0;
  bool stacked = false;
  Reading reading;
};

OcrLine to_line(const Candidate& candidate) {
  OcrLine line;
  for (int i = 0; i < 4; ++i) line.box[i] = {candidate.quad[i].x, candidate.quad[i].y};
  line.box_score = candidate.box_score;
  line.angle = quad_angle(candidate.quad);
  line.rotation = static_cast<std::uint32_t>(std::lround(line.angle / 90.0f) + 4) % 4 * 90;
  line.stacked = candidate.stacked;
  line.orient_score = candidate.upside_down;
  line.text = candidate.reading.text;
  line.score = candidate.reading.score;
  return line;
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
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i].upside_down = answer->upside_down[i];
  }
  return Ok{};
}

void turn_over(Candidate& line) {
  line.quad = turned(line.quad, 2);
  cv::rotate(line.crop, line.crop, cv::ROTATE_180);
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

}  // namespace

Result<std::vector<OcrLine>> read_boxes(const OcrNets& nets, const Dictionary& dictionary,
                                        const cv::Mat& picture, const std::vector<Box>& boxes,
                                        const OcrOptions& options, OcrTimings& timings) {
  std::vector<Candidate> lines;
  for (const Box& box : boxes) {
    Candidate line;
    const bool tall = quad_height(box.quad) >= kTall * quad_width(box.quad);
    line.quad = tall ? turned(box.quad, 1) : box.quad;
    line.crop = crop_quad(picture, line.quad);
    line.box_score = box.score;
    if (!line.crop.empty()) lines.push_back(std::move(line));
  }
  if (auto status = orient_all(nets, lines, options, timings); !status) return status.error();
  for (Candidate& line : lines) {
    if (line.upside_down > options.orient_threshold) turn_over(line);
  }
  if (auto status = recognise_all(nets, dictionary, lines, options, timings); !status) {
    return status.error();
  }
  std::vector<OcrLine> out;
  for (const Candidate& line : lines) {
    if (line.reading.text.empty() || line.reading.score < options.text_threshold) continue;
    out.push_back(to_line(line));
  }
  std::vector<OcrLine> sorted;
  for (const std::size_t i : reading_order(out)) sorted.push_back(std::move(out[i]));
  return sorted;
}

namespace {

Quad whole(const Picture& picture) {
  const float w = static_cast<float>(picture.width), h = static_cast<float>(picture.height);
  return {cv::Point2f(0, 0), cv::Point2f(w, 0), cv::Point2f(w, h), cv::Point2f(0, h)};
}

}  // namespace
}  // namespace ocr

struct OcrReader::State {
  OcrNets nets;
  Dictionary dictionary;
  OcrOptions options;
};

Result<OcrReader> OcrReader::create(OcrNets nets, Dictionary dictionary,
                                    const OcrOptions& options) {
  if (!nets.detect || !nets.recognise) {
    return Error{ErrorCode::kInvalidArgument, "a reader needs a detection and a recognition graph"};
  }
  OcrReader reader;
  reader.state_ = std::make_shared<const State>(
      State{std::move(nets), std::move(dictionary), options});
  return reader;
}

Result<OcrPage> OcrReader::read(const Picture& picture) const {
  const ocr::Stopwatch watch;
  const cv::Mat pixels = ocr::as_mat(picture);
  OcrPage page;
  page.width = picture.width;
  page.height = picture.height;
  auto found = ocr::detect(*state_->nets.detect, pixels, state_->options);
  if (!found) return found.error();
  page.timings.detect = watch.ms();
  page.timings.detect_runs = found->runs;
  auto lines = ocr::read_boxes(state_->nets, state_->dictionary, pixels, found->boxes,
                               state_->options, page.timings);
  if (!lines) return lines.error();
  page.lines = std::move(*lines);
  page.timings.total = watch.ms();
  return page;
}

Result<OcrPage> OcrReader::read_line(const Picture& picture) const {
  const ocr::Stopwatch watch;
  OcrPage page;
  page.width = picture.width;
  page.height = picture.height;
  auto lines = ocr::read_boxes(state_->nets, state_->dictionary, ocr::as_mat(picture),
                               {{ocr::whole(picture), 1.0f}}, state_->options, page.timings);
  if (!lines) return lines.error();
  page.lines = std::move(*lines);
  page.timings.total = watch.ms();
  return page;
}

const OcrNets& OcrReader::nets() const { return state_->nets; }

}  // namespace spirkiln
