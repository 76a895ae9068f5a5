// SPDX-License-Identifier: Apache-2.0
#include "e2e_bench.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>

#include "cli_helpers.hpp"
#include "clock.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "program.hpp"
#include "reading.hpp"
#include "shown.hpp"
#include "statistics.hpp"
#include "wish_options.hpp"

namespace spirkiln::bench {
namespace {

constexpr std::size_t kLast = 50;  // readings behind which a device is as hot as it gets

struct Arguments {
  ReadingArguments reading;
  std::string truth, thermal = "/sys/class/thermal";
  std::uint32_t rounds = 1, warm = 1;
  bool each = false, json = false;
};

std::uint64_t peak_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
#if defined(__APPLE__)
  return static_cast<std::uint64_t>(usage.ru_maxrss);
#else
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
#endif
}

std::vector<metric::TextLine> lines_of(const OcrPage& page) {
  std::vector<metric::TextLine> lines;
  for (const OcrLine& line : page.lines) lines.push_back({line.text, line.rotation});
  return lines;
}

// One reading; what it says is kept, or compared with what the picture said before.
Result<double> read_once(const OcrReader& reader, const std::string& file, bool timed,
                         E2eReport* report, E2ePicture* picture,
                         const std::vector<metric::TextLine>* truth) {
  auto begin = Clock::now();
  DecodeOptions decode;
  decode.message = say;
  const auto loaded = load_picture(file, decode);
  if (!loaded) return loaded.error();
  const double decode_ms = ms_since(begin);
  begin = Clock::now();
  const auto page = reader.read(*loaded);
  if (!page) return page.error();
  const double ms = ms_since(begin);
  const std::string text = page_text(*page);
  if (timed) {
    report->ms.push_back(ms);
    report->decode_ms.push_back(decode_ms);
    if (!picture->ms.empty() && text != picture->text) ++report->changed;
    picture->ms.push_back(ms);
    picture->text = text;
    picture->lines = page->lines.size();
    if (truth != nullptr && picture->ms.size() == 1) {
      picture->score = metric::score_page(*truth, lines_of(*page));
    }
  }
  return ms;
}

int run_e2e(const Arguments& arguments) {
  const auto files = picture_files(arguments.reading.inputs);
  if (!files) return fail(files.error().message);
  const auto truth = known_texts(arguments.truth, arguments.reading.inputs);
  if (!truth) return fail(truth.error().message);
  const auto reading = open_reading(arguments.reading);
  if (!reading) return fail(reading.error().message);

  E2eReport report;
  report.device = reading->device.info().name;
  report.driver = reading->device.info().driver;
  report.variant = arguments.reading.variant;
  report.before = thermal_zones(arguments.thermal);
  for (const std::string& file : *files) report.pictures.emplace_back().file = file;
  const auto truth_of = [&](const std::string& file) -> const std::vector<metric::TextLine>* {
    if (!*truth) return nullptr;
    const auto known = (*truth)->find(std::filesystem::path(file).filename().string());
    return known == (*truth)->end() ? nullptr : &known->second;
  };
  const OcrReader& reader = reading->reader;
  // Pictures that cannot be read are told of below.
  for (std::uint32_t i = 0; i < arguments.warm; ++i) {
    E2ePicture ignored;
    (void)read_once(reader, (*files)[i % files->size()], false, &report, &ignored, nullptr);
  }
  int failed = 0;
  for (std::uint32_t round = 0; round < arguments.rounds; ++round) {
    for (E2ePicture& picture : report.pictures) {
      if (!picture.error.empty()) continue;
      const auto* known = truth_of(picture.file);
      const auto ms = read_once(reader, picture.file, true, &report, &picture, known);
      if (ms) continue;
      picture.error = ms.error().message;
      failed = fail(tool::with_shown(picture.error, picture.file));
      // All of it counts as missed.
      if (known != nullptr) picture.score = metric::score_page(*known, {});
    }
  }
  std::string all;
  for (const E2ePicture& picture : report.pictures) {
    all += picture.text;
    if (!picture.score) continue;
    if (!report.score) report.score.emplace();
    *report.score += *picture.score;
  }
  report.text_hash = XXH64(all.data(), all.size(), 0);
  report.peak_bytes = peak_bytes();
  report.after = thermal_zones(arguments.thermal);
  tool::print(arguments.json ? e2e_json(report) : e2e_text(report, arguments.each));
  if (report.changed > 0) {
    return fail(fmt::format("{} readings gave another text than the first of the same picture",
                            report.changed));
  }
  return failed;
}

std::string score_json(const metric::Score& s) {
  return fmt::format(
      "{{\"pictures\": {}, \"exact_pictures\": {}, \"lines\": {}, \"exact_lines\": {}, "
      "\"oriented_lines\": {}, \"right_orientation\": {}, \"characters\": {}, \"wrong\": {}, "
      "\"missed\": {}, \"extra\": {}, \"cer\": {:.6f}}}",
      s.pictures, s.exact_pictures, s.lines, s.exact_lines, s.oriented_lines, s.right_orientation,
      s.characters, s.wrong, s.missed, s.extra, s.characters > 0 ? s.cer() : 0.0);
}

std::string score_text(const metric::Score& s) {
  std::string text = fmt::format("lines {}/{} exact, pictures {}/{}, CER {:.2f} %", s.exact_lines,
                                 s.lines, s.exact_pictures, s.pictures, 100 * s.cer());
  if (s.oriented_lines > 0) {
    text += fmt::format(", orientation {}/{}", s.right_orientation, s.oriented_lines);
  }
  return text;
}

std::string zones_json(const std::vector<ThermalZone>& zones) {
  std::string text = "{";
  const char* separator = "";
  for (const ThermalZone& zone : zones) {
    text += fmt::format("{}{}: {:.1f}", separator, json::quoted(zone.name), zone.celsius);
    separator = ", ";
  }
  return text + "}";
}

// The hottest zone, which is what throttles.
std::string hottest(const std::vector<ThermalZone>& zones) {
  const auto most = std::max_element(
      zones.begin(), zones.end(),
      [](const ThermalZone& a, const ThermalZone& b) { return a.celsius < b.celsius; });
  return most == zones.end() ? "unknown"
                             : fmt::format("{:.1f} C ({})", most->celsius, tool::shown(most->name));
}

}  // namespace

