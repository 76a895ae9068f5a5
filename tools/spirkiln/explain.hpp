// SPDX-License-Identifier: Apache-2.0
// What became of every point of a manifest's product, and what a kernel asks about the device.
#pragma once

#include <string>
#include <vector>

#include "device_axes.hpp"

namespace spirkiln::gen {

enum class Fate { kKept, kMerged, kPruned, kLeftOut };

struct Point {
  std::string variant;
  Fate fate = Fate::kKept;
  std::string detail;  // the variant it was merged into, the rule that pruned it, what is missing
  std::string compiler;  // the second one's version, where it compiled this; else empty
};

struct ExplainedKernel {
  std::string name;
  std::string source;
  std::vector<TestedMacro> tested;
  std::vector<Axis> axes;
  std::vector<Point> points;
};

// "merged a_twice into a", and who compiled it where that was the second compiler.
std::string point_text(const Point& point);

std::string explain_text(const std::vector<ExplainedKernel>& kernels);
std::string explain_json(const std::vector<ExplainedKernel>& kernels);

// Macros that a kernel tests; `by_variant` are those that the variants decide.
struct KernelQuestions {
  std::string source;
  std::vector<TestedMacro> tested;
  std::vector<std::string> by_variant;
};
KernelQuestions ask_kernel(const SourceFiles& files);
std::string questions_text(const std::vector<KernelQuestions>& kernels);
std::string questions_json(const std::vector<KernelQuestions>& kernels);

}  // namespace spirkiln::gen
