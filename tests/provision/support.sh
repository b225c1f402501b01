# shellcheck shell=bash
# Sourced by the tests of provisioning: hosts, the commands with their options, and a web for the hosts. Skips the test
# (exit code 77) where hosts cannot be made, and removes them at its end.

# shellcheck source=tests/scripts/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../scripts/support.sh"
: "${FETCHBENCH_BIN:?}"
export FETCHBENCH_NO_PACKAGES=1

skip() {
  echo "${0##*/}: not run here: $*"
  exit 77
}

((EUID == 0)) || skip "hosts are made by root"
for tool in docker debootstrap dpkg-deb dpkg-shlibdeps ssh ssh-keygen openssl jq sqlite3; do
  command -v "$tool" >/dev/null || skip "$tool is not installed"
done
timeout 20 docker version >/dev/null 2>&1 </dev/null || skip "no Docker Engine answers"

"$root/tests/provision/hosts.sh" image >/dev/null || skip "the hosts' image could not be made; the reason is above"

work=$(mktemp -d)
hosts=$work/hosts
inventory=$hosts/inventory
origin_pid=''
# Before anything calls it: there is a DNS tool of this name.
host() { "$root/tests/provision/hosts.sh" --folder "$hosts" "$@"; }
cleanup() {
  [[ -z $origin_pid ]] || kill "$origin_pid" 2>/dev/null || true
  end_jobs
  host down >/dev/null 2>&1 || true
  rm -rf -- "$work"
}
trap cleanup EXIT
# The operator's own folder.
export XDG_CONFIG_HOME=$work/config
unset FETCHBENCH_PKI CONCURRENCY LIMIT DURATION FORMAT REQUEST_TIMEOUT USER_AGENT

hosts_up() {
  host up "$1" >"$work/said" 2>&1 || fail "$(<"$work/said")"
  # shellcheck disable=SC2034 # the test's
  mapfile -t words <"$hosts/words"
}

say() { echo "-- $1 ($SECONDS s)"; }

# provision OPTION...: its results in $work/lines, what else it says in $work/said.
provision() {
  local status=0
  "$root/bin/provision" --known-hosts "$hosts/known_hosts" --identity "$hosts/key" --inventory "$inventory" "$@" \
    >"$work/lines" 2>"$work/said" </dev/null || status=$?
  cat -- "$work/lines"
  return "$status"
}

agents() { "$FETCHBENCH_BIN/fetchbench-coordinator" agents --inventory "$inventory" </dev/null; }

on_host() { "$root/bin/ssh" --known-hosts "$hosts/known_hosts" --identity "$hosts/key" --inventory "$inventory" "$@" </dev/null; }

# lines_that PATTERN
lines_that() { grep -cE "$1" "$work/lines" || true; }

# start_origin OPTION...: the web, on the address that the hosts' network has here; into control.
start_origin() {
  local gateway
  gateway=$(sed -n 's/^.*@\(.*\)\.[0-9]*$/\1.1/p' "$hosts/words" | head -n 1)
  cat >"$work/steady.json" <<'JSON'
{"name": "steady", "about": "Every answer takes a while, none fails.",
 "http": {"first_byte_ms": {"median": 100}}, "body": {"bytes": {"median": 1024}, "error_bytes": {"median": 1024}}}
JSON
  "$FETCHBENCH_BIN/fetchbench-origin" --profile "$work/steady.json" --listen "$gateway" --control "$gateway:0" \
    --refusing-address 127.80.0.1 --black-hole-address 127.81.0.1 --exit-with-parent "$@" >"$work/origin" 2>"$work/origin.log" </dev/null &
  origin_pid=$!
  until [[ -s $work/origin ]]; do
    kill -0 "$origin_pid" 2>/dev/null || fail "the origin: $(<"$work/origin.log")"
    sleep 0.1
  done
  control=$(jq -r .control "$work/origin")
  control=${control#http://}
}

# recorded: how many records the run has so far.
recorded() {
  local database=$work/out/latest/records.db
  [[ -e $database ]] || { echo 0; return; }
  sqlite3 -readonly "$database" 'SELECT count(*) FROM records' 2>/dev/null || echo 0
}

# begin_run URLS OPTION...: over the inventory, on the web of start_origin; its process in run_pid, its summary (JSON) in
# $work/summary, what else it says in $work/said.
begin_run() {
  seq -f 'https://site-%.0f.test/' 0 "$(($1 - 1))" >"$work/urls"
  shift
  timeout 900 "$FETCHBENCH_BIN/fetchbench-coordinator" run native --inventory "$inventory" --origin "$control" --urls "$work/urls" \
    --concurrency 5 --format json --out "$work/out" "$@" >"$work/summary" 2>"$work/said" </dev/null &
  run_pid=$!
}

# wait_for_records N: until the run has more than that.
wait_for_records() {
  until (($(recorded) > $1)); do
    kill -0 "$run_pid" 2>/dev/null || fail "the run ended: $(<"$work/said")"
    sleep 0.1
  done
}

# expect_complete URLS: the run has ended with a record of each, and was disturbed.
expect_complete() {
  local status=0
  wait "$run_pid" || status=$?
  ((status == 0)) || fail "the run: exit $status: $(tail -n 40 "$work/said")"
  expect_equal 'end, ledger, records, degraded' "complete true $1 0 true" \
    "$(jq -r '"\(.end) \(.ledger.balanced) \(.ledger.recorded) \(.ledger.never_started) \(.degraded)"' "$work/summary")"
  expect_equal 'records that are stored' "$1" "$(recorded)"
  expect_equal 'URLs with a record' "$1" \
    "$(sqlite3 -readonly "$work/out/latest/records.db" 'SELECT count(DISTINCT idx) FROM record')"
}
