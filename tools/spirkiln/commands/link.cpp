// SPDX-License-Identifier: Apache-2.0

#include "commands.hpp"
#include "console.hpp"
#include "link_objects.hpp"
#include "source_arguments.hpp"
#include "stats.hpp"

namespace spirkiln::gen {

int run_link(LinkArguments arguments) {
  LinkOptions& options = arguments.options;
  options.embed = embed_form(arguments.embed);
  options.cache = cache_folder(arguments.cache);
  const Stopwatch watch;
  const auto result = link_objects(options);
  if (!result.ok()) return fail(result.error());
  return print_stats(arguments.stats, *result, watch);
}

}  // namespace spirkiln::gen
