// SPDX-License-Identifier: Apache-2.0
#include "second_compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "cache.hpp"
#include "expanded_text.hpp"
#include "link_errors.hpp"
#include "newer_extensions.hpp"
#include "process.hpp"

namespace spirkiln::gen {
namespace fs = std::filesystem;
namespace {

constexpr const char* kPrograms[] = {"glslc", "spirv-dis", "spirv-opt", "spirv-val"};
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{1} << 30;
// What scripts/fetch-glslc.sh makes in the cache; SHA256SUMS is there once all else is.
constexpr const char* kFetched = "glslc-debian13";

std::string_view as_bytes(const std::vector<std::uint32_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * 4};
}

std::string environment(const Target& target) {
  return fmt::format("vulkan1.{}", std::min((target.vulkan >> 12) & 0x3ffu, 3u));
}

std::string target_option(const Target& target) { return "--target-env=" + environment(target); }

Result<std::vector<std::uint32_t>> as_words(const std::string& bytes) {
  std::vector<std::uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  if (words.empty() || bytes.size() % 4 != 0 || words[0] != 0x07230203) {
    return Error{ErrorCode::kCorrupt, "what was written is no SPIR-V module"};
  }
  return words;
}

// Names of files in #line may be anything, a colon in them among others: in the text that goes out
// they are s0, s1 and so on.
struct NumberedText {
  std::string text;
  std::vector<std::string> names;

  std::string name_of(std::string_view numbered, const std::string& kernel) const {
    std::size_t index = 0;
    if (!numbered.starts_with('s')) return kernel;
    const auto [stop, error] =
        std::from_chars(numbered.data() + 1, numbered.data() + numbered.size(), index);
    return error == std::errc{} && index < names.size() ? from_line_name(names[index]) : kernel;
  }
};

NumberedText number_names(std::string_view text) {
  NumberedText out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t open = row.find('"');
    const std::size_t close = row.rfind('"');
    if (row.starts_with("#line ") && open != std::string_view::npos && close > open) {
      const std::string name(row.substr(open + 1, close - open - 1));
      const auto known = std::find(out.names.begin(), out.names.end(), name);
      const auto index = known - out.names.begin();
      if (known == out.names.end()) out.names.push_back(name);
      out.text += fmt::format("{}\"s{}\"\n", row.substr(0, open), index);
    } else {
      out.text += row;
      out.text += '\n';
    }
  }
  return out;
}

// glslc writes "s0:12: error: 'token' : text", or no line where the whole text is to blame.
std::vector<Diagnostic> parse_glslc_log(std::string_view log, const NumberedText& text,
                                        const std::string& kernel, SourceStore& sources) {
  std::vector<Diagnostic> found;
  constexpr std::string_view kLinking = "Linking ";
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view row = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    Diagnostic d;
    std::size_t word = row.find(": error: ");
    std::size_t length = 9;
    if (const std::size_t other = row.find(": warning: "); other < word) {
      d.severity = Severity::kWarning;
      word = other;
      length = 11;
    }
    if (word == std::string_view::npos) continue;
    const std::string_view place = row.substr(0, word);
    const std::string_view message = row.substr(word + length);
    if (message.starts_with(kLinking)) {
      // The rest of the log belongs to it.
      for (Diagnostic& linked :
           parse_link_log(fmt::format("ERROR: {}\n{}", message, log), text.text, kernel, sources)) {
        linked.file = text.name_of(linked.file, kernel);
        found.push_back(std::move(linked));
      }
      return found;
    }
    const std::size_t colon = place.rfind(':');
    if (colon != std::string_view::npos) {
      std::from_chars(place.data() + colon + 1, place.data() + place.size(), d.line);
    }
    d.file = text.name_of(place.substr(0, colon), kernel);
    add_glslang_message(found, std::move(d), message, sources);
  }
  return found;
}

// The rest of the first row of `text` that begins with `word`.
std::string said_of(std::string_view text, std::string_view word) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view row = text.substr(at, end - at);
    if (row.starts_with(word)) return std::string(row.substr(word.size()));
    at = end + 1;
  }
  return {};
}

