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
  [[ $reason == *"no base image"* || $reason == *"Docker"* ]] && exit 77
  exit 1
fi
jq -r '.targets[0] | "\(.target): \(.runtime)",
  (.cells | group_by(.verdict)[] | "  \(.[0].verdict): \(length)"),
  (.stale[] | "  stale: \(.)"),
  (.cells[] | select(.verdict == "FAIL") | "  FAIL \(.behaviour): \([.findings[].text] | join("; "))")' \
  "$work/matrix.json"
exit "$code"
