#pragma once

#include <cstdint>
#include <string>

namespace fetchbench::agent {

struct LeasedUrl {
  uint64_t index = 0;
  uint64_t lease_id = 0;
  std::string url;
};

}  // namespace fetchbench::agent
