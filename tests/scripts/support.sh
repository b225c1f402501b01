# shellcheck shell=bash
# Sourced by the tests of bin/: each test file defines functions called test_*, then calls run_tests.
# Every test runs in a folder of its own ($work), and all of a file's tests run even after a failure.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
export root

fail() {
  printf '    FAILED: %s\n' "$*" >&2
  exit 1
}

# expect_equal WHAT WANTED GOT
expect_equal() { [[ $2 == "$3" ]] || fail "$1: wanted '$2', got '$3'"; }

# expect_contains WHAT NEEDLE HAYSTACK
expect_contains() { [[ $3 == *"$2"* ]] || fail "$1: '$2' is not in: $3"; }

# Ends what the test at hand started in the background, and nothing else.
end_jobs() { jobs -p | xargs -r kill 2>/dev/null || true; }

run_tests() {
  local name status failures=0 all
  all=$(compgen -A function test_)
  for name in $all; do
    work=$(mktemp -d)
    export work
    status=0
    # A subshell of its own, not in a condition: there, set -e would not end it.
    set +e
    (
      set -euo pipefail
      trap end_jobs EXIT
      cd "$work"
      "$name"
    )
    status=$?
    set -e
    rm -rf -- "$work"
    if ((status == 0)); then
      echo "ok      $name"
    else
      echo "FAILED  $name"
      failures=$((failures + 1))
    fi
  done
  ((failures == 0))
}
