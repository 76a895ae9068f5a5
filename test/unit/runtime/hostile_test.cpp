// SPDX-License-Identifier: Apache-2.0
// Tables and packs that are made to cost memory or time: each is refused before it does.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <filesystem>

#include "graph/model.hpp"
#include "support/pack_builder.hpp"
#include "support/table_writer.hpp"
#include "table/table.hpp"

using namespace spirkiln;
using namespace spirkiln::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Two kernels of two variants; each kernel's blobs have a frame of their own.
std::vector<TestKernel> two_kernels() {
  std::vector<TestKernel> kernels;
  for (const char* name : {"alpha", "beta"}) {
    TestKernel k{name, {}};
    for (const char* form : {"_a", "_b"}) {
      TestVariant v{};
      v.name = std::string(name) + form;
      v.blob.words.assign(64, static_cast<std::uint32_t>(kernels.size()));
      v.blob.words[0] = 0x07230203;
      v.blob.words[1] = v.blob.spirv_version;
      k.variants.push_back(v);
    }
    kernels.push_back(k);
  }
  return kernels;
}

// A table's index and where its sections are.
struct Index {
  explicit Index(const std::vector<std::byte>& table) : bytes(index_of(table)) {
    std::memcpy(&header, bytes.data(), sizeof header);
  }
  std::vector<std::byte> bytes;
  table::IndexHeader header;
};

// Entry `index` of a section, through `change`, and the checksum to fit.
template <typename Entry, typename Section, typename Function>
void change_entry(std::vector<std::byte>& bytes, const Section& section, std::size_t index,
                  const Function& change) {
  std::byte* at = bytes.data() + section.offset + index * sizeof(Entry);
  Entry e;
  std::memcpy(&e, at, sizeof e);
  change(e);
  std::memcpy(at, &e, sizeof e);
}

std::string refused_table(std::vector<std::byte> bytes) {
  reseal_table(bytes);
  const auto t = Table::from_bytes(std::move(bytes), "t");
  REQUIRE_FALSE(t);
  CHECK(t.error().code == ErrorCode::kCorrupt);
  return t.error().message;
}

std::string refused_pack(std::vector<std::byte> bytes) {
  reseal_pack(bytes);
  const auto m = Model::from_bytes(std::move(bytes), "m");
  REQUIRE_FALSE(m);
  CHECK(m.error().code == ErrorCode::kCorrupt);
  return m.error().message;
}

model::ModelHeader pack_header(const std::vector<std::byte>& pack) {
  model::ModelHeader h;
  std::memcpy(&h, pack.data(), sizeof h);
  return h;
}

struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "spirkiln-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

}  // namespace

TEST_CASE("a frame that claims more than its own header says is refused when a table is opened") {
  const auto whole = write_table(two_kernels());
  REQUIRE(Table::from_bytes(whole, "t"));
  for (const std::uint32_t claim : {0xfffffffcu, table::kMaxFrameBytes + 4, 1024u}) {
    Index index(whole);
    change_entry<table::FrameEntry>(index.bytes, index.header.frames, 1,
                                    [&](table::FrameEntry& f) { f.raw_bytes = claim; });
    CHECK_THAT(refused_table(with_index(whole, index.bytes)), ContainsSubstring("frame 1: "));
  }
}

