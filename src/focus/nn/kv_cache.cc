#include "focus/nn/kv_cache.h"

#include <ATen/ATen.h>

namespace focus {
namespace {

void append_rows(at::Tensor& store, const at::Tensor& rows, int64_t length) {
  const int64_t needed = length + rows.size(0);
  if (!store.defined() || store.size(0) < needed) {
    const int64_t capacity = std::max<int64_t>(needed, store.defined() ? 2 * store.size(0) : 0);
    auto larger = at::empty({capacity, rows.size(1), rows.size(2)}, rows.options());
    if (length > 0) larger.narrow(0, 0, length).copy_(store.narrow(0, 0, length));
    store = larger;
  }
  store.narrow(0, length, rows.size(0)).copy_(rows);
}

}  // namespace

void LayerCache::append(const at::Tensor& k, const at::Tensor& v) {
  append_rows(k_, k, length_);
  append_rows(v_, v, length_);
  length_ += k.size(0);
}

at::Tensor LayerCache::keys() const { return k_.narrow(0, 0, length_); }
at::Tensor LayerCache::values() const { return v_.narrow(0, 0, length_); }

void LayerCache::truncate(int64_t length) {
  length_ = std::min(length_, length);
  key_sets.truncate(length);
}

void KvCache::truncate(int64_t length) {
  for (LayerCache& layer : layers_) layer.truncate(length);
}

}  // namespace focus
