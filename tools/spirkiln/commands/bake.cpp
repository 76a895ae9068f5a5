// SPDX-License-Identifier: Apache-2.0
#include "bake.hpp"

#include "commands.hpp"
#include "console.hpp"
#include "source_arguments.hpp"
#include "stats.hpp"
#include "watchdog.hpp"

namespace spirkiln::gen {

int run_bake(BakeArguments arguments) {
  BakeOptions& options = arguments.options;
  fill(options, arguments.source);
  if (!arguments.depfile.empty()) options.depfile = arguments.depfile;
  options.embed = embed_form(arguments.embed);
  Progress progress;
  options.progress = [&](std::size_t done, std::size_t all) { progress.show(done, all); };
  const Stopwatch watch;
  const Watchdog watchdog(std::chrono::seconds(arguments.source.time_limit));
  const auto result = bake(options, print_message);
  if (!result.ok()) return fail(result.error());
  return print_stats(arguments.stats, *result, watch);
}

}  // namespace spirkiln::gen
