// SPDX-License-Identifier: Apache-2.0
// spirkiln-bench ab: two programs, forms or backends in turn, each run a process of its own.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "cli_helpers.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "program.hpp"
#include "shown.hpp"
#include "statistics.hpp"

extern char** environ;

namespace spirkiln::bench {
namespace {

struct Arguments {
  std::string a, b, figure;
  std::vector<std::string> mode;
  std::uint32_t rounds = 10;
  double cool_down = 1;
  bool json = false;
};

// One of the two sides.
struct Side {
  std::string text;     // as given
  std::string program;  // this one, where none is named
  std::vector<std::string> options;      // behind those that both have
  std::vector<std::string> environment;  // NAME=value, before this process' own
  std::vector<double> values;
  std::string text_hash;  // of e2e: what was read
};

// What the figure of a mode is, where none is named: dots go into objects, numbers into arrays.
std::string default_figure(const std::string& mode) {
  if (mode == "graph") return "forms.0.wall_ms";
  if (mode == "e2e") return "median_ms";
  if (mode == "cold") return "first_result_ms";
  if (mode == "prof") return "run_us";
  return {};
}

// "program=PATH", "variant=fp16s", "backend=cpu", "device=0", "env:NAME=value", separated by
// commas.
Result<Side> parse_side(const std::string& name, const std::string& text) {
  Side side;
  side.text = text;
  std::error_code unknown;
  side.program = std::filesystem::read_symlink("/proc/self/exe", unknown).string();
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    at = comma + 1;
    const std::size_t equal = part.find('=');
    const std::string key = part.substr(0, equal);
    const std::string value = equal == part.npos ? "" : part.substr(equal + 1);
    if (equal != part.npos && key == "program" && !value.empty()) {
      side.program = value;
    } else if (equal != part.npos && (key == "variant" || key == "backend" || key == "device") &&
               !value.empty()) {
      side.options.push_back("--" + key);
      side.options.push_back(value);
    } else if (equal != part.npos && key.starts_with("env:") && key.size() > 4) {
      side.environment.push_back(part.substr(4));
    } else if (!part.empty() || text.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{} '{}': expected program=PATH, variant=NAME, backend=NAME, "
                               "device=NAME or env:NAME=VALUE, separated by commas",
                               name, tool::shown(text))};
    }
  }
  if (side.program.empty()) {
    return Error{
        ErrorCode::kUnsupported,
        name + ": this system does not say which program this is; name it by program=PATH"};
  }
  return side;
}

