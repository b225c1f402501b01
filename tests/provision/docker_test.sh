#!/usr/bin/env bash
# Usage: docker_test.sh
#
# A host with Docker, provisioned by bin/provision: the agent, as a user of its own and with all that its unit denies it,
# runs a target in a container. The programs are those of FETCHBENCH_BIN. Exits 77 (ctest: skipped) where there is no
# Docker Engine or no root.
set -euo pipefail
# shellcheck source=tests/provision/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/support.sh"

# A target that needs no base image and answers without a network (tests/support/container_target.cc).
scripted_target() {
  export FETCHBENCH_LIB=$work/lib
  mkdir -p "$work/lib/test/scripted"
  cat >"$work/lib/test/scripted/target.json" <<'JSON'
{"name": "test/scripted", "kind": "fetch", "language": "C++", "method": "scripted", "aliases": ["scripted"],
 "concurrency": 10, "stage": ["fetchbench-container-target"]}
JSON
  printf '%s\n' 'FROM scratch' 'COPY bin/ /' 'ENTRYPOINT ["/fetchbench-container-target"]' \
    >"$work/lib/test/scripted/Dockerfile"
}

# run_scripted OPTION...: a run that has to succeed.
run_scripted() {
  "$FETCHBENCH_BIN/fetchbench-coordinator" run scripted --inventory "$inventory" --origin "$control" --urls "$work/urls" \
    --format json --progress none --out "$work/out" "$@" >"$work/summary" 2>"$work/said" </dev/null || fail "$(<"$work/said")"
  expect_equal 'end, ledger, 2xx' 'complete true 200' \
    "$(jq -r '"\(.end) \(.ledger.balanced) \(."2xx")"' "$work/summary")"
}

# What agents have in their folder for temporary files.
temporary_files() { on_host host-1 "sudo ls -A $temporary"; }

# What cgroups agents made around containers are there.
left_cgroups() { on_host host-1 "find /sys/fs/cgroup -maxdepth 2 -type d -name 'fetchbench-*'"; }

say "a host with Docker"
hosts_up 1
"$root/bin/pki" init test-fleet >"$work/said" 2>&1 || fail "$(<"$work/said")"
provision "${words[@]}" || fail "$(<"$work/said")"
expect_equal 'hosts changed' 1 "$(lines_that '^host-1: changed \(docker ')"

say "a target in a container"
scripted_target
start_origin --dns-port 53 --http-port 80 --https-port 443
for ((i = 0; i < 200; ++i)); do echo "https://site-$i.test/"; done >"$work/urls"
if (run_scripted) 2>/dev/null; then fail "the rules of the host let a container reach a web that they were not told of"; fi
expect_contains 'what to do' FETCHBENCH_GUARD_ORIGINS "$(<"$work/said")"
on_host host-1 "echo FETCHBENCH_GUARD_ORIGINS=${control%:*} | sudo tee -a /etc/default/fetchbench-guard >/dev/null &&
  sudo systemctl reload fetchbench-guard"
run_scripted

say "what the agent receives goes to a disk, and what a killed one left goes with the next"
# shellcheck disable=SC2016 # it is expanded there
temporary=$(on_host host-1 'sudo cat "/proc/$(pidof fetchbench-agent)/environ" | tr "\0" "\n" | sed -n "s/^TMPDIR=//p"')
expect_contains 'the folder for temporary files' / "$temporary"
[[ $(on_host host-1 "sudo stat -f -c %T $temporary") != tmpfs ]] || fail "$temporary is memory"
expect_equal 'mode of it' 'fetchbench 700' "$(on_host host-1 "sudo stat -c '%U %a' $temporary")"
left=$(temporary_files)
expect_contains 'what the run left to the agent' fetchbench-agent-of- "$left"
on_host host-1 'sudo systemctl kill --signal KILL fetchbench-agent'
for ((i = 0; i < 300; ++i)); do
  [[ $(temporary_files) == *"$left"* ]] || break
  sleep 0.2
done
expect_equal 'what the killed agent left' '' "$(temporary_files)"
run_scripted

say "an image that was built here, on the host"
image=fetchbench-test-shipped:$$
tar -c -C "$FETCHBENCH_BIN" fetchbench-container-target |
  docker import --change 'ENTRYPOINT ["/fetchbench-container-target"]' - "$image" >/dev/null
id=$(docker image inspect -f '{{.Id}}' "$image")
provision --image "$image" host-1 || fail "$(<"$work/said")"
expect_equal 'images that came' 1 "$(lines_that "^host-1: changed \(image $id\)")"
provision --image "$image" host-1 || fail "$(<"$work/said")"
expect_equal 'images that were there' 1 "$(lines_that '^host-1: unchanged')"
docker rmi "$image" >/dev/null
run_scripted --image "$image"
expect_equal 'image that ran' "$id" "$(jq -r '.. | objects | select(has("image_digest")) | .image_digest' "$work/summary" | head -n 1)"

say "the unit denies what it can, and leaves nothing behind"
on_host host-1 'systemd-analyze security --threshold=20 --no-pager fetchbench-agent.service' >"$work/said" ||
  fail "$(tail -n 1 "$work/said")"
on_host host-1 'sudo systemctl restart fetchbench-agent'
expect_equal 'cgroups after a restart' '' "$(left_cgroups)"

say "without Docker afterwards"
provision --no-docker host-1 || fail "$(<"$work/said")"
expect_equal 'hosts changed' 1 "$(lines_that '^host-1: changed \(service, inventory\)')"
# shellcheck disable=SC2016 # it is expanded there
expect_equal 'groups of the agent' 1 \
  "$(on_host host-1 'sed -n "s/^Groups://p" "/proc/$(pidof fetchbench-agent)/status"' | wc -w)"
say "done"
