// SPDX-License-Identifier: Apache-2.0
// spirkiln-ocr: pictures in, text out. Only the report of what was read goes to stdout.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "annotate.hpp"
#include "cli_helpers.hpp"
#include "inputs.hpp"
#include "json.hpp"
#include "output_set.hpp"
#include "program.hpp"
#include "report.hpp"
#include "shown.hpp"
#include "spirkiln/ocr.hpp"
#include "wish_options.hpp"

namespace {

using namespace spirkiln;

struct Arguments {
  std::vector<std::string> names;  // as given
  std::vector<Input> inputs;       // pictures, folders opened
  std::string models, device, backend, variant, annotate;
  Format format = Format::kText;
  std::uint32_t threads = 0;
  bool line = false, list_devices = false, timings = false, validation = false;
};

void say(Severity severity, std::string_view text) {
  // What $SPIRKILN_PROFILE asks for, and nothing else of the runtime's small talk.
  if (severity == Severity::kInfo) {
    if (text.starts_with("profile ")) fmt::print(stderr, "spirkiln-ocr: {}\n", text);
    return;
  }
  fmt::print(stderr, "spirkiln-ocr: {}: {}\n", severity == Severity::kError ? "error" : "warning",
             text);
}

int fail(const Error& error) {
  say(Severity::kError, error.message);
  return 1;
}

// Longer than any picture that DecodeOptions lets through.
Result<std::vector<std::uint8_t>> read_stdin(std::uint64_t limit) {
  std::vector<std::uint8_t> bytes;
  std::uint8_t block[65536];
  while (const std::size_t n = std::fread(block, 1, sizeof block, stdin)) {
    bytes.insert(bytes.end(), block, block + n);
    if (bytes.size() > limit) {
      return Error{ErrorCode::kOutOfMemory, fmt::format("-: more than {} bytes", limit)};
    }
  }
  if (std::ferror(stdin) != 0) {
    return Error{ErrorCode::kIo, fmt::format("-: cannot be read: {}", std::strerror(errno))};
  }
  return bytes;
}

// libjpeg and libpng write to stderr by themselves; what matters of it is in our own error.
class QuietStderr {
 public:
  QuietStderr() {
    std::fflush(stderr);
    kept_ = dup(2);
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (kept_ >= 0 && nothing >= 0) dup2(nothing, 2);
    if (nothing >= 0) close(nothing);
  }
  ~QuietStderr() {
    if (kept_ < 0) return;
    dup2(kept_, 2);
    close(kept_);
  }
  QuietStderr(const QuietStderr&) = delete;

 private:
  int kept_ = -1;
};

Result<Picture> load(const std::string& file, const MessageCallback& message) {
  const QuietStderr quiet;
  DecodeOptions options;
  options.message = message;
  if (file != "-") return load_picture(file, options);
  auto bytes = read_stdin(options.max_file_bytes);
  if (!bytes) return std::move(bytes).error();
  return decode_picture(*bytes, "-", options);
}

int print_devices(bool as_json) {
  auto devices = list_devices(say);
  if (!devices) return fail(devices.error());
  if (as_json) fmt::print("[");
  for (const DeviceInfo& d : *devices) {
    if (as_json) {
      fmt::print("{}{{\"index\": {}, \"name\": {}, \"type\": \"{}\", \"driver\": {}}}",
                 d.index == devices->front().index ? "" : ",\n ", d.index, json::quoted(d.name),
                 d.type, json::quoted(d.driver));
    } else {
      fmt::print("{}: {} ({}, {})\n", d.index, d.name, d.type, d.driver);
    }
  }
  if (as_json) fmt::print("]\n");
  return 0;
}

void print_graph_timings(const OcrReader& reader) {
  const OcrNets& nets = reader.nets();
  for (const auto& [name, net] :
       {std::pair{"detect", nets.detect}, {"orient", nets.orient}, {"recognise", nets.recognise}}) {
    if (!net) continue;
    const RunTimings t = net->timings();
    fmt::print(stderr,
               "{:<9} plan {:.0f} ms, upload {:.0f} ms, device {:.0f} ms, download {:.0f} ms, "
               "{} dispatches\n",
               name, t.plan_ms, t.upload_ms, t.gpu_ms, t.download_ms, t.dispatches);
  }
}

void print_timings(const std::string& file, const OcrPage& page) {
  const OcrTimings& t = page.timings;
  fmt::print(stderr,
             "{}: {:.0f} ms: detect {:.0f} ({} runs), orient {:.0f} ({}), recognise {:.0f} ({}), "
             "{} lines\n",
             tool::shown(file), t.total, t.detect, t.detect_runs, t.orient, t.orient_runs,
             t.recognise, t.recognise_runs, page.lines.size());
}

// A line of progress that is written over, on a terminal only.
class Progress {
 public:
  explicit Progress(std::size_t total) : total_(total), on_(total > 1 && isatty(2) != 0) {}
  ~Progress() { clear(); }
  void step(std::size_t done, const std::string& file) const {
    if (on_) fmt::print(stderr, "\r\033[K[{}/{}] {}", done + 1, total_, tool::shown(file));
  }
  void clear() const {
    if (on_) fmt::print(stderr, "\r\033[K");
  }

