#pragma once

#include <cstddef>

#include "coordinator/summary/summary.h"
#include "coordinator/ui/progress_model.h"

namespace fetchbench::coordinator {

// A run of 10,000 URLs a third of the way through, on `agents` agents. With 50, number 7 is lost,
// number 19 reconnecting, number 31 slow; names and notes hold what a hostile peer might send.
ProgressSnapshot SampleSnapshot(size_t agents);

// The same run when it was over.
Summary SampleSummary(size_t agents);

}  // namespace fetchbench::coordinator
