// SPDX-License-Identifier: Apache-2.0
// The real graphs on lines whose text is known: what a line says, to the last bit of its score,
// depends on no other line and on no batch size.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <cstdlib>
#include <opencv2/imgproc.hpp>
#include <random>
#include <string>
#include <vector>

#include "metric.hpp"
#include "ocr/geometry.hpp"
#include "ocr/recognise.hpp"
#include "truth.hpp"

using namespace spirkiln;

namespace {

class GraphNet final : public Net {
 public:
  explicit GraphNet(const std::string& file) {
    auto device = Device::open();
    REQUIRE(device.ok());
    auto model = Model::open(default_folder() + "/" + file);
    REQUIRE(model.ok());
    auto graph = Graph::create(*device, *model);
    REQUIRE(graph.ok());
    graph_ = *std::move(graph);
  }
  Result<TensorF32> run(const Pictures& pictures) override {
    auto outputs = graph_->run(pictures);
    if (!outputs) return outputs.error();
    return std::move(outputs->front());
  }
  static std::string default_folder() {
    const char* folder = std::getenv("SPIRKILN_MODELS");
    REQUIRE(folder != nullptr);
    return folder;
  }

 private:
  std::optional<Graph> graph_;
};

struct Known {
  cv::Mat crop;
  std::string text;
};

// The lines of test/ocr/make-layouts' first two upright documents: one each 54 rows from 40 on. Cut
// behind their last dark pixel, so that they differ in width.
const std::vector<Known>& known_lines() {
  static const std::vector<Known> lines = [] {
    const char* folder = std::getenv("SPIRKILN_LAYOUTS");
    REQUIRE(folder != nullptr);
    const std::string root = std::string(folder) + "/upright/";
    const auto json = json::read_file(root + "ground_truth.json");
    REQUIRE(json.ok());
    const auto truth = pages_of_truth(*json, "ground_truth.json");
    REQUIRE(truth.ok());
    std::vector<Known> out;
    for (const char* name : {"0.png", "1.png"}) {
      auto picture = load_picture(root + name);
      REQUIRE(picture.ok());
      const cv::Mat page = ocr::as_mat(*picture);
      int top = 36;
      for (const metric::TextLine& line : truth->at(name)) {
        const cv::Mat row = page.rowRange(top, top + 44);
        cv::Mat grey, dark;
        cv::cvtColor(row, grey, cv::COLOR_BGR2GRAY);
        cv::compare(grey, 128, dark, cv::CMP_LT);
        const cv::Rect ink = cv::boundingRect(dark);
        REQUIRE(ink.width > 20);
        out.push_back(
            {row.colRange(44, std::min(row.cols, ink.x + ink.width + 6)).clone(), line.text});
        top += 54;
      }
    }
    return out;
  }();
  return lines;
}

std::vector<cv::Mat> crops_of(const std::vector<std::size_t>& order) {
  std::vector<cv::Mat> crops;
  for (const std::size_t i : order) crops.push_back(known_lines()[i].crop);
  return crops;
}

std::vector<std::size_t> in_order() {
  std::vector<std::size_t> order(known_lines().size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  return order;
}

OcrOptions batches_of(std::uint32_t size) {
  OcrOptions options;
  options.batch = size;
  return options;
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

struct Recogniser {
  GraphNet net{"rec.spkm"};
  Dictionary dictionary = *Dictionary::open(GraphNet::default_folder() + "/ppocr_keys_v1.txt");

  std::vector<ocr::Reading> read(const std::vector<cv::Mat>& crops, std::uint32_t batch) {
    auto answer = ocr::recognise(net, dictionary, crops, batches_of(batch));
    REQUIRE(answer.ok());
    REQUIRE(answer->readings.size() == crops.size());
    return std::move(answer->readings);
  }
};

// Each line alone, in a call of its own.
const std::vector<ocr::Reading>& alone(Recogniser& recogniser) {
  static const std::vector<ocr::Reading> readings = [&] {
    std::vector<ocr::Reading> out;
    for (const Known& line : known_lines()) {
      out.push_back(recogniser.read({line.crop}, 1).front());
    }
    return out;
  }();
  return readings;
}

Recogniser& recogniser() {
  static Recogniser one;
  return one;
}

void check_same(const std::vector<ocr::Reading>& read, const std::vector<std::size_t>& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const ocr::Reading& expected = alone(recogniser())[order[i]];
    CAPTURE(i, order[i], expected.score, read[i].score);
    CHECK(read[i].text == expected.text);
    CHECK(same_bits(read[i].score, expected.score));
  }
}

}  // namespace

TEST_CASE("lines that are read alone say what is written") {
  std::size_t right = 0;
  for (std::size_t i = 0; i < known_lines().size(); ++i) {
    const std::string& read = alone(recogniser())[i].text;
    UNSCOPED_INFO(known_lines()[i].text << " read as " << read);
    if (metric::normalised(read) == metric::normalised(known_lines()[i].text)) ++right;
  }
  CHECK(known_lines().size() == 24);
  CHECK(right >= 23);
}

TEST_CASE("batches of 1, 6 and 16 read the same bits") {
  for (const std::uint32_t batch : {1u, 6u, 16u}) {
    CAPTURE(batch);
    check_same(recogniser().read(crops_of(in_order()), batch), in_order());
  }
}

TEST_CASE("other neighbours, the same bits") {
  std::mt19937 random(20261130);
  std::vector<std::size_t> order = in_order();
  std::shuffle(order.begin(), order.end(), random);
  check_same(recogniser().read(crops_of(order), 16), order);

  // Four lines between noise of their own widths, which shares their batches.
  order = {order[0], order[1], order[2], order[3]};
  std::vector<cv::Mat> crops;
  for (const cv::Mat& crop : crops_of(order)) {
    cv::Mat noise(crop.size(), CV_8UC3);
    cv::theRNG().state = random();
    cv::randu(noise, cv::Scalar::all(0), cv::Scalar::all(256));
    crops.insert(crops.end(), {noise, crop, noise});
  }
  const std::vector<ocr::Reading> read = recogniser().read(crops, 6);
  check_same({read[1], read[4], read[7], read[10]}, order);
}

TEST_CASE("the classifier answers the same bits in any batch") {
  GraphNet net("cls.spkm");
  std::vector<cv::Mat> crops = crops_of(in_order());
  for (std::size_t i = 0; i < crops.size(); i += 2) cv::rotate(crops[i], crops[i], cv::ROTATE_180);
  std::vector<float> expected;
  std::size_t right = 0;
  for (const cv::Mat& crop : crops) {
    const auto one = ocr::orient(net, std::vector<cv::Mat>{crop}, batches_of(1));
    REQUIRE(one.ok());
    expected.push_back(one->upside_down.front());
    if ((expected.back() > 0.5f) == (expected.size() % 2 == 1)) ++right;
  }
  CHECK(right >= 22);  // so that there are both answers to tell apart
  for (const std::uint32_t batch : {6u, 16u}) {
    const auto all = ocr::orient(net, crops, batches_of(batch));
    REQUIRE(all.ok());
    for (std::size_t i = 0; i < crops.size(); ++i) {
      CAPTURE(batch, i, expected[i], all->upside_down[i]);
      CHECK(same_bits(all->upside_down[i], expected[i]));
    }
  }
}
