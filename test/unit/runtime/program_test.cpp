// SPDX-License-Identifier: Apache-2.0
// Barriers, and what the builder refuses.
#include "graph/program.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>

#include "graph/schedule.hpp"
#include "support/table_writer.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Access {
  std::uint32_t buffer;
  bool reads, writes;
};

Program program_of(const std::vector<ProgramBuffer>& buffers,
                   const std::vector<std::vector<Access>>& steps) {
  Program p;
  p.buffers = buffers;
  for (const auto& accesses : steps) {
    Step s;
    for (const Access& a : accesses) s.uses.push_back({0, a.buffer, a.reads, a.writes});
    p.steps.push_back(s);
  }
  return p;
}

std::string pattern(Program p) {
  place_barriers(&p);
  std::string text;
  for (const Step& s : p.steps) text += s.barrier_before ? '|' : '.';
  return text;
}

const std::vector<ProgramBuffer> kApart = {{Home::kArena, 0, 64, "a"},
                                           {Home::kArena, 64, 64, "b"},
                                           {Home::kArena, 128, 64, "c"},
                                           {Home::kArena, 192, 64, "d"},
                                           {Home::kWeights, 0, 64, "w"}};
constexpr Access read(std::uint32_t b) { return {b, true, false}; }
constexpr Access write(std::uint32_t b) { return {b, false, true}; }

}  // namespace

TEST_CASE("a barrier stands only before a step that depends on one since the last") {
  // b = f(a); c = f(b): dependent
  CHECK(pattern(program_of(kApart, {{write(0)}, {read(0), write(1)}, {read(1), write(2)}})) ==
        ".||");
  // b = f(a); c = g(a): independent, share one
  CHECK(pattern(program_of(kApart, {{write(0)}, {read(0), write(1)}, {read(0), write(2)}})) ==
        ".|.");
  // ... and what uses both needs one more
  CHECK(pattern(program_of(kApart, {{write(0)},
                                    {read(0), write(1)},
                                    {read(0), write(2)},
                                    {read(1), read(2), write(3)}})) == ".|.|");
  // Write after read, and write after write.
  CHECK(pattern(program_of(kApart, {{read(0), write(1)}, {write(0)}})) == ".|");
  CHECK(pattern(program_of(kApart, {{write(0)}, {write(0)}})) == ".|");
  // Reads never conflict.
  CHECK(pattern(program_of(kApart, {{read(4), write(0)}, {read(4), write(1)}})) == "..");
  // A read satisfied by an earlier barrier needs no second one.
  CHECK(pattern(program_of(
            kApart, {{write(0)}, {read(0), write(1)}, {read(0), read(4), write(2)}})) == ".|.");
}

TEST_CASE("buffers that share bytes conflict, equal offsets of other homes do not") {
  std::vector<ProgramBuffer> buffers = {{Home::kArena, 0, 100, "a"},
                                        {Home::kArena, 96, 64, "b"},
                                        {Home::kArena, 160, 64, "c"},
                                        {Home::kDownload, 0, 100, "d"}};
  CHECK(pattern(program_of(buffers, {{write(0)}, {write(1)}})) == ".|");
  CHECK(pattern(program_of(buffers, {{write(0)}, {write(2)}})) == "..");
  CHECK(pattern(program_of(buffers, {{write(0)}, {write(3)}})) == "..");
}

TEST_CASE("with the barriers placed, no two steps of one group conflict, and none is needless") {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<ProgramBuffer> buffers;
    for (int i = 0; i < 8; ++i) {
      buffers.push_back({Home::kArena, random() % 512, 1 + random() % 128, "x"});
    }
    std::vector<std::vector<Access>> steps(20);
    for (auto& s : steps) {
      for (int i = 0; i < 3; ++i) {
        const bool writes = random() % 2 != 0;
        s.push_back(
            {static_cast<std::uint32_t>(random() % 8), !writes || random() % 2 != 0, writes});
      }
    }
    Program p = program_of(buffers, steps);
    place_barriers(&p);
    auto conflict = [&](const Step& x, const Step& y) {
      for (const Use& a : x.uses) {
        for (const Use& b : y.uses) {
          if (!a.writes && !b.writes) continue;
          const auto& s = p.buffers[a.buffer];
          const auto& t = p.buffers[b.buffer];
          if (s.offset < t.offset + t.bytes && t.offset < s.offset + s.bytes) return true;
        }
      }
      return false;
    };
    std::size_t begin = 0;
    for (std::size_t i = 0; i < p.steps.size(); ++i) {
      bool any = false;
      for (std::size_t j = begin; j < i; ++j) any = any || conflict(p.steps[j], p.steps[i]);
      REQUIRE(p.steps[i].barrier_before == any);
      if (any) begin = i;
    }
  }
}

