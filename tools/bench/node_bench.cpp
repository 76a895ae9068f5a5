// SPDX-License-Identifier: Apache-2.0
// spirkiln-bench cmp and layers: what single nodes of a graph compute.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <span>

#include "cli_helpers.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "output_set.hpp"
#include "program.hpp"
#include "wish_options.hpp"

namespace spirkiln::bench {
namespace {

struct Arguments {
  std::string pack, shape, variant, device, node, out, raw, backend = "vulkan";
  double tolerance = 0;  // 0: by the form
  std::uint32_t seed = 1;
  bool json = false;
};

Result<Graph> open_graph(const Arguments& arguments, const std::string& backend) {
  DeviceOptions options = device_options(backend == "cpu" ? "" : arguments.device);
  options.backend = backend;
  const auto device = Device::open(options);
  if (!device) return device.error();
  const auto model = Model::open(arguments.pack);
  if (!model) return model.error();
  GraphOptions graph_options;
  if (backend != "cpu") graph_options.variant = arguments.variant;
  graph_options.message = say;
  return Graph::create(*device, *model, graph_options);
}

struct Difference {
  double worst = 0, largest = 0;  // of the values that are compared with
  std::size_t at = 0;
  double relative() const { return largest > 0 ? worst / largest : worst; }
};

Difference difference(const std::vector<float>& got, const std::vector<float>& wanted) {
  Difference d;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double off = std::abs(double{got[i]} - double{wanted[i]});
    if (!(off <= d.worst)) d.worst = std::isnan(off) ? INFINITY : off, d.at = i;
    d.largest = std::max(d.largest, std::abs(double{wanted[i]}));
  }
  return d;
}

// Nodes at a time: each piece runs the graph up to its end once more.
constexpr std::size_t kPiece = 16;

// Errors of 16 bits add up over a graph; these are far above what the three graphs show and far
// below what a wrong kernel makes.
double default_tolerance(const std::string& variant) {
  const bool fp32 = variant == "fp32" || variant == "image";
  return fp32 ? 1e-3 : 0.1;
}

int run_cmp(const Arguments& arguments) {
  PictureShape shape;
  if (!parse_shape(arguments.shape, &shape)) return wrong_shape(arguments.shape);
  auto device = open_graph(arguments, "vulkan");
  if (!device) return fail(device.error().message);
  auto cpu = open_graph(arguments, "cpu");
  if (!cpu) return fail(cpu.error().message);
  const auto bytes = picture_bytes(shape, arguments.seed, arguments.raw);
  if (!bytes) return fail(bytes.error().message);
  const Pictures pictures{shape.n, shape.h, shape.w, *bytes};
  const double tolerance =
      arguments.tolerance > 0 ? arguments.tolerance : default_tolerance(device->variant());
  const auto nodes = device->nodes();
  std::optional<std::size_t> first_off;
  if (arguments.json) tool::print("[");
  for (std::size_t first = 0; first < nodes.size(); first += kPiece) {
    const std::size_t count = std::min(kPiece, nodes.size() - first);
    const auto got = device->run_nodes(pictures, first, count);
    if (!got) return fail(got.error().message);
    const auto wanted = cpu->run_nodes(pictures, first, count);
    if (!wanted) return fail(wanted.error().message);
    for (std::size_t i = 0; i < count; ++i) {
      const TensorF32& is = (*got)[i];
      const TensorF32& want = (*wanted)[i];
      if (want.values.empty()) continue;  // part of another node on the CPU
      const NodeInfo& node = nodes[first + i];
      if (is.values.size() != want.values.size()) {
        return fail(fmt::format("node {} ({}): {} values, the CPU has {}", first + i, node.name,
                                is.values.size(), want.values.size()));
      }
      const Difference d = difference(is.values, want.values);
      const bool off = !(d.relative() <= tolerance);
      if (off && !first_off) first_off = first + i;
      if (arguments.json) {
        tool::print(
            fmt::format("{}\n {{\"node\": {}, \"op\": {:?}, \"name\": {:?}, \"max_abs\": {:.6g}, "
                        "\"largest\": {:.6g}, \"at\": {}, \"diverges\": {}}}",
                        first + i == 0 ? "" : ",", first + i, node.op, node.name,
                        std::isfinite(d.worst) ? d.worst : 1e308, d.largest, d.at, off));
      } else {
        tool::print(fmt::format("{:4} {:14} max abs {:<10.3g} of {:<10.3g} {}{}\n", first + i,
                                node.op, d.worst, d.largest, node.name, off ? "  DIVERGES" : ""));
      }
    }
  }
  if (arguments.json) tool::print("\n]\n");
  if (!first_off) return 0;
  return fail(fmt::format("first divergence: node {} ({} {}), more than {:g} of its largest value",
                          *first_off, nodes[*first_off].op, nodes[*first_off].name, tolerance));
}

// By number or name.
Result<std::size_t> find_node(const std::string& text, std::span<const NodeInfo> nodes) {
  std::size_t number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = wrong == std::errc() && end == text.data() + text.size();
  if (is_number && number < nodes.size()) return number;
  const auto named =
      std::find_if(nodes.begin(), nodes.end(), [&](const NodeInfo& n) { return n.name == text; });
  if (named != nodes.end()) return static_cast<std::size_t>(named - nodes.begin());
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("--node {}: there are nodes 0 to {}; the last is named {}", text,
                           nodes.size() - 1, nodes.back().name)};
}

