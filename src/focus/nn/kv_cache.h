// Keys, values and routing decisions of the tokens seen so far.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "focus/plan/group_sets.h"

namespace focus {

class LayerCache {
 public:
  int64_t length() const { return length_; }
  // Appends k, v: [n, kv_heads, dim] of one dtype.
  void append(const at::Tensor& k, const at::Tensor& v);
  // Rows [0, length) of all tokens: [length, kv_heads, dim], views.
  at::Tensor keys() const;
  at::Tensor values() const;
  void truncate(int64_t length);

  // M of every token, decided once when the token entered; empty until a router has run.
  GroupSets key_sets;

 private:
  at::Tensor k_, v_;  // [capacity, kv_heads, dim]
  int64_t length_ = 0;
};

class KvCache {
 public:
  explicit KvCache(int64_t layers) : layers_(layers) {}
  LayerCache& layer(int64_t index) { return layers_[index]; }
  int64_t layers() const { return static_cast<int64_t>(layers_.size()); }
  int64_t length() const { return layers_.empty() ? 0 : layers_.front().length(); }
  // Forgets every token at or after `length`; what follows equals a run that never saw them.
  void truncate(int64_t length);

 private:
  std::vector<LayerCache> layers_;
};

}  // namespace focus
