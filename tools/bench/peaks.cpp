// SPDX-License-Identifier: Apache-2.0
#include "peaks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "json.hpp"

namespace spirkiln::bench {

double Peaks::matrix_tflops() const {
  double best = 0;
  for (const MatrixPeak& m : matrices) best = std::max(best, m.tflops);
  return best;
}

std::string peaks_text(const Peaks& p) {
  std::string text = fmt::format("{} ({})\n", p.device, p.driver);
  const auto line = [&](const std::string& what, double value, const char* unit) {
    text += value > 0 ? fmt::format("  {:34} {:10.4g} {}\n", what, value, unit)
                      : fmt::format("  {:34} {:>10}\n", what, "none");
  };
  line("fp32 multiply-adds", p.fp32_tflops, "TFLOP/s");
  line("fp16 multiply-adds, four lanes", p.fp16_tflops, "TFLOP/s");
  for (const MatrixPeak& m : p.matrices) {
    line("cooperative matrices " + m.shape, m.tflops, "TFLOP/s");
  }
  if (p.matrices.empty()) line("cooperative matrices", 0, "");
  line(fmt::format("copy of {} MiB, read and written", p.copy_bytes >> 20), p.copy_gbs, "GB/s");
  line("workgroup memory, read", p.shared_gbs, "GB/s");
  line("a dispatch that waits for another", p.step_us, "us");
  return text;
}

std::string peaks_json(const Peaks& p) {
  std::string text = fmt::format(
      "{{\"device\": {}, \"driver\": {}, \"fp32_tflops\": {:.6g}, \"fp16_tflops\": {:.6g}, "
      "\"copy_bytes\": {}, \"copy_gbs\": {:.6g}, \"shared_gbs\": {:.6g}, \"step_us\": {:.6g}, "
      "\"matrices\": [",
      json::quoted(p.device), json::quoted(p.driver), p.fp32_tflops, p.fp16_tflops, p.copy_bytes,
      p.copy_gbs, p.shared_gbs, p.step_us);
  const char* separator = "";
  for (const MatrixPeak& m : p.matrices) {
    text += fmt::format("{}{{\"shape\": {}, \"tflops\": {:.6g}}}", separator, json::quoted(m.shape),
                        m.tflops);
    separator = ", ";
  }
  return text + "]}\n";
}

Result<Peaks> read_peaks(const std::string& path) {
  const auto value = json::read_file(path);
  if (!value) return value.error();
  using Type = json::Value::Type;
  const auto wrong = [&](const std::string& what) {
    return Error{ErrorCode::kCorrupt,
                 path + ": expected what spirkiln-bench peak --json prints, with " + what};
  };
  if (value->type != Type::kObject) return wrong("an object");
  Peaks p;
  const auto text_of = [](const json::Value& object, const char* name, std::string* out) {
    const json::Value* member = object.find(name);
    if (member == nullptr || member->type != Type::kString) return false;
    *out = member->string;
    return true;
  };
  const auto number_of = [](const json::Value& object, const char* name, double* out) {
    const json::Value* member = object.find(name);
    if (member == nullptr || member->type != Type::kNumber || !(member->number >= 0)) return false;
    *out = member->number;
    return true;
  };
  for (const auto& [name, out] : {std::pair{"device", &p.device}, {"driver", &p.driver}}) {
    if (!text_of(*value, name, out)) return wrong(fmt::format("a text \"{}\"", name));
  }
  double copy_bytes = 0;
  for (const auto& [name, out] : {std::pair{"fp32_tflops", &p.fp32_tflops},
                                  {"fp16_tflops", &p.fp16_tflops},
                                  {"copy_bytes", &copy_bytes},
                                  {"copy_gbs", &p.copy_gbs},
                                  {"shared_gbs", &p.shared_gbs},
                                  {"step_us", &p.step_us}}) {
    if (!number_of(*value, name, out)) {
      return wrong(fmt::format("a number \"{}\" of 0 or more", name));
    }
  }
  if (copy_bytes > 1e15) return wrong("\"copy_bytes\" of at most 10^15");
  p.copy_bytes = static_cast<std::uint64_t>(copy_bytes);
  const json::Value* matrices = value->find("matrices");
  if (matrices == nullptr || matrices->type != Type::kArray) return wrong("an array \"matrices\"");
  for (const json::Value& m : matrices->array) {
    MatrixPeak peak;
    if (m.type != Type::kObject || !text_of(m, "shape", &peak.shape) ||
        !number_of(m, "tflops", &peak.tflops)) {
      return wrong("\"shape\" and \"tflops\" in each of \"matrices\"");
    }
    p.matrices.push_back(std::move(peak));
  }
  return p;
}

}  // namespace spirkiln::bench