int run_layers(const Arguments& arguments) {
  PictureShape shape;
  if (!parse_shape(arguments.shape, &shape)) return wrong_shape(arguments.shape);
  if (!arguments.out.empty()) {
    if (auto s = tool::may_write(arguments.out, {arguments.pack, arguments.raw}); !s) {
      return fail(s.error().message);
    }
  }
  auto graph = open_graph(arguments, arguments.backend);
  if (!graph) return fail(graph.error().message);
  const auto nodes = graph->nodes();
  const auto node = find_node(arguments.node, nodes);
  if (!node) return fail(node.error().message, 2);
  const auto bytes = picture_bytes(shape, arguments.seed, arguments.raw);
  if (!bytes) return fail(bytes.error().message);
  const auto values = graph->run_nodes({shape.n, shape.h, shape.w, *bytes}, *node, 1);
  if (!values) return fail(values.error().message);
  const TensorF32& t = values->front();
  if (t.values.empty()) {
    return fail(fmt::format("node {} ({}) is a part of another one on this backend", *node,
                            nodes[*node].name));
  }
  double least = INFINITY, most = -INFINITY, sum = 0;
  std::size_t not_finite = 0;
  for (const float v : t.values) {
    if (!std::isfinite(v)) {
      ++not_finite;
      continue;
    }
    least = std::min(least, double{v});
    most = std::max(most, double{v});
    sum += v;
  }
  const double mean =
      sum / static_cast<double>(std::max<std::size_t>(1, t.values.size() - not_finite));
  if (!arguments.out.empty()) {
    const std::string_view raw(reinterpret_cast<const char*>(t.values.data()),
                               t.values.size() * sizeof(float));
    if (const auto written = tool::write_file(arguments.out, raw); !written) {
      return fail(written.error().message);
    }
  }
  if (arguments.json) {
    // Of nothing finite there is no least and no most.
    const auto number = [&](double v) {
      return std::isfinite(v) ? fmt::format("{:.9g}", v) : "null";
    };
    tool::print(
        fmt::format("{{\"node\": {}, \"op\": {}, \"name\": {}, \"variant\": {}, \"n\": {}, \"h\": "
                    "{}, \"w\": {}, "
                    "\"c\": {}, \"min\": {}, \"max\": {}, \"mean\": {}, \"not_finite\": {}}}\n",
                    *node, json::quoted(nodes[*node].op), json::quoted(nodes[*node].name),
                    json::quoted(graph->variant()), t.n, t.h, t.w, t.c, number(least), number(most),
                    number(mean), not_finite));
    return 0;
  }
  tool::print(
      fmt::format("node {} ({} {}) in {}: {}x{}x{}x{}, {:g} to {:g}, mean {:g}, {} not finite\n",
                  *node, nodes[*node].op, nodes[*node].name, graph->variant(), t.n, t.h, t.w, t.c,
                  least, most, mean, not_finite));
  return 0;
}

void add_common(CLI::App* mode, Arguments* a) {
  mode->add_option("PACK", a->pack, "the packed graph")->required()->check(tool::not_empty());
  mode->add_option("--shape", a->shape, "NxHxW of the pictures")->required();
  mode->add_option("--variant", a->variant, "the form to run (without: as the runtime chooses)")
      ->check(CLI::IsMember(variant_names()));
  mode->add_option("--seed", a->seed, "of the picture");
  add_raw(mode, &a->raw);
  mode->add_option("--device", a->device, "the device's index, or a part of its name");
}

}  // namespace

void add_cmp(CLI::App& app, Command* chosen) {
  const auto a = std::make_shared<Arguments>();
  CLI::App* mode = app.add_subcommand(
      "cmp", "every node on the device against the CPU backend; ends with 1 where they diverge");
  add_common(mode, a.get());
  mode->add_option("--tolerance", a->tolerance,
                   "share of a node's largest value (0.001 for fp32, 0.1 for 16 bits)")
      ->check(CLI::PositiveNumber);
  mode->add_flag("--json", a->json, "the same as a JSON array");
  tool::add_wish_options(*mode);
  mode->callback([a, chosen] { *chosen = [a] { return run_cmp(*a); }; });
}

void add_layers(CLI::App& app, Command* chosen) {
  const auto a = std::make_shared<Arguments>();
  CLI::App* mode = app.add_subcommand("layers", "what one node computes");
  add_common(mode, a.get());
  mode->add_option("--node", a->node, "the node's number or name")->required();
  mode->add_option("--out", a->out, "its values there, as little-endian floats, channels innermost")
      ->check(tool::not_empty());
  mode->add_option("--backend", a->backend, "vulkan or cpu")
      ->check(CLI::IsMember({"vulkan", "cpu"}));
  mode->add_flag("--json", a->json, "the line that is printed as one JSON object");
  tool::add_wish_options(*mode);
  mode->callback([a, chosen] { *chosen = [a] { return run_layers(*a); }; });
}

}  // namespace spirkiln::bench
