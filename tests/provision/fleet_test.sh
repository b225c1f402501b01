#!/usr/bin/env bash
# Usage: fleet_test.sh
#
# A fleet of three hosts (hosts.sh: containers with systemd and sshd) as a user has one: bin/pki, bin/provision, a run
# over the inventory during which one host loses its power, and the removal of a host. Real programs, real mutual TLS.
# The programs are those of FETCHBENCH_BIN. Exits 77 (ctest: skipped) where there is no Docker Engine or no root.
set -euo pipefail
# shellcheck source=tests/provision/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/support.sh"

say "three hosts with nothing but sshd, systemd and sudo"
hosts_up 3

say "without a CA nothing is touched"
if provision "${words[@]}"; then fail "it went on without a CA"; fi
expect_contains message 'bin/pki init' "$(<"$work/said")"
"$root/bin/pki" init test-fleet >"$work/said" 2>&1 || fail "$(<"$work/said")"

say "a host whose key is not known is refused with the command that adds it, and holds up no other"
mv "$hosts/known_hosts" "$work/known_hosts"
grep -v "^${words[2]#*@} " "$work/known_hosts" >"$hosts/known_hosts"
if provision --no-docker "${words[@]}"; then fail "an unknown key was taken"; fi
expect_equal 'hosts that were provisioned' 2 "$(lines_that '^host-[12]: changed .*; free')"
expect_contains result 'host-3: FAILED at connect' "$(<"$work/lines")"
expect_contains result "ssh-keyscan ${words[2]#*@} >> $hosts/known_hosts" "$(<"$work/lines")"
mv "$work/known_hosts" "$hosts/known_hosts"

say "the third alone is new, then nothing is"
provision --no-docker "${words[@]}" || fail "$(<"$work/said")"
expect_equal 'hosts unchanged' 2 "$(lines_that '^host-[12]: unchanged')"
expect_equal 'hosts changed' 1 "$(lines_that '^host-3: changed')"
provision --all || fail "$(<"$work/said")" # it was said once
expect_equal 'hosts unchanged' 3 "$(lines_that '^host-[123]: unchanged')"

say "a deny list reaches all hosts and disturbs none"
started=$(on_host host-1 systemctl show -p ExecMainStartTimestampMonotonic fetchbench-agent)
{ "$root/bin/pki" host stolen && "$root/bin/pki" deny host/stolen; } >"$work/said" 2>&1 || fail "$(<"$work/said")"
provision --all || fail "$(<"$work/said")"
expect_equal 'deny lists' 3 "$(lines_that '^host-[123]: changed \(certificate deny list\);')"
expect_equal 'start of the agent' "$started" \
  "$(on_host host-1 systemctl show -p ExecMainStartTimestampMonotonic fetchbench-agent)"

say "another build is replaced when that is asked for"
on_host host-1 'echo "# another" | sudo tee -a /var/lib/dpkg/info/fetchbench-agent.postinst >/dev/null'
if provision --no-docker host-1; then fail "another build was replaced unasked"; fi
expect_contains result 'bin/provision --upgrade host-1' "$(<"$work/lines")"
provision --no-docker --upgrade host-1 || fail "$(<"$work/said")"
expect_equal 'hosts changed' 1 "$(lines_that '^host-1: changed \(package [0-9.]+, service\);')"

say "the agent is nobody, and its key is its own"
on_host host-1 'ps -o user= -C fetchbench-agen; sudo stat -c "%U %a" /etc/fetchbench/tls/tls.key' >"$work/said"
expect_equal 'user, and owner of the key' $'fetchbe+\nfetchbench 600' "$(sed 's/^fetchbench$/fetchbe+/' "$work/said")"
agents >"$work/said" || fail "$(<"$work/said")"

say "a host loses its power during a run"
start_origin --addresses 1
begin_run 3000 --grace 4 --progress none
wait_for_records 300
host kill host-3
expect_complete 3000
expect_contains marks 'of 3 agents lost' "$(jq -r '.marks[] | select(.name == "degraded") | .text' "$work/summary")"

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
