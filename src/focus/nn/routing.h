// The routing family (docs/method.md): what is routed, by whom, into what, how it is read and
// balanced.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "focus/base/error.h"

namespace focus {

struct RoutingSpec {
  enum class Features {
    kQk,
    kInput
  };  // the layer's own q and k before RoPE | its input (the paper's W_g)
  enum class Heads { kKv, kLayer };  // one router a KV head (and a query head for Q) | one a layer
  enum class Membership {
    kPartition,
    kThreshold
  };  // the `members` best groups | every group whose threshold is passed
  enum class Read {
    kBudget,
    kTop,
    kMass
  };  // groups read: fitted per head | the same number everywhere | top-p
  enum class Balance { kNone, kFrozen, kRunning, kSinkhorn };

  Features features = Features::kQk;
  Heads heads = Heads::kKv;
  Membership membership = Membership::kPartition;
  Read read = Read::kBudget;
  Balance balance = Balance::kNone;
  bool tied =
      false;  // a query reads the groups its own token is in (the paper); needs Features::kInput
  int64_t groups = 64;
  int64_t rank = 16;        // d_g: width of the projected features
  int64_t members = 1;      // groups of a key: exactly (partition) or on average (threshold)
  double read_mass = 0.5;   // Read::kMass: share of the predicted mass
  double balance_rate = 0;  // Balance::kRunning: score per token of surplus

  // Error(kUsage) for values out of range or combinations that make no sense; Error(kUnsupported)
  // for kSinkhorn, which looks at later tokens.
  void check() const;
};

std::string_view to_string(RoutingSpec::Features value);
std::string_view to_string(RoutingSpec::Heads value);
std::string_view to_string(RoutingSpec::Membership value);
std::string_view to_string(RoutingSpec::Read value);
std::string_view to_string(RoutingSpec::Balance value);
// The value of that name; Error(kind) listing the names.
template <typename Enum>
Enum parse_enum(const std::string& what, std::string_view name, ErrorKind kind = ErrorKind::kUsage);

// The shapes of the model that a router needs.
struct RoutingShape {
  int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;

  int64_t key_routers(const RoutingSpec& spec) const {
    return spec.heads == RoutingSpec::Heads::kLayer ? 1 : kv_heads;
  }
  int64_t query_routers(const RoutingSpec& spec) const {
    return spec.heads == RoutingSpec::Heads::kLayer ? 1 : heads;
  }
  // Width of what a router sees: a head's own vector, all heads' side by side, or the layer input.
  int64_t key_width(const RoutingSpec& spec) const;
  int64_t query_width(const RoutingSpec& spec) const;
};

// The routers of one layer, fp32. R = key or query routers, W = their width, r = rank, G = groups:
//   score_g(x) = bias_g + centroid_g . (projection x).
struct RouterWeights {
  at::Tensor projection;  // [R, r, W]
  at::Tensor centroids;   // [R, G, r]
  at::Tensor bias;        // [R, G]
};
struct LayerRouting {
  RouterWeights keys;
  RouterWeights queries;       // undefined tensors when tied
  std::vector<int32_t> reads;  // [query routers]: groups read
};

// Routers that have to score: a query head that reads no group needs none, nor does a key router
// whose query heads all read none.
struct ActiveRouters {
  std::vector<bool> keys, queries;
};
ActiveRouters active_routers(const RoutingSpec& spec, const RoutingShape& shape,
                             const std::vector<int32_t>& reads);

// Scoring cost of one router a token, in pair-equivalents (docs/method.md, "cost"): a product of
// width w costs w / (2 head_dim) pairs; the projection counts too, as r products of the feature
// width.
double router_pairs(const RoutingSpec& spec, const RoutingShape& shape, int64_t width);
// Scoring of all active routers over the causal pairs of a window of `tokens`, mean over query
// heads and layers. reads: [layers][query routers].
double scoring_cost(const RoutingSpec& spec, const RoutingShape& shape,
                    const std::vector<std::vector<int32_t>>& reads, int64_t tokens);

}  // namespace focus