std::string e2e_text(const E2eReport& r, bool each) {
  std::string text = fmt::format("{} ({})\n", r.device, r.driver);
  for (const E2ePicture& p : r.pictures) {
    if (!each) break;
    text += fmt::format("{:10.2f} ms  {:4} lines  {}", median(p.ms), p.lines, tool::shown(p.file));
    text += p.error.empty() ? "" : "  not read";
    text += p.score ? "  " + score_text(*p.score) + "\n" : "\n";
  }
  const auto unread = std::count_if(r.pictures.begin(), r.pictures.end(),
                                    [](const E2ePicture& p) { return !p.error.empty(); });
  text += fmt::format("{} pictures, {} readings{}\n", r.pictures.size(), r.ms.size(),
                      unread > 0 ? fmt::format(", {} not read", unread) : "");
  text += fmt::format(
      "  median {:.2f} ms, of the last {} {:.2f}, 95 % below {:.2f}, least {:.2f}; "
      "decoding {:.2f} besides\n",
      median(r.ms), std::min(kLast, r.ms.size()), median_of_last(r.ms, kLast), quantile(r.ms, 0.95),
      quantile(r.ms, 0), median(r.decode_ms));
  if (r.score) text += "  " + score_text(*r.score) + "\n";
  text += fmt::format("  text {:016x}; peak memory {:.1f} MB; hottest {} before, {} behind\n",
                      r.text_hash, static_cast<double>(r.peak_bytes) * 1e-6, hottest(r.before),
                      hottest(r.after));
  return text;
}

std::string e2e_json(const E2eReport& r) {
  std::string text = fmt::format(
      "{{\"device\": {}, \"driver\": {}, \"variant\": {}, \"readings\": {}, \"median_ms\": {:.4f}, "
      "\"last50_median_ms\": {:.4f}, \"p95_ms\": {:.4f}, \"min_ms\": {:.4f}, "
      "\"decode_median_ms\": {:.4f}, \"peak_bytes\": {}, \"text_hash\": \"{:016x}\", "
      "\"changed\": {},\n\"score\": {},\n\"thermal_before\": {},\n\"thermal_after\": {},\n"
      "\"pictures\": [",
      json::quoted(r.device), json::quoted(r.driver), json::quoted(r.variant), r.ms.size(),
      median(r.ms), median_of_last(r.ms, kLast), quantile(r.ms, 0.95), quantile(r.ms, 0),
      median(r.decode_ms), r.peak_bytes, r.text_hash, r.changed,
      r.score ? score_json(*r.score) : "null", zones_json(r.before), zones_json(r.after));
  const char* separator = "";
  for (const E2ePicture& p : r.pictures) {
    std::string times;
    for (const double ms : p.ms) times += fmt::format("{}{:.3f}", times.empty() ? "" : ", ", ms);
    text += fmt::format(
        "{}\n {{\"file\": {}, \"error\": {}, \"ms\": [{}], \"lines\": {}, \"text_hash\": "
        "\"{:016x}\", \"score\": {}}}",
        separator, json::quoted(p.file), json::quoted(p.error), times, p.lines,
        XXH64(p.text.data(), p.text.size(), 0), p.score ? score_json(*p.score) : "null");
    separator = ",";
  }
  return text + "\n]}\n";
}

void add_e2e(CLI::App& app, Command* chosen) {
  const auto a = std::make_shared<Arguments>();
  CLI::App* mode = app.add_subcommand(
      "e2e", "whole pictures: times, accuracy where texts are known, memory, heat");
  mode->add_option("PICTURE", a->reading.inputs, "pictures, or folders of pictures")
      ->required()
      ->check(tool::not_empty());
  mode->add_option("--truth", a->truth,
                   "known texts (without: ground_truth.json in the folder, where it is)")
      ->check(tool::not_empty());
  mode->add_option("--rounds", a->rounds, "over all pictures")->check(CLI::Range(1, 10000));
  mode->add_option("--warm", a->warm, "readings before, which do not count")
      ->check(CLI::Range(0, 10000));
  mode->add_flag("--each", a->each, "one line for each picture, too");
  mode->add_option("--thermal", a->thermal, "folder with thermal_zone*/temp");
  add_reading_options(mode, &a->reading);
  mode->add_flag("--json", a->json, "the same, and every time, as one JSON object");
  tool::add_wish_options(*mode);
  mode->callback([a, chosen] { *chosen = [a] { return run_e2e(*a); }; });
}

}  // namespace spirkiln::bench