namespace {

Table small_table() {
  TestBlob b;
  b.bindings = {{0, table::kReadOnly}, {1, table::kWriteOnly}};
  b.push_bytes = 4;
  b.specs = {{0, "count"}, {233, "local_size_x"}};
  b.local_size_id[0] = 233;
  auto t = Table::from_bytes(
      write_table({{"copy", {{"copy", kFp32.storage, kFp32.arithmetic, {}, b}}}}), "test");
  REQUIRE(t);
  return *t;
}

// A module with `shared float a[length];`, length being constant 0: no more of one than is asked.
std::vector<std::uint32_t> shared_module() {
  std::vector<std::uint32_t> words = {0x07230203, 0x00010000, 0, 20, 0};
  const auto op = [&](std::uint32_t code, const std::vector<std::uint32_t>& operands) {
    words.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16 | code);
    words.insert(words.end(), operands.begin(), operands.end());
  };
  op(17, {1});                      // OpCapability Shader
  op(14, {0, 1});                   // OpMemoryModel Logical GLSL450
  op(15, {5, 1, 0x6e69616d, 0});    // OpEntryPoint GLCompute %1 "main"
  op(16, {1, 17, 1, 1, 1});         // OpExecutionMode %1 LocalSize 1 1 1
  op(71, {4, 1, 0});                // OpDecorate %4 SpecId 0
  op(21, {2, 32, 0});               // %2 = OpTypeInt 32 0
  op(22, {3, 32});                  // %3 = OpTypeFloat 32
  op(50, {2, 4, 16});               // %4 = OpSpecConstant %2 16
  op(28, {5, 3, 4});                // %5 = OpTypeArray %3 %4
  op(32, {6, 4, 5});                // %6 = OpTypePointer Workgroup %5
  op(59, {6, 7, 4});                // %7 = OpVariable %6 Workgroup
  op(19, {8});                      // %8 = OpTypeVoid
  op(33, {9, 8});                   // %9 = OpTypeFunction %8
  op(54, {8, 1, 0, 9});             // %1 = OpFunction %8 None %9
  op(248, {10});
  op(253, {});
  op(56, {});
  return words;
}

Lowered copy_of(BufferRef from, BufferRef to) {
  Lowered lowered;
  Dispatch d;
  d.kernel = "copy";
  d.buffers = {from, to};
  d.push_u32(1);
  lowered.dispatches.push_back(d);
  return lowered;
}

struct Built {
  DeviceCaps caps;
  Table table = small_table();
  ProgramBuilder builder{table, caps, {kFp32}};
  std::uint32_t in = builder.add_weights(0, 64, "in");
  std::uint32_t out = builder.add_buffer(Home::kDownload, 64, "out");
  Status add(const Lowered& lowered) {
    return builder.add(
        lowered,
        [&](const BufferRef& r) -> Result<std::uint32_t> {
          return r.kind == BufferKind::kInput ? in : out;
        },
        "node");
  }
};

}  // namespace

TEST_CASE("the builder takes a chain through scratch and places it") {
  Built b;
  Lowered lowered = copy_of({BufferKind::kInput}, {BufferKind::kScratch, 0});
  lowered.dispatches.push_back(
      copy_of({BufferKind::kScratch, 0}, {BufferKind::kOutput}).dispatches[0]);
  lowered.scratch_bytes = {100};
  REQUIRE(b.add(lowered));
  auto p = b.builder.finish();
  REQUIRE(p);
  CHECK(p->steps.size() == 2);
  CHECK(p->steps[1].barrier_before);
  CHECK(p->home_bytes[static_cast<std::size_t>(Home::kArena)] == 256);
  CHECK(p->home_bytes[static_cast<std::size_t>(Home::kDownload)] == 256);
}

