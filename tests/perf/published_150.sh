#!/usr/bin/env bash
# The published run in the simulated web: 10,000 URLs at concurrency 150; means, shares, and what the origin saw
set -euo pipefail
# shellcheck source=tests/perf/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

perf_urls 10000 >"$work/urls"
perf_fleet published
perf_coordinator "${run_options[@]}" --urls "$work/urls" --concurrency 150

figure() { jq -r "$1" "$work/summary.json"; }
perf_row records "$(figure .totalUrls)" '' 'exactly 10000' ''
perf_row 'mean duration' "$(figure .avg)" ms '612 to 748' ''
perf_row 'whole run' "$(figure .time)" ms '' "99 % of the URLs after $(figure .time_to_99_ms) ms"
perf_row 'overshoot p99.9' "$(figure '.timeout_overshoot_ms["p99.9"]')" ms 'at most 50' "$(figure .timeout_overshoot_ms.count) timeouts"
perf_row '2xx' "$(figure '."2xx" / .totalUrls * 10000 | round / 100')" % '78.8 to 80.8' ''
perf_row '3xx' "$(figure '."3xx" / .totalUrls * 10000 | round / 100')" % 'at most 1' ''
perf_row '4xx' "$(figure '."4xx" / .totalUrls * 10000 | round / 100')" % '8.7 to 10.7' ''
perf_row '5xx' "$(figure '."5xx" / .totalUrls * 10000 | round / 100')" % 'at most 1.2' ''
perf_row failures "$(figure '.Exception / .totalUrls * 10000 | round / 100')" % '9.3 to 11.3' ''
perf_row 'mean body of 2xx' "$(figure .avgBodyLen)" B '' ''
perf_row 'marks, the origin agrees' "$(figure '[.marks[].name] | if . == [] then "none" else join(" ") end')" '' none ''
