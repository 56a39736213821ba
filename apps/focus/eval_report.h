#pragma once

#include <string>

#include "focus/eval/evaluate.h"
#include "loaded_model.h"

namespace focus::app {

// report.html: the table, the loss curve of `adapter_folder`/metrics.jsonl, far mass and reads per
// head, a page of the last text coloured by group, and a continuation with the adapter on. adapter
// may be nullptr.
void write_eval_report(const std::string& path, const LoadedModel& model,
                       const TokenWindows& windows, const Adapter* adapter,
                       const std::string& adapter_folder, const EvalResult& result);

}  // namespace focus::app
