#!/usr/bin/env bash
# The published run at concurrency 1,000: how long the whole of it takes
set -euo pipefail
# shellcheck source=tests/perf/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

perf_urls 10000 >"$work/urls"
perf_fleet published
for ((round = 1; round <= perf_rounds; round++)); do
  perf_coordinator "${run_options[@]}" --urls "$work/urls" --concurrency 1000
  jq -r .time "$work/summary.json" >>"$work/time"
  jq -r .totalUrls "$work/summary.json" >>"$work/records"
done
perf_row 'whole run' "$(perf_median <"$work/time")" ms 'at most 15000' "$(perf_spread <"$work/time")"
perf_row records "$(perf_median <"$work/records")" '' 'exactly 10000' "$(perf_spread <"$work/records")"
