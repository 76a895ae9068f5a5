// SPDX-License-Identifier: Apache-2.0
// Layer norm, softmax, attention.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>

#include "harness.hpp"

namespace spirkiln::test {

using model::Op;

TEST_CASE("layer norm over the real channels", "[layer_norm]") {
  if (!device()) SKIP("no Vulkan device");
  std::uint32_t k = 0;
  for (const Dims& x :
       {Dims{1, 1, 1, 3}, Dims{2, 1, 7, 120}, Dims{1, 3, 5, 17}, Dims{1, 1, 3, 131}}) {
    for (const DeviceTraits& traits : {device_traits(), gpu_traits()}) {
      Maker make(1300 + k);
      Case c;
      c.node.op = Op::kLayerNorm;
      c.node.f[0] = 1e-5f;
      c.inputs = {make.tensor(x, 4)};
      c.consts = {make.vector(x.c, 0.5, 1.5), make.vector(x.c, -1, 1)};
      c.const_is_weight = {false, false};
      c.output = x;
      INFO("channels " << x.c);
      check(c, {traits, "layer_norm", {}});
      k++;
    }
  }
}

TEST_CASE("softmax over the real channels", "[softmax]") {
  if (!device()) SKIP("no Vulkan device");
  for (const Dims& x :
       {Dims{1, 1, 1, 1}, Dims{2, 1, 3, 2}, Dims{1, 3, 5, 17}, Dims{1, 1, 4, 6625}}) {
    for (const DeviceTraits& traits : {device_traits(), gpu_traits()}) {
      for (double size : {1.0, 30.0}) {
        Maker make(1400);
        Case c;
        c.node.op = Op::kSoftmax;
        c.inputs = {make.tensor(x, size)};
        // Halves hold 30 * n / 1024 only rounded; what is stored is the input.
        for (double& v : c.inputs[0].v) v = std::round(v * 32) / 32;
        c.output = x;
        INFO("channels " << x.c << ", size " << size);
        RunOptions options{traits, "softmax", {}};
        options.activation = activations(false)[0];
        // Behind a residual of 1, a share of 1/6625 would not be seen. One is enough for that code.
        options.residual = x.c == 2;
        if (options.residual) options.forms = Forms::kFew;
        check(c, options);
      }
    }
  }
}

TEST_CASE("attention, heads of any dimension", "[attention]") {
  if (!device()) SKIP("no Vulkan device");
  struct Shape {
    std::uint32_t n, t;
    std::int32_t heads, dim;
  };
  const Shape shapes[] = {{1, 1, 8, 15}, {2, 13, 8, 15}, {1, 41, 8, 15},
                          {1, 9, 3, 5},  {1, 17, 2, 16}, {1, 5, 1, 1},
                          {1, 7, 5, 33}, {1, 3, 7, 2},   {1, 300, 1, 3}};
  std::uint32_t k = 0;
  for (const Shape& s : shapes) {
    Maker make(1500 + k);
    Case c;
    c.node.op = Op::kAttention;
    c.node.i[0] = s.heads;
    c.node.i[1] = s.dim;
    c.node.f[0] = static_cast<float>(1 / std::sqrt(double(s.dim)));
    const auto channels = static_cast<std::uint32_t>(s.heads * s.dim);
    c.inputs = {make.tensor({s.n, 1, s.t, 3 * channels}, 2)};
    c.output = {s.n, 1, s.t, channels};
    INFO("length " << s.t << ", heads " << s.heads << ", dim " << s.dim);
    // Heads size arrays: another pipeline for each. The first three shapes share one.
    const Forms forms = k < 3 ? Forms::kBuffers : Forms::kFew;
    check(c, {device_traits(), "attention", {}, forms});
    if (k < 4) check(c, {gpu_traits(), "attention", {}, forms});  // blocks of keys
    k++;
  }
}

TEST_CASE("the best channel of each pixel", "[best]") {
  if (!device()) SKIP("no Vulkan device");
  std::size_t turn = 0;
  for (const Dims& x :
       {Dims{1, 1, 1, 1}, Dims{2, 1, 3, 2}, Dims{1, 3, 5, 17}, Dims{2, 1, 41, 6625}}) {
    for (const bool of_logits : {false, true}) {
      for (const DeviceTraits& traits : {device_traits(), gpu_traits()}) {
        Maker make(1600);
        const oracle::Tensor t = make.tensor(x, 8);
        auto lowered = lower_best(x, of_logits, traits);
        REQUIRE(lowered.ok());
        for (Form form : forms_for(Forms::kBuffers, turn++)) {
          KernelRunner* r = runner(form);
          if (!r) continue;
          INFO(form_name(form) << ", channels " << x.c << (of_logits ? ", logits" : ""));
          // Values as the form holds them; what stands in the padding is larger than all.
          std::vector<float> padded(x.vectors() * 4, 300);
          for (std::uint64_t p = 0; p < x.pixels(); p++)
            for (std::uint32_t c = 0; c < x.c; c++)
              padded[p * x.c4() * 4 + c] = static_cast<float>(t.v[p * x.c + c]);
          KernelRunner::Buffers buffers;
          buffers.inputs = {to_storage(padded, form)};
          const auto held = from_storage(buffers.inputs[0], form);
          buffers.floats_out_bytes = x.pixels() * 8;
          auto out = r->run(*lowered, buffers);
          if (!out) FAIL(out.error().message);
          note_run(*lowered, form);
          std::vector<float> got(x.pixels() * 2);
          std::memcpy(got.data(), out->floats_out.data(), got.size() * 4);
          bool right = true;
          for (std::uint64_t p = 0; p < x.pixels(); p++) {
            const float* row = held.data() + p * x.c4() * 4;
            std::uint32_t best = 0;
            double sum = 0;
            for (std::uint32_t c = 0; c < x.c; c++) {
              if (row[c] > row[best]) best = c;
            }
            for (std::uint32_t c = 0; c < x.c; c++) sum += std::exp(double{row[c]} - row[best]);
            const double want = of_logits ? 1 / sum : row[best];
            right = right && got[p * 2] == static_cast<float>(best) &&
                    std::abs(got[p * 2 + 1] - want) <= (of_logits ? 64 * 0x1p-23 * want : 0);
          }
          CHECK(right);
        }
      }
    }
  }
}

}  // namespace spirkiln::test
