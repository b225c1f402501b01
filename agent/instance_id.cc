#include "agent/instance_id.h"

#include <fmt/format.h>

namespace fetchbench::agent {

std::string MakeInstanceId(const std::function<uint32_t()>& random) {
  constexpr int kWords = 4;
  std::string id;
  for (int i = 0; i < kWords; ++i) id += fmt::format("{:08x}", random());
  return id;
}

}  // namespace fetchbench::agent
