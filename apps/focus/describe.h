// Words for an adapter's settings, the same in every place that shows them.
#pragma once

#include <string>

#include "focus/nn/routing.h"
#include "focus/plan/rule.h"

namespace focus::app {

std::string routing_text(const RoutingSpec& spec);
std::string rule_text(const Rule& rule);

}  // namespace focus::app
