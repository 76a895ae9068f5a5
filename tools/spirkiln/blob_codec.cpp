// SPDX-License-Identifier: Apache-2.0
#include "blob_codec.hpp"

#include <algorithm>
#include <string_view>

#include "spirv_operands.hpp"
#include "spirv_tools.hpp"

namespace spirkiln::gen {

void put_blob(std::string& out, const Blob& blob) {
  put_number(out, blob.vulkan_version);
  put_string(out, blob.compiler);
  put_number(out, static_cast<std::uint32_t>(blob.words.size()));
  out.append(reinterpret_cast<const char*>(blob.words.data()), blob.words.size() * 4);
  put_number(out, static_cast<std::uint32_t>(blob.reflection.specs.size()));
  for (const SpecConstant& spec : blob.reflection.specs) put_string(out, spec.name);
  put_number(out, blob.unoptimised ? 1 : 0);
}

namespace {

bool is_one_line(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

std::shared_ptr<const Blob> take_blob(ByteReader& bytes) {
  auto blob = std::make_shared<Blob>();
  blob->vulkan_version = bytes.number();
  const auto target = std::find_if(std::begin(kTargets), std::end(kTargets), [&](const Target& t) {
    return t.vulkan == blob->vulkan_version;
  });
  if (target == std::end(kTargets)) return nullptr;
  blob->compiler = bytes.string();
  if (!is_one_line(blob->compiler)) return nullptr;  // a table's "made by" holds it
  const std::string_view words = bytes.take(std::size_t{4} * bytes.number());
  if (!bytes.ok()) return nullptr;
  blob->words.resize(words.size() / 4);
  std::copy(words.begin(), words.end(), reinterpret_cast<char*>(blob->words.data()));
  // What is linked in need not know what a second compiler made; its own validator saw it. Then at
  // least every instruction has its operands.
  const bool known = blob->compiler.empty() || spirv_tools_know(blob->words);
  if (known ? !validate(blob->words, *target).ok() : !read_operands(blob->words)) return nullptr;
  auto reflection = reflect(blob->words);
  if (!reflection.ok()) return nullptr;
  blob->reflection = std::move(reflection).value();
  if (bytes.number() != blob->reflection.specs.size()) return nullptr;
  for (SpecConstant& spec : blob->reflection.specs) spec.name = bytes.string();
  const std::uint32_t unoptimised = bytes.number();
  blob->unoptimised = unoptimised == 1;
  return bytes.ok() && unoptimised <= 1 ? blob : nullptr;
}

}  // namespace spirkiln::gen
