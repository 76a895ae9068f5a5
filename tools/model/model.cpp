// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include "importer.hpp"
#include "onnx_reader.hpp"
#include "pack_check.hpp"
#include "pack_error.hpp"
#include "pack_writer.hpp"
#include "passes.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <new>

namespace spirkiln::packer {
namespace {

Status check_options(const PackOptions& options) {
  for (std::size_t c = 0; c < 3; ++c) {
    const bool ok = std::isfinite(options.mean[c]) && std::isfinite(options.std[c]) &&
                    std::fabs(options.mean[c]) <= 1000 && options.std[c] >= 1e-6;
    if (!ok) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("channel {}: mean {} and std {} are no normalisation (std must be "
                               "above 0)",
                               c, options.mean[c], options.std[c])};
    }
  }
  return Ok{};
}

Result<Packed> pack(const std::string& origin, const PackOptions& options,
                    const std::function<OnnxGraph()>& read) {
  if (const Status status = check_options(options); !status) return status.error();
  try {
    const OnnxGraph onnx = read();
    const auto named = [&](const PackError& e) {
      return Error{e.error().code, fmt::format("{}: {}", origin, e.error().message)};
    };
    try {
      Graph graph = Importer(onnx).run();
      fuse(graph);
      if (graph.nodes.empty()) fail_unsupported("its output is its input: there is nothing to run");
      PackOptions with_name = options;
      if (with_name.name.empty()) with_name.name = onnx.name;
      Packed packed;
      packed.bytes = write_pack(graph, with_name);
      auto opened = open_pack(packed.bytes);
      if (!opened) {
        return Error{opened.error().code,
                     fmt::format("{}: the pack made from it fails its check: {}", origin,
                                 opened.error().message)};
      }
      packed.report = {onnx.nodes.size(),     opened->nodes.size(),       opened->tensors.size(),
                       opened->consts.size(), opened->constraints.size(), opened->exprs.size(),
                       packed.bytes.size()};
      return packed;
    } catch (const PackError& e) {
      return named(e);
    }
  } catch (const PackError& e) {
    return e.error();  // the reader names the file itself
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, fmt::format("{}: not enough memory", origin)};
  } catch (const std::exception& e) {
    return Error{ErrorCode::kCorrupt, fmt::format("{}: {}", origin, e.what())};
  }
}

}  // namespace

Result<Packed> pack_onnx_file(const std::string& path, const PackOptions& options) {
  return pack(path, options, [&] { return read_onnx_file(path); });
}

Result<Packed> pack_onnx_bytes(std::string_view bytes, const std::string& origin,
                               const PackOptions& options) {
  return pack(origin, options, [&] { return read_onnx_bytes(bytes, origin); });
}

Status validate_pack(const std::vector<std::uint8_t>& bytes) {
  const auto opened = open_pack(bytes);
  if (!opened) return opened.error();
  return Ok{};
}

}  // namespace spirkiln::packer
