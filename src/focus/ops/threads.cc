#include "focus/ops/threads.h"

#include <ATen/Parallel.h>

namespace focus {

ParallelFor torch_parallel() {
  return [](int64_t n, const std::function<void(int64_t, int64_t)>& body) {
    at::parallel_for(0, n, 1, body);
  };
}

}  // namespace focus