TEST_CASE("frames that together unpack to too much are refused") {
  // 64 MiB of zeros are some kilobytes; eight of them and an index are more than a table may hold.
  std::vector<std::byte> packed(ZSTD_compressBound(table::kMaxFrameBytes));
  {
    const std::vector<std::byte> zeros(table::kMaxFrameBytes);
    packed.resize(ZSTD_compress(packed.data(), packed.size(), zeros.data(), zeros.size(), 1));
  }
  REQUIRE(packed.size() < 64 << 10);
  auto with_frames = [&](std::size_t count) {
    auto bytes = write_table({});
    Index index(bytes);
    const auto size = static_cast<std::uint32_t>(packed.size());
    index.bytes.resize((index.bytes.size() + 15) / 16 * 16);
    index.header.frames = {static_cast<std::uint32_t>(index.bytes.size()),
                           static_cast<std::uint32_t>(count)};
    for (std::size_t i = 0; i < count; ++i) {
      const table::FrameEntry f{static_cast<std::uint32_t>(bytes.size()), size,
                                table::kMaxFrameBytes};
      const auto* p = reinterpret_cast<const std::byte*>(&f);
      index.bytes.insert(index.bytes.end(), p, p + sizeof f);
      bytes.insert(bytes.end(), packed.begin(), packed.end());
    }
    std::memcpy(index.bytes.data(), &index.header, sizeof index.header);
    return with_index(std::move(bytes), index.bytes);
  };
  const auto most = Table::from_bytes(with_frames(7), "t");
  INFO((most ? std::string() : most.error().message));
  CHECK(most);
  CHECK_THAT(refused_table(with_frames(8)), ContainsSubstring("unpack to"));
}

TEST_CASE("parts of a table that share bytes are refused") {
  const auto whole = write_table(two_kernels());
  Index index(whole);
  table::FrameEntry first;
  std::memcpy(&first, index.bytes.data() + index.header.frames.offset, sizeof first);
  change_entry<table::FrameEntry>(index.bytes, index.header.frames, 1,
                                  [&](table::FrameEntry& f) { f = first; });
  CHECK_THAT(refused_table(with_index(whole, index.bytes)),
             ContainsSubstring("two frames overlap"));

  index = Index(whole);
  change_entry<table::BlobEntry>(index.bytes, index.header.blobs, 1,
                                 [](table::BlobEntry& b) { b.offset = 4; });
  CHECK_THAT(refused_table(with_index(whole, index.bytes)), ContainsSubstring("two blobs overlap"));

  index = Index(whole);
  index.header.extensions = {index.header.strings.offset, 1};
  std::memcpy(index.bytes.data(), &index.header, sizeof index.header);
  CHECK_THAT(refused_table(with_index(whole, index.bytes)),
             ContainsSubstring("two sections overlap"));
}

TEST_CASE("a table's names and lists have bounds") {
  auto kernels = two_kernels();
  kernels[0].variants[0].name.assign(table::kMaxStringBytes, 'n');
  kernels[0].variants[0].blob.capabilities.assign(table::kMaxListed, 1);
  CHECK(Table::from_bytes(write_table(kernels), "t"));
  auto longer = kernels;
  longer[0].variants[0].name += 'n';
  CHECK_THAT(refused_table(write_table(longer)), ContainsSubstring("variant 0: name"));
  longer = kernels;
  longer[0].variants[0].blob.capabilities.push_back(1);
  CHECK_THAT(refused_table(write_table(longer)), ContainsSubstring("blob 0: more than 1024"));
  longer = two_kernels();
  longer[0].variants[0].axes.assign(table::kMaxListed + 1, {"", ""});
  CHECK_THAT(refused_table(write_table(longer)), ContainsSubstring("variant 0: axis values"));
}

TEST_CASE("constants that share bytes are refused, however many there are") {
  // All of them claim the whole data: to look at each would be to read it as often.
  PackBuilder b;
  const std::vector<float> values(1 << 14, 0.5f);
  b.floats(values);
  for (int i = 0; i < 4000; ++i) b.floats({1, 2, 3, 4});
  const auto t = b.tensor(b.n(), b.h(), b.w(), 3);
  b.node(model::Op::kSoftmax, t, {b.input()});
  b.output(t);
  const auto whole = b.build();
  const auto h = pack_header(whole);
  REQUIRE(Model::from_bytes(whole, "m"));
  auto bytes = whole;
  for (std::size_t i = 1; i < h.consts.count; ++i) {
    change_entry<model::Const>(bytes, h.consts, i, [&](model::Const& c) {
      c.offset = h.data.offset;
      c.elements = values.size();
    });
  }
  CHECK_THAT(refused_pack(bytes), ContainsSubstring("two constants overlap"));
  // By 16 bytes only, and the second plane of one with the first of another.
  bytes = mixed_graph().build();
  const auto m = pack_header(bytes);
  model::Const first;
  std::memcpy(&first, bytes.data() + m.consts.offset, sizeof first);
  change_entry<model::Const>(bytes, m.consts, 3, [&](model::Const& c) {
    REQUIRE(c.type == model::ConstType::kHalfPair);
    c.lo_offset = first.offset + first.elements * 2 - 16;
  });
  CHECK_THAT(refused_pack(bytes), ContainsSubstring("two constants overlap"));
}

