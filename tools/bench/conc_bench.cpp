// SPDX-License-Identifier: Apache-2.0
// spirkiln-bench conc: the same work by several threads at once. What they compute must be the bits
// that one thread computes.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "cli_helpers.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "program.hpp"
#if SPIRKILN_BENCH_READS
#include "reading.hpp"
#endif
#include "wish_options.hpp"

namespace spirkiln::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
#if SPIRKILN_BENCH_READS
  ReadingArguments reading;
#endif
  std::vector<std::string> inputs;
  std::string shape, device, backend, variant;
  std::vector<std::uint32_t> threads = {1, 2, 4, 8};
  std::uint32_t runs = 20, seed = 1;
  bool json = false;
};

struct Row {
  std::uint32_t threads = 0;
  double seconds = 0, per_second = 0;
  std::uint64_t runs = 0, mismatches = 0;
};

// The work: `count` different items, each of which leaves bytes that must always be the same.
// `worker` makes what one thread needs of its own. Functions may be called from any thread.
struct Work {
  using Do = std::function<Result<std::string>(std::size_t item)>;
  std::size_t count = 0;
  std::function<Result<Do>()> worker;
};

// `runs` rounds over all items by so many threads, compared with what `wanted` says of each.
Result<Row> run_row(const Work& work, const std::vector<std::string>& wanted, std::uint32_t threads,
                    std::uint32_t runs) {
  std::vector<Work::Do> workers;
  for (std::uint32_t t = 0; t < threads; ++t) {
    auto made = work.worker();
    if (!made) return std::move(made).error();
    workers.push_back(*std::move(made));
    // Pipelines and plans are no part of what is timed.
    for (std::size_t i = 0; i < work.count; ++i) {
      if (const auto done = workers.back()(i); !done) return done.error();
    }
  }
  Row row;
  row.threads = threads;
  row.runs = std::uint64_t{runs} * work.count;
  std::atomic<std::uint64_t> next{0}, mismatches{0};
  std::mutex mutex;
  std::optional<Error> failure;
  const auto body = [&](const Work::Do& work_on) {
    while (true) {
      const std::uint64_t i = next.fetch_add(1);
      if (i >= row.runs) return;
      const std::size_t item = i % work.count;
      const auto got = work_on(item);
      if (!got) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = got.error();
        next.store(row.runs);
        return;
      }
      if (*got != wanted[item]) mismatches.fetch_add(1);
    }
  };
  const auto begin = Clock::now();
  std::vector<std::thread> pool;
  for (const Work::Do& work_on : workers) pool.emplace_back(body, std::cref(work_on));
  for (std::thread& t : pool) t.join();
  row.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (failure) return *failure;
  row.per_second = static_cast<double>(row.runs) / row.seconds;
  row.mismatches = mismatches;
  return row;
}

// Graphs of one device and model, one a thread.
Result<Work> graph_work(const Arguments& arguments, const PictureShape& shape,
                        std::string* device_name) {
  DeviceOptions options = device_options(arguments.device);
  options.backend = arguments.backend.empty() ? "vulkan" : arguments.backend;
  auto device = Device::open(options);
  if (!device) return std::move(device).error();
  *device_name = device->info().name;
  auto model = Model::open(arguments.inputs[0]);
  if (!model) return std::move(model).error();
  // Four pictures, so that what one thread leaves behind would show in another's result.
  auto pictures = std::make_shared<std::vector<std::vector<std::uint8_t>>>();
  for (std::uint32_t i = 0; i < 4; ++i) {
    pictures->push_back(seeded_picture(shape, arguments.seed + i));
  }
  GraphOptions graph_options;
  graph_options.variant = arguments.variant;
  graph_options.message = say;
  Work work;
  work.count = pictures->size();
  work.worker = [=, device = *device, model = *model]() -> Result<Work::Do> {
    auto graph = Graph::create(device, model, graph_options);
    if (!graph) return std::move(graph).error();
    return Work::Do([=, graph = *graph](std::size_t item) mutable -> Result<std::string> {
      const auto outputs = graph.run({shape.n, shape.h, shape.w, (*pictures)[item]});
      if (!outputs) return outputs.error();
      std::string bytes;
      for (const TensorF32& t : *outputs) {
        bytes.append(reinterpret_cast<const char*>(t.values.data()), t.values.size() * 4);
      }
      return bytes;
    });
  };
  return work;
}

#if SPIRKILN_BENCH_READS
// One reader for all threads, as an application would have it.
Result<Work> picture_work(const Arguments& arguments, std::string* device_name) {
  ReadingArguments wanted = arguments.reading;
  wanted.device = arguments.device;
  wanted.backend = arguments.backend;
  wanted.variant = arguments.variant;
  const auto files = picture_files(arguments.inputs);
  if (!files) return files.error();
  auto reading = open_reading(wanted);
  if (!reading) return std::move(reading).error();
  *device_name = reading->device.info().name;
  auto pictures = std::make_shared<std::vector<Picture>>();
  for (const std::string& file : *files) {
    auto picture = load_picture(file);
    if (!picture) return std::move(picture).error();
    pictures->push_back(*std::move(picture));
  }
  Work work;
  work.count = pictures->size();
  work.worker = [=, reader = reading->reader]() -> Result<Work::Do> {
    return Work::Do([=](std::size_t item) -> Result<std::string> {
      const auto page = reader.read((*pictures)[item]);
      if (!page) return page.error();
      std::string bytes;
      for (const OcrLine& line : page->lines) {
        bytes += line.text + '\n';
        bytes.append(reinterpret_cast<const char*>(&line.score), sizeof line.score);
        bytes.append(reinterpret_cast<const char*>(line.box.data()), sizeof line.box);
      }
      return bytes;
    });
  };
  return work;
}
#endif

