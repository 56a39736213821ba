#pragma once

#include "focus/base/parallel.h"

namespace focus {

// The loop of torch's thread pool, for kernels.
ParallelFor torch_parallel();

}  // namespace focus
