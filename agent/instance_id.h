#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace fetchbench::agent {

// Names one process of the daemon, apart from all others and from itself after a restart: 128 bits
// of `random`, in hex.
std::string MakeInstanceId(const std::function<uint32_t()>& random);

}  // namespace fetchbench::agent
