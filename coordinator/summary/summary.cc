#include "coordinator/summary/summary.h"

namespace fetchbench::coordinator {

const char* RunEndName(RunEnd end) {
  switch (end) {
    case RunEnd::kComplete:
      return "complete";
    case RunEnd::kDuration:
      return "duration_reached";
    case RunEnd::kInterrupted:
      return "interrupted";
    case RunEnd::kIncomplete:
      return "incomplete";
  }
  return "unknown";
}

}  // namespace fetchbench::coordinator
