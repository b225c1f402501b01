#!/usr/bin/env bash
# bin/test with stand-ins for the build, ctest and docker: what it does where no container can be run, and which
# command the gate of all targets is.
set -euo pipefail
# shellcheck source=tests/scripts/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/support.sh"

# A copy of the scripts, so that nothing is written into the build at hand; the only engine is a client that
# finds none.
prepare() {
  mkdir -p copy stand-ins run/lock
  cp -R -- "$root/bin" copy/
  for name in cmake ninja; do printf '#!/bin/sh\n' >"stand-ins/$name"; done
  cat >stand-ins/ctest <<'END'
#!/bin/sh
echo "ctest $*"
exit "${CTEST_RESULT:-0}"
END
  printf '#!/bin/sh\nexit 1\n' >stand-ins/docker
  printf '#!/bin/sh\necho "coordinator $*"\n' >fetchbench-coordinator
  chmod +x stand-ins/* fetchbench-coordinator
  export PATH="$work/stand-ins:$PATH" FETCHBENCH_NO_PACKAGES=1 FETCHBENCH_UID=1000 FETCHBENCH_DOCKER_RUN="$work/run"
  unset DOCKER_HOST
}

run_test() {
  status=0
  "$work/copy/bin/test" "$@" >stdout 2>stderr || status=$?
}

test_without_an_engine_the_tests_still_run() {
  prepare
  run_test
  expect_equal status 0 "$status"
  expect_contains message 'no Docker Engine here: the tests of containers are skipped' "$(<stderr)"
  expect_contains release build/release "$(<stdout)"
  expect_contains asan build/asan "$(<stdout)"
}

test_the_lab_is_run_as_often_as_asked_for() {
  prepare
  mkdir -p copy/tests/lab
  printf '#!/bin/sh\necho "lab $*"\n' >copy/tests/lab/lab.py
  chmod +x copy/tests/lab/lab.py
  run_test --lab --jobs 3
  expect_equal status 0 "$status"
  expect_contains schedules '--schedules 200 --jobs 6' "$(<stdout)"
  run_test --lab 7
  expect_contains schedules '--schedules 7' "$(<stdout)"
}

test_an_engine_that_does_not_answer_is_none() {
  prepare
  export DOCKER_HOST=unix:///nowhere
  run_test --preset release
  expect_equal status 0 "$status"
  expect_contains message 'DOCKER_HOST=unix:///nowhere does not answer' "$(<stderr)"
  expect_contains message 'the tests of containers are skipped' "$(<stderr)"
}

test_base_images_that_cannot_be_made_fail_nothing() {
  prepare
  printf '#!/bin/sh\n' >stand-ins/docker
  printf '#!/bin/sh\necho "$*" >>%s/bases\nexit 1\n' "$work" >copy/bin/base-images
  run_test --preset release
  expect_equal status 0 "$status"
  expect_equal bases 'debian go node python rust' "$(<bases)"
  expect_contains message 'the tests that need them are skipped' "$(<stderr)"
}

test_prepare_makes_the_base_images_and_runs_no_test() {
  prepare
  printf '#!/bin/sh\n' >stand-ins/docker
  printf '#!/bin/sh\necho "$*" >>%s/bases\n' "$work" >copy/bin/base-images
  run_test --prepare
  expect_equal status 0 "$status"
  expect_equal bases 'debian go node python rust' "$(<bases)"
  expect_equal output '' "$(<stdout)"
}

# .ci/run with stand-ins for the commands that it calls, each of which writes down that it began and ended.
prepare_ci() {
  mkdir -p bin .ci
  cp -- "$root/.ci/run" .ci/
  for name in setup lint test; do
    { echo '#!/usr/bin/env bash' && cat; } >"bin/$name" <<END
echo "begin $name \$*" >>$work/calls
[[ "$name \$*" != 'test --prepare' ]] || until grep -q '^end lint' $work/calls; do sleep 0.05; done
echo "end $name \$*" >>$work/calls
[[ " \${FAILING:-} " != *" $name "* ]]
END
    chmod +x "bin/$name"
  done
}

test_a_change_is_linted_while_images_are_made_and_tested_after_both() {
  prepare_ci
  timeout 60 .ci/run
  expect_contains packages 'begin setup --packages-only' "$(head -n 1 calls)"
  expect_equal last 'end test ' "$(tail -n 1 calls)"
  expect_equal 'before the tests' 'end test --prepare' "$(tail -n 3 calls | head -n 1)"
}

test_what_lint_finds_fails_a_change_after_its_tests_have_run() {
  prepare_ci
  status=0
  FAILING='setup lint' timeout 60 .ci/run || status=$?
  expect_equal status 1 "$status"
  expect_equal last 'end test ' "$(tail -n 1 calls)"
}

test_a_failed_preset_fails_it_after_the_other_has_run() {
  prepare
  export CTEST_RESULT=8
  run_test
  expect_equal status 1 "$status"
  expect_contains asan build/asan "$(<stdout)"
  expect_contains message 'tests failed: release asan' "$(<stderr)"
}

test_targets_all_verifies_everything_and_a_list_only_what_it_names() {
  prepare
  printf '#!/bin/sh\n' >stand-ins/docker
  printf '#!/bin/sh\necho "bases $*" >>%s/bases\n' "$work" >copy/bin/base-images
  export FETCHBENCH_BIN="$work"
  run_test --targets all
  expect_equal status 0 "$status"
  expect_equal command 'coordinator verify' "$(<stdout)"
  expect_equal bases 'bases ' "$(<bases)"
  run_test --targets go,node/undici
  expect_equal command 'coordinator verify go node/undici' "$(<stdout)"
}

run_tests
