#include <utility>

#include "common/metrics.h"
#include "coordinator/cli/settings.h"

namespace fetchbench::coordinator {

Setting MetricsSetting(RunOptions& run) {
  return {"--metrics",
          "HOST:PORT",
          "",
          "Serve figures for Prometheus at http://HOST:PORT/metrics, as long as the program runs; "
          "a PORT alone is one of 127.0.0.1. Default: not served.",
          false,
          [&run](const std::string& text) {
            auto address = ParseMetricsAddress(text);
            if (!address.ok()) return address.status();
            run.metrics = *std::move(address);
            return absl::OkStatus();
          }};
}

}  // namespace fetchbench::coordinator
