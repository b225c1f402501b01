// The agent as a program of its own that is killed in the middle of a run: the next one tidies up.
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>

#include "tests/agent/container/container_fixture.h"
#include "tests/support/child_program.h"

