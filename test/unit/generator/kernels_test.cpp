// SPDX-License-Identifier: Apache-2.0
// The product's own kernels: all bake, each blob is valid for the target that it names, and our
// reflection agrees with SPIRV-Cross.
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>
#include <spirv_cross/spirv_cross.hpp>

#include "capability_names.hpp"
#include "list.hpp"
#include "reflect.hpp"
#include "spirv_tools.hpp"
#include "workspace.hpp"

using namespace spirkiln;
namespace fs = std::filesystem;

namespace {

struct Baked {
  test::Workspace workspace;
  Result<Table> table = Error{};

  Baked() {
    gen::BakeOptions options = workspace.options();
    options.inputs = {fs::path(SPIRKILN_SOURCE_ROOT) / "variants" / "kernels"};
    const auto run = test::run_bake(options);
    for (const auto& m : run.messages) UNSCOPED_INFO(m);
    INFO((run.result.ok() ? "" : run.result.error().message));
    REQUIRE(run.result.ok());
    table = Table::from_file((workspace / "out/test_table.bin").string());
    REQUIRE(table.ok());
  }
};

using Key = std::pair<std::uint32_t, std::uint32_t>;  // set, binding

std::map<Key, table::BindingKind> cross_bindings(spirv_cross::Compiler& compiler) {
  std::map<Key, table::BindingKind> found;
  const auto resources = compiler.get_shader_resources();
  const auto add = [&](const auto& list, table::BindingKind kind) {
    for (const auto& r : list) {
      found[{compiler.get_decoration(r.id, spv::DecorationDescriptorSet),
             compiler.get_decoration(r.id, spv::DecorationBinding)}] = kind;
    }
  };
  add(resources.storage_buffers, table::BindingKind::kStorageBuffer);
  add(resources.uniform_buffers, table::BindingKind::kUniformBuffer);
  add(resources.storage_images, table::BindingKind::kStorageImage);
  add(resources.sampled_images, table::BindingKind::kSampledImage);
  return found;
}

void compare(const Table& view, const table::BlobEntry& b,
             const std::vector<std::uint32_t>& words) {
  spirv_cross::Compiler compiler(words);
  std::map<Key, table::BindingKind> ours;
  for (const auto& e : view.bindings_of(b)) ours[{e.set, e.binding}] = e.kind;
  CHECK(ours == cross_bindings(compiler));
  // One declaration a binding in our kernels, so flags can be compared as well.
  for (const auto& r : compiler.get_shader_resources().storage_buffers) {
    const auto flags = compiler.get_buffer_block_flags(r.id);
    const auto binding = compiler.get_decoration(r.id, spv::DecorationBinding);
    for (const auto& e : view.bindings_of(b)) {
      if (e.binding != binding) continue;
      CHECK(((e.flags & table::kReadOnly) != 0) == flags.get(spv::DecorationNonWritable));
      CHECK(((e.flags & table::kWriteOnly) != 0) == flags.get(spv::DecorationNonReadable));
    }
  }
  std::set<std::uint32_t> our_specs;
  for (const auto& s : view.specs_of(b)) {
    our_specs.insert(s.id);
  }
  std::set<std::uint32_t> their_specs;
  for (const auto& s : compiler.get_specialization_constants()) {
    their_specs.insert(s.constant_id);
    for (const auto& o : view.specs_of(b)) {
      if (o.id == s.constant_id) CHECK(o.default_bits == compiler.get_constant(s.id).scalar());
    }
  }
  CHECK(our_specs == their_specs);
  std::uint32_t push = 0;
  for (const auto& r : compiler.get_shader_resources().push_constant_buffers) {
    push = static_cast<std::uint32_t>(
        compiler.get_declared_struct_size(compiler.get_type(r.base_type_id)));
  }
  CHECK(b.push_bytes == push);
  spirv_cross::SpecializationConstant x, y, z;
  compiler.get_work_group_size_specialization_constants(x, y, z);
  const auto same_id = [](std::uint32_t our, const spirv_cross::SpecializationConstant& s) {
    return our == table::kNone ? s.id == spirv_cross::ID(0) : our == s.constant_id;
  };
  CHECK(same_id(b.local_size_id[0], x));
  CHECK(same_id(b.local_size_id[1], y));
  CHECK(same_id(b.local_size_id[2], z));
  const auto capabilities = compiler.get_declared_capabilities();
  CHECK(std::set<std::uint32_t>(view.capabilities_of(b).begin(), view.capabilities_of(b).end()) ==
        std::set<std::uint32_t>(capabilities.begin(), capabilities.end()));
  std::set<std::string> extensions;
  for (const auto e : view.extensions_of(b)) extensions.insert(std::string(view.string(e)));
  const auto& declared = compiler.get_declared_extensions();
  CHECK(extensions == std::set<std::string>(declared.begin(), declared.end()));
}

}  // namespace

TEST_CASE("the product's kernels", "[kernels]") {
  const Baked baked;
  const Table& view = *baked.table;
  REQUIRE(view.kernels().size() > 10);
  std::size_t half_storage = 0;
  for (const auto& v : view.variants()) {
    const auto& b = view.blobs()[v.blob];
    INFO(view.string(v.name));
    const auto words = gen::module_of(view, v);
    REQUIRE(words.ok());
    const gen::Target target{b.vulkan_version, b.spirv_version};
    const Status valid = gen::validate(*words, target);
    INFO((valid.ok() ? "" : valid.error().message));
    CHECK(valid.ok());
    compare(view, b, *words);
    // Names, sources and paths are gone; spec constants kept theirs in the index.
    const auto text = gen::disassemble(*words);
    REQUIRE(text.ok());
    CHECK(text->find("OpName") == std::string::npos);
    CHECK(text->find("OpSource") == std::string::npos);
    CHECK(text->find("OpString") == std::string::npos);
    // A variant asks for no more than its name promises.
    for (const auto c : view.capabilities_of(b)) {
      const std::string name = gen::capability_name(c);
      const bool half = v.arithmetic == table::Arithmetic::kFp16;
      if (name == "Float16") CHECK(half);
      if (name == "StorageBuffer16BitAccess") {
        CHECK(v.storage == table::Storage::kFp16);
        ++half_storage;
      }
      CHECK(name != "Int64");
      CHECK(name != "Float64");
      CHECK(name != "StorageUniform16");
    }
  }
  CHECK(half_storage > 0);
}
