// SPDX-License-Identifier: Apache-2.0
// Stores of lanes that share a word with lanes of others: many invocations, many times, none may be
// lost and no neighbour harmed.
#include <bit>
#include <catch2/catch_test_macros.hpp>

#include "skipped.hpp"
#include "variants.hpp"
#include "vulkan_run.hpp"

using namespace spirkiln;
using namespace spirkiln::test;

namespace {

constexpr std::uint32_t kInvocations = 4096;
constexpr std::uint32_t kRounds = 16;
constexpr std::byte kSentinel{0x5a};

enum class Type { kFloat, kInt8, kInt16 };

struct Store {
  const char* name;
  int edition;  // 0: both
  Type type;
  const char* from;  // nothing: the value is (lane + n) & 127
  std::uint32_t lanes;
  const char* body;  // at(lane) is the place of a lane, n the round
};

constexpr Store kStores[] = {
    {"buffer_st1", 0, Type::kFloat, "", 1, "buffer_st1(dst, at(i), afp(float((i + n) & 127)));"},
    {"buffer_cp1", 0, Type::kFloat, "sfp", 1, "buffer_cp1(dst, at(i), src, from);"},
    {"buffer_cp4to1", 0, Type::kFloat, "sfpvec4", 4, "buffer_cp4to1(dst, at4(i * 4), src, from);"},
    {"buffer_cp8to1", 2023, Type::kFloat, "sfpvec8", 8,
     "buffer_cp8to1(dst, at4(i * 8), at4(i * 8 + 4), src, from);"},
    {"i8buffer_st1", 2026, Type::kInt8, "", 1, "i8buffer_st1(dst, at(i), (i + n) & 127);"},
    {"i8buffer_cp1", 2026, Type::kInt8, "sint8", 1, "i8buffer_cp1(dst, at(i), src, from);"},
    {"i8buffer_cp4to1", 2026, Type::kInt8, "sint8vec4", 4,
     "i8buffer_cp4to1(dst, at4(i * 4), src, from);"},
    {"i16buffer_st1", 2026, Type::kInt16, "", 1,
     "i16buffer_st1(dst, at(i), aint16((i + n) & 127));"},
    // Pairs whose lanes lie in two words, each shared with another pair.
    {"i16buffer_st2", 2026, Type::kInt16, "", 2,
     "i16buffer_st2(dst, at(i) * 2 + 1, (ivec2(i * 2, i * 2 + 1) + n) & 127);"},
};

// Places come in three regions: lanes side by side; lanes of a word as far apart as can be (other
// workgroups, other threads); and every second lane, so that the others show what harms them.
struct Places {
  std::uint32_t count;  // of places, kInvocations * lanes (of pairs: kInvocations)
  std::uint32_t per_word;  // lanes
  std::uint32_t of(std::uint32_t region, std::uint32_t x) const {
    if (region == 0) return x;
    if (region == 1) return count * 2 + x % (count / per_word) * per_word + x / (count / per_word);
    return count * 4 + x * 2 + 1;
  }
  std::uint32_t end() const { return count * 6; }
};

std::string number(std::uint32_t v) { return std::to_string(v); }

struct Contest {
  Job job;
  std::string text;
  Codec codec = Codec::kF32;
  std::vector<std::uint32_t> expected;
};

Contest make_contest(const Store& s, const Variant& v) {
  Contest c;
  c.codec = s.type == Type::kInt8 ? Codec::kI8 : s.type == Type::kInt16 ? v.int16 : v.scalar;
  const bool pairs = s.lanes == 2;
  const std::uint32_t lanes = kInvocations * s.lanes;
  const Places places{pairs ? kInvocations : lanes,
                      static_cast<std::uint32_t>(s.type == Type::kInt8 ? 4 : 2)};
  const std::string n = number(places.count), k = number(places.per_word);
  const char* to = s.type == Type::kInt8 ? "sint8" : s.type == Type::kInt16 ? "sint16" : "sfp";
  c.text = std::string("#version 450\nlayout(local_size_x = 64) in;\n") +
           "layout(binding = 0) readonly buffer A { " + (*s.from == '\0' ? "uint" : s.from) +
           " src[]; };\nlayout(binding = 1) writeonly buffer B { " + to + " dst[]; };\n" +
           "layout(push_constant) uniform P { int regions; int rounds; } p;\nint region;\nint "
           "at(int x) {\n  if (region == 0) return x;\n  if (region == 1) return " +
           n + " * 2 + x % (" + n + " / " + k + ") * " + k + " + x / (" + n + " / " + k +
           ");\n  return " + n + " * 4 + x * 2 + 1;\n}\n" +
           "ivec4 at4(int x) { return ivec4(at(x), at(x + 1), at(x + 2), at(x + 3)); }\n" +
           "void main() {\n  int i = int(gl_GlobalInvocationID.x);\n" +
           "  for (region = 0; region < p.regions; ++region) {\n" +
           "    for (int n = 0; n < p.rounds; ++n) {\n" + "      int from = (i + " +
           number(kRounds - 1) + " - n) & " + number(kInvocations - 1) + ";\n      " + s.body +
           "\n    }\n  }\n}\n";

  // What is copied: of vectors, as buffers of vectors hold it.
  const bool vectors = *s.from != '\0' && s.lanes > 1;
  const Codec from = s.type != Type::kFloat ? c.codec : vectors ? v.vector : v.scalar;
  std::vector<std::uint32_t> source(lanes);
  for (std::uint32_t x = 0; x < lanes; ++x) {
    // No NaN: those of a copy that packs need not keep their bits.
    source[x] = from == Codec::kF32 ? std::bit_cast<std::uint32_t>(static_cast<float>(x % 1999))
                                    : (x * 2654435761u >> 16) % 0x7c00;
    if (from == Codec::kI8) source[x] &= 0xff;
  }
  const std::size_t all = pairs ? places.end() * 2 + 2 : places.end();
  std::vector<std::byte> before(all * bytes_of(c.codec), kSentinel);
  c.expected = unpack_lanes(c.codec, before);
  for (std::uint32_t region = 0; region < 3; ++region) {
    for (std::uint32_t x = 0; x < lanes; ++x) {
      const std::uint32_t at =
          pairs ? places.of(region, x / 2) * 2 + 1 + x % 2 : places.of(region, x);
      if (*s.from != '\0') {
        c.expected[at] =
            from == c.codec
                ? source[x]
                : std::bit_cast<std::uint32_t>(widen_half(static_cast<std::uint16_t>(source[x])));
        continue;
      }
      const std::uint32_t value = (x + kRounds - 1) & 127;
      switch (c.codec) {
        case Codec::kF32:
          c.expected[at] = std::bit_cast<std::uint32_t>(static_cast<float>(value));
          break;
        case Codec::kF16:
          c.expected[at] = narrow_half(static_cast<float>(value));
          break;
        case Codec::kBf16:
          c.expected[at] = narrow_bf16(static_cast<float>(value));
          break;
        default:
          c.expected[at] = value;
      }
    }
  }
  c.job.name = v.title() + ": " + s.name + " under contention";
  c.job.bindings = {{pack_lanes(from, source), {}}, {std::move(before), {}}};
  c.job.push = {3, kRounds};  // no constants: nothing is to be unrolled
  c.job.groups = {kInvocations / 64, 1, 1};
  return c;
}

void run_contests(const Variant& v, bool integers) {
  const Option option = option_of(v);
  std::vector<Contest> contests;
  std::vector<Job> jobs;
  for (const Store& s : kStores) {
    if ((s.type != Type::kFloat) != integers) continue;
    if (s.edition != 0 && (s.edition == 2026) != v.is_2026()) continue;
    Contest c = make_contest(s, v);
    Compiled compiled = try_compile(option, c.text, "kernel.comp");
    if (compiled.words.empty()) FAIL(c.job.name << ":\n" << compiled.said << c.text);
    if (const auto missing = lacks(device()->state()->caps, compiled.words)) {
      skipped()[c.job.name] = *missing;
      continue;
    }
    c.job.words = std::move(compiled.words);
    jobs.push_back(c.job);
    contests.push_back(std::move(c));
  }
  const Status status = run_jobs(*device(), jobs);
  if (!status) FAIL(status.error().message);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const auto got = unpack_lanes(contests[j].codec, jobs[j].bindings[1].bytes);
    std::size_t bad = 0, first = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] != contests[j].expected[i] && bad++ == 0) first = i;
    }
    INFO(jobs[j].name << ": lane " << first << ": expected " << contests[j].expected[first]
                      << ", got " << got[first]);
    CHECK(bad == 0);
  }
}

}  // namespace

TEST_CASE("stores of single lanes harm no neighbour", "[dialect]") {
  for (const Variant& v : variants()) {
    if (!v.on_images()) run_contests(v, false);  // buffers are the same there
  }
  for (const Variant& v : integer_variants()) run_contests(v, true);
}
