#include "describe.h"

#include <fmt/format.h>

namespace focus::app {

std::string routing_text(const RoutingSpec& spec) {
  const auto members =
      spec.members > 1 ? fmt::format(" ({} of a key)", spec.members) : std::string();
  const auto read = spec.tied ? std::string("tied to the keys")
                    : spec.read == RoutingSpec::Read::kMass
                        ? fmt::format("read by mass {:g}", spec.read_mass)
                        : fmt::format("read by {}", to_string(spec.read));
  return fmt::format("{} features, {} heads, {} of {} groups{}, rank {}, {}, balance {}",
                     to_string(spec.features), to_string(spec.heads), to_string(spec.membership),
                     spec.groups, members, spec.rank, read, to_string(spec.balance));
}

std::string rule_text(const Rule& rule) {
  return fmt::format("window {} + {} sinks{}", rule.window, rule.sinks,
                     rule.dense_until > 0 ? fmt::format(", dense until {}", rule.dense_until) : "");
}

}  // namespace focus::app
