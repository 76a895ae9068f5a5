// SPDX-License-Identifier: Apache-2.0
// What each variant loses of a value that is stored and loaded again, against double precision; the
// table of it in glsl/README.md is what this test writes.
#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>

#include "functions.hpp"
#include "skipped.hpp"

using namespace spirkiln;
using namespace spirkiln::test;

namespace {

constexpr const char* kReadme = SPIRKILN_SOURCE_ROOT "/glsl/README.md";
constexpr const char* kBegin = "<!-- measured: scripts/renew-error-table writes what follows -->\n";
constexpr const char* kEnd = "<!-- measured: end -->\n";

// Three quarters between the smallest normal and the largest half, the worst among them: what lies
// in the middle of two halves or of two bf16, and just below a half. Then smaller ones.
std::vector<std::uint32_t> values(std::size_t count) {
  std::mt19937 random(20234);
  std::vector<std::uint32_t> v;
  const auto add = [&](double value) {
    const float f = static_cast<float>(random() % 2 == 0 ? value : -value);
    if (v.size() < count) v.push_back(std::bit_cast<std::uint32_t>(f));
  };
  for (int e = -14; e < 15; ++e) {
    for (const double m :
         {1.0, 1.0 + 0x1p-11, 1.0 + 0x1p-10 - 0x1p-23, 1.0 + 0x1p-8, 1.0 + 0x1p-7 - 0x1p-23}) {
      add(std::ldexp(m, e));
    }
  }
  const auto spread = [&](int from, int to) {
    return std::ldexp(1.0 + random() / 0x1p32, from + static_cast<int>(random() % (to - from)));
  };
  while (v.size() < count / 4 * 3) add(spread(-14, 15));
  while (v.size() < count) add(spread(-26, -14));
  return v;
}

struct Errors {
  double relative = 0;  // of normal halves
  double absolute = 0;  // below those
};

struct Trip {
  Trial store, load;
  const Function *store_function, *load_function;
  std::vector<std::uint32_t> in;
};

const Function& named(std::span<const Function> all, const std::string& name) {
  return *std::find_if(all.begin(), all.end(), [&](const Function& f) { return f.name == name; });
}

Trip make_trip(const Variant& v, const std::string& lanes) {
  const auto all = v.on_images() ? image_functions() : buffer_functions();
  const std::string room = v.on_images() ? "imageD_" : "buffer_";
  const std::uint32_t dims = v.on_images() ? 2 : 0;
  Trip t;
  t.store_function = &named(all, room + "st" + lanes);
  t.load_function = &named(all, room + "ld" + lanes);
  t.store = make_trial(*t.store_function, v, dims, 0);
  t.load = make_trial(*t.load_function, v, dims, 0);
  t.in = values(t.store.lanes);
  t.in.resize(t.store.before.size());
  t.store.job.bindings[0].bytes = pack_lanes(Codec::kF32, t.in);
  t.store.job.words = compile_for(v, t.store.text, "store.comp");
  t.load.job.words = compile_for(v, t.load.text, "load.comp");
  return t;
}

Errors errors_of(const Trip& t) {
  const auto out = unpack_lanes(Codec::kF32, t.load.job.bindings[1].bytes);
  Errors e;
  for (std::uint32_t lane = 0; lane < t.store.lanes; ++lane) {
    const std::uint32_t stored = read_from(*t.load_function, lane, t.load.lanes);
    const std::uint32_t from = read_from(*t.store_function, stored, t.store.lanes);
    const double want = std::bit_cast<float>(t.in[from]);
    const double off = std::abs(std::bit_cast<float>(out[lane]) - want);
    if (std::abs(want) >= 0x1p-14) {
      e.relative = std::max(e.relative, off / std::abs(want));
    } else {
      e.absolute = std::max(e.absolute, off);
    }
  }
  return e;
}

struct Measured {
  const Variant* variant;
  Codec codec;
  std::optional<Errors> errors;  // nothing where the device lacks what the variant needs
};

// One lane and four lanes of each variant, in their order.
std::vector<Measured> measure() {
  std::vector<Measured> all;
  std::vector<Trip> trips;
  std::vector<std::size_t> of;
  std::vector<Job> stores, loads;
  for (const Variant& v : variants()) {
    for (const char* lanes : {"1", "4"}) {
      Trip t = make_trip(v, lanes);
      all.push_back({&v, t.store.codec, std::nullopt});
      if (const auto missing = lacks(device()->state()->caps, t.store.job.words)) {
        skipped()[t.store.job.name + " and back"] = *missing;
        continue;
      }
      of.push_back(all.size() - 1);
      stores.push_back(t.store.job);
      trips.push_back(std::move(t));
    }
  }
  Status status = run_jobs(*device(), stores);
  if (!status) FAIL(status.error().message);
  for (std::size_t i = 0; i < trips.size(); ++i) {
    trips[i].load.job.bindings[0].bytes = stores[i].bindings[1].bytes;
    loads.push_back(trips[i].load.job);
  }
  status = run_jobs(*device(), loads);
  if (!status) FAIL(status.error().message);
  for (std::size_t i = 0; i < trips.size(); ++i) {
    trips[i].load.job = std::move(loads[i]);
    all[of[i]].errors = errors_of(trips[i]);
  }
  return all;
}

const std::vector<Measured>& measured() {
  static const std::vector<Measured> all = measure();
  return all;
}

std::string number(double v) {
  if (v == 0) return "0";
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", v);
  return text;
}

std::string measured_text() {
  const Conversions& c = conversions();
  std::string text = "On lavapipe, found by plain GLSL:\n\n";
  text += "- `packHalf2x16` rounds " + to_text(c.pack) + ".\n";
  text += "- A conversion to `float16_t` rounds " + to_text(c.convert) + ".\n";
  text += "- `imageStore` into an image of 16 bits rounds " + to_text(c.image) + ".\n";
  const bool exact = !c.unpack_flushes && !c.convert_flushes && !c.fetch_flushes;
  text += std::string("- `unpackHalf2x16`, conversions from `float16_t` and `texelFetch` ") +
          (exact ? "are exact.\n" : "make subnormal halves 0.\n");
  text += std::string("- A float that becomes a `float16_t` and a float again in one kernel ") +
          (c.excess ? "may keep all its bits.\n" : "is rounded.\n");
  text +=
      "\nThe largest error of a value that is stored and loaded again (images: two dimensions), by "
      "two\nkernels: relative from 2^-14 to 65504, absolute below.\n\n"
      "| variant | one lane, relative | absolute | four lanes, relative | absolute |\n"
      "| --- | --- | --- | --- | --- |\n";

  for (std::size_t i = 0; i < variants().size(); ++i) {
    const auto& one = measured()[i * 2].errors;
    const auto& four = measured()[i * 2 + 1].errors;
    if (!one || !four) continue;
    text += "| " + variants()[i].title() + " | " + number(one->relative) + " | " +
            number(one->absolute) + " | " + number(four->relative) + " | " +
            number(four->absolute) + " |\n";
  }
  return text;
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("errors: the table in the documentation is what is measured", "[errors]") {
  const std::string text = measured_text();
  if (!on_lavapipe()) {
    std::printf("%s", text.c_str());
    return;
  }
  REQUIRE_FALSE(text.empty());
  std::string readme = read(kReadme);
  const std::size_t begin = readme.find(kBegin), end = readme.find(kEnd);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  const std::size_t from = begin + std::string(kBegin).size();
  if (std::getenv("SPIRKILN_RENEW_ERROR_TABLE") == nullptr) {
    INFO("scripts/renew-error-table renews it");
    CHECK(readme.substr(from, end - from) == text);
    return;
  }
  readme.replace(from, end - from, text);
  const std::string temporary = std::string(kReadme) + ".new";
  std::ofstream(temporary) << readme;
  std::filesystem::rename(temporary, kReadme);
}

// What the names promise, whatever the device: half an ulp, or one where it may cut.
TEST_CASE("errors: no variant loses more than its type says", "[errors]") {
  for (const Measured& m : measured()) {
    if (!m.errors) continue;
    const bool exact = m.codec == Codec::kF32 && !m.variant->half_arithmetic;
    const bool bf16 = m.codec == Codec::kBf16;
    INFO(m.variant->title() << ": relative " << m.errors->relative << ", absolute "
                            << m.errors->absolute);
    // Towards zero loses up to a whole ulp: 2^-10 of a half. 2^-8 is half an ulp of a bf16.
    CHECK(m.errors->relative <= (exact ? 0 : bf16 ? 0x1p-8 : 0x1p-10));
    // Subnormal halves may be flushed; bf16 has none here.
    CHECK(m.errors->absolute <= (exact ? 0 : bf16 ? 0x1p-22 : 0x1p-14));
  }
}
