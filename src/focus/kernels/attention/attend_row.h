// One query over a list of keys: the runner of decode and of the batch-invariant mode.
#pragma once

#include <cstdint>

#include "focus/kernels/attention/bf16.h"

namespace focus {

// out = softmax(scale * q . k_j) v_j over j in keys[0..count), ascending, in fp32; returns the
// natural-log log-sum-exp of the scaled scores. A row's bits depend on q and on the listed keys
// alone. With no key: out = 0 and -infinity.
//   q, out: [dim]; k, v: rows of `dim` at stride `stride` elements, indexed by position; scratch:
//   [count + 64] floats.
template <typename T>
float attend_row(const float* q, int64_t dim, float scale, const T* k, const T* v, int64_t stride,
                 const int32_t* keys, int64_t count, float* scratch, float* out);

}  // namespace focus
