#!/usr/bin/env bash
# Which list bin/run hands to the coordinator, what else it adds, and for which arguments it and the other scripts have
# an engine made ready; the coordinator is a stand-in that prints its arguments, DURATION and standard input.
set -euo pipefail
# shellcheck source=tests/scripts/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/support.sh"
unset DURATION
built=${FETCHBENCH_BIN:-$root/build/release/bin}/fetchbench-coordinator
export built

stand_in() {
  mkdir -p stand-ins
  cat >stand-ins/fetchbench-coordinator <<'EOF'
#!/usr/bin/env bash
[[ $1 != needs-engine ]] || exec "$built" "$@" # which targets run where is nothing to stand in for
echo "$*"
echo "DURATION=${DURATION:-}"
case " $* " in *" --urls - "*) cat ;; esac
EOF
  chmod +x stand-ins/fetchbench-coordinator
  export FETCHBENCH_BIN=$work/stand-ins
}

test_without_a_list_the_committed_one_is_used_and_the_run_ends_after_600_seconds() {
  stand_in
  expect_equal arguments "run --urls $root/data/urls.txt --web sim native"$'\nDURATION=600' \
    "$("$root/bin/run" --web sim native </dev/null)"
}

test_a_closed_standard_input_is_no_list() {
  stand_in
  expect_contains arguments "--urls $root/data/urls.txt" "$("$root/bin/run" native <&-)"
}

test_a_piped_list_is_used() {
  stand_in
  expect_equal arguments $'run --urls - native\nDURATION=600\nhttps://edwardsnowden.com' \
    "$(echo https://edwardsnowden.com | "$root/bin/run" native)"
}

test_a_redirected_file_is_used() {
  stand_in
  echo https://one.example >list
  expect_equal arguments $'run --urls - native\nDURATION=600\nhttps://one.example' "$("$root/bin/run" native <list)"
}

test_a_named_list_wins_over_a_pipe() {
  stand_in
  expect_contains arguments 'run native --urls mine' "$(echo x | "$root/bin/run" native --urls mine)"
  expect_contains arguments 'run native --urls=mine' "$(echo x | "$root/bin/run" native --urls=mine)"
}

test_duration_of_the_environment_wins_over_the_default() {
  stand_in
  expect_contains output DURATION=30 "$(DURATION=30 "$root/bin/run" native </dev/null)"
}

test_without_arguments_the_targets_are_listed() {
  stand_in
  expect_contains arguments targets "$("$root/bin/run" </dev/null)"
}

test_help_is_its_own_page_and_then_the_coordinators() {
  stand_in
  local page
  page=$("$root/bin/run" native --help </dev/null)
  expect_contains "what bin/run adds" 'ends after 600 seconds' "$page"
  expect_contains "what the coordinator says" 'run --help' "$page"
}

test_help_builds_and_installs_nothing() {
  expect_contains page 'once fetchbench is built (bin/setup)' \
    "$(FETCHBENCH_BIN=$work/nothing "$root/bin/run" --help </dev/null)"
}

test_the_version_is_the_coordinators() {
  stand_in
  expect_contains arguments --version "$("$root/bin/run" --version </dev/null)"
}

test_an_option_without_its_value_stays_the_last_word() {
  stand_in
  expect_equal arguments "run --urls $root/data/urls.txt native --limit"$'\nDURATION=600' \
    "$("$root/bin/run" native --limit </dev/null)"
}

test_arguments_arrive_as_they_were_given() {
  stand_in
  expect_contains arguments 'native --user-agent a  b *' \
    "$("$root/bin/run" native --user-agent 'a  b *' </dev/null)"
}

# A target with a folder, and a Docker client that writes what it is asked to ./engine and answers.
container_target() {
  stand_in
  mkdir -p lib/go/net-http
  echo '{"name": "go/net-http", "kind": "fetch", "language": "Go", "method": "net/http", "aliases": ["go"]}' \
    >lib/go/net-http/target.json
  cat >stand-ins/docker <<'EOF'
#!/usr/bin/env bash
echo "$*" >>"$work/engine"
EOF
  chmod +x stand-ins/docker
  : >engine
  export FETCHBENCH_LIB=$work/lib PATH=$work/stand-ins:$PATH
}

test_a_target_in_a_container_has_the_engine_made_ready() {
  container_target
  local arguments
  for arguments in go go/net-http '--target go' '--target=go --limit 5' '--limit 5 go'; do
    : >engine
    # shellcheck disable=SC2086 # words on purpose
    "$root/bin/run" $arguments </dev/null >stdout
    expect_contains "$arguments" version "$(<engine)"
    expect_contains "$arguments" run "$(<stdout)"
  done
}

test_other_targets_agents_elsewhere_and_help_need_no_engine() {
  container_target
  local arguments
  for arguments in native unknown 'go --agents far:1 --origin far:2' 'go --help' '--web sim' '--user-agent go native'; do
    # shellcheck disable=SC2086 # words on purpose
    "$root/bin/run" $arguments </dev/null >stdout
    expect_equal "$arguments" '' "$(<engine)"
  done
}

# Whatever starts the coordinator has the engine made ready for it.
test_every_command_has_the_engine_made_ready_when_it_needs_one() {
  container_target
  echo '[{"name": "native"}]' >native.json
  echo '[{"name": "native"}, {"name": "go"}]' >all.json
  local arguments
  for arguments in 'coordinator run go' 'coordinator verify go' 'coordinator verify' 'coordinator bench go' \
    'benchmark go --rounds 1' "benchmark --settings $work/all.json"; do
    : >engine
    # shellcheck disable=SC2086 # words on purpose
    "$root"/bin/$arguments </dev/null >stdout
    expect_contains "$arguments" version "$(<engine)"
  done
  : >engine
  for arguments in 'coordinator run native' 'coordinator verify native' 'coordinator bench native' 'coordinator targets' \
    'coordinator --help' 'benchmark --rounds 1 native' "benchmark --settings $work/native.json" 'benchmark --help'; do
    # shellcheck disable=SC2086 # words on purpose
    "$root"/bin/$arguments </dev/null >stdout
    expect_equal "$arguments" '' "$(<engine)"
  done
}

# All targets are wanted, and none of them by name: those that need no engine can still run.
test_without_an_engine_all_targets_are_tried_and_a_named_one_is_not() {
  container_target
  printf '#!/bin/sh\nexit 1\n' >stand-ins/docker
  export FETCHBENCH_NO_PACKAGES=1 FETCHBENCH_UID=1000 FETCHBENCH_DOCKER_RUN=$work/run
  mkdir -p run/lock
  "$root/bin/coordinator" verify </dev/null >stdout 2>stderr || fail "$(<stderr)"
  expect_contains 'what is said' 'without a Docker Engine' "$(<stderr)"
  expect_contains 'what is run' verify "$(<stdout)"
  ! "$root/bin/coordinator" verify go </dev/null >stdout 2>stderr || fail 'it went on'
  expect_equal 'what is run' '' "$(<stdout)"
}

run_tests
