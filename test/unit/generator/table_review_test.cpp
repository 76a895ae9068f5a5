// SPDX-License-Identifier: Apache-2.0
// What a person reviews: sizes, locks and differences of tables.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "size_report.hpp"
#include "table_diff.hpp"
#include "table_lock.hpp"
#include "workspace.hpp"

using namespace spirkiln;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

namespace {

constexpr std::string_view kManifest =
    "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\nvariants = [\"fp32\", \"fp16s\"]\n"
    "[kernel.axes.TIMES]\nvalues = [2, 3, 4]\n"     // a constant in disguise
    "[kernel.axes.UNUSED]\nvalues = [0, 1]\n";      // changes nothing

std::string source(std::string_view extra, std::string_view head) {
  return "#version 450\n" + std::string(head) +
         "layout(local_size_x_id = 233) in;\n"
         "layout(binding = 0) buffer B { sfp b[]; };\n"
         "layout(push_constant) uniform P { int n; } p;\n"
         "void main() {\n"
         "  const int i = int(gl_GlobalInvocationID.x);\n"
         "  if (i >= p.n) return;\n"
         "  afp v = buffer_ld1(b, i);\n" +
         std::string(extra) +
         "  buffer_st1(b, i, v * afp(TIMES));\n"
         "}\n";
}

struct Baked : test::Workspace {
  Result<Table> table = Error{};
  explicit Baked(std::string_view extra, std::string_view manifest = kManifest,
                 std::string_view head = "") {
    write("kernels/m.toml", manifest);
    write("kernels/k.comp", source(extra, head));
    const auto run = test::run_bake(options());
    for (const auto& m : run.messages) UNSCOPED_INFO(m);
    REQUIRE(run.result.ok());
    table = Table::from_file((*this / "out/test_table.bin").string());
    REQUIRE(table.ok());
  }
};

const gen::AxisBytes& axis(const gen::SizeReport& r, std::string_view name,
                           std::string_view value) {
  for (const auto& a : r.axes) {
    if (a.axis == name && a.value == value) return a;
  }
  FAIL(name << " = " << value << " is not in the report");
  return r.axes.front();
}

}  // namespace

TEST_CASE("report: every byte is counted once, and axes that are constants are named", "[report]") {
  const Baked baked("");
  const auto r = gen::size_report(*baked.table);
  REQUIRE(r.ok());
  CHECK(r->all.variants == 12);
  CHECK(r->all.blobs == 6);  // UNUSED changes nothing
  CHECK(r->all.raw == 2 * r->all.unique);
  CHECK_THAT(r->all.packed, WithinAbs(double(r->frame_bytes), 0.01));
  CHECK(r->file_bytes >= r->frame_bytes + r->index_bytes + r->dictionary_bytes);
  REQUIRE(r->kernels.size() == 1);
  CHECK(r->kernels[0].bytes.unique == r->all.unique);
  const auto& storage = axis(*r, "storage", "fp16s");
  CHECK(storage.bytes.variants == 6);
  CHECK(storage.exclusive.blobs == 3);
  CHECK(storage.exclusive.unique == storage.bytes.unique);
  CHECK(axis(*r, "UNUSED", "1").bytes.variants == 6);
  CHECK(axis(*r, "UNUSED", "1").exclusive.blobs == 0);
  for (const auto& a : r->axes) CHECK(a.axis != "resource");  // one value costs nothing
  CHECK(r->duplicates.size() == 6);
  REQUIRE(r->constants.size() == 1);
  const auto& times = r->constants[0];
  CHECK(times.axis == "TIMES");
  CHECK(times.values == std::vector<std::string>{"2", "3", "4"});
  CHECK(times.pairs == 8);  // two storages x two UNUSED, 3 and 4 against 2
  CHECK(times.saved_unique * 3 == r->all.unique * 2);
  CHECK(r->ids_kept.empty());
  CHECK_THAT(gen::report_text(*r),
             ContainsSubstring("axis TIMES (2, 3, 4) only changes constants"));
  CHECK_THAT(gen::report_json(*r), ContainsSubstring("\"axis\": \"TIMES\", \"values\": [\"2\""));
  const std::string html = gen::report_html(*r);
  CHECK_THAT(html, ContainsSubstring("</html>"));
  for (const char* outside : {"http:", "https:", "<script", "src=", "url("}) {
    CHECK_THAT(html, !ContainsSubstring(outside));
  }
}

