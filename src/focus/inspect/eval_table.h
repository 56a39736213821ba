// The evaluation's table as HTML, with what its rows and columns mean.
#pragma once

#include <string>
#include <vector>

#include "focus/eval/eval_row.h"

namespace focus {

// The row of the sparse mask with the lowest finite perplexity; rows.size() if there is none.
// Sparse: not named "dense..." and pairs below 1.
size_t best_sparse_row(const std::vector<EvalRow>& rows);

// One sentence on what the mask keeps, told by the first word of its name.
std::string describe_mask(const std::string& mask);

// The best sparse row is marked, and perplexity is also given relative to the first dense row.
std::string render_eval_table(const std::vector<EvalRow>& rows);

}  // namespace focus
