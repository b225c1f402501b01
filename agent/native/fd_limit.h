#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace fetchbench::native {

// Descriptors that a run needs at most in the ordinary case: one socket a fetch, a quarter more for
// connections raced by Happy Eyeballs, and what each thread and the process itself hold.
uint64_t DescriptorsNeeded(size_t concurrency, size_t threads);

// Raises the soft limit of open files to the hard one, and checks that `needed` fit.
// ResourceExhausted names the limit, what is needed and what would fit.
absl::Status RaiseFdLimit(uint64_t needed);

}  // namespace fetchbench::native
