#!/usr/bin/env bash
# What every script of bin/ does with arguments that are wrong, and with --help: it ends with 2 and says which option
# and which value it was, or prints its page; nothing is started, installed, built or moved. FETCHBENCH_BIN names the
# folder of the built programs.
set -euo pipefail
# shellcheck source=tests/scripts/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/support.sh"
: "${FETCHBENCH_BIN:?the folder of the built programs}"
unset FETCHBENCH_PKI FETCHBENCH_BASE_IMAGES DOCKER_HOST DURATION LIMIT CONCURRENCY FORMAT

# Whatever would do something writes down that it was called, and fails.
stand_ins() {
  local name
  mkdir -p stand-ins config out
  : >calls
  for name in apt-get cmake ninja ctest ccache docker dockerd debootstrap curl ssh sudo setsid clang-format clang-tidy \
    shellcheck unshare; do
    # shellcheck disable=SC2016 # for the stand-in
    printf '#!/bin/sh\necho "%s $*" >>"$work/calls"\nexit 1\n' "$name" >"stand-ins/$name"
  done
  chmod +x stand-ins/*
  touch here
  export PATH=$work/stand-ins:$PATH XDG_CONFIG_HOME=$work/config FETCHBENCH_OUT=$work/out FETCHBENCH_NO_PACKAGES=1
  export FETCHBENCH_CACHE=$work/cache FETCHBENCH_DOCKER_RUN=$work/run
}

# refused NEEDLE SCRIPT ARGUMENT...: notes in ./wrong what it does otherwise than it should.
refused() {
  local needle=$1 script=$2 status=0
  shift 2
  echo "$script" >>tried
  : >calls
  timeout 60 "$root/bin/$script" "$@" >stdout 2>stderr </dev/null || status=$?
  {
    ((status == 2)) || echo "bin/$script $*: exit code $status: $(tail -n 3 stderr)"
    [[ $(<stderr) == *"$needle"* ]] || echo "bin/$script $*: '$needle' is not in: $(tail -n 3 stderr)"
    [[ ! -s stdout ]] || echo "bin/$script $*: standard output: $(head -n 3 stdout)"
    [[ ! -s calls ]] || echo "bin/$script $*: it called: $(head -n 3 calls)"
    [[ -z $(ls out) ]] || echo "bin/$script $*: in the folder of results: $(find out -printf '%f ')"
  } >>wrong
  rm -rf out/*
}

nothing_is_wrong() { [[ ! -s wrong ]] || fail "$(<wrong)"; }

test_wrong_arguments_are_refused_before_anything_happens() {
  stand_ins
  refused 'unknown option --stauts' base-images --stauts
  refused "no base image is called 'x'" base-images debian x
  refused "no base image is called ''" base-images ''

  refused '--stauts' agent --stauts
  refused '--listen' agent --listen
  refused "--listen 'foo': write HOST:PORT" agent --listen foo
  refused "'x' is not" agent --memory-limit x
  refused '--stauts' origin --stauts
  refused "--listen: 'foo'" origin --listen foo
  refused '--dns-port = x' origin --dns-port x

  refused "unknown command 'x'" coordinator x
  refused 'unknown option --stauts' coordinator targets --stauts
  local script words
  for script in coordinator run benchmark trigger-benchmark; do
    words=()
    [[ $script != coordinator ]] || words=(run)
    refused 'unknown option --stauts' "$script" "${words[@]}" --stauts
    refused '--limit' "$script" "${words[@]}" native --limit
    refused "--limit: 'x'" "$script" "${words[@]}" native --limit x
    refused "there is no target 'x'" "$script" "${words[@]}" x
    refused '/no/such/list' "$script" "${words[@]}" native --urls /no/such/list
    refused '/no/such/inventory' "$script" "${words[@]}" native --inventory /no/such/inventory
    refused '/no/such/credentials' "$script" "${words[@]}" native --credentials /no/such/credentials \
      --agents 127.0.0.1:1
  done
  for script in benchmark trigger-benchmark; do
    refused "--rounds: '0'" "$script" --rounds 0
    refused '/no/such/settings' "$script" --settings /no/such/settings
    refused '--urls -' "$script" --urls -
  done
  refused '--status stands alone' trigger-benchmark --status x
  refused '--stop stands alone' trigger-benchmark native --stop
  refused 'no benchmark was triggered' trigger-benchmark --status

  refused 'unknown option --stauts' fetch-urls --stauts
  refused '--limit needs a value' fetch-urls --limit
  refused '--limit: x' fetch-urls --limit x
  refused '--limit: 12345678901234567890' fetch-urls --limit 12345678901234567890
  refused '--limit: its value is empty' fetch-urls --limit ''
  refused '--format: x' fetch-urls --format x
  refused '--from: /no/such/file' fetch-urls --from /no/such/file
  refused '--from: its value is empty' fetch-urls --from ''
  refused '--output: there is no folder /no/such' fetch-urls --output /no/such/file
  refused "--output: $work/out is a folder" fetch-urls --output "$work/out"
  refused '--output: its value is empty' fetch-urls --output ''

  refused 'unknown option --stauts' lint --stauts
  refused 'unknown option x' lint --no-tidy x

  refused 'unknown option --stauts' perf --stauts
  refused '--rounds needs a value' perf --rounds
  refused '--rounds: x' perf --rounds x
  refused "no measurement 'x'" perf x
  refused "no measurement '../scripts/usage_test'" perf ../scripts/usage_test
  refused "no measurement ''" perf ''

  refused 'unknown option --stauts' pki --stauts
  refused 'unknown command x' pki x
  refused '--days needs a value' pki list --days
  refused "--days 'x'" pki --days x list
  refused '--dir: its value is empty' pki --dir '' list
  refused '/no/such/folder' pki --dir /no/such/folder list

  refused 'unknown option --stauts' provision --stauts
  refused "--port 'x'" provision --port x a@b
  refused "--jobs '0'" provision --jobs 0 a@b
  for script in package identity credentials; do
    refused "--$script /no/such/file" provision "--$script" /no/such/file a@b
    refused "--$script: its value is empty" provision "--$script" '' a@b
  done
  refused '--upgrade and --remove' provision --upgrade --remove a@b
  refused "'a@@b'" provision a@@b

  refused 'unknown option x' setup x
  refused '--preset: no preset x' setup --preset x
  refused '--preset: its value is empty' setup --preset ''
  refused '--with: no group x' setup --with x
  refused '--with needs a value' setup --with

  refused 'unknown option --stauts' ssh --stauts
  refused '--inventory needs a value' ssh --inventory
  refused 'the inventory /no/such/inventory is not there' ssh --inventory /no/such/inventory x
  refused 'bin/provision user@host' ssh --inventory /no/such/inventory x
  refused '--identity /no/such/file' ssh --identity /no/such/file x

  refused 'unknown option --stauts' test --stauts
  refused '--preset: no preset x' test --preset x
  refused '--jobs: x' test --jobs x
  refused '--filter: (' test --filter '('
  refused '--filter: its value is empty' test --filter ''
  refused "--lab: 'x'" test --lab x
  refused "--plugs: '100'" test --plugs 100
  refused '--targets: its value is empty' test --targets ''
  nothing_is_wrong
  expect_equal 'scripts that were not tried' '' \
    "$(comm -23 <(find "$root/bin" -maxdepth 1 -type f -printf '%f\n' | sort) <(sort -u tried))"
}

# A copy of the scripts alone: no program is built, and nothing can be.
test_help_is_printed_where_nothing_is_built() {
  stand_ins
  cp -R -- "$root/bin" .
  local script option
  unset FETCHBENCH_BIN FETCHBENCH_NO_PACKAGES
  for script in bin/*; do
    [[ -f $script ]] || continue
    for option in -h --help; do
      timeout 60 "$script" "$option" >stdout 2>stderr </dev/null || fail "$script $option: exit code $?: $(<stderr)"
      expect_contains "$script $option" "Usage: $script" "$(head -n 1 stdout)"
      expect_equal "standard error of $script $option" '' "$(<stderr)"
    done
  done
  timeout 60 bin/coordinator run --help >stdout 2>stderr </dev/null || fail "$(<stderr)"
  expect_contains 'where the page is' 'bin/setup' "$(<stdout)"
  expect_equal calls '' "$(<calls)"
  [[ ! -e build ]] || fail 'a build was begun'
}

test_help_of_a_program_that_is_built_is_its_own() {
  local script
  for script in agent origin; do
    expect_contains "$script" "Usage: fetchbench-$script" "$("$root/bin/$script" --help)"
  done
  expect_contains coordinator import-urls "$("$root/bin/coordinator" --help)"
  expect_contains 'a command' 'give-up-after' "$("$root/bin/coordinator" resume --help)"
  expect_contains benchmark --settings "$("$root/bin/benchmark" --help)"
}

# What the coordinator advises can be typed as it stands.
# shellcheck disable=SC2016 # these are no commands
test_advice_names_the_coordinator_as_the_user_has_it() {
  mkdir 'my copy'
  cp -R -- "$root/bin" 'my copy/'
  local said
  said=$(cd "$root" && bin/run --stauts 2>&1 </dev/null) || true
  expect_contains 'in the tree' '`bin/coordinator run --help`' "$said"
  said=$(cd "$root/bin" && ./benchmark --stauts 2>&1 </dev/null) || true
  expect_contains 'in bin/' '`./coordinator bench --help`' "$said"
  said=$('my copy/bin/coordinator' x 2>&1 </dev/null) || true
  expect_contains 'with a blank' "\`'my copy/bin/coordinator' --help\`" "$said"
  said=$("$FETCHBENCH_BIN/fetchbench-coordinator" x 2>&1 </dev/null) || true
  expect_contains 'without a script' '`coordinator --help`' "$said"
  said=$("$root/bin/coordinator" run --help </dev/null)
  expect_contains 'a page' "$root/bin/coordinator run TARGET" "$said"
}

run_tests
