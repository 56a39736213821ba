// The routing decisions of one window on disk: a safetensors file with, for each layer N,
//   layers.N.queries  I64 [tokens, query routers, words]  Q(i), the groups that each query reads
//   layers.N.keys     I64 [tokens, key routers, words]    M(j), the groups that each key is in
// as 64-bit words of bit sets (plan/group_sets.h); what else it takes to build the plans is in the
// metadata.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "focus/nn/masked_attention.h"

namespace focus {

struct RecordedRouting {
  RoutingRecord record;
  Rule rule;  // window, sinks and dense_until
  std::string model;
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  std::vector<std::vector<int32_t>> reads;  // [layers][query routers], as the adapter says

  int64_t layers() const { return static_cast<int64_t>(record.layers.size()); }
  int64_t tokens() const { return record.layers.at(0).queries.tokens(); }
  int64_t groups() const { return record.layers.at(0).queries.groups(); }
};

// Replaces `path` in one step. Errors: kUsage (no layers, layers of different shapes), kIo.
void save_routing_record(const std::string& path, const RecordedRouting& routing);
// Errors: those of SafetensorsFile, and kFormat (metadata absent or out of range, a layer absent,
// of another type or shape, a group that does not exist).
RecordedRouting load_routing_record(const std::string& path);

}  // namespace focus
