#!/usr/bin/env bash
# Usage: fleet_test.sh
#
# A fleet of three hosts (hosts.sh: containers with systemd and sshd) as a user has one: bin/pki, bin/provision, a run
# over the inventory during which one host loses its power, and the removal of a host. Real programs, real mutual TLS.
# The programs are those of FETCHBENCH_BIN. Exits 77 (ctest: skipped) where there is no Docker Engine or no root.
set -euo pipefail
# shellcheck source=tests/scripts/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../scripts/support.sh"
: "${FETCHBENCH_BIN:?}"
export FETCHBENCH_NO_PACKAGES=1

skip() {
  echo "fleet_test: not run here: $*"
  exit 77
}

((EUID == 0)) || skip "hosts are made by root"
for tool in docker debootstrap dpkg-deb dpkg-shlibdeps ssh ssh-keygen openssl jq sqlite3; do
  command -v "$tool" >/dev/null || skip "$tool is not installed"
done
timeout 20 docker version >/dev/null 2>&1 </dev/null || skip "no Docker Engine answers"

work=$(mktemp -d)
hosts=$work/hosts
inventory=$hosts/inventory
origin_pid=''
cleanup() {
  [[ -z $origin_pid ]] || kill "$origin_pid" 2>/dev/null || true
  end_jobs
  "$root/tests/provision/hosts.sh" --folder "$hosts" down >/dev/null 2>&1 || true
  rm -rf -- "$work"
}
trap cleanup EXIT
# The operator's own folder.
export XDG_CONFIG_HOME=$work/config
unset FETCHBENCH_PKI CONCURRENCY LIMIT DURATION FORMAT REQUEST_TIMEOUT USER_AGENT

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

# The web, on the address that the hosts' network has here.
start_origin() {
  local gateway
  gateway=$(sed -n 's/^.*@\(.*\)\.[0-9]*$/\1.1/p' "$hosts/words" | head -n 1)
  cat >"$work/steady.json" <<'JSON'
{"name": "steady", "about": "Every answer takes a while, none fails.",
 "http": {"first_byte_ms": {"median": 100}}, "body": {"bytes": {"median": 1024}, "error_bytes": {"median": 1024}}}
JSON
  "$FETCHBENCH_BIN/fetchbench-origin" --profile "$work/steady.json" --listen "$gateway" --control "$gateway:0" \
    --refusing-address 127.80.0.1 --black-hole-address 127.81.0.1 --exit-with-parent >"$work/origin" 2>"$work/origin.log" </dev/null &
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

say "three hosts with nothing but sshd, systemd and sudo"
"$root/tests/provision/hosts.sh" --folder "$hosts" up 3 >"$work/said" 2>&1 || fail "$(<"$work/said")"
mapfile -t words <"$hosts/words"

say "without a CA nothing is touched"
if provision "${words[@]}"; then fail "it went on without a CA"; fi
expect_contains message 'bin/pki init' "$(<"$work/said")"
"$root/bin/pki" init test-fleet >"$work/said" 2>&1 || fail "$(<"$work/said")"

say "a host whose key is not known is refused with the command that adds it, and holds up no other"
mv "$hosts/known_hosts" "$work/known_hosts"
grep -v "^${words[2]#*@} " "$work/known_hosts" >"$hosts/known_hosts"
if provision --no-docker "${words[@]}"; then fail "an unknown key was taken"; fi
expect_equal 'hosts that were provisioned' 2 "$(lines_that '^host-[12]: changed .*; host-[12]: free')"
expect_contains result 'host-3: FAILED at connect' "$(<"$work/lines")"
expect_contains result "ssh-keyscan ${words[2]#*@} >> $hosts/known_hosts" "$(<"$work/lines")"
mv "$work/known_hosts" "$hosts/known_hosts"

say "the third alone is new, then nothing is"
provision --no-docker "${words[@]}" || fail "$(<"$work/said")"
expect_equal 'hosts unchanged' 2 "$(lines_that '^host-[12]: unchanged')"
expect_equal 'hosts changed' 1 "$(lines_that '^host-3: changed')"
provision --no-docker --all || fail "$(<"$work/said")"
expect_equal 'hosts unchanged' 3 "$(lines_that '^host-[123]: unchanged')"

say "the agent is nobody, and its key is its own"
on_host host-1 'ps -o user= -C fetchbench-agen; sudo stat -c "%U %a" /etc/fetchbench/tls/tls.key' >"$work/said"
expect_equal 'user, and owner of the key' $'fetchbe+\nfetchbench 600' "$(sed 's/^fetchbench$/fetchbe+/' "$work/said")"
agents >"$work/said" || fail "$(<"$work/said")"

say "a host loses its power during a run"
start_origin
for ((i = 0; i < 3000; ++i)); do echo "https://site-$i.test/"; done >"$work/urls"
"$FETCHBENCH_BIN/fetchbench-coordinator" run native --inventory "$inventory" --origin "$control" --urls "$work/urls" \
  --concurrency 5 --grace 2 --silence 2 --format json --progress none --out "$work/out" \
  >"$work/summary" 2>"$work/said" </dev/null &
run=$!
until (($(recorded) > 300)); do
  kill -0 "$run" 2>/dev/null || fail "the run ended: $(<"$work/said")"
  sleep 0.1
done
"$root/tests/provision/hosts.sh" --folder "$hosts" kill host-3
wait "$run" || fail "the run: $(<"$work/said")"
expect_equal 'end, ledger, records, degraded' 'complete true 3000 0 true' \
  "$(jq -r '"\(.end) \(.ledger.balanced) \(.ledger.recorded) \(.ledger.never_started) \(.degraded)"' "$work/summary")"
expect_contains marks '1 of 3 agents lost' "$(jq -r '.marks[] | select(.name == "degraded") | .text' "$work/summary")"
expect_equal 'records that are stored' 3000 "$(recorded)"

say "a host that is out of reach is named, and the others are looked after"
if provision --no-docker --all; then fail "a host without power was provisioned"; fi
expect_contains result 'host-3: FAILED at connect' "$(<"$work/lines")"
expect_equal 'hosts unchanged' 2 "$(lines_that '^host-[12]: unchanged')"

say "a host is removed"
provision --remove host-1 || fail "$(<"$work/said")"
expect_equal 'hosts removed' 1 "$(lines_that '^host-1: changed \(remove, forget\)')"
expect_equal 'hosts in the inventory' $'host-2\nhost-3' "$(cut -d' ' -f1 "$inventory" | sort)"
provision --remove "${words[0]}" || fail "$(<"$work/said")"
expect_equal 'hosts that were removed already' 1 "$(lines_that '^host-1: unchanged')"
say "done"
