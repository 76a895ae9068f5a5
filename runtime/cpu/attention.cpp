// SPDX-License-Identifier: Apache-2.0
// Self-attention of one line: softmax(f q k') v for each head.
#include "cpu/activation.hpp"
#include "cpu/loops.hpp"
#include "cpu/operators.hpp"

namespace spirkiln::cpu {
namespace {

// Keys and values are turned round once, [dim][steps], so that loops over steps are vectors
// whatever the size of a head (15 in PP-OCRv4).
SPIRKILN_VECTOR_LOOP void turn(const float* from, std::size_t stride, std::size_t steps,
                               std::size_t dim, float* to) {
  for (std::size_t d = 0; d < dim; ++d) {
    for (std::size_t s = 0; s < steps; ++s) to[d * steps + s] = from[s * stride + d];
  }
}

SPIRKILN_VECTOR_LOOP void attend(const float* query, const float* keys, const float* values,
                                 float factor, std::size_t steps, std::size_t dim, float* score,
                                 float* out) {
  for (std::size_t s = 0; s < steps; ++s) score[s] = 0;
  for (std::size_t d = 0; d < dim; ++d) {
    const float q = query[d] * factor;
    const float* row = keys + d * steps;
#pragma omp simd
    for (std::size_t s = 0; s < steps; ++s) score[s] += q * row[s];
  }
  float top = score[0], sum = 0;
#pragma omp simd reduction(max : top)
  for (std::size_t s = 0; s < steps; ++s) top = top > score[s] ? top : score[s];
#pragma omp simd reduction(+ : sum)
  for (std::size_t s = 0; s < steps; ++s) {
    const float e = exp_of(score[s] - top);
    score[s] = e;
    sum += e;
  }
  for (std::size_t d = 0; d < dim; ++d) {
    const float* row = values + d * steps;
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (std::size_t s = 0; s < steps; ++s) total += score[s] * row[s];
    out[d] = total / sum;
  }
}

}  // namespace

Step attention(const StepRequest& q) {
  const auto heads = static_cast<std::size_t>(q.node.i[0]),
             dim = static_cast<std::size_t>(q.node.i[1]);
  const std::size_t steps = q.inputs[0].w, all = heads * dim;
  const float factor = q.node.f[0];
  Step step;
  // Of each head keys and values, and one row of scores.
  const std::size_t per_head = (2 * dim + 1) * steps;
  step.scratch_bytes = heads * per_head * sizeof(float);
  const int threads = q.threads;
  step.run = [=, f = Finish(q)](const StepArgs& a) {
    const std::size_t stride = 3 * all;
    auto* scratch = reinterpret_cast<float*>(a.scratch);
    parallel(heads, heads * steps * steps * dim, threads, [&](std::size_t begin, std::size_t end) {
      for (std::size_t head = begin; head < end; ++head) {
        float* keys = scratch + head * per_head;
        float* values = keys + dim * steps;
        const float* qkv = a.in[0] + head * dim;
        turn(qkv + all, stride, steps, dim, keys);
        turn(qkv + 2 * all, stride, steps, dim, values);
        for (std::size_t t = 0; t < steps; ++t) {
          attend(qkv + t * stride, keys, values, factor, steps, dim, values + dim * steps,
                 a.out + t * all + head * dim);
        }
      }
    });
    f(a, 0, steps * all);
  };
  return step;
}

}  // namespace spirkiln::cpu
