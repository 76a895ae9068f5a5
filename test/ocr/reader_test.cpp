// SPDX-License-Identifier: Apache-2.0
// The reader on a device: what a page says depends on nothing but the page.
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "spirkiln/ocr.hpp"

using namespace spirkiln;

namespace {

OcrReader open_reader(const OcrOptions& options = {}) {
  auto device = Device::open();
  REQUIRE(device.ok());
  auto reader = OcrReader::open(default_packs_folder(), *device, {}, options);
  REQUIRE(reader.ok());
  return *reader;
}

Picture sample() {
  const char* path = std::getenv("SPIRKILN_SAMPLE");
  REQUIRE(path != nullptr);
  auto picture = load_picture(path);
  REQUIRE(picture.ok());
  return *picture;
}

std::string text_of(const Result<OcrPage>& page) {
  if (!page) return "error: " + page.error().message;
  std::string text;
  for (const OcrLine& line : page->lines) text += line.text + "\n";
  return text;
}

// Rows of the sample page, from `first` on: other shapes for detection, and few lines. A CPU driver
// takes seconds for all of the page.
Picture rows_of(const Picture& p, std::uint32_t first, std::uint32_t rows) {
  Picture out;
  out.width = p.width;
  out.height = rows;
  const std::size_t row = std::size_t{p.width} * 3;
  const auto begin = p.bgr.begin() + static_cast<std::ptrdiff_t>(row * first);
  out.bgr.assign(begin, begin + static_cast<std::ptrdiff_t>(row * rows));
  return out;
}
Picture two_lines(const Picture& page) { return rows_of(page, 30, 120); }
Picture three_lines(const Picture& page) { return rows_of(page, 155, 140); }

}  // namespace

TEST_CASE("any batch size reads the same") {
  const Picture picture = sample();
  std::string expected;
  for (const std::uint32_t batch : {1u, 6u, 16u}) {
    OcrOptions options;
    options.batch = batch;
    const std::string text = text_of(open_reader(options).read(picture));
    if (expected.empty()) expected = text;
    CAPTURE(batch);
    CHECK(text == expected);
    CHECK(text.find("2026-11-30") != std::string::npos);
  }
}

TEST_CASE("one shape after another, and the first again") {
  const OcrReader reader = open_reader();
  const Picture a = three_lines(sample()), b = two_lines(sample());
  const std::string first = text_of(reader.read(a)), other = text_of(reader.read(b));
  CHECK(text_of(reader.read(a)) == first);
  CHECK(text_of(reader.read(b)) == other);
  CHECK(first != other);
  CHECK(first.find("2026-11-30") != std::string::npos);
}

TEST_CASE("threads that share a reader read what one reads alone") {
  const OcrReader reader = open_reader();
  const Picture a = three_lines(sample()), b = two_lines(sample());
  const std::string alone[2] = {text_of(reader.read(a)), text_of(reader.read(b))};
  REQUIRE(alone[0] != alone[1]);
  std::vector<std::string> texts(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    threads.emplace_back([&, i] { texts[i] = text_of(reader.read(i % 2 == 0 ? a : b)); });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < texts.size(); ++i) CHECK(texts[i] == alone[i % 2]);
}
