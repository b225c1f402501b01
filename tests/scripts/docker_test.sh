#!/usr/bin/env bash
# fb_docker_ready with stand-ins for docker and dockerd: when it starts an engine, and what it says when it cannot.
set -euo pipefail
# shellcheck source=tests/scripts/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/support.sh"
unset DOCKER_HOST

# The engine is the file ./up: the client answers while it is there, dockerd makes it (or dies of ./broken).
stand_ins() {
  mkdir -p stand-ins run/lock
  cat >stand-ins/docker <<'END'
#!/usr/bin/env bash
[[ -e $work/up ]]
END
  # By env, the process would be called bash.
  cat >stand-ins/dockerd <<'END'
#!/bin/bash
echo "$$" >>"$work/started"
echo "listening on $*"
if [[ -e $work/broken ]]; then
  echo "failed to start daemon: no iptables"
  exit 1
fi
sleep 0.5
touch "$work/up"
exec sleep 20
END
  chmod +x stand-ins/*
  : >started
  trap end_daemons EXIT
  export PATH=$work/stand-ins:$PATH FETCHBENCH_NO_PACKAGES=1 FETCHBENCH_UID=0
  export FETCHBENCH_DOCKER_ROOT=$work/data FETCHBENCH_DOCKER_LOG=$work/log FETCHBENCH_DOCKER_RUN=$work/run
}

end_daemons() {
  xargs -r kill 2>/dev/null <"$work/started" || true
  end_jobs
}

ready() {
  bash -euo pipefail -c '. "$root/bin/lib/common.sh"; . "$root/bin/lib/packages.sh"; . "$root/bin/lib/docker.sh"
    fb_docker_ready' ready </dev/null >>stdout 2>>stderr
}

test_an_engine_that_answers_is_left_alone() {
  stand_ins
  touch up
  ready || fail "$(<stderr)"
  expect_equal output '' "$(<stdout)$(<stderr)"
  expect_equal daemons '' "$(<started)"
}

test_without_an_engine_one_is_started_and_outlives_the_caller() {
  stand_ins
  ready || fail "$(<stderr)"
  kill -0 "$(<started)" || fail "it is gone"
  expect_contains log "--data-root $work/data" "$(<log)"
}

test_the_daemon_holds_none_of_the_callers_files() {
  stand_ins
  exec {held}>held
  flock "$held"
  ready || fail "$(<stderr)"
  exec {held}>&-
  flock -n held true || fail "the daemon holds a lock of its caller"
  flock -n run/lock/fetchbench-docker.lock true || fail "the daemon holds the lock of fb_docker_ready"
}

test_of_callers_at_once_one_starts_the_engine() {
  stand_ins
  local caller pids=()
  for caller in 1 2 3; do
    ready &
    pids+=($!)
  done
  for caller in "${pids[@]}"; do
    wait "$caller" || fail "$(<stderr)"
  done
  expect_equal daemons 1 "$(wc -l <started)"
}

test_a_daemon_that_dies_is_reported_with_its_last_words() {
  stand_ins
  touch broken
  local status=0
  ready || status=$?
  expect_equal status 1 "$status"
  expect_contains message 'failed to start daemon: no iptables' "$(<stderr)"
  expect_contains message "$work/log" "$(<stderr)"
}

test_the_pid_file_of_a_killed_daemon_is_no_hindrance() {
  stand_ins
  # A number that another program has now.
  echo $$ >run/docker.pid
  ready || fail "$(<stderr)"
  expect_equal daemons 1 "$(wc -l <started)"
  if [[ -e run/docker.pid ]]; then fail "the file is still there"; fi
}

test_a_daemon_that_is_starting_is_waited_for() {
  stand_ins
  stand-ins/dockerd --by-hand >log &
  echo $! >run/docker.pid
  while [[ ! -s started ]]; do sleep 0.1; done
  ready || fail "$(<stderr)"
  expect_equal daemons 1 "$(wc -l <started)"
}

test_an_engine_of_ones_own_choice_is_not_replaced() {
  stand_ins
  local status=0
  DOCKER_HOST=unix:///nowhere ready || status=$?
  expect_equal status 2 "$status"
  expect_contains message DOCKER_HOST=unix:///nowhere "$(<stderr)"
  expect_equal daemons '' "$(<started)"
}

test_who_is_not_root_is_told_what_root_has_to_run() {
  stand_ins
  local status=0
  FETCHBENCH_UID=1000 ready || status=$?
  expect_equal status 2 "$status"
  expect_contains message 'bin/setup --docker' "$(<stderr)"
}

run_tests