std::string first_row(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

struct SecondCompiler::Said : ProcessOutcome {};

Result<SecondCompiler::Said> SecondCompiler::run(const char* program,
                                                 std::vector<std::string> arguments,
                                                 std::string_view input) const {
  ProcessRequest request;
  request.folder = folder_;
  if (own_loader_) request.arguments = {"lib/ld.so", "--library-path", "lib"};
  request.arguments.push_back(fmt::format("bin/{}", program));
  request.arguments.insert(request.arguments.end(), arguments.begin(), arguments.end());
  request.input = input;
  auto outcome = run_process(request);
  if (!outcome.ok()) return outcome.error();
  return Said{std::move(outcome).value()};
}

Result<std::string> SecondCompiler::filter(const char* program, std::vector<std::string> arguments,
                                           const std::vector<std::uint32_t>& words) const {
  auto said = run(program, std::move(arguments), as_bytes(words));
  if (!said.ok()) return said.error();
  if (said->status == 0) return std::move(said->out);
  std::string text = first_row(said->err.empty() ? said->out : said->err);
  if (text.starts_with("error: ")) text.erase(0, 7);
  return Error{ErrorCode::kInvalidArgument,
               text.empty() ? fmt::format("{} failed without a message", program) : text};
}

Status SecondCompiler::ask(const std::vector<fs::path>& files) {
  for (const char* program : kPrograms) {
    auto said = run(program, {"--version"}, {});
    if (!said.ok()) return said.error();
    if (said->status != 0) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("'{}' does not start: {}", (folder_ / "bin" / program).string(),
                               first_row(said->err))};
    }
    if (program != kPrograms[0]) continue;
    version_ = fmt::format("glslc {} (glslang {}, spirv-tools {})", said_of(said->out, "shaderc "),
                           said_of(said->out, "glslang "), said_of(said->out, "spirv-tools "));
  }
  std::string all = version_;
  for (const fs::path& file : files) {
    const auto bytes = read_file(file, kMaxFileBytes);
    if (!bytes.ok()) return bytes.error();
    all += fmt::format("\n{} {:016x}", file.filename().string(), hash_bytes(*bytes));
  }
  fingerprint_ = fmt::format("{} {}", version_, cache_key(all));

  std::string text = "#version 450\n";
  for (const std::string_view name : newer_extensions()) {
    text += fmt::format("#extension {} : enable\n", name);
  }
  text += "void main() {}\n";
  SourceStore none;
  const FrontResult result = compile(text, "extensions", kTargets[3], none);
  if (!result.ok) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} in '{}' compiles nothing: {}", version_, folder_.string(),
                             result.diagnostics.empty() ? "" : result.diagnostics.back().text)};
  }
  for (const std::string_view name : newer_extensions()) {
    const bool unknown = std::any_of(
        result.diagnostics.begin(), result.diagnostics.end(),
        [&](const auto& d) { return d.text.ends_with(fmt::format("not supported: {}", name)); });
    if (!unknown) known_.emplace(name);
  }
  return Ok{};
}

Result<std::shared_ptr<const SecondCompiler>> SecondCompiler::open(const fs::path& folder) {
  if (const Status status = check_second_folder(folder); !status.ok()) return status.error();
  auto self = std::make_shared<SecondCompiler>();
  std::error_code code;
  self->folder_ = fs::absolute(folder, code);
  self->own_loader_ = fs::exists(folder / "lib" / "ld.so", code);
  if (const Status status = self->ask(second_folder_files(folder)); !status.ok())
    return status.error();
  return std::shared_ptr<const SecondCompiler>(std::move(self));
}

FrontResult SecondCompiler::compile(const std::string& text, const std::string& name,
                                    const Target& target, SourceStore& sources, bool debug) const {
  FrontResult result;
  const auto fail = [&](std::string said) {
    result.ok = false;
    result.diagnostics.push_back({Severity::kError, name, 0, 0, std::move(said)});
    return result;
  };
  const NumberedText numbered = number_names(text);
  auto said = run("glslc", {"-fshader-stage=comp", target_option(target), "-O0", "-o", "-", "-"},
                  numbered.text);
  if (!said.ok()) return fail(said.error().message);
  result.diagnostics = parse_glslc_log(said->err, numbered, name, sources);
  result.ok = said->status == 0;
  if (result.ok && debug) {
    // Once more, now with the files' own names: there are no messages left to take apart.
    said = run("glslc",
               {"-fshader-stage=comp", target_option(target), "-O0", "-g", "-w", "-o", "-", "-"},
               text);
    if (!said.ok()) return fail(said.error().message);
  }
  if (result.ok) {
    auto words = as_words(said->out);
    if (!words.ok()) return fail(fmt::format("{}: {}", version_, words.error().message));
    result.words = std::move(words).value();
  } else if (std::none_of(result.diagnostics.begin(), result.diagnostics.end(),
                          [](const auto& d) { return d.severity == Severity::kError; })) {
    return fail(fmt::format("{} failed: {}", version_, first_row(said->err)));
  }
  return result;
}

