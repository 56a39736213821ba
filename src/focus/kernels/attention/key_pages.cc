#include "focus/kernels/attention/key_pages.h"

#include <atomic>
#include <cstring>

namespace focus {
namespace {

constexpr int64_t kChunk = 512;  // rows a piece of work

void copy_row(const float* from, int64_t dim, float* to) {
  std::memcpy(to, from, static_cast<size_t>(dim) * sizeof(float));
}
void copy_row(const Bf16* from, int64_t dim, float* to) {
  for (int64_t d = 0; d < dim; ++d) {
    const uint32_t bits = static_cast<uint32_t>(from[d].bits) << 16;
    std::memcpy(to + d, &bits, sizeof bits);
  }
}

bool finite_row(const float* x, int64_t dim) {
  uint32_t bad = 0;
  for (int64_t d = 0; d < dim; ++d) {
    uint32_t bits;
    std::memcpy(&bits, x + d, sizeof bits);
    bad |= static_cast<uint32_t>((bits & 0x7f800000u) == 0x7f800000u);
  }
  return bad == 0;
}
bool finite_row(const Bf16* x, int64_t dim) {
  uint32_t bad = 0;
  for (int64_t d = 0; d < dim; ++d) bad |= static_cast<uint32_t>((x[d].bits & 0x7f80u) == 0x7f80u);
  return bad == 0;
}

// Rows whose distance is a large power of two crowd into few sets of a cache.
bool crowds(int64_t stride) { return stride * static_cast<int64_t>(sizeof(float)) % 1024 == 0; }

}  // namespace

template <typename T>
void fill_pages(const AttentionShape& shape, HeadRows<const T> k, HeadRows<const T> v,
                std::vector<KeyPages>& pages, const ParallelFor& parallel_for) {
  const int64_t dim = shape.dim;
  bool copies = std::is_same_v<T, Bf16>;
  if constexpr (!std::is_same_v<T, Bf16>) {
    copies = shape.keys > 64 && dim < k.token_stride &&
             (crowds(k.token_stride) || crowds(v.token_stride));
  }
  int64_t rows = shape.keys;
  for (auto& page : pages) {
    const auto gathered = static_cast<int64_t>(page.lists_.positions.size());
    rows = std::max(rows, gathered);
    page.k_.reset(new float[gathered * dim]);
    page.v_.reset(new float[gathered * dim]);
    if (copies) {
      page.near_k_.reset(new float[shape.keys * dim]);
      page.near_v_.reset(new float[shape.keys * dim]);
      page.near = {page.near_k_.get(), page.near_v_.get(), dim, dim};
    } else if constexpr (!std::is_same_v<T, Bf16>) {
      page.near = {k.row(0, page.kv_head), v.row(0, page.kv_head), k.token_stride, v.token_stride};
    }
  }
  const int64_t chunks = (rows + kChunk - 1) / kChunk;
  std::vector<std::atomic<bool>> bad(pages.size());
  parallel_for(chunks * static_cast<int64_t>(pages.size()), [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      KeyPages& page = pages[n / chunks];
      const int64_t first = n % chunks * kChunk;
      const auto& positions = page.lists_.positions;
      for (int64_t r = first;
           r < std::min<int64_t>(first + kChunk, static_cast<int64_t>(positions.size())); ++r) {
        copy_row(k.row(positions[r], page.kv_head), dim, page.k_.get() + r * dim);
        copy_row(v.row(positions[r], page.kv_head), dim, page.v_.get() + r * dim);
      }
      bool finite = true;
      for (int64_t r = first; r < std::min(first + kChunk, shape.keys); ++r) {
        const T* value = v.row(r, page.kv_head);
        finite &= finite_row(value, dim);
        if (copies) {
          copy_row(k.row(r, page.kv_head), dim, page.near_k_.get() + r * dim);
          copy_row(value, dim, page.near_v_.get() + r * dim);
        }
      }
      if (!finite) bad[n / chunks] = true;
    }
  });
  for (size_t n = 0; n < pages.size(); ++n) pages[n].finite = !bad[n];
}

template void fill_pages(const AttentionShape&, HeadRows<const float>, HeadRows<const float>,
                         std::vector<KeyPages>&, const ParallelFor&);
template void fill_pages(const AttentionShape&, HeadRows<const Bf16>, HeadRows<const Bf16>,
                         std::vector<KeyPages>&, const ParallelFor&);

}  // namespace focus
