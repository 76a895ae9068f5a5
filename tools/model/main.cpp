// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli_helpers.hpp"
#include "output_set.hpp"
#include "program.hpp"
#include "shown.hpp"

namespace {

using spirkiln::packer::PackOptions;
using spirkiln::packer::PackReport;

int fail(const spirkiln::Error& error) {
  fmt::print(stderr, "spirkiln-model: error: {}\n", error.message);
  return 1;
}

// The libraries name a file as it is.
spirkiln::Error named(spirkiln::Error error, const std::string& path) {
  error.message = spirkiln::tool::with_shown(std::move(error.message), path);
  return error;
}

int dump(const std::string& path, bool json) {
  const auto bytes = spirkiln::packer::read_pack(path);
  if (!bytes) return fail(named(bytes.error(), path));
  const auto text =
      json ? spirkiln::packer::dump_json(*bytes) : spirkiln::packer::dump_text(*bytes);
  if (!text) return fail(named({text.error().code, path + ": " + text.error().message}, path));
  spirkiln::tool::print(*text);
  return 0;
}

int pack(const std::string& input, const std::string& output, const PackOptions& options,
         bool report, bool json) {
  const bool to_stdout = output == "-";
  if (!to_stdout) {
    if (auto status = spirkiln::tool::check_output(output, false); !status) {
      return fail(status.error());
    }
    if (auto status = spirkiln::tool::refuse_inputs({output}, {input}); !status) {
      return fail(status.error());
    }
  }
  const auto packed = spirkiln::packer::pack_onnx_file(input, options);
  if (!packed) return fail(named(packed.error(), input));
  const std::string_view bytes(reinterpret_cast<const char*>(packed->bytes.data()),
                               packed->bytes.size());
  if (to_stdout) {
    spirkiln::tool::print(bytes);
  } else if (auto status = spirkiln::tool::write_file(output, bytes); !status) {
    return fail(status.error());
  }
  const PackReport& r = packed->report;
  if (json) {
    fmt::print(
        "{{\"onnx_nodes\":{},\"nodes\":{},\"tensors\":{},\"constants\":{},\"constraints\":{},"
        "\"expressions\":{},\"bytes\":{}}}\n",
        r.onnx_nodes, r.nodes, r.tensors, r.constants, r.constraints, r.expressions, r.bytes);
  } else if (report) {
    fmt::print(
        "{} ONNX nodes -> {} nodes, {} tensors, {} constants, {} constraints, {} "
        "expressions, {} bytes\n",
        r.onnx_nodes, r.nodes, r.tensors, r.constants, r.constraints, r.expressions, r.bytes);
  }
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Packs an ONNX graph for the Spirkiln runtime: operators fused, weights in the form "
      "that the kernels read."};
  app.name("spirkiln-model");
  app.set_version_flag("--version", "spirkiln-model " SPIRKILN_VERSION);
  app.footer(
      "Examples:\n"
      "  spirkiln-model det.onnx -o det.spkm --mean 0.485,0.456,0.406 --std "
      "0.229,0.224,0.225\n"
      "  spirkiln-model rec.onnx -o rec.spkm --mean 0.5,0.5,0.5 --std 0.5,0.5,0.5 --report\n"
      "  spirkiln-model dump det.spkm");
  app.get_formatter()->column_width(34);

  std::string input, output, pack_path;
  std::vector<double> mean{0, 0, 0}, std_dev{1, 1, 1};
  PackOptions options;
  bool report = false, json = false, dump_json = false;
  app.add_option("INPUT", input, "The ONNX file")->check(spirkiln::tool::not_empty());
  app.add_option("-o,--output", output,
                 "Where the pack goes (it replaces a file of that name), or - for "
                 "standard output")
      ->check(spirkiln::tool::not_empty());
  app.add_option("--mean", mean, "Of the picture, 0 to 1, three numbers in stored order (BGR)")
      ->delimiter(',')
      ->expected(3)
      ->capture_default_str();
  app.add_option("--std", std_dev, "The same, to divide by")
      ->delimiter(',')
      ->expected(3)
      ->capture_default_str();
  app.add_option("--name", options.name, "Name of the model (default: the ONNX graph's)");
  app.add_flag("--report", report, "Say on stdout what was made");
  app.add_flag("--json", json, "The same as JSON");

  auto* dump_command = app.add_subcommand("dump", "Show what a pack holds");
  dump_command->add_option("PACK", pack_path, "The pack")
      ->required()
      ->check(spirkiln::tool::not_empty());
  dump_command->add_flag("--json", dump_json, "As JSON");
  app.require_subcommand(0, 1);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return spirkiln::tool::print_help(app, e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "spirkiln-model: error: {} (see --help)\n", e.what());
    return 2;
  }
  if (dump_command->parsed()) return dump(pack_path, dump_json);
  if (input.empty() || output.empty()) {
    fmt::print(stderr, "spirkiln-model: error: {} is missing (see --help)\n",
               input.empty() ? "the ONNX file" : "-o OUTPUT");
    return 2;
  }
  if (output == "-" && (report || json)) {
    fmt::print(stderr,
               "spirkiln-model: error: the pack takes standard output (-o -), so --report and "
               "--json have none (see --help)\n");
    return 2;
  }
  for (std::size_t c = 0; c < 3; ++c) {
    options.mean[c] = mean[c];
    options.std[c] = std_dev[c];
  }
  return pack(input, output, options, report, json);
}

}  // namespace

int main(int argc, char** argv) {
  return spirkiln::tool::run_program("spirkiln-model", run, argc, argv);
}
