// How kernels borrow threads: the caller passes its own loop, so that all work shares one pool.
#pragma once

#include <cstdint>
#include <functional>

namespace focus {

// Calls body(begin, end) on disjoint ranges that cover [0, n), in any order, perhaps at the same
// time.
using ParallelFor =
    std::function<void(int64_t n, const std::function<void(int64_t begin, int64_t end)>& body)>;

}  // namespace focus