TEST_CASE("what lowering and kernel disagree about is named") {
  auto refused = [](auto change) {
    Built b;
    Lowered lowered = copy_of({BufferKind::kInput}, {BufferKind::kOutput});
    change(lowered, b);
    const Status s = b.add(lowered);
    REQUIRE_FALSE(s);
    return s.error().message;
  };
  CHECK_THAT(refused([](Lowered& l, Built&) { l.dispatches[0].push_u32(2); }),
             ContainsSubstring("8 bytes of push constants"));
  CHECK_THAT(refused([](Lowered& l, Built&) { l.dispatches[0].buffers.pop_back(); }),
             ContainsSubstring("binding 1"));
  CHECK_THAT(refused([](Lowered& l, Built&) { l.dispatches[0].specs = {{"size", 3}}; }),
             ContainsSubstring("no specialization constant size"));
  CHECK_THAT(refused([](Lowered& l, Built&) { l.dispatches[0].local_size = {256, 0, 0}; }),
             ContainsSubstring("the device allows 128"));
  CHECK_THAT(refused([](Lowered& l, Built&) { l.dispatches[0].local_size = {0, 2, 0}; }),
             ContainsSubstring("fixed to 1"));
  CHECK_THAT(refused([](Lowered& l, Built&) { l.dispatches[0].groups = {70000, 1, 1}; }),
             ContainsSubstring("70000 workgroups"));
  CHECK_THAT(refused([](Lowered& l, Built&) { l.dispatches[0].groups = {0, 1, 1}; }),
             ContainsSubstring("0 workgroups"));
  CHECK_THAT(refused([](Lowered& l, Built&) { l.dispatches[0].kernel = "other"; }),
             ContainsSubstring("no kernel \"other\""));
  CHECK_THAT(
      refused([](Lowered& l, Built&) { l.dispatches[0].buffers[0] = {BufferKind::kScratch, 3}; }),
      ContainsSubstring("no scratch buffer 3"));
  CHECK_THAT(refused([](Lowered& l, Built& b) {
               b.in = b.builder.add_weights(0, (1u << 27) + 16, "big");
               l.dispatches[0].buffers[0] = {BufferKind::kInput};
             }),
             ContainsSubstring("maxStorageBufferRange"));
}

TEST_CASE("workgroup memory that grows with a constant is held against the device") {
  TestBlob blob;
  blob.bindings = {{0, table::kReadOnly}, {1, table::kWriteOnly}};
  blob.push_bytes = 4;
  blob.specs = {{0, "length"}};
  blob.shared_bytes = 64;
  blob.words = shared_module();
  auto table = Table::from_bytes(
      write_table({{"copy", {{"copy", kFp32.storage, kFp32.arithmetic, {}, blob}}}}), "test");
  REQUIRE(table);
  Built b{{}, *table};
  b.caps.name = "this device";
  b.caps.max_shared_bytes = 32768;
  Lowered lowered = copy_of({BufferKind::kInput}, {BufferKind::kOutput});
  const auto add = [&](std::uint32_t length) {
    lowered.dispatches[0].specs = {{"length", length}};
    return b.add(lowered);
  };
  CHECK(add(32768 / 4));
  CHECK(add(32768 / 4));
  for (int i = 0; i < 2; ++i) {  // what is refused is not remembered as what fits
    const Status large = add(32768 / 4 + 1);
    REQUIRE_FALSE(large);
    CHECK(large.error().code == ErrorCode::kUnsupported);
    CHECK(large.error().message ==
          "node, kernel copy: with these constants it needs 32772 bytes of shared memory, this "
          "device has 32768");
  }
}

TEST_CASE("reading what nothing has written is refused") {
  Built b;
  Lowered lowered = copy_of({BufferKind::kScratch, 0}, {BufferKind::kOutput});
  lowered.scratch_bytes = {64};
  REQUIRE(b.add(lowered));
  const auto p = b.builder.finish();
  REQUIRE_FALSE(p);
  CHECK_THAT(p.error().message, ContainsSubstring("nothing has written"));
}

