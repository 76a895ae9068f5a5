// SPDX-License-Identifier: Apache-2.0
// The figures of one dispatch, for people and machines.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "advice.hpp"
#include "analyse.hpp"
#include "levels.hpp"
#include "prediction.hpp"

namespace spirkiln::access {

struct SitePicture {
  std::vector<Request> requests;  // the first of the site
};

struct Report {
  std::string kernel;  // the variant's name
  std::string device;  // that ran it
  std::string shape_source;  // whose warps and sectors: a profile's name, or "options"
  std::array<std::uint32_t, 3> groups{1, 1, 1}, local{1, 1, 1};
  Figures figures;
  std::vector<std::string> texts;  // of the sites' lines
  std::vector<Untraced> untraced;
  std::vector<Advice> advice;
  std::vector<SitePicture> pictures;  // of each site; empty where none are wanted
  std::vector<std::pair<std::string, std::string>>
      statistics;  // of the pipeline, as the driver says
  std::string statistics_missing;  // why there are none
  std::vector<std::string> notes;  // sizes and constants that were assumed
  std::string warning;  // why the figures say nothing of the kernel; empty: they do
  std::optional<PredictedTime> time;  // of the whole dispatch; none without the device's rates
  Prediction dispatch;  // the same, to be run again; without a label
};

std::string report_text(const Report& report);
std::string report_json(const Report& report);
// One page that needs no other file and no script.
std::string report_html(const Report& report);

// "strided by 1024 (4096 bytes)".
std::string pattern_text(const SiteFigures& site);

}  // namespace spirkiln::access
