#!/usr/bin/env bash
# Usage: verify_target.sh COORDINATOR TARGET
#
# Passes when `coordinator verify TARGET` finds no FAIL and no stale deviation; exits 77 (ctest: skipped) on a host
# that cannot run the target at all: without a Docker Engine, or without base images.
set -euo pipefail
coordinator=$1
target=$2
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

# Asked here and not read from what verify says, so that no other trouble is taken for this one.
engine=${DOCKER_HOST:-unix:///var/run/docker.sock}
if [[ $target != native ]] &&
  ! curl -fsS --max-time 20 --unix-socket "${engine#unix:}" http://engine/_ping >"$work/ping" 2>&1; then
  echo "verify $target: not run here: no Docker Engine answers at $engine ($(<"$work/ping"))"
  exit 77
fi

code=0
"$coordinator" verify "$target" --no-resources --format json --progress none --out "$work/out" \
  >"$work/matrix.json" 2>"$work/errors" </dev/null || code=$?
if ! jq -e . "$work/matrix.json" >/dev/null 2>&1; then
  cat "$work/errors"
  echo "verify $target: exit code $code and no matrix"
  exit 1
fi
reason=$(jq -r '.targets[0].not_run' "$work/matrix.json")
if [[ -n $reason ]]; then
  echo "verify $target: not run here: $reason"
  [[ $reason == "no base image here"* ]] && exit 77
  exit 1
fi
jq -r '.targets[0] | "\(.target): \(.runtime)",
  (.cells | group_by(.verdict)[] | "  \(.[0].verdict): \(length)"),
  (.faults[] | "  FAIL \(.)"),
  (.stale[] | "  stale: \(.)"),
  (.cells[] | select(.seen_once) | "  once \(.behaviour): \([.seen_once[].text] | join("; "))"),
  (.cells[] | select(.verdict == "FAIL") | "  FAIL \(.behaviour): \([.findings[].text] | join("; "))")' \
  "$work/matrix.json"
exit "$code"
