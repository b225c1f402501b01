#pragma once

#include <boost/json/array.hpp>
#include <vector>

#include "coordinator/summary/summary.h"

namespace fetchbench::coordinator {

// As resume.json, run.json and summary.json have them: an object each, with name, lost, reconnects,
// urls_moved and trouble. Texts become UTF-8. Pure.
boost::json::array DisturbancesJson(const std::vector<Disturbance>& disturbances);

}  // namespace fetchbench::coordinator
