#include "focus/eval/random_router.h"

#include "focus/base/random.h"

namespace focus {

int64_t RandomRouter::draw(int64_t layer, int64_t head, int64_t position) const {
  uint64_t state = seed_;
  for (int64_t part : {layer, head, position})
    state = Random(state ^ static_cast<uint64_t>(part)).next();
  return Random(state).below(groups_);
}

GroupSets RandomRouter::route(const LayerInputs& inputs, GroupSets& keys) const {
  const int64_t tokens = inputs.q.size(0), heads = inputs.q.size(1), kv_heads = inputs.k.size(1);
  if (keys.empty()) keys = GroupSets(groups_, kv_heads);
  keys.grow(tokens);
  GroupSets queries(groups_, heads);
  queries.grow(tokens);
  for (int64_t t = 0; t < tokens; ++t) {
    const int64_t position = inputs.first + t;
    for (int64_t h = 0; h < kv_heads; ++h) keys.add(position, h, draw(inputs.layer, h, position));
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t start = draw(inputs.layer, kv_heads + h, position);
      for (int64_t n = 0; n < reads_[inputs.layer][h]; ++n)
        queries.add(t, h, (start + n) % groups_);
    }
  }
  return queries;
}

}  // namespace focus
