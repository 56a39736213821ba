#pragma once

#include <memory>
#include <string>

#include "focus/nn/layer_inputs.h"
#include "focus/plan/group_sets.h"
#include "focus/plan/rule.h"

namespace focus {

// Sorts the tokens of a layer into groups. Causal: a token's sets depend on it and on earlier
// tokens alone.
class Router {
 public:
  virtual ~Router() = default;
  // Appends M of the new tokens to `keys` (empty object at the first call) and returns their Q.
  // Errors: kNumeric (activations not finite), kState (a routing that may not be used at
  // inference).
  virtual GroupSets route(const LayerInputs& inputs, GroupSets& keys) const = 0;
};

// A mask in use: the rule, and who fills Q and M (nullptr: nobody, window and sinks alone).
struct Mask {
  std::string name;
  Rule rule;
  std::shared_ptr<const Router> router;
};

}  // namespace focus