TEST_CASE("report: an axis that is only a constant, made one, leaves a smaller table", "[report]") {
  const Baked before("");
  const Baked after("",
                    "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\n"
                    "variants = [\"fp32\", \"fp16s\"]\n"
                    "[kernel.axes.UNUSED]\nvalues = [0, 1]\n",
                    "layout(constant_id = 0) const int TIMES = 2;\n");
  const auto old_sizes = gen::size_report(*before.table);
  const auto new_sizes = gen::size_report(*after.table);
  REQUIRE(old_sizes.ok());
  REQUIRE(new_sizes.ok());
  CHECK(new_sizes->constants.empty());
  CHECK(new_sizes->all.blobs == 2);
  CHECK(new_sizes->all.unique < old_sizes->all.unique);
  CHECK(new_sizes->file_bytes < old_sizes->file_bytes);
}

TEST_CASE("report: a branch on an axis is more than a constant", "[report]") {
  const Baked baked("#if TIMES == 3\n  v += afp(1);\n#endif\n");
  const auto r = gen::size_report(*baked.table);
  REQUIRE(r.ok());
  REQUIRE(r->constants.size() == 1);  // 2 and 4 still differ in nothing else
  CHECK(r->constants[0].values == std::vector<std::string>{"2", "4"});
}

TEST_CASE("lock: stale for what devices need, and for sizes under the same compilers", "[lock]") {
  const Baked baked("");
  const std::string lock = gen::lock_text(*baked.table);
  CHECK_THAT(lock, ContainsSubstring("\nk_fp16s_times3 | "));
  CHECK_THAT(lock, ContainsSubstring("needs Shader,StorageBuffer16BitAccess extensions "
                                     "SPV_KHR_16bit_storage"));
  CHECK(lock.find(baked.root().string()) == std::string::npos);
  const auto same = gen::check_lock(*baked.table, lock);
  REQUIRE(same.ok());
  CHECK(same->stale.empty());
  CHECK(same->notes.empty());

  const Baked other("  v += afp(1);\n");
  const auto edited = gen::check_lock(*other.table, lock);
  REQUIRE(edited.ok());
  CHECK(edited->stale.size() == 12);
  CHECK_THAT(edited->stale[0], ContainsSubstring("module ") && ContainsSubstring("locked "));

  // Under other compilers the same is a note, and other requirements stay an error.
  std::string elsewhere = lock;
  elsewhere.replace(elsewhere.find("made by spirkiln"), 16, "made by another1");
  const auto versions = gen::check_lock(*other.table, elsewhere);
  REQUIRE(versions.ok());
  CHECK(versions->stale.empty());
  CHECK(versions->notes.size() == 13);
  const std::size_t push = elsewhere.find("push 4");
  REQUIRE(push != std::string::npos);
  elsewhere[push + 5] = '8';
  const auto needs = gen::check_lock(*baked.table, elsewhere);
  REQUIRE(needs.ok());
  REQUIRE(needs->stale.size() == 1);
  CHECK(needs->stale[0].ends_with(": push 4, locked 8"));

  const Baked fewer("",
                    "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\nvariants = [\"fp32\"]\n"
                    "[kernel.axes.TIMES]\nvalues = [2, 3, 4, 5]\n"
                    "[kernel.axes.UNUSED]\nvalues = [0, 1]\n");
  const auto gone = gen::check_lock(*fewer.table, lock);
  REQUIRE(gone.ok());
  CHECK(gone->stale.size() == 8);  // six of fp16s went, two of TIMES = 5 came
}

