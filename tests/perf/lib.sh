# shellcheck shell=bash
# Sourced by the measurements of tests/perf. Each of them prints rows (perf_row) and nothing else on stdout;
# bin/perf makes a table of them. FETCHBENCH_BIN is the folder of the programs under measurement.
#
# shellcheck disable=SC2034 # most variables are for those who source this
#
# Two CPUs: what is measured runs on $perf_target_cpu, everything else on $perf_other_cpu.

: "${FETCHBENCH_BIN:?the folder of the built programs; bin/perf sets it}"
perf_root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
perf_other_cpu=${PERF_OTHER_CPU:-0}
perf_target_cpu=${PERF_TARGET_CPU:-1}
perf_rounds=${PERF_ROUNDS:-3}
perf_name=$(basename -- "$0" .sh)
work=$(mktemp -d)
perf_pids=()

perf_end() {
  local status=$? pid
  for pid in "${perf_pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${perf_pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf -- "$work"
  exit "$status"
}
trap perf_end EXIT
trap 'exit 130' INT TERM

perf_note() { printf '%s: %s\n' "$perf_name" "$*" >&2; }
perf_die() { perf_note "$*"; exit 1; }

# perf_row FIGURE VALUE UNIT GOAL NOTE: one line of the table.
perf_row() { printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$perf_name" "$@"; }

# perf_urls N: the first N URLs of data/urls.txt.
perf_urls() { head -n "$1" "$perf_root/data/urls.txt"; }

# perf_start FILE COMMAND...: starts a server in the background; returns when it has printed its first line,
# which is then in FILE. $perf_started is its process.
perf_start() {
  local file=$1 tries
  shift
  "$@" >"$file" 2>"$file.err" </dev/null &
  perf_started=$!
  perf_pids+=("$perf_started")
  for ((tries = 0; tries < 600; tries++)); do
    [[ -s $file ]] && return 0
    kill -0 "$perf_started" 2>/dev/null || break
    sleep 0.05
  done
  perf_die "$1 ${2:-} did not get ready: $(tail -n 5 "$file.err")"
}

# perf_origin PROFILE: starts an origin on the other CPU. Sets $origin_control, $https_port, and what tells
# clients about it: $ca_file, and $native_options for fetchbench-native.
perf_origin() {
  local config
  perf_start "$work/origin" taskset -c "$perf_other_cpu" "$FETCHBENCH_BIN/fetchbench-origin" \
    --profile "$1" --seed 1 --control 127.0.0.1:0
  origin_pid=$perf_started
  origin_control=$(jq -r .control "$work/origin")
  config=$(curl -fsS "$origin_control/v1/config")
  https_port=$(jq -r .https_port <<<"$config")
  ca_file=$work/ca.pem
  curl -fsS -o "$ca_file" "$origin_control/v1/ca.pem"
  mapfile -t native_options < <(jq -r '"--resolver", .dns, (.connect_to[] | "--connect-to", .)' <<<"$config")
  native_options+=(--ca-file "$ca_file")
}

# perf_certificates FILE: has the certificates of the URLs in FILE issued before any clock starts.
perf_certificates() {
  sed -E 's|^[a-z]+://([^/:]+).*|\1|' "$1" | sort -u |
    curl -fsS --data-binary @- -o /dev/null "$origin_control/v1/certificates"
}

perf_run_begins() { curl -fsS -X POST -d '' -o /dev/null "$origin_control/v1/runs/$1"; }
perf_run_seen() { curl -fsS "$origin_control/v1/runs/$1"; }

# perf_cpu COMMAND...: runs it on the target CPU; sets $perf_seconds to its user + system time.
perf_cpu() {
  local TIMEFORMAT='%U %S' spent
  { time taskset -c "$perf_target_cpu" "$@" 2>"$work/client.err"; } 2>"$work/spent" ||
    perf_die "$1 failed: $(tail -n 3 "$work/client.err")"
  spent=$(tail -n 1 "$work/spent")
  perf_seconds=$(awk '{ print $1 + $2 }' <<<"$spent")
}

# perf_median: the median of the numbers on standard input, one a line; perf_spread: least and most.
perf_median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
perf_spread() { sort -g | awk 'NR == 1 { low = $1 } END { print low " to " $1 }'; }

# perf_status_kib PID FIELD: a memory figure of /proc/PID/status.
perf_status_kib() { awk -v field="$2:" '$1 == field { print $2 }' "/proc/$1/status" 2>/dev/null || true; }

# perf_peak_until_end PID SECONDS: waits for a child, looking at its memory every so many seconds. Sets $perf_peak_kib;
# its status is the child's.
perf_peak_until_end() {
  local kib
  perf_peak_kib=0
  while kill -0 "$1" 2>/dev/null; do
    kib=$(perf_status_kib "$1" VmHWM)
    perf_peak_kib=${kib:-$perf_peak_kib}
    sleep "$2"
  done
  wait "$1"
}

# perf_fleet PROFILE: an origin and an agent whose target has the target CPU alone. Sets $agent_address, and
# $run_options for `fetchbench-coordinator run`.
perf_fleet() {
  perf_origin "$1"
  perf_start "$work/agent" taskset -c "$perf_other_cpu" "$FETCHBENCH_BIN/fetchbench-agent" \
    --listen 127.0.0.1:0 --cpus "$perf_other_cpu" --target-cpus "$perf_target_cpu"
  agent_address=$(jq -r .listen "$work/agent")
  run_options=(--target native --agents "$agent_address" --origin "$origin_control" --out "$work/out"
    --format json --progress none)
}

# perf_coordinator ARGUMENT...: runs the coordinator on the other CPU; its summary is in $work/summary.json.
perf_coordinator() {
  taskset -c "$perf_other_cpu" "$FETCHBENCH_BIN/fetchbench-coordinator" run "$@" \
    >"$work/summary.json" 2>"$work/coordinator.err" </dev/null ||
    perf_die "the run failed: $(tail -n 3 "$work/coordinator.err")"
}
