#!/usr/bin/env bash
# bin/pki: what it makes, what it never overwrites, and what is left when it fails.
set -euo pipefail
# shellcheck source=tests/scripts/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/support.sh"
unset FETCHBENCH_PKI

pki() { "$root/bin/pki" "$@" >stdout 2>stderr </dev/null; }

# expect_exit CODE ARGUMENT...
expect_exit() {
  local wanted=$1 got=0
  shift
  pki "$@" || got=$?
  expect_equal "exit code of bin/pki $*" "$wanted" "$got"
}

# A fleet in ./config/fetchbench, its folder in $folder.
make_fleet() {
  export XDG_CONFIG_HOME=$work/config
  folder=$work/config/fetchbench/pki
  pki init lab ada
}

modes() { find "$1" -printf '%P %y %m\n' | sort; }
serial_of() { openssl x509 -in "$1" -noout -serial | cut -d = -f 2; }
key_of() { openssl pkey -in "$1" -pubout; }
names_of() { openssl x509 -in "$1" -noout -ext subjectAltName | tail -n 1 | sed 's/^ *//'; }

test_init_makes_a_ca_and_the_first_operator() {
  make_fleet
  expect_equal "fleet" lab "$(cat "$folder/fleet")"
  expect_equal "operator's names" "URI:fetchbench://lab/operator/ada, DNS:ada" \
    "$(names_of "$work/config/fetchbench/credentials/tls.crt")"
  openssl verify -CAfile "$folder/ca.crt" -purpose sslclient "$folder/operators/ada/tls.crt" >/dev/null
  expect_contains "CA" "CA:TRUE" "$(openssl x509 -in "$folder/ca.crt" -noout -text)"
  expect_equal "what others may do" "" "$(find "$work/config/fetchbench" ! -type l -perm /077)"
}

test_a_host_has_its_name_and_can_only_serve() {
  make_fleet
  pki host h1 10.0.0.5 fd00::1
  expect_equal "a name" "URI:fetchbench://lab/host/h1, DNS:h1" "$(names_of "$folder/hosts/h1/tls.crt")"
  expect_contains "an address" "IP Address:10.0.0.5" "$(names_of "$folder/hosts/10.0.0.5/tls.crt")"
  expect_contains "an IPv6 address" "IP Address:FD00" "$(names_of "$folder/hosts/fd00::1/tls.crt")"
  openssl verify -CAfile "$folder/ca.crt" -purpose sslserver "$folder/hosts/h1/tls.crt" >/dev/null
  ! openssl verify -CAfile "$folder/ca.crt" -purpose sslclient "$folder/hosts/h1/tls.crt" >/dev/null 2>&1 ||
    fail "a host's certificate is good for a client"
  expect_equal "modes" "$(printf '%s\n' ' d 700' 'ca.crt f 600' 'denied f 600' 'tls.crt f 600' 'tls.key f 600')" \
    "$(modes "$folder/hosts/h1")"
  expect_contains "the key" "prime256v1" "$(openssl pkey -in "$folder/hosts/h1/tls.key" -noout -text)"
}

test_a_name_with_colons_is_an_ipv6_address_or_none() {
  local name
  make_fleet
  for name in ::1 :: fe80:: 1:2:3:4:5:6:7:8 ::ffff:a00:5 2001:DB8::1; do
    pki host "$name"
    expect_contains "$name" "URI:fetchbench://lab/host/$name, IP Address:" "$(names_of "$folder/hosts/$name/tls.crt")"
  done
  for name in a:b URI:x : 1: :1 1::2::3 :::1 1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 1:2:3:4:5:6:7:8:: 12345::1 g::1; do
    expect_exit 2 host "$name"
    expect_contains "$name" "'$name' is no name" "$(cat stderr)"
  done
}

# A signal comes between the renames that put something new in the place of the old.
test_a_signal_takes_nothing_out_of_its_place() {
  local signal
  make_fleet
  pki host h1
  mkdir stand-ins
  cat >stand-ins/mv <<'END'
#!/usr/bin/env bash
/bin/mv "$@"
[[ $1 != -T ]] || kill "-$SIGNAL" "$PPID"
END
  chmod +x stand-ins/mv
  for signal in TERM INT HUP; do
    SIGNAL=$signal PATH=$PWD/stand-ins:$PATH "$root/bin/pki" host h1 --force >/dev/null 2>&1 || true
    openssl x509 -in "$folder/hosts/h1/tls.crt" -noout || fail "no certificate of h1 after $signal"
    SIGNAL=$signal PATH=$PWD/stand-ins:$PATH "$root/bin/pki" init lab ada --force >/dev/null 2>&1 || true
    [[ -r $folder/ca.key ]] || fail "no CA after $signal"
    pki host h1
  done
}