Result<std::vector<std::uint32_t>> SecondCompiler::optimise(const std::vector<std::uint32_t>& words,
                                                            Optimise policy,
                                                            const Target& target) const {
  if (policy == Optimise::kNone) return words;
  auto out = filter("spirv-opt",
                    {target_option(target), policy == Optimise::kSize ? "-Os" : "-O",
                     "--preserve-bindings", "--preserve-spec-constants", "-o", "-", "-"},
                    words);
  return out.ok() ? as_words(*out) : out.error();
}

Result<std::vector<std::uint32_t>> SecondCompiler::strip(const std::vector<std::uint32_t>& words,
                                                         const Target& target) const {
  auto out = filter("spirv-opt",
                    {target_option(target), "--strip-debug", "--strip-nonsemantic", "-o", "-", "-"},
                    words);
  return out.ok() ? as_words(*out) : out.error();
}

Result<std::vector<std::uint32_t>> SecondCompiler::run_passes(
    const std::vector<std::uint32_t>& words, const std::vector<std::string>& passes,
    const Target& target) const {
  std::vector<std::string> arguments = {target_option(target), "--preserve-bindings"};
  arguments.insert(arguments.end(), passes.begin(), passes.end());
  arguments.insert(arguments.end(), {"-o", "-", "-"});
  auto out = filter("spirv-opt", std::move(arguments), words);
  return out.ok() ? as_words(*out) : out.error();
}

Status SecondCompiler::validate(const std::vector<std::uint32_t>& words,
                                const Target& target) const {
  const auto out = filter("spirv-val", {"--target-env", environment(target), "-"}, words);
  if (!out.ok()) return out.error();
  return Ok{};
}

Result<std::string> SecondCompiler::disassemble(const std::vector<std::uint32_t>& words) const {
  return filter("spirv-dis", {"--no-color", "-o", "-", "-"}, words);
}

CompileFunction front_end(const SecondCompiler* second, bool debug) {
  return [second, debug](const std::string& text, const std::string& name, const Target& target,
                         SourceStore& sources) {
    return second == nullptr ? compile(text, name, target, sources, debug)
                             : second->compile(text, name, target, sources, debug);
  };
}

Status check_second_folder(const fs::path& folder) {
  for (const char* program : kPrograms) {
    std::error_code code;
    const fs::path path = folder / "bin" / program;
    if (fs::is_regular_file(path, code)) continue;
    return Error{ErrorCode::kIo,
                 fmt::format("'{}' is missing: a second compiler is a folder with bin/glslc, "
                             "bin/spirv-dis, bin/spirv-opt and bin/spirv-val; "
                             "scripts/fetch-glslc.sh makes one",
                             path.string())};
  }
  return Ok{};
}

std::vector<fs::path> second_folder_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const char* program : kPrograms) files.push_back(folder / "bin" / program);
  std::error_code code;
  if (fs::exists(folder / "lib" / "ld.so", code)) {
    for (fs::directory_iterator it(folder / "lib", code), end; !code && it != end;
         it.increment(code)) {
      files.push_back(it->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string second_folder_state(const fs::path& folder) {
  std::string all;
  for (const fs::path& file : second_folder_files(folder)) {
    std::error_code code;
    const auto time = fs::last_write_time(file, code).time_since_epoch().count();
    all += fmt::format("{} {} {}\n", file.string(), fs::file_size(file, code), time);
  }
  return all;
}

std::optional<fs::path> second_folder(const std::string& named) {
  const auto from = [](const std::string& text) {
    return text == "none" ? std::nullopt : std::optional<fs::path>(text);
  };
  if (!named.empty()) return from(named);
  const char* folder = std::getenv("SPIRKILN_GLSLC");
  if (folder != nullptr && *folder != '\0') return from(folder);
  const auto root = cache_root();
  std::error_code code;
  if (!root || !fs::exists(*root / kFetched / "SHA256SUMS", code)) return std::nullopt;
  return *root / kFetched;
}

}  // namespace spirkiln::gen
