// SPDX-License-Identifier: Apache-2.0
// Operators on single values, and every activation on the simplest of them.
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "harness.hpp"

namespace spirkiln::test {

using model::Op;

TEST_CASE("affine, with every activation", "[affine]") {
  if (!device()) SKIP("no Vulkan device");
  for (const Dims& x :
       {Dims{1, 1, 1, 1}, Dims{2, 3, 5, 7}, Dims{1, 11, 13, 16}, Dims{1, 53, 47, 5}}) {
    for (const model::Epilogue& e : activations(true)) {
      Maker make(800);
      Case c;
      c.node.op = Op::kAffine;
      c.inputs = {make.tensor(x, 8)};
      c.consts = {make.vector(x.c, 0.5, 2), make.vector(x.c, -1, 1)};
      c.const_is_weight = {false, false};
      c.output = x;
      INFO("channels " << x.c);
      RunOptions options{device_traits(), "affine", {}};
      options.activation = e;
      check(c, options);
    }
  }
}

TEST_CASE("binary operators with everything that the second operand may be", "[binary]") {
  if (!device()) SKIP("no Vulkan device");
  std::uint32_t k = 0;
  for (const Dims& x : {Dims{1, 1, 1, 1}, Dims{2, 3, 5, 7}, Dims{3, 7, 2, 12}}) {
    for (const Dims& y : {x, Dims{x.n, 1, 1, x.c}, Dims{1, 1, 1, x.c}, Dims{x.n, x.h, x.w, 1}}) {
      for (std::int32_t op = 0; op < 4; op++) {
        Maker make(900 + k);
        Case c;
        c.node.op = Op::kBinary;
        c.node.i[0] = op;
        c.inputs = {make.tensor(x), make.tensor(y)};
        if (op == 3) {  // away from zero
          for (double& v : c.inputs[1].v) v = v < 0 ? v - 1 : v + 1;
        }
        c.output = x;
        INFO("operation " << op);
        check(c, {device_traits(), "binary", {}});
        k++;
      }
    }
  }
}

TEST_CASE("nearest-neighbour resize", "[resize]") {
  if (!device()) SKIP("no Vulkan device");
  std::uint32_t k = 0;
  for (const Dims& x : {Dims{1, 1, 1, 1}, Dims{2, 3, 5, 7}, Dims{1, 5, 3, 24}}) {
    for (const auto& [fh, fw] : {std::pair{1u, 1u}, std::pair{2u, 2u}, std::pair{4u, 4u},
                                 std::pair{8u, 8u}, std::pair{3u, 2u}}) {
      Maker make(1000 + k);
      Case c;
      c.node.op = Op::kResize;
      c.node.i[0] = static_cast<std::int32_t>(fh);
      c.node.i[1] = static_cast<std::int32_t>(fw);
      c.inputs = {make.tensor(x)};
      c.output = {x.n, x.h * fh, x.w * fw, x.c};
      INFO("factors " << fh << ", " << fw);
      check(c, {device_traits(), "resize", {}});
      k++;
    }
  }
}

TEST_CASE("concatenation along the channels", "[concat]") {
  if (!device()) SKIP("no Vulkan device");
  const std::vector<std::uint32_t> channels[] = {
      {4, 8},          {24, 24, 24, 24}, {1}, {3, 5}, {7, 1, 2}, {4, 3}, {1, 1, 1, 1, 1, 1, 1, 1},
      {6, 16, 3, 9, 2}};
  std::uint32_t k = 0;
  for (const auto& list : channels) {
    for (const Dims& size : {Dims{1, 1, 1, 0}, Dims{2, 3, 7, 0}}) {
      Maker make(1100 + k);
      Case c;
      c.node.op = Op::kConcat;
      c.node.i[0] = static_cast<std::int32_t>(list.size());
      c.output = {size.n, size.h, size.w, 0};
      for (std::uint32_t ch : list) {
        c.inputs.push_back(make.tensor({size.n, size.h, size.w, ch}));
        c.output.c += ch;
      }
      INFO("list " << k);
      RunOptions options{device_traits(), "concat", {}};
      // Few of these, and a kernel variant of their own.
      if (list.size() > 4) options.forms = Forms::kAll;
      check(c, options);
      if (list.size() > 4) {
        DeviceTraits few = device_traits();
        few.max_storage_buffers = 8;  // several passes
        check(c, {few, "concat", {}});
      }
      k++;
    }
  }
}

TEST_CASE("picture bytes become the input tensor", "[normalize]") {
  if (!device()) SKIP("no Vulkan device");
  const Dims dims{2, 7, 13, 3};
  const float scale[4] = {0.0171f, 0.0175f, 0.0174f, 5};
  const float shift[4] = {-2.1f, -2.0f, -1.8f, 7};
  std::vector<std::uint8_t> bytes(dims.pixels() * 4);
  std::mt19937 random(1);
  for (auto& b : bytes) b = static_cast<std::uint8_t>(random());
  for (std::uint64_t p = 0; p < dims.pixels(); p++)
    bytes[p * 4 + 3] = p % 3 == 0 ? 0 : p % 3 == 1 ? 255 : 1;
  auto lowered = lower_input(dims, scale, shift, device_traits());
  REQUIRE(lowered.ok());
  for (Form form : forms_for(Forms::kAll, 0)) {
    KernelRunner* r = runner(form);
    if (!r) continue;
    INFO(form_name(form));
    KernelRunner::Buffers buffers;
    buffers.bytes_in.resize(bytes.size());
    std::memcpy(buffers.bytes_in.data(), bytes.data(), bytes.size());
    buffers.output_bytes = dims.vectors() * vector_bytes(form);
    r->set_int8(table::Int8::kNone);
    auto out = r->run(*lowered, buffers);
    if (!out) FAIL(out.error().message);
    note_run(*lowered, form);
    // However the bytes are read, the numbers are the same.
    for (const table::Int8 int8 : {table::Int8::kPacked, table::Int8::kStorage}) {
      r->set_int8(int8);
      auto other = r->run(*lowered, buffers);
      if (!other && other.error().code == ErrorCode::kNoVariant) continue;
      if (!other) FAIL(other.error().message);
      note_run(*lowered, form, int8);
      CHECK(other->output == out->output);
    }
    r->set_int8(std::nullopt);
    const auto got = from_storage(out->output, form);
    // One rounding when stored; half precision's is 2^-11, single precision's 2^-23 and a half.
    const double eps = form.storage == table::Storage::kFp32 ? 0x1p-22 : 0x1p-11;
    bool right = true;
    for (std::uint64_t p = 0; p < dims.pixels(); p++) {
      for (std::uint32_t c = 0; c < 4; c++) {
        const bool valid = bytes[p * 4 + 3] != 0 && c < 3;
        const double a = double{scale[c]} * bytes[p * 4 + c], b = shift[c];
        const double want = valid ? a + b : 0;
        right = right &&
                std::abs(got[p * 4 + c] - want) <= (valid ? eps * (std::abs(a) + std::abs(b)) : 0);
      }
    }
    CHECK(right);
  }
}

TEST_CASE("a tensor becomes tight floats", "[unpack]") {
  if (!device()) SKIP("no Vulkan device");
  std::size_t turn = 0;
  for (const Dims& dims : {Dims{1, 1, 1, 1}, Dims{2, 3, 5, 7}, Dims{1, 4, 9, 8}, Dims{1, 17, 13, 1},
                           Dims{1, 1, 3, 6625}, Dims{2, 41, 67, 3}}) {
    Maker make(1200);
    const oracle::Tensor t = make.tensor(dims);
    auto lowered = lower_output(dims, device_traits());
    REQUIRE(lowered.ok());
    for (Form form : forms_for(Forms::kBuffers, turn++)) {
      KernelRunner* r = runner(form);
      if (!r) continue;
      INFO(form_name(form) << ", channels " << dims.c);
      std::vector<float> padded(dims.vectors() * 4, 300);
      for (std::uint64_t p = 0; p < dims.pixels(); p++)
        for (std::uint32_t c = 0; c < dims.c; c++)
          padded[p * dims.c4() * 4 + c] = static_cast<float>(t.v[p * dims.c + c]);
      KernelRunner::Buffers buffers;
      buffers.inputs = {to_storage(padded, form)};
      buffers.floats_out_bytes = dims.pixels() * dims.c * 4;
      auto out = r->run(*lowered, buffers);
      if (!out) FAIL(out.error().message);
      note_run(*lowered, form);
      // The values are exact in every form, so the copy must be.
      std::vector<float> got(dims.pixels() * dims.c);
      std::memcpy(got.data(), out->floats_out.data(), got.size() * 4);
      bool same = true;
      for (std::size_t i = 0; i < got.size(); i++) same = same && got[i] == t.v[i];
      CHECK(same);
    }
  }
}

TEST_CASE("a tensor becomes bytes", "[unpack][bytes]") {
  if (!device()) SKIP("no Vulkan device");
  std::size_t turn = 0;
  for (const Dims& dims : {Dims{1, 1, 1, 1}, Dims{2, 3, 5, 7}, Dims{1, 4, 9, 8}, Dims{1, 17, 13, 1},
                           Dims{2, 41, 67, 3}}) {
    Maker make(1210);
    Case c;
    c.output = dims;
    c.inputs = {make.tensor(dims, 2)};  // beyond 0 and 1
    c.inputs[0].mag.assign(c.inputs[0].v.size(), 0);  // exact in every form
    const auto lowered = lower_output_bytes(dims, device_traits());
    REQUIRE(lowered.ok());
    for (const Form form : forms_for(turn == 0 ? Forms::kAll : Forms::kBuffers, turn)) {
      if (runner(form) == nullptr) continue;
      INFO(form_name(form) << ", channels " << dims.c);
      check_lowered(*lowered, c, c.inputs[0], form);
    }
    ++turn;
  }
}

TEST_CASE("bytes of a tensor with a value that is no number", "[unpack][bytes]") {
  if (!device()) SKIP("no Vulkan device");
  Case c;
  c.output = {1, 20, 30, 3};
  c.inputs = {Maker(1220).tensor(c.output)};
  const auto lowered = lower_output_bytes(c.output, device_traits());
  REQUIRE(lowered.ok());
  const std::size_t values = c.output.pixels() * c.output.c;
  const std::size_t a_group = std::size_t{lowered->dispatches[0].local_size[0]} * 4;
  REQUIRE(values > a_group);
  c.inputs[0].v[a_group + 1] = INFINITY;
  const auto out = run_lowered(*lowered, c, kFp32);
  for (std::size_t i = 0; i < check_words(*lowered); ++i) {
    std::uint32_t word;
    std::memcpy(&word, out.data() + values + i * 4, 4);
    CHECK((word != 0) == (i == 1));
  }
}

}  // namespace spirkiln::test