test_certificates_end_after_ninety_days_or_as_told() {
  make_fleet
  pki host h1
  pki host --days 3 h2
  openssl x509 -in "$folder/hosts/h1/tls.crt" -noout -checkend $((89 * 86400)) >/dev/null || fail "too short"
  ! openssl x509 -in "$folder/hosts/h1/tls.crt" -noout -checkend $((91 * 86400)) >/dev/null || fail "too long"
  ! openssl x509 -in "$folder/hosts/h2/tls.crt" -noout -checkend $((4 * 86400)) >/dev/null || fail "--days"
  expect_exit 2 host --days 3000 h3
  expect_contains "beyond the CA's end" "ends sooner" "$(cat stderr)"
}

test_a_clock_that_is_minutes_late_takes_a_new_certificate() {
  make_fleet
  pki host h1
  openssl verify -attime $(($(date +%s) - 1800)) -CAfile "$folder/ca.crt" "$folder/hosts/h1/tls.crt" >/dev/null
}

test_keys_are_never_overwritten_without_force() {
  make_fleet
  pki host h1
  key_of "$folder/hosts/h1/tls.key" >before
  expect_exit 2 host h1
  expect_contains "what to do" "bin/pki renew host/h1" "$(cat stderr)"
  expect_exit 2 init lab
  expect_contains "what to do" "--force" "$(cat stderr)"
  key_of "$folder/hosts/h1/tls.key" | cmp - before
  pki host --force h1
  ! key_of "$folder/hosts/h1/tls.key" | cmp -s - before || fail "--force keeps the key"
  pki init other --force
  expect_equal "fleet" other "$(cat "$folder/fleet")"
  [[ ! -e $folder/hosts ]] || fail "hosts of the old fleet are still there"
}

test_credentials_of_another_fleet_are_not_replaced() {
  export XDG_CONFIG_HOME=$work/config
  mkdir -p config/fetchbench/credentials
  echo precious >config/fetchbench/credentials/tls.key
  expect_exit 2 init lab
  [[ ! -e config/fetchbench/pki ]] || fail "half of a fleet was made"
  pki init lab --force
  expect_equal "kept" precious "$(cat config/fetchbench/credentials.before.*/tls.key)"
}

test_renewing_keeps_the_key_and_changes_the_certificate() {
  make_fleet
  pki host h1 h2
  local before
  before=$(serial_of "$folder/hosts/h1/tls.crt")
  key_of "$folder/hosts/h1/tls.key" >key
  pki renew h1
  [[ $(serial_of "$folder/hosts/h1/tls.crt") != "$before" ]] || fail "it is the same certificate"
  key_of "$folder/hosts/h1/tls.key" | cmp - key
  expect_exit 2 renew nobody
}

test_without_a_name_those_are_renewed_that_end_soon() {
  make_fleet
  pki host h1
  pki host --days 20 h2
  local h1 h2
  h1=$(serial_of "$folder/hosts/h1/tls.crt")
  h2=$(serial_of "$folder/hosts/h2/tls.crt")
  pki renew
  expect_equal "one with time left" "$h1" "$(serial_of "$folder/hosts/h1/tls.crt")"
  [[ $(serial_of "$folder/hosts/h2/tls.crt") != "$h2" ]] || fail "h2 was not renewed"
}

test_denying_a_name_denies_all_that_it_was_issued() {
  make_fleet
  pki host h1 h2
  local first second
  first=$(serial_of "$folder/hosts/h1/tls.crt")
  pki renew h1
  second=$(serial_of "$folder/hosts/h1/tls.crt")
  pki deny h1
  local list
  for list in "$folder/denied" "$folder/hosts/h2/denied" "$folder/operators/ada/denied"; do
    expect_contains "$list" "$first # h1" "$(cat "$list")"
    expect_contains "$list" "$second # h1" "$(cat "$list")"
  done
  pki list
  expect_contains "list" "denied" "$(grep h1 stdout)"
  expect_contains "list" "valid" "$(grep h2 stdout)"
  expect_exit 2 renew h1
  expect_contains "a stolen key is not used again" "--force" "$(cat stderr)"
  pki host --force h1
  pki list
  expect_contains "list" "valid" "$(grep h1 stdout)"
  expect_contains "a new host has the list" "$first" "$(cat "$folder/hosts/h1/denied")"
}

