// SPDX-License-Identifier: Apache-2.0
#include "budgets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "size_report.hpp"

namespace spirkiln::gen {
namespace {

constexpr std::size_t kMostNamed = 3;  // of what takes the bytes

std::uint64_t rounded(double bytes) { return static_cast<std::uint64_t>(bytes + 0.5); }

std::string excess(const Budget& budget, std::string_view what, std::uint64_t packed) {
  Diagnostic d = budget.position;
  d.text = fmt::format(
      "{} {} bytes packed, {} more than the budget of {}; leave out what is not worth its bytes, "
      "or raise the budget",
      what, packed, packed - budget.bytes, budget.bytes);
  return to_string(d);
}

// What would be saved without one of the kernel's values.
std::string most_of_kernel(const Table& table, const std::string& kernel) {
  auto values = axis_bytes(table, table.variants_of(*table.find(kernel)));
  std::stable_sort(values.begin(), values.end(), [](const AxisBytes& a, const AxisBytes& b) {
    return a.exclusive.packed > b.exclusive.packed;
  });
  std::string out;
  for (std::size_t i = 0; i < std::min(values.size(), kMostNamed); ++i) {
    if (rounded(values[i].exclusive.packed) == 0) break;
    out += fmt::format("\n  {} = {}: {} bytes that no other value needs", values[i].axis,
                       values[i].value, rounded(values[i].exclusive.packed));
  }
  return out;
}

std::string most_of_manifest(std::vector<KernelBytes> kernels) {
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.bytes.packed > b.bytes.packed; });
  std::string out;
  for (std::size_t i = 0; i < std::min(kernels.size(), kMostNamed); ++i) {
    out += fmt::format("\n  {}: {} bytes", kernels[i].kernel, rounded(kernels[i].bytes.packed));
  }
  return out;
}

}  // namespace

std::string over_budget(const Table& table, const std::vector<Manifest>& manifests) {
  std::map<std::string, Bytes> by_kernel;
  for (const KernelBytes& kernel : kernel_bytes(table)) by_kernel[kernel.kernel] = kernel.bytes;
  std::string out;
  const auto add = [&](const std::string& text) {
    if (!out.empty()) out += '\n';
    out += text;
  };
  for (const Manifest& manifest : manifests) {
    std::vector<KernelBytes> own;
    double sum = 0;
    for (const KernelManifest& kernel : manifest.kernels) {
      const auto it = by_kernel.find(kernel.name);
      if (it == by_kernel.end()) continue;
      own.push_back({kernel.name, it->second});
      sum += it->second.packed;
      const std::uint64_t packed = rounded(it->second.packed);
      if (!kernel.budget || packed <= kernel.budget->bytes) continue;
      add(excess(*kernel.budget,
                 fmt::format("the variants of '{}' ({}) take", kernel.name, it->second.variants),
                 packed) +
          most_of_kernel(table, kernel.name));
    }
    if (!manifest.budget || rounded(sum) <= manifest.budget->bytes) continue;
    add(excess(*manifest.budget, "the kernels of this manifest take", rounded(sum)) +
        most_of_manifest(std::move(own)));
  }
  return out;
}

std::string missing_from(const Table& table, const std::vector<Manifest>& manifests) {
  for (const Manifest& manifest : manifests) {
    for (const KernelManifest& kernel : manifest.kernels) {
      const auto& budget = kernel.budget ? kernel.budget : manifest.budget;
      if (!budget || table.find(kernel.name) != nullptr) continue;
      Diagnostic d = budget->position;
      d.text = fmt::format(
          "'{}' has a budget and is not in the table '{}'; name the manifests that "
          "the table is made of",
          kernel.name, table.name());
      return to_string(d);
    }
  }
  return {};
}

}  // namespace spirkiln::gen
