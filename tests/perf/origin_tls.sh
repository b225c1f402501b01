#!/usr/bin/env bash
# How many new TLS connections a second the simulated web serves from one core
#
# The client on the other CPU is slower than the origin, so what counts is the CPU time that the origin spends
# on a connection, handshake, request and answer included: one core serves its inverse.
set -euo pipefail
# shellcheck source=tests/perf/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

perf_urls 10000 >"$work/urls"
perf_origin fast
perf_certificates "$work/urls"
for ((round = 1; round <= perf_rounds; round++)); do
  perf_run_begins "round$round"
  perf_cpu "$FETCHBENCH_BIN/fetchbench-native" --concurrency 100 "${native_options[@]}" \
    <"$work/urls" >"$work/records"
  perf_run_seen "round$round" >"$work/seen"
  jq -r '.tls_handshakes / (.cpu_us / 1e6) | floor' "$work/seen" >>"$work/rate"
  jq -r .lateness_us.p99 "$work/seen" >>"$work/late"
done
perf_row 'TLS connections a core' "$(perf_median <"$work/rate")" 1/s 'at least 2500' "$(perf_spread <"$work/rate")"
perf_row 'origin lateness p99' "$(perf_median <"$work/late")" us 'at most 5000' "$(perf_spread <"$work/late")"