test_a_name_that_nobody_has_denies_nobody() {
  make_fleet
  pki host h1 h2
  expect_exit 2 deny h2 hh1
  expect_contains "who it is" "no operator 'hh1'" "$(cat stderr)"
  pki list
  expect_contains "all or nobody" "valid" "$(grep h2 stdout)"
}

test_a_list_without_a_fleet_is_none() {
  expect_exit 2 list
  expect_contains "what to do" "bin/pki init" "$(cat stderr)"
  [[ ! -s stdout ]] || fail "standard output: $(cat stdout)"
}

test_a_serial_number_is_denied_by_itself() {
  make_fleet
  pki host h1
  local serial
  serial=$(serial_of "$folder/hosts/h1/tls.crt")
  pki deny "$(tr A-F a-f <<<"$serial")"
  pki deny "$serial"
  expect_equal "once" 1 "$(grep -c "^$serial" "$folder/denied")"
  expect_exit 2 deny 00112233445566778899AABBCCDDEEFF
}

test_a_name_of_both_roles_must_say_which() {
  make_fleet
  pki host x
  pki operator x
  expect_exit 2 renew x
  expect_contains "what to do" "operator/x" "$(cat stderr)"
  pki renew operator/x
}

test_bad_names_are_refused() {
  make_fleet
  local name
  for name in '' '../x' 'a/b' 'a b' 'a,DNS:b' '-x' '.' "$(printf 'a%.0s' {1..70})"; do
    expect_exit 2 host "$name"
  done
  expect_equal "hosts" "" "$(find "$folder/hosts" -mindepth 1 2>/dev/null)"
  expect_exit 2 --dir "$work/other" init 'Lab!'
  [[ ! -e $work/other ]] || fail "half of a fleet was made"
}

test_without_a_fleet_it_says_how_to_make_one() {
  export XDG_CONFIG_HOME=$work/config
  expect_exit 2 host h1
  expect_contains "what to do" "bin/pki init FLEET" "$(cat stderr)"
  expect_exit 2
  expect_exit 2 hsot h1
}

# openssl fails in the middle: nothing that looks whole is left, and the next call works.
test_a_failure_leaves_nothing_half_made() {
  make_fleet
  pki host h1
  local before
  before=$(serial_of "$folder/hosts/h1/tls.crt")
  mkdir stand-ins
  export real_openssl
  real_openssl=$(command -v openssl)
  cat >stand-ins/openssl <<'END'
#!/bin/sh
[ "$1" != ca ] || { echo "the disk is full"; exit 1; }
exec "$real_openssl" "$@"
END
  chmod +x stand-ins/openssl
  local path=$PATH
  export PATH=$work/stand-ins:$PATH
  expect_exit 1 host h2
  expect_contains "why" "the disk is full" "$(cat stderr)"
  expect_exit 1 host --force h1
  expect_exit 1 renew h1
  expect_exit 1 --dir "$work/new" init other --force
  export PATH=$path
  expect_equal "hosts" "h1" "$(ls "$folder/hosts")"
  expect_equal "h1's" "$before" "$(serial_of "$folder/hosts/h1/tls.crt")"
  expect_equal "left over" "" "$(find "$folder" "$work" -maxdepth 1 -name '.*' -mindepth 1)"
  [[ ! -e $work/new ]] || fail "half of a fleet was made"
  expect_equal "credentials" "$folder/operators/ada" "$(readlink "$work/config/fetchbench/credentials")"
  pki host h2
}

test_two_at_once_both_succeed() {
  make_fleet
  "$root/bin/pki" host h1 h2 h3 2>/dev/null &
  "$root/bin/pki" host h4 h5 h6 2>/dev/null
  wait $!
  expect_equal "hosts" "h1 h2 h3 h4 h5 h6" "$(find "$folder/hosts" -name tls.crt -printf '%P\n' | cut -d / -f 1 | sort | xargs)"
  expect_equal "issued" 7 "$(wc -l <"$folder/issued")"
}

run_tests
