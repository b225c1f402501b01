#!/usr/bin/env bash
# Records a second that the coordinator commits, and its memory: 10 million URLs, 4 agents, invented results
#
# PERF_SCALE_URLS sets another number of URLs.
set -euo pipefail
# shellcheck source=tests/perf/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

urls=${PERF_SCALE_URLS:-10000000}
seq "$urls" | sed 's|.*|https://h&.example/|' >"$work/urls"
addresses=()
for agent in 1 2 3 4; do
  perf_start "$work/agent$agent" taskset -c "$perf_target_cpu" "$FETCHBENCH_BIN/fetchbench-agent" \
    --listen 127.0.0.1:0 --native "$FETCHBENCH_BIN/fetchbench-inventor"
  addresses+=("$(jq -r .listen "$work/agent$agent")")
done
# --web internet: no origin is needed, since the inventor fetches nothing.
taskset -c "$perf_other_cpu" "$FETCHBENCH_BIN/fetchbench-coordinator" run --target native --web internet --per-host 0 \
  --agents "$(IFS=,; echo "${addresses[*]}")" --urls "$work/urls" --concurrency 1000 --out "$work/out" \
  --format json --progress none >"$work/summary.json" 2>"$work/coordinator.err" </dev/null &
coordinator=$!
perf_pids+=("$coordinator")
started=$EPOCHREALTIME
perf_peak_until_end "$coordinator" 0.2 || perf_die "the run failed: $(tail -n 3 "$work/coordinator.err")"
ended=$EPOCHREALTIME
perf_row records "$(jq -r .totalUrls "$work/summary.json")" '' "exactly $urls" ''
perf_row 'committed a second' \
  "$(awk -v n="$urls" -v a="$started" -v b="$ended" 'BEGIN { printf "%.0f", n / (b - a) }')" 1/s 'at least 300000' \
  'over the whole run, reading the list and summing up included'
perf_row 'peak memory' "$((perf_peak_kib / 1024))" MiB 'at most 256' ''
perf_row 'ledger balanced' "$(jq -r .ledger.balanced "$work/summary.json")" '' true ''
