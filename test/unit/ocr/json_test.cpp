// SPDX-License-Identifier: Apache-2.0
#include "json.hpp"

#include <catch2/catch_test_macros.hpp>

#include "report.hpp"
#include "truth.hpp"

using namespace spirkiln;

TEST_CASE("JSON values") {
  const auto v =
      json::parse(R"( {"a": [1, -2.5e1, true, null], "b\u4e2d": "x\n\"\ud83d\ude00"} )", "t");
  REQUIRE(v.ok());
  REQUIRE(v->find("a") != nullptr);
  CHECK(v->find("a")->array.size() == 4);
  CHECK(v->find("a")->array[1].number == -25.0);
  CHECK(v->find("b中")->string == "x\n\"😀");
  CHECK(v->find("c") == nullptr);
}

TEST_CASE("what is no JSON says where") {
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "\"\\x\"", "tru", "1 2", "\"a\nb\"",
                           "[\"unended", "{1: 2}", "nul", "\"\\u12\""}) {
    CAPTURE(text);
    const auto v = json::parse(text, "file.json");
    REQUIRE_FALSE(v.ok());
    CHECK(v.error().message.starts_with("file.json:"));
  }
  CHECK_FALSE(json::parse(std::string(100000, '['), "deep").ok());
  CHECK(json::parse("\"\\ud83dx\"", "half a pair")->string == "\xef\xbf\xbdx");
}

TEST_CASE("strings stay valid whatever is in them") {
  CHECK(json::quoted("a\"\\\n\x01") == R"("a\"\\\u000a\u0001")");
  CHECK(json::quoted("中") == "\"中\"");
  CHECK(json::quoted("\xff\xc3") == "\"\xef\xbf\xbd\xef\xbf\xbd\"");
  CHECK(json::quoted("\xed\xa0\x80") == "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");  // a surrogate
  const std::string odd = "weird \xf0\x9f\x98\x80 name\t.png";
  CHECK(json::parse(json::quoted(odd), "t")->string == odd);
}

TEST_CASE("a report can be read back") {
  OcrPage page;
  page.width = 10;
  page.height = 20;
  page.lines.resize(2);
  page.lines[0].text = "第一\"行\"";
  page.lines[0].rotation = 180;
  page.lines[1].text = "two";
  const std::string text = "{\"files\": [" + page_json("dir/a b.png", page) + ",\n" +
                           error_json("c.png", {ErrorCode::kIo, "c.png: \"gone\""}) + "]}";
  const auto value = json::parse(text, "report");
  REQUIRE(value.ok());
  const auto pages = pages_of_results(*value, "report");
  REQUIRE(pages.ok());
  REQUIRE(pages->at("a b.png").size() == 2);
  CHECK(pages->at("a b.png")[0].text == "第一\"行\"");
  CHECK(pages->at("a b.png")[0].rotation == 180u);
  CHECK(pages->at("c.png").empty());
}

TEST_CASE("known texts, plain or with their rotation") {
  const auto value =
      json::parse(R"({"a.png": ["x", {"text": "y", "rotation": 90}], "b.png": []})", "t");
  const auto pages = pages_of_truth(*value, "t");
  REQUIRE(pages.ok());
  CHECK(pages->at("a.png")[0].text == "x");
  CHECK_FALSE(pages->at("a.png")[0].rotation.has_value());
  CHECK(pages->at("a.png")[1].rotation == 90u);
  CHECK(pages->at("b.png").empty());
  CHECK_FALSE(pages_of_truth(*json::parse("[1]", "t"), "t").ok());
  CHECK_FALSE(pages_of_truth(*json::parse(R"({"a": [1]})", "t"), "t").ok());
  CHECK_FALSE(
      pages_of_truth(*json::parse(R"({"a": [{"text": "x", "rotation": 400}]})", "t"), "t").ok());
  CHECK_FALSE(pages_of_results(*json::parse(R"({"a": []})", "t"), "t").ok());
}
