#include "focus/nn/routing.h"

#include <array>
#include <utility>

#include "focus/base/error.h"

namespace focus {
namespace {

template <typename Enum>
using Names = std::vector<std::pair<Enum, std::string_view>>;

const Names<RoutingSpec::Features>& names(RoutingSpec::Features) {
  static const Names<RoutingSpec::Features> kAll{{RoutingSpec::Features::kQk, "qk"},
                                                 {RoutingSpec::Features::kInput, "input"}};
  return kAll;
}
const Names<RoutingSpec::Heads>& names(RoutingSpec::Heads) {
  static const Names<RoutingSpec::Heads> kAll{{RoutingSpec::Heads::kKv, "kv"},
                                              {RoutingSpec::Heads::kLayer, "layer"}};
  return kAll;
}
const Names<RoutingSpec::Membership>& names(RoutingSpec::Membership) {
  static const Names<RoutingSpec::Membership> kAll{
      {RoutingSpec::Membership::kPartition, "partition"},
      {RoutingSpec::Membership::kThreshold, "threshold"}};
  return kAll;
}
const Names<RoutingSpec::Read>& names(RoutingSpec::Read) {
  static const Names<RoutingSpec::Read> kAll{{RoutingSpec::Read::kBudget, "budget"},
                                             {RoutingSpec::Read::kTop, "top"},
                                             {RoutingSpec::Read::kMass, "mass"}};
  return kAll;
}
const Names<RoutingSpec::Balance>& names(RoutingSpec::Balance) {
  static const Names<RoutingSpec::Balance> kAll{{RoutingSpec::Balance::kNone, "none"},
                                                {RoutingSpec::Balance::kFrozen, "frozen"},
                                                {RoutingSpec::Balance::kRunning, "running"},
                                                {RoutingSpec::Balance::kSinkhorn, "sinkhorn"}};
  return kAll;
}

template <typename Enum>
std::string_view name_of(Enum value) {
  for (const auto& [candidate, name] : names(value)) {
    if (candidate == value) return name;
  }
  return "?";
}

void require(bool holds, const char* option, const std::string& expected,
             const std::string& found) {
  if (!holds) throw Error(ErrorKind::kUsage, option, expected, found);
}

}  // namespace

std::string_view to_string(RoutingSpec::Features value) { return name_of(value); }
std::string_view to_string(RoutingSpec::Heads value) { return name_of(value); }
std::string_view to_string(RoutingSpec::Membership value) { return name_of(value); }
std::string_view to_string(RoutingSpec::Read value) { return name_of(value); }
std::string_view to_string(RoutingSpec::Balance value) { return name_of(value); }

template <typename Enum>
Enum parse_enum(const std::string& what, std::string_view name, ErrorKind kind) {
  std::string known;
  for (const auto& [value, candidate] : names(Enum{})) {
    if (candidate == name) return value;
    known += (known.empty() ? "" : ", ") + std::string(candidate);
  }
  throw Error(kind, what, "one of " + known, "'" + std::string(name) + "'");
}
template RoutingSpec::Features parse_enum(const std::string&, std::string_view, ErrorKind);
template RoutingSpec::Heads parse_enum(const std::string&, std::string_view, ErrorKind);
template RoutingSpec::Membership parse_enum(const std::string&, std::string_view, ErrorKind);
template RoutingSpec::Read parse_enum(const std::string&, std::string_view, ErrorKind);
template RoutingSpec::Balance parse_enum(const std::string&, std::string_view, ErrorKind);

void RoutingSpec::check() const {
  require(groups >= 2 && groups <= 1024, "groups", "2 to 1024", std::to_string(groups));
  require(rank >= 1 && rank <= 1024, "rank", "1 to 1024", std::to_string(rank));
  require(members >= 1 && members <= groups, "members", "1 to " + std::to_string(groups),
          std::to_string(members));
  require(read_mass > 0 && read_mass <= 1, "read mass", "above 0, at most 1",
          std::to_string(read_mass));
  require(balance_rate >= 0, "balance rate", "0 or more", std::to_string(balance_rate));
  require(!tied || features == Features::kInput, "tied routing",
          "features 'input' (q and k differ in kind)",
          "features '" + std::string(to_string(features)) + "'");
  if (balance == Balance::kSinkhorn) {
    throw Error(ErrorKind::kUnsupported, "balance", "a causal balance (none, frozen, running)",
                "sinkhorn",
                "balance over the whole sequence lets a token's group depend on later tokens; "
                "'frozen' or 'running' "
                "are its causal forms");
  }
}

int64_t RoutingShape::key_width(const RoutingSpec& spec) const {
  if (spec.features == RoutingSpec::Features::kInput) return hidden;
  return spec.heads == RoutingSpec::Heads::kLayer ? kv_heads * head_dim : head_dim;
}

int64_t RoutingShape::query_width(const RoutingSpec& spec) const {
  if (spec.features == RoutingSpec::Features::kInput) return hidden;
  return spec.heads == RoutingSpec::Heads::kLayer ? heads * head_dim : head_dim;
}

ActiveRouters active_routers(const RoutingSpec& spec, const RoutingShape& shape,
                             const std::vector<int32_t>& reads) {
  const int64_t keys = shape.key_routers(spec), queries = shape.query_routers(spec);
  ActiveRouters active{std::vector<bool>(keys, false), std::vector<bool>(queries, false)};
  for (int64_t q = 0; q < queries; ++q) {
    if (reads[q] <= 0 && spec.read != RoutingSpec::Read::kMass && !spec.tied) continue;
    active.queries[q] = true;
    active.keys[q / (queries / keys)] = true;
  }
  return active;
}

double router_pairs(const RoutingSpec& spec, const RoutingShape& shape, int64_t width) {
  return static_cast<double>(spec.rank * width + spec.groups * spec.rank) /
         static_cast<double>(2 * shape.head_dim);
}

double scoring_cost(const RoutingSpec& spec, const RoutingShape& shape,
                    const std::vector<std::vector<int32_t>>& reads, int64_t tokens) {
  double pairs = 0;
  for (const auto& layer : reads) {
    const auto active = active_routers(spec, shape, layer);
    for (bool on : active.keys) pairs += on ? router_pairs(spec, shape, shape.key_width(spec)) : 0;
    for (bool on : active.queries)
      pairs += on && !spec.tied ? router_pairs(spec, shape, shape.query_width(spec)) : 0;
  }
  return pairs / static_cast<double>(static_cast<int64_t>(reads.size()) * shape.heads) /
         (static_cast<double>(tokens + 1) / 2);
}

}  // namespace focus
