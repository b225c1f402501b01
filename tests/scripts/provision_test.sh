#!/usr/bin/env bash
# bin/provision and bin/ssh with a stand-in for ssh: how hosts are named, what the inventory becomes, and what is said
# when a host cannot be had. tests/provision/ has real hosts.
# shellcheck disable=SC2016,SC1003 # words that look like shell on purpose
set -euo pipefail
# shellcheck source=tests/scripts/support.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/support.sh"

# Runs shell text with the functions of bin/lib/provision.
with_lib() {
  bash -euo pipefail -c '. "$root/bin/lib/common.sh"; . "$root/bin/lib/provision/hosts.sh"
    . "$root/bin/lib/provision/remote.sh"; '"$1" with_lib "${@:2}" 2>>stderr
}

# A host is what the file ./host-NAME prints and says; without that file it does not answer.
stand_ins() {
  mkdir -p stand-ins config/fetchbench/pki
  touch config/fetchbench/pki/ca.crt package.deb
  cat >stand-ins/ssh <<'END'
#!/usr/bin/env bash
echo "${*//$'\n'/ }" >>"$work/ssh-calls"
while [[ $1 != -- ]]; do shift; done
if [[ -x $work/host-$2 ]]; then exec "$work/host-$2"; fi
echo "ssh: connect to host $2 port 22: Connection refused" >&2
exit 255
END
  chmod +x stand-ins/ssh
  export PATH=$work/stand-ins:$PATH XDG_CONFIG_HOME=$work/config FETCHBENCH_BIN=$work/stand-ins FETCHBENCH_NO_PACKAGES=1
  unset FETCHBENCH_PKI
}

# host NAME SCRIPT
host() {
  printf '#!/usr/bin/env bash\n%s\n' "$2" >"host-$1"
  chmod +x "host-$1"
}

provision() {
  "$root/bin/provision" --inventory "$work/inventory" --package "$work/package.deb" "$@" >stdout 2>stderr </dev/null
}

test_hosts_are_understood() {
  local parse='fb_parse_ssh "$1" && echo "$ssh_user|$ssh_host|$ssh_port|$(fb_ssh_word)"' word
  expect_equal user 'ada|h.example||ada@h.example' "$(with_lib "$parse" ada@h.example)"
  expect_equal port 'ada|10.0.0.5|2222|ada@10.0.0.5:2222' "$(with_lib "$parse" ada@10.0.0.5:2222)"
  expect_equal IPv6 '|fd00::5|22|[fd00::5]:22' "$(with_lib "$parse" '[fd00::5]:22')"
  for word in '' ada@ -oProxyCommand=x ada@-x 'h;reboot' h:0 h:70000 '$(x)' "a b" 'x@y@z'; do
    if with_lib "$parse" "$word"; then fail "'$word' was taken for a host"; fi
  done
}

