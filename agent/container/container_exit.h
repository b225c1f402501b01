#pragma once

#include <cstdint>

#include "agent/target_process.h"
#include "common/docker/engine_json.h"

namespace fetchbench::agent {

// The code of a run whose end cannot be learnt, as `docker run` has it.
inline constexpr int kEngineTroubleCode = 125;

// A container's exit code as TargetExit has it. Its init process says 128 + N for a program that
// was killed by signal N; those of a crash or SIGKILL are taken as such, while 130 and 143 stay:
// programs say so themselves when they were asked to stop. Pure.
int TargetExitCode(int container_code);

// What else the Engine knows of the end: memory ran out, or the start failed. Pure.
std::string ExitNote(const docker::ContainerInfo& info, uint64_t memory_bytes);

}  // namespace fetchbench::agent