TEST_CASE("waves keep every dependency and gather what is independent") {
  // A diamond: a -> b, c -> d, with an extra chain beside it.
  std::vector<ProgramBuffer> buffers(8, {Home::kArena, 0, 64, "x"});
  Program p = program_of(buffers, {{write(0)},
                                   {read(0), write(1)},
                                   {read(1), write(4)},
                                   {read(0), write(2)},
                                   {read(1), read(2), write(3)},
                                   {write(5)}});
  CHECK(dependency_waves(p) == std::vector<std::uint32_t>{0, 1, 2, 1, 2, 0});
  CHECK(order_by_wave(&p) == std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2});
  CHECK(p.steps[1].uses[0].buffer == 5);
  // Write after read and write after write wait, too.
  CHECK(dependency_waves(program_of(buffers, {{read(0)}, {write(0)}, {write(0)}})) ==
        std::vector<std::uint32_t>{0, 1, 2});

  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<Access>> steps(30);
    for (auto& s : steps) {
      for (int i = 0; i < 2; ++i) {
        const bool writes = random() % 2 != 0;
        s.push_back({static_cast<std::uint32_t>(random() % 8), !writes, writes});
      }
    }
    Program q = program_of(buffers, steps);
    for (std::size_t i = 0; i < q.steps.size(); ++i) q.steps[i].push_words = std::uint32_t(i);
    order_by_wave(&q);
    // Of two steps that conflict, the one that was first still is.
    for (std::size_t i = 0; i < q.steps.size(); ++i) {
      for (std::size_t j = i + 1; j < q.steps.size(); ++j) {
        bool conflict = false;
        for (const Use& a : q.steps[i].uses) {
          for (const Use& b : q.steps[j].uses) {
            conflict = conflict || (a.buffer == b.buffer && (a.writes || b.writes));
          }
        }
        if (conflict) REQUIRE(q.steps[i].push_words < q.steps[j].push_words);
      }
    }
  }
}

TEST_CASE("on a GPU a wave shares one barrier, and its buffers share no memory") {
  // in -> s0, in -> s1 (independent), both -> out
  auto build = [](const char* type) {
    Built b;
    b.caps.type = type;
    Lowered l;
    l.scratch_bytes = {512, 512, 512, 512};
    auto copy = [&](BufferRef from, BufferRef to) {
      l.dispatches.push_back(copy_of(from, to).dispatches[0]);
    };
    copy({BufferKind::kInput}, {BufferKind::kScratch, 0});
    copy({BufferKind::kScratch, 0}, {BufferKind::kScratch, 1});
    copy({BufferKind::kInput}, {BufferKind::kScratch, 2});
    copy({BufferKind::kScratch, 2}, {BufferKind::kScratch, 3});
    REQUIRE(b.add(l));
    auto p = b.builder.finish();
    REQUIRE(p);
    std::size_t barriers = 0;
    for (const Step& s : p->steps) barriers += s.barrier_before ? 1 : 0;
    return barriers;
  };
  CHECK(build("discrete") == 1);
  CHECK(build("cpu") == 3);
}

TEST_CASE("what is copied out lives to the end, and must have been written") {
  Built b;
  b.caps.type = "discrete";
  const auto result = b.builder.add_buffer(Home::kArena, 512, "floats");
  b.builder.add_copy(result, b.out);
  CHECK_FALSE(b.builder.finish());

  Built c;
  const auto kept = c.builder.add_buffer(Home::kArena, 512, "floats");
  c.builder.add_copy(kept, c.out);
  Lowered first = copy_of({BufferKind::kInput}, {BufferKind::kOutput});
  REQUIRE(c.builder.add(
      first,
      [&](const BufferRef& r) -> Result<std::uint32_t> {
        return r.kind == BufferKind::kInput ? c.in : kept;
      },
      "first"));
  Lowered later = copy_of({BufferKind::kInput}, {BufferKind::kScratch, 0});
  later.scratch_bytes = {512};
  REQUIRE(c.add(later));
  auto p = c.builder.finish();
  REQUIRE(p);
  const auto& a = p->buffers[kept];
  const auto& s = p->buffers.back();
  CHECK((a.offset + a.bytes <= s.offset || s.offset + s.bytes <= a.offset));
}