test_words_reach_the_host_as_they_are() {
  local words=("it's" 'a  b' '$HOME' '"' '\' $'two\nlines' '*' '')
  printf '%s\n' "${words[@]}" >wanted
  for shell in sh bash; do
    "$shell" -c "printf '%s\\n' $(with_lib 'fb_quote "$@"' "${words[@]}")" >got
    cmp wanted got || fail "$shell got other words"
  done
}

test_the_inventory_keeps_what_is_not_ours() {
  local set='fb_inventory_set inventory "$@"'
  printf '# by hand\nold 10.0.0.1 arch=arm64 # mine\n\n' >inventory
  expect_equal added changed "$(with_lib "$set" web 'web 10.0.0.2:7311 ssh=a@b')"
  expect_equal again unchanged "$(with_lib "$set" web 'web 10.0.0.2:7311 ssh=a@b')"
  expect_equal replaced changed "$(with_lib "$set" web 'web 10.0.0.3:7311 ssh=a@b\t')"
  expect_equal inventory $'# by hand\nold 10.0.0.1 arch=arm64 # mine\n\nweb 10.0.0.3:7311 ssh=a@b\\t' "$(<inventory)"
  expect_equal removed changed "$(with_lib "$set" web)"
  expect_equal 'removed again' unchanged "$(with_lib "$set" web)"
  expect_equal inventory $'# by hand\nold 10.0.0.1 arch=arm64 # mine' "$(<inventory)"
}

test_a_host_keeps_its_credentials_when_none_arrive() {
  local name place=$work/etc/fetchbench/tls
  mkdir -p new "$place" stand-ins
  printf '#!/bin/sh\n' >stand-ins/chown # there is no user of the agent here
  chmod +x stand-ins/chown
  sed "s#/etc/fetchbench#$work/etc/fetchbench#g" "$root/bin/lib/provision/on_host/certificate.sh" >certificate.sh
  certificate() { PATH=$work/stand-ins:$PATH bash certificate.sh "$@" 2>>stderr; }
  for name in ca.crt tls.crt tls.key denied; do echo "$name" >"new/$name"; done
  tar -c -C new ca.crt tls.crt tls.key denied | certificate install
  expect_equal installed "$(ls new)" "$(ls "$place")"
  if certificate install </dev/null; then fail "nothing was taken for credentials"; fi
  if tar -c -C new ca.crt tls.crt | certificate install; then fail "no key was taken for credentials"; fi
  # Agents take an empty list for a broken one.
  : >new/denied
  if tar -c -C new ca.crt tls.crt tls.key denied | certificate install; then fail "an empty deny list was taken"; fi
  expect_equal 'still there' "$(ls new)" "$(ls "$place")"
  expect_equal 'the list that was there' denied "$(<"$place/denied")"
  # A deny list may be gone.
  tar -c -C new ca.crt tls.crt tls.key | certificate install
  expect_equal 'no list' $'ca.crt\ntls.crt\ntls.key' "$(ls "$place")"
}

# As root: whoever could write there would have root run what he likes.
test_a_package_is_built_where_only_root_writes() {
  local folder
  mkdir -p host root/build
  folder=$(with_lib '. "$root/bin/lib/provision/package.sh"
    fb_root=$work/root host_folder=$work/host
    fb_progress() { :; }
    fb_sources() { :; }
    fb_as_root() { cat >/dev/null; [[ $2 != make ]] || echo "$3" >folder; }
    fb_package_built_there ubuntu-24.04-arm64 >/dev/null && cat folder')
  [[ $folder == /* ]] || fail "no folder: '$folder'"
  [[ ! -k $(dirname -- "$folder") ]] || fail "$folder is where everybody writes"
}

test_an_empty_value_is_no_value() {
  local option got
  stand_ins
  # Without its value --image would be all the other steps.
  for option in --image --inventory --package --credentials --known-hosts --identity; do
    got=0
    provision "$option" '' root@h1 || got=$?
    expect_equal "exit code of $option ''" 2 "$got"
    expect_contains "$option" "$option: its value is empty" "$(<stderr)"
  done
  [[ ! -e ssh-calls ]] || fail "a host was called"
  got=0
  "$root/bin/ssh" --inventory '' >stdout 2>stderr || got=$?
  expect_equal "exit code of bin/ssh" 2 "$got"
}

test_all_hosts_of_no_inventory_or_an_empty_one_is_told_so() {
  local got=0
  stand_ins
  touch package.deb
  rm -f inventory
  provision --all || got=$?
  expect_equal 'exit code without one' 2 "$got"
  expect_contains 'which it is' "the inventory $work/inventory is not there" "$(<stderr)"
  echo '# nobody yet' >inventory
  got=0
  provision --all || got=$?
  expect_equal 'exit code with nobody in it' 2 "$got"
  expect_contains 'what is wrong' "the inventory $work/inventory has no hosts" "$(<stderr)"
}

test_names_that_look_like_numbers_are_names() {
  printf '010 10.0.0.1 ssh=a@b\n1e1 10.0.0.2 ssh=c@d\n' >inventory
  expect_equal line '1e1 10.0.0.2 ssh=c@d' "$(with_lib 'fb_inventory_line inventory 1e1')"
  if with_lib 'fb_inventory_line inventory 10'; then fail "10 was taken for another host"; fi
  expect_equal added changed "$(with_lib 'fb_inventory_set inventory 10 "10 10.0.0.3"')"
  expect_equal inventory $'010 10.0.0.1 ssh=a@b\n1e1 10.0.0.2 ssh=c@d\n10 10.0.0.3' "$(<inventory)"
}

test_an_inventory_with_tabs_and_other_ends_of_lines_is_read() {
  printf 'web\t10.0.0.1\tssh=ada@10.0.0.1\tkey=*\r\ndb 10.0.0.2 ssh=bob@10.0.0.2\r\nalone 10.0.0.3 # ssh=x\r\n' >inventory
  expect_equal names $'web\ndb' "$(with_lib 'fb_inventory_names inventory')"
  expect_equal host 'db bob 10.0.0.2' \
    "$(with_lib 'fb_take_host db inventory && echo "$host_name $ssh_user $ssh_host"')"
  expect_equal value '*' "$(with_lib 'fb_line_value "$(fb_inventory_line inventory web)" key')"
}

test_writers_of_the_inventory_take_turns() {
  local i
  for i in 1 2 3 4 5 6 7 8; do
    with_lib 'fb_inventory_set inventory "$@"' "web-$i" "web-$i 10.0.0.$i" >>said &
  done
  wait
  expect_equal lines 8 "$(sort -u inventory | wc -l)"
}

test_a_host_stays_as_it_was_provisioned_until_an_option_says_otherwise() {
  local settings='host_name=$1 fb_port=$2 fb_docker_wanted=$3; fb_take_settings inventory; echo "$host_port $host_docker"'
  printf 'bare 10.0.0.2:7400 ssh=a@b arch=amd64 docker=no\nsix [fd00::5]:7401 ssh=a@b # docker=no\nold 10.0.0.3\n' >inventory
  expect_equal 'as before' '7400 no' "$(with_lib "$settings" bare '' '')"
  expect_equal 'as the options say' '7311 yes' "$(with_lib "$settings" bare 7311 yes)"
  expect_equal 'IPv6, a comment' '7401 yes' "$(with_lib "$settings" six '' '')"
  expect_equal 'without a port' '7311 yes' "$(with_lib "$settings" old '' '')"
  expect_equal 'a new one' '7311 yes' "$(with_lib "$settings" new '' '')"
  expect_equal 'a new one, bare' '7311 no' "$(with_lib "$settings" new '' no)"
}

test_two_hosts_of_one_name_are_refused_before_anything_happens() {
  stand_ins
  local status=0
  provision ada@h.example:2201 ada@h.example:2202 || status=$?
  expect_equal status 2 "$status"
  expect_contains message 'two hosts are called h.example' "$(<stderr)"
  if [[ -e ssh-calls ]]; then fail "a host was called"; fi
}

test_a_fleet_without_a_ca_is_told_how_to_get_one() {
  stand_ins
  rm config/fetchbench/pki/ca.crt
  local status=0
  provision ada@h.example || status=$?
  expect_equal status 2 "$status"
  expect_contains message 'bin/pki init' "$(<stderr)"
}

test_each_failure_names_host_step_and_reason() {
  stand_ins
  host unknown 'echo "Host key verification failed." >&2; exit 255'
  host locked 'echo "ada@locked: Permission denied (publickey)." >&2; exit 255'
  host fedora 'printf "%s\n" system=fedora-40 title=Fedora\ 40 arch=amd64 uid=0 root=yes systemd=yes'
  host nosudo 'printf "%s\n" system=debian-12 title=Debian arch=amd64 uid=1000 root=no systemd=yes'
  local status=0
  provision --known-hosts keys ada@unknown:2201 ada@locked ada@fedora ada@nosudo ada@silent || status=$?
  expect_equal status 1 "$status"
  expect_equal failed 5 "$(grep -c ': FAILED at connect$' stdout)"
  expect_contains 'unknown key' 'ssh-keyscan -p 2201 unknown >> keys' "$(<stdout)"
  expect_contains 'no key of ours' 'ssh-copy-id' "$(<stdout)"
  expect_contains system 'Fedora 40, amd64: neither Debian 12' "$(<stdout)"
  expect_contains sudo 'NOPASSWD' "$(<stdout)"
  expect_contains silent 'Connection refused' "$(<stdout)"
  expect_contains summary '5 of 5 hosts failed' "$(<stderr)"
}

test_keys_of_hosts_are_always_checked() {
  stand_ins
  provision ada@silent || true
  expect_contains options 'StrictHostKeyChecking=yes' "$(<ssh-calls)"
  if grep -v 'StrictHostKeyChecking=yes' ssh-calls; then fail "not always"; fi
}

test_ssh_goes_to_a_host_of_the_inventory() {
  stand_ins
  printf 'web 10.0.0.2:7311 ssh=ada@h.example:2201\nbare 10.0.0.3\n' >inventory
  host h.example 'echo "here I am"'
  expect_equal output 'here I am' "$("$root/bin/ssh" --inventory inventory web uptime)"
  expect_contains call '-p 2201 -l ada -- h.example uptime' "$(<ssh-calls)"
  # The only one that can be reached.
  expect_equal output 'here I am' "$("$root/bin/ssh" --inventory inventory)"
  local status=0
  "$root/bin/ssh" --inventory inventory bare 2>stderr || status=$?
  expect_equal status 2 "$status"
  expect_contains message 'there are: web' "$(<stderr)"
}

run_tests
