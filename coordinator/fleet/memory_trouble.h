#pragma once

#include <string>

#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::coordinator {

// What an agent did when its memory was above its limit, in words that follow its name. Empty: it
// told of none. Pure.
std::string MemoryTroubleText(const v1::MemoryTrouble& trouble);

}  // namespace fetchbench::coordinator