namespace {

// "step" reads a tensor as a sampled image and writes one as a storage image; "bytes" and "floats"
// stand at the ends, with a buffer on one side.
Table image_table() {
  using table::BindingKind;
  const auto kernel = [](const std::string& name, BindingKind from, BindingKind to) {
    TestBlob b;
    b.bindings = {{0, table::kReadOnly, 0, from}, {1, table::kWriteOnly, 0, to}};
    const Form form = image_of(kFp16p);
    return TestKernel{name, {{name, form.storage, form.arithmetic, {}, b, form.resource}}};
  };
  auto t = Table::from_bytes(
      write_table({kernel("bytes", BindingKind::kStorageBuffer, BindingKind::kStorageImage),
                   kernel("step", BindingKind::kSampledImage, BindingKind::kStorageImage),
                   kernel("wrong", BindingKind::kStorageBuffer, BindingKind::kStorageImage),
                   kernel("floats", BindingKind::kSampledImage, BindingKind::kStorageBuffer)}),
      "test");
  REQUIRE(t);
  return *t;
}

struct ImageChain {
  DeviceCaps caps;
  Table table = image_table();
  std::vector<TensorImage> asked;
  ImageNeeds needs = [this](const TensorImage& i) -> Result<ImageNeed> {
    asked.push_back(i);
    // A device that wants whole tiles of 4 KiB.
    return ImageNeed{(std::uint64_t{i.width} * i.height * i.texel_bytes + 4095) / 4096 * 4096,
                     4096};
  };
  ProgramBuilder builder;
  std::uint32_t picture, floats;
  std::vector<std::uint32_t> tensors;

  explicit ImageChain(const char* type = "cpu", bool with_needs = true)
      : builder(table, typed(type), {image_of(kFp16p)}, with_needs ? needs : ImageNeeds{}) {
    picture = builder.add_buffer(Home::kUpload, 1 << 16, "picture");
    floats = builder.add_buffer(Home::kDownload, 1 << 16, "floats");
  }
  const DeviceCaps& typed(const char* type) {
    caps.type = type;
    return caps;
  }
  Status add(const char* kernel, std::uint32_t from, std::uint32_t to) {
    Lowered l;
    Dispatch d;
    d.kernel = kernel;
    d.buffers = {{BufferKind::kInput, 0}, {BufferKind::kOutput, 0}};
    l.dispatches = {d};
    return builder.add(
        l,
        [&](const BufferRef& r) -> Result<std::uint32_t> {
          return r.kind == BufferKind::kInput ? from : to;
        },
        "node");
  }
  // picture -> tensor 0 -> tensor 1 ... -> floats, all of the same size.
  void chain(std::size_t length, std::uint64_t vectors) {
    for (std::size_t i = 0; i < length; ++i) {
      tensors.push_back(builder.add_tensor(vectors, "tensor " + std::to_string(i)));
      REQUIRE(
          (i == 0 ? add("bytes", picture, tensors[0]) : add("step", tensors[i - 1], tensors[i])));
    }
    REQUIRE(add("floats", tensors.back(), floats));
  }
};

}  // namespace

TEST_CASE("tensors become images where kernels have them as such, and share memory by lifetime") {
  ImageChain c;
  c.chain(4, 3000);
  auto p = c.builder.finish();
  REQUIRE(p);
  // 3000 vectors are two rows of 2048 texels of 8 bytes: 32 KiB each.
  REQUIRE(c.asked.size() == 4);
  CHECK(c.asked[0] == TensorImage{2048, 2, 8, false});
  CHECK(p->home_bytes[static_cast<std::size_t>(Home::kImages)] == 2 * 32768);
  CHECK(p->home_bytes[static_cast<std::size_t>(Home::kArena)] == 0);
  const auto at = [&](std::size_t i) { return p->buffers[c.tensors[i]].offset; };
  CHECK(at(0) != at(1));
  CHECK(at(0) == at(2));
  CHECK(at(1) == at(3));
  REQUIRE(p->steps.size() == 5);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(p->buffers[c.tensors[i]].home == Home::kImages);
    // Each begins behind the barrier that lets its memory go.
    CHECK(p->steps[i].barrier_before == (i > 0));
    CHECK(p->steps[i].begins == std::vector<std::uint32_t>{c.tensors[i]});
  }
  CHECK(p->steps[4].begins.empty());
}

TEST_CASE("an image begins at the last barrier before its first use, and never twice") {
  std::vector<ProgramBuffer> buffers;
  for (std::uint64_t i = 0; i < 6; ++i) {
    buffers.push_back({Home::kImages, i * 64, 64, "x", 8, {8, 1, 8, false}});
  }
  buffers.push_back({Home::kArena, 0, 64, "y"});
  // 0 and 1 are written side by side behind the start, 2 and 3 behind the barrier before step 2.
  Program p = program_of(buffers, {{write(0)},
                                   {write(1)},
                                   {read(0), write(2)},
                                   {read(1), write(3)},
                                   {read(2), read(3), write(0)},
                                   {read(0), write(6)}});
  place_barriers(&p);
  place_images(&p);
  std::vector<std::vector<std::uint32_t>> begins;
  for (const Step& s : p.steps) begins.push_back(s.begins);
  CHECK(begins == std::vector<std::vector<std::uint32_t>>{{0, 1}, {}, {2, 3}, {}, {}, {}});
  // What is loaded begins with the program's loads.
  p.loads = {{6, 0}};
  place_images(&p);
  CHECK(p.steps[0].begins == std::vector<std::uint32_t>{1});
}