TEST_CASE("lock: what only a second compiler makes may be missing where there is none", "[lock]") {
  const Baked baked("");
  std::string lock = gen::lock_text(*baked.table);
  const std::string line =
      "m_fp16s | 0123456789abcdef 100 bytes shared 0 | vulkan 1.1 spirv 1.3 local "
      "id233,1,1 push 4 needs Shader,CooperativeMatrixKHR\n";
  // A table that had a second compiler has no excuse, nor has a variant that the first one makes.
  const auto none = gen::check_lock(*baked.table, lock + "n | 0 | vulkan 1.0 needs Shader\n");
  REQUIRE(none.ok());
  CHECK(none->stale == std::vector<std::string>{"n: in the lock, not in the table"});
  const std::size_t end = lock.find('\n', lock.find("made by"));
  lock.insert(end, "; 1 variants by glslc 2025.2");
  const auto checked = gen::check_lock(*baked.table, lock + line);
  REQUIRE(checked.ok());
  CHECK(checked->stale.empty());
  REQUIRE(checked->notes.size() == 2);
  CHECK_THAT(checked->notes[0], ContainsSubstring("the lock was made by"));
  CHECK_THAT(checked->notes[1], ContainsSubstring("1 variants of the lock need a second compiler"));
  // What the first compiler made stays strict, though the versions as a whole differ.
  const Baked other("  v += afp(1);\n");
  const auto edited = gen::check_lock(*other.table, lock + line);
  REQUIRE(edited.ok());
  CHECK(edited->stale.size() == 12);
}

TEST_CASE("lock: what is no lock is refused by line", "[lock]") {
  const Baked baked("");
  const std::string lock = gen::lock_text(*baked.table);
  const auto refused = [&](const std::string& text) {
    const auto checked = gen::check_lock(*baked.table, text);
    REQUIRE_FALSE(checked.ok());
    return checked.error().message;
  };
  CHECK_THAT(refused(""), ContainsSubstring("line 1: expected a lock"));
  CHECK_THAT(refused("hello\n"), ContainsSubstring("line 1: expected '# spirkiln lock 1"));
  CHECK_THAT(refused(lock.substr(0, lock.find('\n') + 1)), ContainsSubstring("line 2"));
  CHECK_THAT(refused(lock + "k\n"), ContainsSubstring("line 15: expected 'VARIANT | MODULE"));
  CHECK_THAT(refused(lock + lock.substr(lock.find("k_"))), ContainsSubstring("once"));
  CHECK_THAT(refused(lock + std::string("k\0x", 3)),
             ContainsSubstring("line 15: expected text, not "));
}

TEST_CASE("diff: what came, went and changed", "[diff]") {
  const Baked before("");
  const Baked after("  v += afp(1);\n",
                    "[[kernel]]\nname = \"k\"\nsource = \"k.comp\"\nvariants = [\"fp32\"]\n"
                    "[kernel.axes.TIMES]\nvalues = [2, 3, 4, 5]\n"
                    "[kernel.axes.UNUSED]\nvalues = [0, 1]\n");
  const auto same = gen::diff_tables(*before.table, *before.table, true);
  REQUIRE(same.ok());
  CHECK(same->empty());
  CHECK(same->unchanged == 12);
  const auto d = gen::diff_tables(*before.table, *after.table, true);
  REQUIRE(d.ok());
  CHECK(d->removed.size() == 6);
  CHECK(d->added.size() == 2);
  REQUIRE(d->changed.size() == 6);
  CHECK(d->unchanged == 0);
  CHECK(d->changed[0].bytes_after > d->changed[0].bytes_before);
  CHECK(d->changed[0].needs_after == d->changed[0].needs_before);
  CHECK_THAT(d->changed[0].disassembly, ContainsSubstring("\n+") && ContainsSubstring("OpFAdd"));
  const std::string text = gen::diff_text(*d);
  CHECK_THAT(text, ContainsSubstring("- k_fp16s  ") && ContainsSubstring("+ k_times5  "));
  CHECK_THAT(text, ContainsSubstring("2 added, 6 removed, 6 changed, 0 the same"));
  CHECK_THAT(gen::diff_json(*d), ContainsSubstring("\"removed\": [\n  {\"variant\": \"k_fp16s"));
}
