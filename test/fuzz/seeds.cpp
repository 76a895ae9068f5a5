// SPDX-License-Identifier: Apache-2.0
// Writes what the binary targets begin with: seeds FOLDER. Made by the tests' own writers, so that
// they follow the formats.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "rich_graph.hpp"
#include "support/pack_builder.hpp"
#include "support/table_writer.hpp"

using namespace spirkiln::test;

namespace {

bool put(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  return !file.fail();
}

std::string_view text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> table() {
  std::vector<TestKernel> kernels;
  for (const char* name : {"alpha", "beta"}) {
    TestKernel k{name, {}};
    for (const char* form : {"_fp32", "_fp16s"}) {
      TestVariant v{};
      v.name = std::string(name) + form;
      v.axes = {{"DIRECT", "0"}};
      v.blob.bindings = {{0, spirkiln::table::kReadOnly}, {1, spirkiln::table::kWriteOnly}};
      v.blob.specs = {{0, "count"}, {233, "local_size_x"}};
      v.blob.extensions = {"SPV_KHR_16bit_storage"};
      v.blob.capabilities = {1, 4433};
      v.blob.push_bytes = 8;
      k.variants.push_back(v);
    }
    kernels.push_back(k);
  }
  return write_table(kernels);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  // As the example by hand in test/unit/generator/module_coder_test.cpp: two shapes, a global, a
  // module.
  constexpr std::string_view coding(
      "\x0e\x00"
      "\x02\x15\x03\x00\x02\x02\xfe\x01\x01\x01\x01\x00\x20\x01"
      "\x80\x80\x04\x07\x01\x00\x00\x01\x02\x01",
      26);
  const bool ok = put(folder / "table" / "two-kernels", text(table())) &&
                  put(folder / "table" / "index", text(index_of(table()))) &&
                  put(folder / "table" / "coding", coding) &&
                  put(folder / "pack" / "mixed-graph", text(mixed_graph().build())) &&
                  put(folder / "onnx" / "rich-graph", rich_graph().bytes());
  if (!ok) std::fprintf(stderr, "seeds: error: cannot write in %s\n", argv[1]);
  return ok ? 0 : 1;
}