TEST_CASE("between the beginning of an image and its first use nothing touches its memory") {
  std::mt19937 random(23);
  for (int round = 0; round < 300; ++round) {
    std::vector<ProgramBuffer> buffers;
    for (int i = 0; i < 10; ++i) {
      buffers.push_back({Home::kImages, random() % 512, 1 + random() % 128, "x", 8, {8, 1, 8}});
    }
    // As in a plan, each image is first written.
    std::vector<std::vector<Access>> steps(20);
    std::vector<bool> written(10, false);
    for (auto& s : steps) {
      for (int i = 0; i < 3; ++i) {
        const auto b = static_cast<std::uint32_t>(random() % 10);
        s.push_back(!written[b] || random() % 2 != 0 ? write(b) : read(b));
        written[b] = true;
      }
    }
    Program p = program_of(buffers, steps);
    place_barriers(&p);
    place_images(&p);
    std::size_t begun = 0;
    const auto shares = [&](std::uint32_t a, std::uint32_t b) {
      const auto &s = p.buffers[a], &t = p.buffers[b];
      return s.offset < t.offset + t.bytes && t.offset < s.offset + s.bytes;
    };
    for (std::size_t i = 0; i < p.steps.size(); ++i) {
      for (const std::uint32_t b : p.steps[i].begins) {
        ++begun;
        for (std::size_t j = i; j < p.steps.size(); ++j) {
          const auto& uses = p.steps[j].uses;
          if (std::any_of(uses.begin(), uses.end(), [&](const Use& u) { return u.buffer == b; })) {
            break;
          }
          for (const Use& u : uses) CHECK_FALSE(shares(u.buffer, b));
        }
      }
    }
    CHECK(begun == static_cast<std::size_t>(std::count(written.begin(), written.end(), true)));
  }
}

TEST_CASE("what images cannot be is refused by name") {
  {
    ImageChain c;
    const auto big = c.builder.add_tensor(std::uint64_t{2048} * 4097, "big");
    const Status s = c.add("bytes", c.picture, big);
    REQUIRE_FALSE(s);
    CHECK_THAT(s.error().message,
               ContainsSubstring("big is an image of 2048 x 4097 texels, the device allows 4096"));
  }
  {
    ImageChain c;
    const auto t = c.builder.add_tensor(100, "t");
    REQUIRE(c.add("bytes", c.picture, t));
    const Status s = c.add("wrong", t, c.builder.add_tensor(100, "u"));
    REQUIRE_FALSE(s);
    CHECK_THAT(s.error().message,
               ContainsSubstring("kernel wrong: the kernel has t as a buffer, another one as an"));
  }
  {
    ImageChain c;
    const Status s = c.add("step", c.picture, c.builder.add_tensor(100, "t"));
    REQUIRE_FALSE(s);
    CHECK_THAT(s.error().message,
               ContainsSubstring("kernel step: the kernel wants picture as an image"));
  }
  {
    ImageChain c("cpu", false);
    c.chain(1, 100);
    const auto p = c.builder.finish();
    REQUIRE_FALSE(p);
    CHECK_THAT(p.error().message, ContainsSubstring("nothing sizes images"));
  }
  {
    ImageChain c;
    REQUIRE(c.add("floats", c.builder.add_tensor(100, "t"), c.floats));
    const auto p = c.builder.finish();
    REQUIRE_FALSE(p);
    CHECK_THAT(p.error().message, ContainsSubstring("reads t, which nothing has written"));
  }
}

TEST_CASE("a short tensor is one row of its own length") {
  CHECK(tensor_image(1, 8) == TensorImage{1, 1, 8, false});
  CHECK(tensor_image(2047, 16) == TensorImage{2047, 1, 16, false});
  CHECK(tensor_image(2048, 16) == TensorImage{2048, 1, 16, false});
  CHECK(tensor_image(2049, 16) == TensorImage{2048, 2, 16, false});
}
