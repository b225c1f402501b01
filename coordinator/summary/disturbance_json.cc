#include "coordinator/summary/disturbance_json.h"

#include <boost/json.hpp>

#include "common/utf8.h"

namespace fetchbench::coordinator {

boost::json::array DisturbancesJson(const std::vector<Disturbance>& disturbances) {
  boost::json::array array;
  for (const Disturbance& d : disturbances) {
    array.push_back(boost::json::object{{"name", ValidUtf8(d.agent, kReplacementCharacter)},
                                        {"lost", d.lost},
                                        {"reconnects", d.reconnects},
                                        {"urls_moved", d.urls_moved},
                                        {"trouble", ValidUtf8(d.trouble, kReplacementCharacter)}});
  }
  return array;
}

}  // namespace fetchbench::coordinator
