#!/usr/bin/env bash
# Two agents against one on a list that waits for servers: the time both take, as a share of what one takes
#
# Every answer takes 100 ms, 20 requests are in flight for each agent, and the agents have a CPU each. What is
# left to lose is the end of the list, when one has nothing to do any more.
set -euo pipefail
# shellcheck source=tests/perf/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

urls=4000
echo '{"name": "slow", "http": {"first_byte_ms": {"median": 100}}}' >"$work/slow.json"
perf_urls "$urls" >"$work/urls"
perf_origin "$work/slow.json"
perf_certificates "$work/urls"
addresses=()
for cpu in "$perf_target_cpu" "$perf_other_cpu"; do
  perf_start "$work/agent$cpu" taskset -c "$cpu" "$FETCHBENCH_BIN/fetchbench-agent" --listen 127.0.0.1:0 \
    --cpus "$cpu" --target-cpus "$cpu"
  addresses+=("$(jq -r .listen "$work/agent$cpu")")
done

# measure NAME ADDRESSES
measure() {
  perf_coordinator native --agents "$2" --origin "$origin_control" --urls "$work/urls" --concurrency 20 \
    --out "$work/out" --format json --progress none
  [[ $(jq -r .totalUrls "$work/summary.json") == "$urls" ]] || perf_die "not all URLs have a record"
  jq -r .time "$work/summary.json" | tee -a "$work/$1" >"$work/last.$1"
}

for ((round = 1; round <= perf_rounds; round++)); do
  measure one "${addresses[0]}"
  measure two "${addresses[0]},${addresses[1]}"
  awk -v a="$(cat "$work/last.two")" -v b="$(cat "$work/last.one")" 'BEGIN { printf "%.3f\n", a / b }' >>"$work/ratio"
done
perf_row 'one agent' "$(perf_median <"$work/one")" ms '' "$(perf_spread <"$work/one")"
perf_row 'two agents' "$(perf_median <"$work/two")" ms '' "$(perf_spread <"$work/two")"
perf_row 'two / one' "$(perf_median <"$work/ratio")" '' 'at most 0.55' "$(perf_spread <"$work/ratio"), by round"
