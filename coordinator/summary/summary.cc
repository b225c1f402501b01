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

std::string RuntimeInWords(const RunFacts& facts) {
  std::string text = facts.runtime;
  for (const std::string& library : facts.libraries) {
    if (!text.empty()) text += ", ";
    text += library;
  }
  return text;
}

}  // namespace fetchbench::coordinator
