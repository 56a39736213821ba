#pragma once

#include <ATen/core/Tensor.h>

namespace focus {

// What one layer's attention sees of the n new tokens at positions [first, first + n).
struct LayerInputs {
  int64_t layer = 0;
  int64_t first = 0;
  at::Tensor x;  // [n, hidden] fp32: the layer's input after its norm (the paper's H)
  at::Tensor q_raw,
      k_raw;           // [n, heads, dim], [n, kv_heads, dim] fp32, contiguous: just before RoPE
  at::Tensor q, k, v;  // after RoPE, in the compute type
};

}  // namespace focus