TEST_CASE("a pack's lists have bounds, and its sections share nothing") {
  const auto whole = mixed_graph().build();
  const auto h = pack_header(whole);
  auto bytes = whole;
  change_entry<model::Node>(bytes, h.nodes, 0, [&](model::Node& n) {
    n.first_input = 0;
    n.input_count = h.refs.count;
  });
  CHECK_THAT(refused_pack(bytes), ContainsSubstring(" inputs and "));
  bytes = whole;
  change_entry<model::Node>(bytes, h.nodes, 0, [&](model::Node& n) {
    n.first_const = 0;
    n.const_count = h.refs.count;
  });
  CHECK_THAT(refused_pack(bytes), ContainsSubstring(" constants"));
  bytes = whole;
  auto changed = h;
  changed.refs.offset = h.tensors.offset;
  std::memcpy(bytes.data(), &changed, sizeof changed);
  CHECK_THAT(refused_pack(bytes), ContainsSubstring("two sections overlap"));
  bytes = whole;
  changed = h;
  changed.outputs.count = model::kMaxOutputs + 1;
  std::memcpy(bytes.data(), &changed, sizeof changed);
  CHECK_THAT(refused_pack(bytes), ContainsSubstring("outputs has 65 entries"));
}

TEST_CASE("pipes and devices are refused, and a file of nothing costs nothing") {
  const Folder folder;
  const auto pipe = (folder.path / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto link = (folder.path / "link").string();
  REQUIRE(::symlink("/dev/zero", link.c_str()) == 0);
  for (const std::string& path : {pipe, link, std::string("/dev/null")}) {
    INFO(path);
    for (const Error& e : {Table::from_file(path).error(), Model::open(path).error()}) {
      CHECK(e.code == ErrorCode::kIo);
      CHECK_THAT(e.message, ContainsSubstring(path) && ContainsSubstring("regular file"));
    }
  }
  // Sparse: refused by its first bytes.
  const auto sparse = (folder.path / "sparse").string();
  const int fd = ::open(sparse.c_str(), O_CREAT | O_WRONLY, 0600);
  REQUIRE(fd >= 0);
  REQUIRE(::ftruncate(fd, 500ll << 20) == 0);
  CHECK_THAT(Table::from_file(sparse).error().message, ContainsSubstring("no kernel table"));
  CHECK_THAT(Model::open(sparse).error().message, ContainsSubstring("no model pack"));
  // Its header is a pack's own, its size is not.
  const auto pack = mixed_graph().build();
  REQUIRE(::write(fd, pack.data(), pack.size()) == static_cast<ssize_t>(pack.size()));
  CHECK_THAT(Model::open(sparse).error().message, ContainsSubstring("and has 524288000"));
  REQUIRE(::ftruncate(fd, 20ll << 30) == 0);
  CHECK(Table::from_file(sparse).error().code == ErrorCode::kIo);
  CHECK_THAT(Model::open(sparse).error().message, ContainsSubstring("more than the limit"));
  REQUIRE(::ftruncate(fd, static_cast<off_t>(pack.size())) == 0);
  CHECK(Model::open(sparse));
  ::close(fd);
}
