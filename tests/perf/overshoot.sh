#!/usr/bin/env bash
# How long after its deadline a fetch ends: native against hosts that never answer, on a CPU with time to spare
set -euo pipefail
# shellcheck source=tests/perf/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

echo '{"name": "silent", "fates": {"silent_before_headers": 1.0}}' >"$work/silent.json"
perf_origin "$work/silent.json"
perf_urls 5000 >"$work/urls"
perf_certificates "$work/urls"
# 200 in flight for 1 s each: 200 handshakes a second, a quarter of a CPU.
perf_cpu "$FETCHBENCH_BIN/fetchbench-native" --concurrency 200 --timeout 1 --format jsonl \
  "${native_options[@]}" <"$work/urls" >"$work/records"
jq -r 'select(.outcome | test("timeout")) | .duration_ms - 1000' "$work/records" | sort -g >"$work/overshoot"
quantile() { awk -v q="$1" '{ v[NR] = $1 } END { i = int(NR * q + 0.999999); print v[i < 1 ? 1 : i] }' "$work/overshoot"; }
perf_row timeouts "$(wc -l <"$work/overshoot")" '' '5000' "CPU seconds used: $perf_seconds"
perf_row 'overshoot p50' "$(quantile 0.5)" ms '' ''
perf_row 'overshoot p99.9' "$(quantile 0.999)" ms 'at most 50' "most: $(quantile 1)"
