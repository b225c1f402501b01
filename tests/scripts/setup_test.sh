#!/usr/bin/env bash
# bin/setup's choice of packages and what it does about missing ones, with stand-ins for dpkg-query, apt-get,
# dpkg and sudo: nothing is installed and no network is used.
set -euo pipefail
# shellcheck source=tests/scripts/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/support.sh"
# What the tests themselves are told.
unset FETCHBENCH_NO_PACKAGES

# on DISTRIBUTION-ID VERSION
on() {
  printf 'ID=%s\nVERSION_ID="%s"\nPRETTY_NAME="%s %s"\n' "$1" "$2" "$1" "$2" >os-release
  export FETCHBENCH_OS_RELEASE=$work/os-release
}

# Puts stand-ins before the real programs: dpkg-query knows the lines of ./installed ("ii |g++"), the others
# write what they were called with to ./calls; apt-get install makes everything installed unless ./broken is there.
stand_ins() {
  mkdir -p stand-ins
  : >installed
  : >calls
  cat >stand-ins/dpkg-query <<'EOF'
#!/usr/bin/env bash
cat "$work/installed"
exit 1
EOF
  cat >stand-ins/apt-get <<'EOF'
#!/usr/bin/env bash
cat >"$work/apt-stdin"
echo "apt-get $*" >>"$work/calls"
if [[ " $* " == *" install "* && ! -e $work/broken ]]; then
  for word in "$@"; do echo "ii |$word" >>"$work/installed"; done
fi
[[ ! -e $work/apt-fails ]]
EOF
  cat >stand-ins/dpkg <<'EOF'
#!/usr/bin/env bash
echo "dpkg $*" >>"$work/calls"
EOF
  printf '#!/usr/bin/env bash\nexit 1\n' >stand-ins/sudo
  chmod +x stand-ins/*
  export PATH=$work/stand-ins:$PATH
}

everything_installed() { "$root/bin/setup" --list-packages | sed 's/^/ii |/' >installed; }

setup() { "$root/bin/setup" "$@" >stdout 2>stderr; }

test_debian_12_gets_the_newer_boost_by_its_version() {
  on debian 12
  setup --list-packages
  expect_contains packages libboost-url1.81-dev "$(<stdout)"
  if grep -qx libboost-url-dev stdout; then fail "Boost 1.74 asked for"; fi
}

test_debian_13_and_ubuntu_24_04_get_their_default_boost() {
  local system
  for system in 'debian 13' 'ubuntu 24.04'; do
    # shellcheck disable=SC2086 # words on purpose
    on $system
    setup --list-packages
    grep -qx libboost-url-dev stdout || fail "$system: $(<stdout)"
  done
}

test_groups_add_packages() {
  on debian 12
  setup --list-packages --with fuzz --with perf
  grep -qx libclang-rt-14-dev stdout || fail "$(<stdout)"
  grep -qx hey stdout || fail "$(<stdout)"
}

test_nothing_missing_asks_nobody() {
  on debian 12
  stand_ins
  everything_installed
  setup --packages-only || fail "$(<stderr)"
  expect_equal calls '' "$(<calls)"
  expect_equal output '' "$(<stdout)$(<stderr)"
}

test_only_what_is_missing_is_installed() {
  on debian 12
  stand_ins
  everything_installed
  sed -i '/|libfmt-dev$/d; s/^ii |ccache$/iU |ccache/' installed
  FETCHBENCH_UID=0 setup --packages-only || fail "$(<stderr)"
  expect_contains calls ' install -y --no-install-recommends ccache libfmt-dev' "$(<calls)"
}

test_an_interrupted_dpkg_is_finished_first() {
  on debian 12
  stand_ins
  FETCHBENCH_UID=0 setup --packages-only || fail "$(<stderr)"
  expect_equal "first call" 'dpkg --configure -a' "$(head -n 1 calls)"
}

test_standard_input_is_left_for_the_program() {
  on debian 12
  stand_ins
  echo https://one.example | FETCHBENCH_UID=0 setup --packages-only || fail "$(<stderr)"
  expect_equal "what apt-get read" '' "$(<apt-stdin)"
}

test_without_root_and_sudo_the_command_is_printed_and_the_exit_code_is_2() {
  on debian 12
  stand_ins
  everything_installed
  sed -i '/|libfmt-dev$/d; /|g++$/d' installed
  local status=0
  FETCHBENCH_UID=1000 setup --packages-only || status=$?
  expect_equal status 2 "$status"
  expect_contains message 'apt-get update && apt-get install -y --no-install-recommends g++ libfmt-dev' "$(<stderr)"
  expect_equal calls '' "$(<calls)"
}

test_a_failed_installation_is_a_failure_and_the_next_call_tries_again() {
  on debian 12
  stand_ins
  everything_installed
  sed -i '/|libfmt-dev$/d' installed
  touch broken
  if FETCHBENCH_UID=0 setup --packages-only; then fail "a package is missing still"; fi
  rm broken
  FETCHBENCH_UID=0 setup --packages-only || fail "$(<stderr)"
}

test_another_system_is_told_what_to_install() {
  on fedora 41
  stand_ins
  local status=0
  setup --packages-only || status=$?
  expect_equal status 2 "$status"
  expect_contains message 'fedora 41' "$(<stderr)"
  expect_contains message FETCHBENCH_NO_PACKAGES=1 "$(<stderr)"
  FETCHBENCH_NO_PACKAGES=1 setup --packages-only || fail "$(<stderr)"
}

test_wrong_usage_ends_with_2() {
  on debian 12
  local status arguments
  for arguments in '--preset fast' '--with nonsense' '--nonsense' '--preset'; do
    status=0
    # shellcheck disable=SC2086 # words on purpose
    setup $arguments || status=$?
    expect_equal "$arguments" 2 "$status"
  done
}

# bin/test decides about packages the same way, so it is tested with the same stand-ins.
test_bin_test_says_what_is_wrong_before_it_installs_anything() {
  on debian 12
  stand_ins
  local status arguments
  for arguments in '--preset fast' '--preset fuzz' '--jobs none' '--filter' '--nonsense'; do
    status=0
    # shellcheck disable=SC2086 # words on purpose
    FETCHBENCH_UID=0 "$root/bin/test" $arguments >stdout 2>stderr || status=$?
    expect_equal "$arguments" 2 "$status"
    expect_equal "calls of $arguments" '' "$(<calls)"
  done
}

test_bin_test_names_all_packages_of_its_job_at_once_and_no_others() {
  on debian 12
  stand_ins
  FETCHBENCH_UID=1000 "$root/bin/test" --fuzz >stdout 2>stderr || true
  expect_contains "packages to fuzz" ' libclang-rt-14-dev' "$(<stderr)"
  if grep -q tmux stderr; then fail "the fuzz targets need no tmux: $(<stderr)"; fi
  FETCHBENCH_UID=1000 "$root/bin/test" >stdout 2>stderr || true
  expect_contains "packages to test" ' tmux' "$(<stderr)"
}

run_tests