Result<Work> work_of(const Arguments& arguments, std::string* device_name) {
  if (!arguments.shape.empty()) {
    PictureShape shape;
    if (!parse_shape(arguments.shape, &shape)) {
      return Error{ErrorCode::kInvalidArgument,
                   "--shape " + arguments.shape + ": expected NxHxW such as 1x640x960"};
    }
    if (arguments.inputs.size() != 1) {
      return Error{ErrorCode::kInvalidArgument, "--shape goes with one packed graph"};
    }
    return graph_work(arguments, shape, device_name);
  }
#if SPIRKILN_BENCH_READS
  return picture_work(arguments, device_name);
#else
  return Error{ErrorCode::kInvalidArgument,
               "this program was built without OpenCV and reads no pictures: name a packed graph "
               "and --shape"};
#endif
}

int run_conc(const Arguments& arguments) {
  std::string device_name;
  const auto work = work_of(arguments, &device_name);
  if (!work) {
    return fail(work.error().message, work.error().code == ErrorCode::kInvalidArgument ? 2 : 1);
  }
  std::vector<std::string> wanted;
  {
    auto serial = work->worker();
    if (!serial) return fail(serial.error().message);
    for (std::size_t i = 0; i < work->count; ++i) {
      auto bytes = (*serial)(i);
      if (!bytes) return fail(bytes.error().message);
      wanted.push_back(*std::move(bytes));
    }
  }
  std::vector<Row> rows;
  std::uint64_t mismatches = 0;
  for (const std::uint32_t threads : arguments.threads) {
    const auto row = run_row(*work, wanted, threads, arguments.runs);
    if (!row) return fail(row.error().message);
    rows.push_back(*row);
    mismatches += row->mismatches;
  }
  std::string text;
  if (arguments.json) {
    text = fmt::format("{{\"device\": {}, \"items\": {}, \"rows\": [", json::quoted(device_name),
                       work->count);
    const char* separator = "";
    for (const Row& r : rows) {
      text += fmt::format(
          "{}\n {{\"threads\": {}, \"runs\": {}, \"seconds\": {:.6f}, \"per_second\": {:.4f}, "
          "\"mismatches\": {}}}",
          separator, r.threads, r.runs, r.seconds, r.per_second, r.mismatches);
      separator = ",";
    }
    text += "\n]}\n";
  } else {
    text = fmt::format("{}: {} {}\n", device_name, work->count,
                       arguments.shape.empty() ? "pictures, one reader for all threads"
                                               : "pictures, a graph for each thread");
    for (const Row& r : rows) {
      text += fmt::format("{:4} threads {:10.2f} a second ({:.2f} times the first), {} runs, {}\n",
                          r.threads, r.per_second, r.per_second / rows.front().per_second, r.runs,
                          r.mismatches == 0 ? std::string("all as one thread alone")
                                            : fmt::format("{} DIFFER", r.mismatches));
    }
  }
  tool::print(text);
  if (mismatches == 0) return 0;
  return fail(fmt::format("{} results differ from those of one thread", mismatches));
}

}  // namespace

void add_conc(CLI::App& app, Command* chosen) {
  const auto a = std::make_shared<Arguments>();
  CLI::App* mode = app.add_subcommand(
      "conc", "several threads at once: results a second, bit for bit those of one thread");
  mode->add_option("INPUT", a->inputs,
                   "a packed graph, with --shape; else pictures, or folders of pictures")
      ->required()
      ->check(tool::not_empty());
  mode->add_option("--shape", a->shape, "NxHxW of the pictures of a packed graph");
  mode->add_option("--threads", a->threads, "how many at once, one row each (1,2,4,8 without)")
      ->delimiter(',')
      ->check(CLI::Range(1, 256));
  mode->add_option("--runs", a->runs, "over all pictures, by all threads together")
      ->check(CLI::Range(1, 100000));
  mode->add_option("--variant", a->variant, "only this form of every kernel")
      ->check(CLI::IsMember(variant_names()));
  mode->add_option("--device", a->device, "the device's index, or a part of its name");
  mode->add_option("--backend", a->backend, "vulkan, cpu or auto")
      ->check(CLI::IsMember(backend_names()));
#if SPIRKILN_BENCH_READS
  mode->add_option("--models", a->reading.models,
                   "folder with det.spkm, cls.spkm, rec.spkm, ppocr_keys_v1.txt")
      ->check(tool::not_empty());
#endif
  mode->add_option("--seed", a->seed, "of the pictures of a packed graph");
  mode->add_flag("--json", a->json, "the same as one JSON object");
  tool::add_wish_options(*mode);
  mode->callback([a, chosen] { *chosen = [a] { return run_conc(*a); }; });
}

}  // namespace spirkiln::bench