 private:
  std::size_t total_;
  bool on_;
};

int read_all(const Arguments& arguments) {
  DeviceOptions device_options;
  device_options.message = say;
  device_options.validation = arguments.validation;
  device_options.backend = arguments.backend;
  // A form is one of Vulkan's kernels.
  if (arguments.backend.empty() && !arguments.variant.empty()) device_options.backend = "vulkan";
  if (!arguments.device.empty()) {
    const bool number = arguments.device.find_first_not_of("0123456789") == std::string::npos &&
                        arguments.device.size() < 6;
    if (number) {
      device_options.index = static_cast<std::uint32_t>(std::stoul(arguments.device));
    } else {
      device_options.name = arguments.device;
    }
  }
  auto device = Device::open(device_options);
  if (!device) return fail(device.error());
  GraphOptions graph_options;
  graph_options.variant = arguments.variant;
  graph_options.threads = arguments.threads;
  graph_options.message = say;
  // What is said about a picture waits until stderr is heard again and the progress is wiped off.
  std::vector<std::string> warnings;
  std::string reading;
  OcrOptions ocr_options;
  ocr_options.message = [&](Severity severity, std::string_view text) {
    if (severity != Severity::kInfo) warnings.push_back(fmt::format("{}: {}", reading, text));
  };
  const MessageCallback while_loading = [&](Severity severity, std::string_view text) {
    if (severity != Severity::kInfo) warnings.emplace_back(text);  // which names the file
  };
  const std::string folder = arguments.models.empty() ? default_packs_folder() : arguments.models;
  auto reader = OcrReader::open(folder, *device, graph_options, ocr_options);
  if (!reader) {
    const ErrorCode code = reader.error().code;
    // Only where it is about that folder.
    if ((code != ErrorCode::kIo && code != ErrorCode::kCorrupt) ||
        reader.error().message.find(folder) == std::string::npos) {
      return fail(reader.error());
    }
    return fail(
        {code, fmt::format("{} (packs are looked for in {}; scripts/ocr.sh makes them, --models "
                           "or $SPIRKILN_MODELS names another folder)",
                           tool::with_shown(reader.error().message, folder), tool::shown(folder))});
  }

  int failed = 0;
  const Progress progress(arguments.inputs.size());
  tool::print(report_begin(arguments.format));
  for (std::size_t i = 0; i < arguments.inputs.size(); ++i) {
    const auto& [file, unread] = arguments.inputs[i];
    progress.step(i, file);
    reading = file;
    const auto picture = unread ? Result<Picture>(*unread) : load(file, while_loading);
    auto page = picture ? (arguments.line ? reader->read_line(*picture) : reader->read(*picture))
                        : Result<OcrPage>(picture.error());
    Status drawn = Ok{};
    if (page && !arguments.annotate.empty()) drawn = annotate(*picture, *page, arguments.annotate);
    progress.clear();
    tool::print(page ? report_page(arguments.format, i, file, *page)
                     : report_failure(arguments.format, i, file, page.error()));
    tool::flush();
    for (const std::string& warning : warnings)
      say(Severity::kWarning, tool::with_shown(warning, file));
    warnings.clear();
    if (!page) {
      failed |= fail({page.error().code, tool::with_shown(page.error().message, file)});
    }
    if (!drawn) failed |= fail(drawn.error());
    if (page && arguments.timings) print_timings(file, *page);
  }
  tool::print(report_end(arguments.format));
  if (arguments.timings) {
    fmt::print(stderr, "on {} ({})\n", device->info().name, device->info().driver);
    print_graph_timings(*reader);
  }
  const std::uint64_t complaints = device->validation_message_count();
  if (complaints > 0) {
    return fail({ErrorCode::kVulkan, fmt::format("{} validation messages", complaints)});
  }
  return failed;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Reads text from pictures, on any Vulkan device, from kernels baked offline, or on the CPU.");
  app.footer(
      "Examples:\n"
      "  spirkiln-ocr receipt.jpg                    the lines, in reading order\n"
      "  spirkiln-ocr --json *.png > pages.json      with boxes, scores and angles\n"
      "  spirkiln-ocr --format hocr scans > book.html  all pictures of a folder, as hOCR\n"
      "  spirkiln-ocr --format tsv page.png          in the columns of Tesseract's TSV\n"
      "  spirkiln-ocr --annotate seen.png page.jpg   draws what was found\n"
      "  curl -s URL | spirkiln-ocr -                from standard input\n"
      "Environment:\n"
      "  SPIRKILN_MODELS          as --models\n"
      "  SPIRKILN_BACKEND         as --backend\n"
      "  SPIRKILN_THREADS         as --threads\n"
      "  SPIRKILN_DEVICE          as --device\n"
      "  SPIRKILN_VARIANT         as --variant\n"
      "  SPIRKILN_AVOID, SPIRKILN_KERNELS, SPIRKILN_AXES\n"
      "                           as --avoid, --kernels, --axes\n"
      "  SPIRKILN_NO_PROOF        1: as --no-proof\n"
      "  SPIRKILN_NO_CACHE        1: as --no-cache\n"
      "  SPIRKILN_VALIDATION      1: as --validation; gpu: GPU-assisted, too\n"
      "  SPIRKILN_PROFILE         1: say on stderr how long each step of each graph took\n"
      "  SPIRKILN_TABLE           a table file in place of the built-in kernels\n"
      "  SPIRKILN_CACHE           the folder of all caches and of the packs\n"
      "  SPIRKILN_VULKAN_LIBRARY  libraries to try in place of the usual names\n"
      "  SPIRKILN_CPU_LIBRARY     the same for the CPU backend\n"
      "Exit code: 0; 1 when any file could not be read or written; 2 for a wrong command line.");
  app.set_version_flag("--version", "spirkiln-ocr " SPIRKILN_VERSION);
  Arguments a;
  app.add_option("FILE", a.names,
                 "pictures, or folders of pictures; - reads one from standard input")
      ->check(tool::not_empty());
  const std::map<std::string, Format> formats{{"text", Format::kText},
                                              {"json", Format::kJson},
                                              {"tsv", Format::kTsv},
                                              {"hocr", Format::kHocr}};
  std::string format = "text";
  CLI::Option* format_option =
      app.add_option("--format", format,
                     "text (lines in reading order), json (with boxes, scores and angles), tsv "
                     "(Tesseract's columns) or hocr")
          ->check(CLI::IsMember({"text", "json", "tsv", "hocr"}));
  app.add_flag_callback(
         "--json", [&] { format = "json"; }, "the same as --format json")
      ->excludes(format_option);
  const CLI::Option* annotated = app.add_option(
      "--annotate", a.annotate, "draw what was found into this file (one FILE only)");
  app.add_flag("--rec-only", a.line, "each picture is one cropped line: no detection");
  app.add_option("--backend", a.backend,
                 "vulkan, cpu or auto (which takes the CPU where Vulkan is software or absent)")
      ->check(CLI::IsMember(spirkiln::backend_names()));
  app.add_option("--threads", a.threads, "of the CPU backend (all cores without)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--device", a.device, "index or part of the name of the Vulkan device");
  app.add_flag("--list-devices", a.list_devices, "list Vulkan devices and leave");
  app.add_flag("--timings", a.timings, "say on stderr how long each part took");
  app.add_option("--models", a.models,
                 "folder with det.spkm, cls.spkm, rec.spkm, ppocr_keys_v1.txt");
  app.add_option("--variant", a.variant, "only this form of every kernel")
      ->check(CLI::IsMember(spirkiln::variant_names()));
  tool::add_wish_options(app);
  app.add_flag("--validation", a.validation, "run with the Vulkan validation layers");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return tool::print_help(app, e);
    fmt::print(stderr, "spirkiln-ocr: error: {}\nTry spirkiln-ocr --help.\n", e.what());
    return 2;
  }
  a.format = formats.at(format);
  if (a.list_devices) {
    if (a.format == Format::kText || a.format == Format::kJson) {
      return print_devices(a.format == Format::kJson);
    }
    fmt::print(stderr, "spirkiln-ocr: error: --list-devices knows text and json, not {}\n", format);
    return 2;
  }
  if (a.names.empty()) {
    fmt::print(stderr, "spirkiln-ocr: error: no picture named\nTry spirkiln-ocr --help.\n");
    return 2;
  }
  if (std::count(a.names.begin(), a.names.end(), "-") > 1) {
    fmt::print(stderr, "spirkiln-ocr: error: -, standard input, can be read only once\n");
    return 2;
  }
  a.inputs = pictures_of(a.names);
  if (annotated->count() > 0 && a.inputs.size() != 1) {
    fmt::print(stderr, "spirkiln-ocr: error: --annotate takes exactly one FILE, {} are named\n",
               a.inputs.size());
    return 2;
  }
  if (annotated->count() > 0) {
    if (auto possible = can_annotate(a.annotate); !possible) {
      fail(possible.error());
      return 2;
    }
    // Before a device is opened and a picture read.
    const std::string& input = a.inputs.front().file;
    std::vector<std::filesystem::path> read{input == "-" ? "/dev/stdin" : input};
    const std::filesystem::path models = a.models.empty() ? default_packs_folder() : a.models;
    for (const char* name : {"det.spkm", "cls.spkm", "rec.spkm", "ppocr_keys_v1.txt"}) {
      read.push_back(models / name);
    }
    if (auto status = tool::may_write(a.annotate, read); !status) return fail(status.error());
  }
  return read_all(a);
}

}  // namespace

int main(int argc, char** argv) { return tool::run_program("spirkiln-ocr", run, argc, argv); }
