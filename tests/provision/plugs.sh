#!/usr/bin/env bash
# Usage: plugs.sh [HOSTS [SEED]]
#
# HOSTS machines (20; hosts.sh: containers with systemd and sshd) are provisioned with one command, and plugs are pulled
# during a run over all of them: half of the hosts have a fault each, of a kind and at a moment that SEED (1) decides.
# The run must end complete, with one record for each URL, and say whom it lost. FETCHBENCH_BIN holds the programs.
# `bin/test --plugs` runs it; the tests that always run have three hosts (fleet_test.sh). Exits 77 where it cannot run.
set -euo pipefail
# shellcheck source=tests/provision/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/support.sh"

readonly count=${1:-20} seed=${2:-1} urls=30000 grace=4
[[ $count =~ ^[1-9][0-9]?$ && $count -ge 4 && $seed =~ ^[0-9]+$ ]] || fail "HOSTS: 4 to 99; SEED: a number"
RANDOM=$seed

# A host that is out for a while is so for less than the grace period, or for more.
readonly faults=(power reboot frozen frozen-awhile cable cable-awhile cable-blink agent)

# pull FAULT HOST: returns when the fault is over, or at once if it lasts.
pull() {
  case $1 in
    power) host kill "$2" ;;
    reboot) host kill "$2"; sleep 2; host start "$2" ;;
    frozen) host pause "$2" ;;
    frozen-awhile) host pause "$2"; sleep $((2 * grace)); host unpause "$2" ;;
    cable) host unplug "$2" ;;
    cable-awhile) host unplug "$2"; sleep $((2 * grace)); host plug "$2" ;;
    cable-blink) host unplug "$2"; sleep 1; host plug "$2" ;;
    agent) host exec "$2" systemctl kill --signal=KILL fetchbench-agent ;;
  esac
}

# The ends of hosts that do not come back.
lasts() { [[ $1 == power || $1 == frozen || $1 == cable ]]; }

say "$count hosts with nothing but sshd, systemd and sudo"
hosts_up "$count"
"$root/bin/pki" init test-fleet >"$work/said" 2>&1 || fail "$(<"$work/said")"

say "one command provisions them"
begun=$SECONDS
provision --no-docker "${words[@]}" || fail "$(<"$work/said")"
expect_equal 'hosts that are free' "$count" "$(lines_that '^host-[0-9]+: changed .*; free')"
echo "$count hosts provisioned in $((SECONDS - begun)) s"
agents || fail "the fleet does not answer"

say "plugs are pulled during a run, by seed $seed"
start_origin --addresses 1
begin_run "$urls" --grace "$grace" --progress plain

mapfile -t victims < <(for ((i = 1; i <= count; ++i)); do echo "$RANDOM host-$i"; done | sort -n | cut -d' ' -f2 | head -n $((count / 2)))
gone=()
pulls=()  # "PROCESS FAULT HOST"
number=0
for victim in "${victims[@]}"; do
  # Each kind in turn, from one that the seed says. The moments lie within the first two thirds of the run.
  fault=${faults[(seed + number) % ${#faults[@]}]}
  at=$((urls / 20 + number * urls * 6 / 10 / ${#victims[@]} + RANDOM % 500))
  wait_for_records "$at"
  echo "   $fault: $victim, at $(recorded) of $urls records"
  pull "$fault" "$victim" >"$work/pull-$victim" 2>&1 &
  pulls+=("$! $fault $victim")
  if lasts "$fault"; then gone+=("$victim"); fi
  number=$((number + 1))
done
# A plug that was not pulled, or not put back, would make the rest say nothing.
for entry in "${pulls[@]}"; do
  read -r process fault victim <<<"$entry"
  wait "$process" || fail "the fault '$fault' of $victim: exit $?: $(<"$work/pull-$victim")"
done
expect_complete "$urls"
jq -r '"end \(.end), \(.time) ms, \(.ledger)", (.agents[] | select(.lost or .reconnects > 0 or .urls_moved > 0) |
  "   \(.name): \(.records) records, came back \(.reconnects) times, \(.urls_moved) URLs moved, lost: \(.lost)")' "$work/summary"
expect_equal 'those that are lost' "$(printf '%s\n' "${gone[@]}" | sort)" \
  "$(jq -r '.agents[] | select(.lost) | .name' "$work/summary" | sort)"
say "done: $urls URLs, ${#victims[@]} faults, ${#gone[@]} hosts lost for good"
