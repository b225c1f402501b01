#!/usr/bin/env bash
# Which list bin/run hands to the coordinator, and what else it adds; the coordinator is a stand-in that
# prints its arguments, DURATION and standard input.
set -euo pipefail
# shellcheck source=tests/scripts/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/support.sh"
unset DURATION

stand_in() {
  mkdir -p stand-ins
  cat >stand-ins/fetchbench-coordinator <<'EOF'
#!/usr/bin/env bash
echo "$*"
echo "DURATION=${DURATION:-}"
case " $* " in *" --urls - "*) cat ;; esac
EOF
  chmod +x stand-ins/fetchbench-coordinator
  export FETCHBENCH_BIN=$work/stand-ins
}

test_without_a_list_the_committed_one_is_used_and_the_run_ends_after_600_seconds() {
  stand_in
  expect_equal arguments "run --urls $root/data/urls.txt --web sim --target native"$'\nDURATION=600' \
    "$("$root/bin/run" --web sim native </dev/null)"
}

test_a_closed_standard_input_is_no_list() {
  stand_in
  expect_contains arguments "--urls $root/data/urls.txt" "$("$root/bin/run" native <&-)"
}

test_a_piped_list_is_used() {
  stand_in
  expect_equal arguments $'run --urls - --target native\nDURATION=600\nhttps://edwardsnowden.com' \
    "$(echo https://edwardsnowden.com | "$root/bin/run" native)"
}

test_a_redirected_file_is_used() {
  stand_in
  echo https://one.example >list
  expect_equal arguments $'run --urls - --target native\nDURATION=600\nhttps://one.example' "$("$root/bin/run" native <list)"
}

test_a_named_list_wins_over_a_pipe() {
  stand_in
  expect_contains arguments 'run --target native --urls mine' "$(echo x | "$root/bin/run" native --urls mine)"
  expect_contains arguments 'run --target native --urls=mine' "$(echo x | "$root/bin/run" native --urls=mine)"
}

test_duration_of_the_environment_wins_over_the_default() {
  stand_in
  expect_contains output DURATION=30 "$(DURATION=30 "$root/bin/run" native </dev/null)"
}

test_without_arguments_the_targets_are_listed() {
  stand_in
  expect_contains arguments targets "$("$root/bin/run" </dev/null)"
}

test_the_target_is_found_before_between_and_behind_options() {
  stand_in
  local arguments
  for arguments in 'native --limit 5 --allow-private' '--limit 5 native --allow-private' \
    '--allow-private --limit=5 native' '--limit 5 --target native'; do
    # shellcheck disable=SC2086 # words on purpose
    expect_contains "$arguments" '--target native' "$("$root/bin/run" $arguments </dev/null)"
  done
  expect_contains "a second word" '--target native other' "$("$root/bin/run" native other </dev/null)"
}

test_options_without_a_target_list_the_targets_but_for_help() {
  stand_in
  expect_contains arguments targets "$("$root/bin/run" --limit 5 </dev/null)"
  expect_contains help 'run --help' "$("$root/bin/run" --help </dev/null)"
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
  expect_equal arguments "run --urls $root/data/urls.txt --target native --limit"$'\nDURATION=600' \
    "$("$root/bin/run" native --limit </dev/null)"
}

test_arguments_arrive_as_they_were_given() {
  stand_in
  expect_contains arguments 'native --user-agent a  b *' \
    "$("$root/bin/run" native --user-agent 'a  b *' </dev/null)"
}

run_tests
