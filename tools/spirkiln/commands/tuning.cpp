// SPDX-License-Identifier: Apache-2.0
#include "tuning_file.hpp"

#include "commands.hpp"
#include "console.hpp"

namespace spirkiln::gen {

int run_tuning(const TuningArguments& arguments) {
  SourceStore sources;
  const auto file = sources.load(arguments.file);
  if (!file.ok()) return fail(file.error());
  const auto tuning = parse_tuning(**file);
  if (!tuning.ok()) return fail(tuning.error());
  if (arguments.output.empty()) return 0;
  const Status possible = check_single_output(arguments.output, {arguments.file});
  return possible.ok() ? write_single_output(arguments.output, tuning_header(*tuning))
                       : fail(possible.error());
}

}  // namespace spirkiln::gen
