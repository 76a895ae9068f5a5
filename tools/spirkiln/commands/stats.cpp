// SPDX-License-Identifier: Apache-2.0
#include "stats.hpp"

#include <fmt/format.h>

#include "console.hpp"
#include "json_text.hpp"

namespace spirkiln::gen {
namespace {

// "1 kernel", "2 kernels".
std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string json_text(const BakeStats& s, double seconds) {
  return fmt::format(
      "{{\"up_to_date\": {}, \"manifests\": {}, \"kernels\": {}, \"variants\": {}, "
      "\"pruned\": {}, \"left_out\": {}, \"texts\": {}, \"cache_hits\": {}, \"compiled\": {}, "
      "\"unoptimised\": {}, \"by_second\": {}, \"second\": {}, \"unique_blobs\": {}, "
      "\"raw_bytes\": {}, "
      "\"unique_bytes\": {}, \"packed_bytes\": {}, "
      "\"table_bytes\": {}, \"object_bytes\": {}, \"seconds\": {:.3f}}}\n",
      s.up_to_date, s.manifests, s.kernels, s.variants, s.pruned, s.left_out, s.texts, s.cache_hits,
      s.compiled, s.unoptimised, s.by_second,
      s.by_second == 0 ? "null" : json_string(s.second_version), s.unique_blobs, s.raw_bytes,
      s.unique_bytes, s.packed_bytes, s.table_bytes, s.object_bytes, seconds);
}

}  // namespace

int print_stats(const StatsArguments& arguments, const BakeStats& s, const Stopwatch& watch) {
  if (!arguments.stats) return 0;
  const double seconds = watch.seconds();
  if (arguments.json) return write_stdout(json_text(s, seconds));
  if (s.up_to_date) return write_stdout(fmt::format("up to date, {:.3f} s\n", seconds));
  std::string text;
  if (s.manifests != 0) {
    text += fmt::format("{}, {}, {}, {} pruned{}\n", counted(s.manifests, "manifest"),
                        counted(s.kernels, "kernel"), counted(s.variants, "variant"), s.pruned,
                        s.left_out == 0 ? "" : fmt::format(", {} left out", s.left_out));
    text += fmt::format("{}: {} from the cache, {} compiled\n", counted(s.texts, "distinct text"),
                        s.cache_hits, s.compiled);
    if (s.unoptimised != 0) text += fmt::format("{} variants not optimised\n", s.unoptimised);
    if (s.by_second != 0) {
      text += fmt::format("{} by {}\n", counted(s.by_second, "variant"), s.second_version);
    }
  } else {
    text += fmt::format("{}, {}\n", counted(s.kernels, "kernel"), counted(s.variants, "variant"));
  }
  if (s.table_bytes != 0) {
    text += fmt::format("{}: {} bytes, {} without duplicates, {} packed; table of {} bytes\n",
                        counted(s.unique_blobs, "distinct blob"), s.raw_bytes, s.unique_bytes,
                        s.packed_bytes, s.table_bytes);
  }
  if (s.object_bytes != 0) text += fmt::format("object of {} bytes\n", s.object_bytes);
  return write_stdout(text + fmt::format("{:.3f} s\n", seconds));
}

}  // namespace spirkiln::gen
