#!/usr/bin/env bash
# bin/trigger-benchmark with a stand-in for the coordinator: what it keeps, and how it tells whether one still runs.
set -euo pipefail
# shellcheck source=tests/scripts/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/support.sh"

# Prints its arguments, then waits for the file ./go, or for the end of the folder it is in; interrupted, it says so, as
# the real one does.
stand_in() {
  mkdir -p stand-ins
  cat >stand-ins/fetchbench-coordinator <<'END'
#!/usr/bin/env bash
[[ $1 != needs-engine ]] || exit 0
echo "$*"
echo "round 1 of 1" >&2
trap 'echo partial; exit 130' INT
until [[ -e $work/go || ! -d $work ]]; do sleep 0.05; done
END
  chmod +x stand-ins/fetchbench-coordinator
  export FETCHBENCH_BIN=$work/stand-ins FETCHBENCH_OUT=$work/out
  trap 'touch "$work/go"; end_jobs' EXIT
}

trigger() { "$root/bin/trigger-benchmark" "$@" </dev/null; }

# wait_for WHAT COMMAND...: the command, again and again, for ten seconds at most.
wait_for() {
  local what=$1 i
  shift
  for ((i = 0; i < 200; ++i)); do
    "$@" && return 0
    sleep 0.05
  done
  fail "$what did not happen"
}

says() { [[ $(trigger --status) == *"$1"* ]]; }

test_it_runs_in_the_background_and_can_be_asked_at_once() {
  stand_in
  trigger native --rounds 1 >stdout
  says 'running (process' || fail "$(trigger --status)"
  wait_for 'its progress' says 'round 1 of 1'
  touch go
  wait_for 'its end' says 'not running'
  expect_contains table 'bench --progress plain native --rounds 1' "$(<out/results.txt)"
}

test_what_is_wrong_is_said_before_anything_is_started_or_moved() {
  stand_in
  # shellcheck disable=SC2016 # for the stand-in
  sed -i '2s/.*/[[ $1 != needs-engine ]] || { echo "$*: wrong" >\&2; exit 2; }/' stand-ins/fetchbench-coordinator
  mkdir out
  ln -s before.txt out/results.txt
  local status=0
  trigger native --stauts >stdout 2>stderr || status=$?
  expect_equal status 2 "$status"
  expect_contains 'what was asked' 'bench --progress plain native --stauts: wrong' "$(<stderr)"
  expect_equal 'standard output' '' "$(<stdout)"
  expect_equal 'the folder of results' 'results.txt before.txt' "$(ls out) $(readlink out/results.txt)"
}

test_another_way_of_progress_is_taken_for_the_usual_one() {
  stand_in
  touch go
  trigger native --progress none >stdout
  wait_for 'its end' says 'not running'
  expect_equal arguments 'bench native --progress none' "$(<out/results.txt)"
}

test_one_runs_at_a_time_also_when_two_are_triggered_at_once() {
  stand_in
  local started=0 job jobs=()
  for job in 1 2 3; do
    trigger native >"stdout$job" 2>"stderr$job" &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do
    if wait "$job"; then started=$((started + 1)); fi
  done
  expect_equal 'benchmarks that were started' 1 "$started"
  expect_contains 'what the others say' 'running already' "$(cat stderr1 stderr2 stderr3)"
}

# A process that has ended stays in /proc until its parent asks for it; not every PID 1 does.
test_one_that_nobody_reaped_is_over() {
  stand_in
  mkdir -p out
  touch out/results.log
  # A parent that asks for nothing, from when it is no shell any more; before that its child must not end.
  # shellcheck disable=SC2016  # for the inner shell
  bash -c '(until [[ $(<"/proc/$$/comm") == sleep ]]; do sleep 0.05; done) & echo $! >dead; exec sleep 20' &
  wait_for 'a child' test -s dead
  local dead
  dead=$(<dead)
  wait_for 'the end of a process' grep -qs '^State:.Z' "/proc/$dead/status"
  echo "$dead $(awk '{ print $22 }' "/proc/$dead/stat")" >out/results.pid
  says 'not running' || fail "$(trigger --status)"
  trigger native >stdout || fail 'no other can be started'
}

test_stop_keeps_what_was_counted() {
  stand_in
  trigger native >stdout
  wait_for 'its progress' says 'round 1 of 1'
  expect_contains 'where the table will be' "$(readlink out/results.txt)" "$(trigger --stop)"
  wait_for 'its end' says 'not running'
  expect_contains table partial "$(<out/results.txt)"
}

run_tests
