// SPDX-License-Identifier: Apache-2.0
// spirkiln-score: read texts against known ones.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli_helpers.hpp"
#include "program.hpp"
#include "truth.hpp"

namespace {

using namespace spirkiln;

constexpr const char* kFooter = R"(
Examples:
  spirkiln-ocr --json pages/*.png > results.json
  spirkiln-score pages/ground_truth.json results.json
  spirkiln-score pages/ground_truth.json results.json --min-lines 142 --max-cer 0.05

Texts are compared as NFKC with white space removed. CER counts the characters that are wrong,
missed or extra, over those that stand there. Exit code 1: worse than a --min or --max.)";

int fail(const Error& error) {
  fmt::print(stderr, "spirkiln-score: error: {}\n", error.message);
  return 2;
}

std::string score_json(const metric::Score& s) {
  return fmt::format(
      R"({{"pictures": {}, "exact_pictures": {}, "lines": {}, "exact_lines": {}, )"
      R"("oriented_lines": {}, "right_orientation": {}, "characters": {}, "wrong": {}, )"
      R"("missed": {}, "extra": {}, "cer": {:.5f}}})",
      s.pictures, s.exact_pictures, s.lines, s.exact_lines, s.oriented_lines, s.right_orientation,
      s.characters, s.wrong, s.missed, s.extra, s.characters > 0 ? s.cer() : 0.0);
}

std::string row(const std::string& name, const metric::Score& s) {
  std::string out =
      fmt::format("{:<36} lines {:>4}/{:<4} CER {:6.2f} %  wrong {} missed {} extra {}", name,
                  s.exact_lines, s.lines, s.cer() * 100, s.wrong, s.missed, s.extra);
  if (s.oriented_lines > 0) {
    out += fmt::format("  orientation {}/{}", s.right_orientation, s.oriented_lines);
  }
  return out;
}

int run(int argc, char** argv) {
  CLI::App app(
      "How right the lines are that spirkiln-ocr read: exact lines, exact pictures, "
      "orientation, character error rate.");
  app.footer(kFooter);
  app.set_version_flag("--version", "spirkiln-score " SPIRKILN_VERSION);
  std::string truth_path, results_path;
  bool json = false, each = false;
  std::size_t min_lines = 0;
  double max_cer = -1;
  app.add_option("TRUTH", truth_path, "ground_truth.json: {\"file\": [lines]}")
      ->required()
      ->check(tool::not_empty());
  app.add_option("RESULTS", results_path, "what spirkiln-ocr --json printed")
      ->required()
      ->check(tool::not_empty());
  app.add_flag("--json", json, "print one JSON object");
  app.add_flag("--each", each, "one row for each picture too");
  app.add_option("--min-lines", min_lines, "fail with fewer exact lines");
  app.add_option("--max-cer", max_cer, "fail above this CER (0.05 is 5 %)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return tool::print_help(app, e);
    fmt::print(stderr, "spirkiln-score: error: {}\nTry spirkiln-score --help.\n", e.what());
    return 2;
  }

  const auto truth_value = json::read_file(truth_path);
  if (!truth_value) return fail(truth_value.error());
  const auto truth = pages_of_truth(*truth_value, truth_path);
  if (!truth) return fail(truth.error());
  const auto results_value = json::read_file(results_path);
  if (!results_value) return fail(results_value.error());
  const auto results = pages_of_results(*results_value, results_path);
  if (!results) return fail(results.error());

  metric::Score total;
  std::string rows;
  const char* separator = "";
  for (const auto& [file, expected] : *truth) {
    const auto read = results->find(file);
    if (read == results->end()) {
      fmt::print(stderr,
                 "spirkiln-score: warning: {} has no result for {}: all of it counts as "
                 "missed\n",
                 results_path, file);
    }
    const metric::Score one = metric::score_page(
        expected, read == results->end() ? std::vector<metric::TextLine>{} : read->second);
    total += one;
    if (!each) continue;
    rows += json ? fmt::format("{}\n  {}: {}", separator, json::quoted(file), score_json(one))
                 : row(file, one) + "\n";
    separator = ",";
  }
  if (json) {
    fmt::print("{{\"total\": {}{}}}\n", score_json(total),
               each ? fmt::format(", \"files\": {{{}}}", rows) : "");
  } else {
    fmt::print("{}{}\nexact pictures {}/{}\n", rows, row("all", total), total.exact_pictures,
               total.pictures);
  }
  const bool bad = total.exact_lines < min_lines || (max_cer >= 0 && total.cer() > max_cer);
  if (bad) {
    fmt::print(stderr,
               "spirkiln-score: error: {} exact lines and CER {:.2f} % are worse than "
               "asked for\n",
               total.exact_lines, total.cer() * 100);
  }
  return bad ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) { return tool::run_program("spirkiln-score", run, argc, argv); }
