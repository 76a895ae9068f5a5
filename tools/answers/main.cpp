// SPDX-License-Identifier: Apache-2.0
// spirkiln-answers: the known answers of the OCR table's kernels, as TOML on stdout or in a file,
// for `spirkiln bake --answers`. What goes in is lowering, as a graph does it; what comes out is
// the double-precision oracle's.
#include <cstdio>
#include <string>

#include "families.hpp"
#include "output_set.hpp"

namespace spirkiln::answers {
namespace {

using model::Op;

// The ways through a kernel that its constants choose and that the graphs take, beside those above
// (test/unit/runtime/proof_paths_test.cpp): without a residual, with an activation of its own code,
// with K shared out or not.
void add_paths(Writer* out) {
  using model::Activation;
  constexpr auto kOrdinary = Numbers::kOrdinary;
  const Case product = pointwise(kOrdinary), conv = window(kOrdinary),
             deconv = transposed(kOrdinary), short_deconv = transposed(kOrdinary, 25);
  const Case swish = plain(product, Activation::kSwish),
             conv_swish = plain(conv, Activation::kSwish);
  add_node(out, "gemm_nc", plain(product), gpu());
  add_node(out, "gemm_nc", swish, gpu());
  add_node(out, "gemm_nc", plain(pointwise(kOrdinary, 71, 25)), gpu());
  add_node(out, "conv_nc", plain(conv), gpu());
  add_node(out, "conv_nc", conv_swish, gpu());
  add_node(out, "conv_nc", plain(small_window(kOrdinary)), gpu());
  add_node(out, "deconv_nc", plain(short_deconv), gpu());
  add_node(out, "deconv_nc", plain(short_deconv, Activation::kSigmoid), gpu());
  for (const Case& c : {plain(product), swish}) {
    add_node(out, "gemm_reg", c, plain_cpu());
    add_node(out, "gemm_subgroup", c, subgroups_of_eight(), 8);
  }
  for (const Case& c : {plain(conv), conv_swish}) {
    add_node(out, "conv_direct", c, plain_cpu());
    add_node(out, "conv_subgroup", c, subgroups_of_eight(), 8);
  }
  for (const Case& c : {plain(deconv), plain(deconv, Activation::kSigmoid)}) {
    add_node(out, "deconv", c, plain_cpu());
    add_node(out, "deconv_subgroup", c, subgroups_of_eight(), 8);
  }
  const Case long_product = pointwise(kOrdinary, 39), tall = window(kOrdinary, 8);
  for (const Matrix& m : kMatrices) {
    add_node(out, "gemm_coopmat", plain(product), matrices(m), m.subgroup);
    add_node(out, "gemm_coopmat", swish, matrices(m), m.subgroup);
    add_node(out, "window_coopmat", plain(conv), matrices(m), m.subgroup);
    add_node(out, "window_coopmat", conv_swish, matrices(m), m.subgroup);
    add_node(out, "conv_coopmat", plain(wide_window(kOrdinary)), matrices(m), m.subgroup);
    add_node(out, "deconv_coopmat", plain(deconv), matrices(m), m.subgroup);
    Separable pair = separable(kOrdinary, true);
    pair.point = plain(pair.point);
    add_separable(out, pair, m);
    if (has_transformer(m)) {
      add_transformer(out, transformer(kOrdinary, model::Activation::kSwish, false), m);
      add_transformer(out, transformer(kOrdinary, model::Activation::kSwish, true), m);
    }
    for (const Case& c :
         {long_product, plain(long_product), plain(long_product, Activation::kSwish)}) {
      add_node(out, "gemm_coopmat", c, deep_matrices(m), m.subgroup);
    }
    for (const Case& c : {plain(tall), plain(tall, Activation::kSwish)}) {
      add_node(out, "window_coopmat", c, deep_matrices(m), m.subgroup);
    }
  }
  // As a CPU driver runs them, which compiles for seconds: its graphs have the same pipelines.
  add_node(out, "depthwise", plain(wide_depthwise(kOrdinary)), subgroups_of_eight());
  add_node(out, "depthwise_line", plain(wide_depthwise(kOrdinary)), small_groups());
  add_node(out, "binary", plain(gated(kOrdinary)), subgroups_of_eight());
  add_node(out, "resize", plain(resize(kOrdinary)), subgroups_of_eight());
  add_node(out, "concat", plain(concat(kOrdinary, {4, 8, 3})), subgroups_of_eight());
  add_node(out, "concat", plain(concat(kOrdinary, {4, 8, 4, 4, 12, 3})), subgroups_of_eight(), 0,
           {{"INPUTS", "8"}});
  add_node(out, "pool_max", plain(pool(kOrdinary, Op::kMaxPool)), subgroups_of_eight());
  add_node(out, "pool_avg", plain(pool(kOrdinary, Op::kAvgPool)), subgroups_of_eight());
  add_node(out, "squeeze_excite", plain(squeeze_excite(kOrdinary)), subgroups_of_eight());
  add_gates_of_means(out);
  add_node(out, "layer_norm", plain(layer_norm(kOrdinary)), subgroups_of_eight());
  add_node(out, "attention", plain(attention(kOrdinary)), gpu());
  add_node(out, "attention", plain(attention(kOrdinary)), subgroups_of_eight());
}

// The same of the kernels at a graph's ends, and of those that are several nodes.
void add_paths_of_groups(Writer* out) {
  Case head = one_channel(Numbers::kOrdinary);
  head.node.epilogue.act = model::Activation::kSigmoid;
  add_head(out, head);
  // Subnormals are no bytes but 0.
  Case head_of_bytes = one_channel(Numbers::kOrdinary, 8);
  add_head(out, head_of_bytes, true);
  head_of_bytes.node.epilogue.act = model::Activation::kSigmoid;
  add_head(out, head_of_bytes, true);
  add_floats(out, Numbers::kOrdinary, true);
  add_stem(out, Numbers::kOrdinary, model::Activation::kSwish);
  Case product = scaled(Numbers::kOrdinary);
  product.dims.pop_back();
  product.inputs.pop_back();
  add_scaled(out, product);
  product = widely_scaled(Numbers::kOrdinary);
  product.dims.pop_back();
  product.inputs.pop_back();
  add_halves(out, product);
}

Writer all_answers() {
  Writer out;
  for (const Numbers numbers : {Numbers::kOrdinary, Numbers::kSubnormal}) {
    add_matrix_products(&out, numbers);
    add_node(&out, "depthwise", depthwise(numbers), plain_cpu());
    add_node(&out, "depthwise_line", depthwise(numbers), small_groups());
    add_node(&out, "affine", affine(numbers), small_groups());
    add_node(&out, "binary", binary(numbers), small_groups());
    add_node(&out, "resize", resize(numbers), small_groups());
    add_node(&out, "concat", concat(numbers, {5, 3, 7, 1}), small_groups());
    add_node(&out, "concat", concat(numbers, {1, 2, 3, 4, 5, 1, 2, 3}), small_groups(), 0,
             {{"INPUTS", "8"}});
    add_node(&out, "pool_max", pool(numbers, Op::kMaxPool), small_groups());
    add_node(&out, "pool_avg", pool(numbers, Op::kAvgPool), small_groups());
    add_mean(&out, numbers);
    add_node(&out, "squeeze_excite", squeeze_excite(numbers), gpu());
    add_scaled(&out, scaled(numbers));
    add_halves(&out, widely_scaled(numbers));
    add_node(&out, "layer_norm", layer_norm(numbers), gpu());
    add_node(&out, "softmax", softmax(numbers), gpu());
    add_node(&out, "attention", attention(numbers), gpu());
    add_picture(&out, numbers);
    add_stem(&out, numbers);
    add_head(&out, one_channel(numbers));
    add_floats(&out, numbers);
    add_best(&out, numbers);
  }
  add_paths(&out);
  add_paths_of_groups(&out);
  return out;
}

// Proofs do without them: what such a kernel computes on such a path is not tried then.
void tell(const LeftOut& l, bool strict) {
  std::fprintf(stderr,
               "%s:%u: %s: no known answer of %s (%u of them): %s; variants/tuning.toml chooses "
               "otherwise than the case expects. Where that is meant, change the case%s\n",
               l.file, static_cast<unsigned>(l.line), strict ? "error" : "warning",
               l.kernel.c_str(), static_cast<unsigned>(l.count), l.why.c_str(),
               strict ? "" : "; until then that path of the kernel is not proved");
}

}  // namespace
}  // namespace spirkiln::answers

int main(int argc, char** argv) {
  using namespace spirkiln;
  const bool strict = argc == 4 && std::string_view(argv[1]) == "--strict";
  if (argc != 3 + strict || std::string_view(argv[1 + strict]) != "-o") {
    std::fprintf(stderr,
                 "usage: spirkiln-answers [--strict] -o FILE\n"
                 "--strict: an answer that is left out is an error\n");
    return 2;
  }
  const answers::Writer all = answers::all_answers();
  for (const answers::LeftOut& l : all.left_out) answers::tell(l, strict);
  if (strict && !all.left_out.empty()) return 1;
  const auto written = tool::write_outputs({{argv[2 + strict], all.text}});
  if (!written.ok()) answers::die(written.error().message);
  return 0;
}
