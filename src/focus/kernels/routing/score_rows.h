// Routing scores in fp32, in an order that depends on the width alone.
#pragma once

#include <cstdint>

#include "focus/base/parallel.h"

namespace focus {

// y[n, o] = bias[o] + sum over d ascending of x[n, d] * weights[d, o]: one chain of fused
// multiply-adds an output, so that a row's bits depend neither on its neighbours, nor on rows,
// threads or the model's dtype (docs/method.md, rules that keep routing reproducible). On CPUs
// without FMA the two roundings are separate and bits differ from those with.
//   x: [rows, width], row stride x_stride; weights: [width, outputs], contiguous; bias: [outputs]
//   or nullptr (0); y: [rows, outputs], row stride y_stride. Strides in floats.
void score_rows(const float* x, int64_t x_stride, int64_t rows, int64_t width, const float* weights,
                const float* bias, int64_t outputs, float* y, int64_t y_stride);

// Marks in `set` (ceil(groups / 64) words, zeroed by the caller) the `read` highest of
// scores[groups], between equal scores the lower id first. read is cut to groups; 0 marks none.
// Error(kNumeric) when a score is NaN.
void select_top(const float* scores, int64_t groups, int64_t read, uint64_t* set);
// Marks the scores above 0. Error(kNumeric) when a score is NaN.
void select_positive(const float* scores, int64_t groups, uint64_t* set);
// Marks the fewest highest scores whose softmax mass reaches `mass` in (0, 1], at least one.
// Error(kNumeric) on NaN.
void select_mass(const float* scores, int64_t groups, double mass, uint64_t* set);
// Group ids by (score descending, id ascending). Error(kNumeric) when a score is NaN.
void rank_groups(const float* scores, int64_t groups, int32_t* order);

}  // namespace focus
