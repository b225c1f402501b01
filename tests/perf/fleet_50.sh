#!/usr/bin/env bash
# What 50 agents cost their coordinator: CPU time, memory, URLs a second, time to fan out; invented results
#
# All agents and their targets share one CPU, the coordinator has the other, so the rate is what the agents
# give together. PERF_FLEET_AGENTS and PERF_FLEET_URLS set other numbers.
set -euo pipefail
# shellcheck source=tests/perf/lib.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

agents=${PERF_FLEET_AGENTS:-50}
urls=${PERF_FLEET_URLS:-1000000}
seq "$urls" | sed 's|.*|https://h&.example/|' >"$work/urls"
for ((agent = 1; agent <= agents; agent++)); do
  perf_start "$work/agent$agent" taskset -c "$perf_target_cpu" "$FETCHBENCH_BIN/fetchbench-agent" \
    --listen 127.0.0.1:0 --native "$FETCHBENCH_BIN/fetchbench-inventor"
  printf 'agent-%03d %s\n' "$agent" "$(jq -r .listen "$work/agent$agent")" >>"$work/inventory"
done
head -n 1 "$work/inventory" >"$work/one"

now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.0f\n", (b - a) * 1000 }'; }

# fleet_run INVENTORY LIST: --web internet needs no origin, since the inventor fetches nothing. Sets $perf_peak_kib.
fleet_run() {
  local pid
  taskset -c "$perf_other_cpu" "$FETCHBENCH_BIN/fetchbench-coordinator" run native --web internet --per-host 0 \
    --inventory "$1" --urls "$2" --concurrency 100 --out "$work/out" --format json --progress none \
    >"$work/summary.json" 2>"$work/coordinator.err" </dev/null &
  pid=$!
  perf_pids+=("$pid")
  perf_peak_until_end "$pid" 0.02 || perf_die "the run failed: $(tail -n 3 "$work/coordinator.err")"
}
# Both ways of a connection over loopback count once; of this network namespace, with all that is in it.
network_bytes() { awk '$1 == "lo:" { print $2 }' /proc/net/dev; }
figure() { jq -r "$1" "$work/summary.json"; }

: >"$work/nothing"
for ((round = 1; round <= perf_rounds; round++)); do
  for fleet in one inventory; do
    begin=$(now)
    taskset -c "$perf_other_cpu" "$FETCHBENCH_BIN/fetchbench-coordinator" agents --inventory "$work/$fleet" \
      >"$work/agents" || perf_die "$(tail -n 1 "$work/agents")"
    since "$begin" >>"$work/ask.$fleet"
    begin=$(now)
    fleet_run "$work/$fleet" "$work/nothing"
    since "$begin" >>"$work/empty.$fleet"
    echo "$perf_peak_kib" >>"$work/kib.$fleet"
    figure .cost.coordinator_cpu_s >>"$work/cpu_empty.$fleet"
  done
  bytes=$(network_bytes)
  begin=$(now)
  fleet_run "$work/inventory" "$work/urls"
  awk -v n="$urls" -v ms="$(since "$begin")" 'BEGIN { printf "%.0f\n", n / ms * 1000 }' >>"$work/rate"
  echo $((($(network_bytes) - bytes) / urls)) >>"$work/wire"
  find "$work/out/latest/" -name 'records.db*' -printf '%s\n' |
    awk -v n="$urls" '{ bytes += $1 } END { printf "%.0f\n", bytes / n }' >>"$work/disk"
  echo $((perf_peak_kib / 1024)) >>"$work/peak"
  figure .cost.coordinator_cpu_s >>"$work/cpu"
  [[ $(figure .totalUrls) == "$urls" && $(figure .ledger.balanced) == true ]] ||
    perf_die "only $(figure .totalUrls) of $urls URLs have a record"
done

row() { perf_row "$1" "$(perf_median <"$work/$2")" "$3" '' "$(perf_spread <"$work/$2")"; }
row "agents asked, 1" ask.one ms
row "agents asked, $agents" ask.inventory ms
row "run of no URL, 1 agent" empty.one ms
row "run of no URL, $agents agents" empty.inventory ms
row "coordinator CPU, no URL, $agents agents" cpu_empty.inventory s
row "peak memory, no URL, 1 agent" kib.one KiB
row "peak memory, no URL, $agents agents" kib.inventory KiB
row "URLs a second, whole run, $agents agents" rate 1/s
row "coordinator CPU, $urls URLs" cpu s
row "peak memory, $urls URLs" peak MiB
row 'over the network, a URL' wire B
row 'in records.db, a URL' disk B
