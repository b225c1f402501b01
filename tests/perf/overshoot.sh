#!/usr/bin/env bash
# How long after its deadline a fetch ends: native against hosts that never answer, on a CPU with time to spare
set -euo pipefail
# shellcheck source=tests/perf/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

echo '{"name": "silent", "outcomes": {"silent_before_headers": 1.0}}' >"$work/silent.json"
perf_origin "$work/silent.json"
perf_urls 3000 >"$work/urls"
perf_certificates "$work/urls"
# 50 in flight for half a second each: 100 handshakes a second, a tenth of a CPU. All of them begin together and
# so end together, which is as bad as it gets for the timers.
perf_cpu "$FETCHBENCH_BIN/fetchbench-native" --concurrency 50 --timeout 0.5 --format jsonl \
  "${native_options[@]}" <"$work/urls" >"$work/records"
jq -r 'select(.outcome | test("timeout")) | .duration_ms - 500 | . * 1000 | round / 1000' "$work/records" |
  sort -g >"$work/overshoot"
quantile() { awk -v q="$1" '{ v[NR] = $1 } END { i = int(NR * q + 0.999999); print v[i < 1 ? 1 : i] }' "$work/overshoot"; }
perf_row timeouts "$(wc -l <"$work/overshoot")" '' '3000' "CPU seconds used: $perf_seconds"
perf_row 'overshoot p50' "$(quantile 0.5)" ms '' ''
perf_row 'overshoot p99.9' "$(quantile 0.999)" ms 'at most 50' "most: $(quantile 1)"
