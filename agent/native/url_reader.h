#pragma once

#include "absl/status/status.h"
#include "agent/native/url_queue.h"
#include "common/stop_event.h"

namespace fetchbench::native {

// Reads lines from `fd` into `queue` until the end of input, `stop`, or the queue's end; blocks.
// Does not close the queue. An input that cannot be read is Unavailable.
absl::Status ReadUrls(int fd, const StopEvent& stop, UrlQueue& queue);

}  // namespace fetchbench::native
