#!/usr/bin/env bash
# Memory of the native target with 1,000 and 10,000 TLS fetches in flight
#
# Every host finishes the handshake, reads the request and stays silent, so all fetches are in flight at once.
set -euo pipefail
# shellcheck source=tests/perf/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

echo '{"name": "silent", "outcomes": {"silent_before_headers": 1.0}}' >"$work/silent.json"
perf_origin "$work/silent.json"
perf_urls 10000 >"$work/urls"
perf_certificates "$work/urls"

# measure FETCHES GOAL
measure() {
  local pid seen=0 tries
  perf_run_begins "flight$1"
  head -n "$1" "$work/urls" >"$work/some"
  taskset -c "$perf_target_cpu" "$FETCHBENCH_BIN/fetchbench-native" --concurrency "$1" --timeout 60 \
    "${native_options[@]}" <"$work/some" >"$work/records" 2>"$work/native.err" &
  pid=$!
  perf_pids+=("$pid")
  for ((tries = 0; tries < 500; tries++)); do
    seen=$(perf_run_seen "flight$1" | jq .most_in_flight)
    ((seen < $1)) || break
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  perf_row "peak memory, $1 in flight" "$(($(perf_status_kib "$pid" VmHWM) / 1024))" MiB "$2" \
    "the origin saw $seen in flight"
  kill "$pid"
  wait "$pid" || true
}

measure 1000 'at most 150'
measure 10000 'at most 1024'