// Ends with its standard output, or with an error that tells how it ended. Its stderr is ours.
Result<std::string> run_program_once(const Side& side, const std::vector<std::string>& mode) {
  std::vector<std::string> words = {side.program};
  words.insert(words.end(), mode.begin(), mode.end());
  words.insert(words.end(), side.options.begin(), side.options.end());
  words.emplace_back("--json");
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<std::string> variables = side.environment;
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string_view variable = *v;
    const std::string_view name = variable.substr(0, variable.find('='));
    const bool replaced =
        std::any_of(side.environment.begin(), side.environment.end(),
                    [&](const std::string& own) { return own.substr(0, own.find('=')) == name; });
    if (!replaced) variables.emplace_back(variable);
  }
  for (std::string& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);

  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) {
    return Error{ErrorCode::kIo, fmt::format("no pipe: {}", std::strerror(errno))};
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, side.program.c_str(), &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string out;
  std::array<char, 65536> block{};
  while (failed == 0) {
    const ssize_t n = read(ends[0], block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    out.append(block.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  if (failed != 0) {
    return Error{ErrorCode::kIo, fmt::format("{} cannot be started: {}", tool::shown(side.program),
                                             std::strerror(failed))};
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error{ErrorCode::kIo,
                 fmt::format("{} {} ended with {} {}", tool::shown(side.program), mode[0],
                             WIFEXITED(status) ? "exit status" : "signal",
                             WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status))};
  }
  return out;
}

const json::Value* at_path(const json::Value& value, const std::string& path) {
  const json::Value* here = &value;
  std::size_t at = 0;
  while (here != nullptr && at <= path.size()) {
    const std::size_t dot = std::min(path.find('.', at), path.size());
    const std::string key = path.substr(at, dot - at);
    at = dot + 1;
    if (here->type == json::Value::Type::kArray) {
      const bool number = !key.empty() && key.size() < 9 &&
                          key.find_first_not_of("0123456789") == std::string::npos;
      const std::size_t index = number ? std::stoul(key) : here->array.size();
      here = index < here->array.size() ? &here->array[index] : nullptr;
    } else {
      here = here->type == json::Value::Type::kObject ? here->find(key) : nullptr;
    }
  }
  return here;
}

Result<double> measure(Side& side, const std::vector<std::string>& mode,
                       const std::string& figure) {
  const auto out = run_program_once(side, mode);
  if (!out) return out.error();
  const auto value = json::parse(*out, side.program + " " + mode[0] + " --json");
  if (!value) return value.error();
  const json::Value* number = at_path(*value, figure);
  if (number == nullptr || number->type != json::Value::Type::kNumber || !(number->number > 0)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("--figure {}: no number above 0 of this name in what {} {} --json "
                             "prints; parts are separated by dots, as in forms.0.gpu_ms",
                             figure, tool::shown(side.program), mode[0])};
  }
  if (const json::Value* hash = value->find("text_hash");
      hash != nullptr && hash->type == json::Value::Type::kString) {
    side.text_hash = hash->string;
  }
  side.values.push_back(number->number);
  return number->number;
}

int run_ab(const Arguments& arguments) {
  auto a = parse_side("--a", arguments.a);
  if (!a) return fail(a.error().message, 2);
  auto b = parse_side("--b", arguments.b);
  if (!b) return fail(b.error().message, 2);
  const std::string figure =
      arguments.figure.empty() ? default_figure(arguments.mode[0]) : arguments.figure;
  if (figure.empty()) {
    return fail(fmt::format("'{}' has no figure of its own: name one by --figure",
                            tool::shown(arguments.mode[0])),
                2);
  }
  const auto cool = [&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(arguments.cool_down));
  };
  for (std::uint32_t round = 0; round < arguments.rounds; ++round) {
    // A B, B A, A B ...: what drifts slowly meets both alike.
    for (Side* side : round % 2 == 0 ? std::array{&*a, &*b} : std::array{&*b, &*a}) {
      if (round > 0 || side == &*b) cool();
      const auto value = measure(*side, arguments.mode, figure);
      if (!value) return fail(value.error().message);
    }
  }
  const Ratio ratio = paired_ratio(a->values, b->values);
  const bool same_text = a->text_hash == b->text_hash;
  const bool has_text = !a->text_hash.empty() || !b->text_hash.empty();
  std::string text;
  if (arguments.json) {
    const auto list = [](const std::vector<double>& values) {
      std::string all;
      for (const double v : values) all += fmt::format("{}{:.6g}", all.empty() ? "" : ", ", v);
      return all;
    };
    text = fmt::format(
        "{{\"figure\": {}, \"a\": {}, \"b\": {}, \"a_values\": [{}], \"b_values\": [{}], "
        "\"ratio\": {:.6g}, \"low\": {:.6g}, \"high\": {:.6g}, \"same_text\": {}}}\n",
        json::quoted(figure), json::quoted(a->text), json::quoted(b->text), list(a->values),
        list(b->values), ratio.mean, ratio.low, ratio.high,
        !has_text   ? "null"
        : same_text ? "true"
                    : "false");
  } else {
    for (const auto& [name, side] : {std::pair{"a", &*a}, {"b", &*b}}) {
      text += fmt::format("{}: median {:.4g}, least {:.4g}, of {} runs  {}\n", name,
                          median(side->values), quantile(side->values, 0), side->values.size(),
                          tool::shown(side->text));
    }
    const char* verdict = ratio.high < 1  ? "b is less"
                          : ratio.low > 1 ? "b is more"
                                          : "no difference shows";
    text += fmt::format("{}: b / a {:.4f}, 95 % within {:.4f} and {:.4f}: {}\n", figure, ratio.mean,
                        ratio.low, ratio.high, arguments.rounds > 1 ? verdict : "one pair");
    if (has_text) text += same_text ? "both read the same text\n" : "they read DIFFERENT texts\n";
  }
  tool::print(text);
  return 0;
}

}  // namespace

void add_ab(CLI::App& app, Command* chosen) {
  const auto args = std::make_shared<Arguments>();
  CLI::App* mode = app.add_subcommand(
      "ab", "two programs, forms or backends in turn, with pauses: their ratio and how sure it is");
  const char* side =
      "program=PATH, variant=NAME, backend=NAME, device=NAME, env:NAME=VALUE, separated by commas";
  mode->add_option("--a", args->a, side)->required();
  mode->add_option("--b", args->b, side)->required();
  mode->add_option("--rounds", args->rounds, "pairs of runs")->check(CLI::Range(1, 10000));
  mode->add_option("--cool-down", args->cool_down, "seconds before each run but the first")
      ->check(CLI::Range(0.0, 3600.0));
  mode->add_option("--figure", args->figure,
                   "of the mode's JSON (without: forms.0.wall_ms of graph, median_ms of e2e, "
                   "first_result_ms of cold, run_us of prof)");
  mode->add_flag("--json", args->json, "the same, and every figure, as one JSON object");
  mode->add_option("MODE", args->mode,
                   "graph, e2e, cold or another mode, and its arguments, "
                   "behind --")
      ->required();
  mode->callback([args, chosen] { *chosen = [args] { return run_ab(*args); }; });
}

}  // namespace spirkiln::bench
