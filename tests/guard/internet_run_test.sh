#!/usr/bin/env bash
# Usage: internet_run_test.sh
#
# Runs on "the real web" that look for a way to what is not public, whole: coordinator, agent, Docker Engine, the
# rules of deploy/guard/fetchbench-guard. Its URLs name private, metadata and the host's own addresses, or names with
# such addresses, or public hosts that redirect there, or that change their address before the redirect. Each must have
# one record, a failure, and none of those addresses may see a connection: from a target in a container, which knows of
# nothing and is kept from them by the rules alone, and from the native fetcher, which refuses them itself. The same
# URLs with --allow-private are the proof of the test: there, everything must be in reach.
#
# All of it happens in namespaces of its own (network, mounts, processes): `host`, with an Engine of its own, and
# behind its only route `world`, which holds public and private addresses itself and leads nowhere. Nothing in it
# outlives this script. The programs are those of FETCHBENCH_BIN. Exits 77 (ctest: skipped) where that cannot be.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
: "${FETCHBENCH_BIN:?}"

skip() {
  echo "internet_run_test.sh: not run here: $1"
  exit 77
}
fail() {
  echo "FAIL: $1" >&2
  exit 1
}

# --- Outside: enters the namespaces, and leaves nothing behind.

# own_cgroups PROCESSES: of the process namespace of that number. They are the machine's, whatever namespace they are
# made in.
own_cgroups() {
  find /sys/fs/cgroup -maxdepth 3 -depth -type d -path "*/fetchbench-*-$1-*" 2>/dev/null || true
}

# remove_folder FOLDER: and the cgroups of the run that it is of.
remove_folder() {
  local processes i
  processes=$(cat -- "$1/processes" 2>/dev/null) || processes=none
  # A process that was killed is there for a moment more.
  for ((i = 0; i < 100; ++i)); do
    own_cgroups "$processes" | xargs -r rmdir 2>/dev/null && break
    sleep 0.1
  done
  rm -rf -- "$1"
}

end() {
  [[ -z $entered ]] || kill -KILL "$entered" 2>/dev/null || true
  [[ -z $entered ]] || wait "$entered" 2>/dev/null || true
  [[ -z $folder ]] || remove_folder "$folder"
}

enter() {
  local tool name=${TMPDIR:-/tmp}/fetchbench-internet-run status=0 left pid
  ((EUID == 0)) || skip "needs root"
  for tool in unshare setpriv nsenter ip nft iptables dockerd docker python3 jq sqlite3; do
    command -v "$tool" >/dev/null || skip "$tool is not installed"
  done
  unshare --net --mount --pid --fork --mount-proc ip link set lo up 2>/dev/null || skip "cannot make namespaces"
  # Of one that was killed.
  for left in "$name".*; do
    pid=${left#"$name".}
    [[ ! -d $left || -e /proc/${pid%%.*} ]] || remove_folder "$left"
  done
  trap end EXIT
  folder=$(mktemp -d "$name.$$.XXXXXX")
  # Should this script be killed, unshare is, and with it the first process in there, and so all the others.
  setpriv --pdeathsig KILL unshare --net --mount --pid --fork --kill-child --mount-proc \
    "${BASH_SOURCE[0]}" inside "$folder" </dev/null &
  entered=$!
  wait "$entered" || status=$?
  entered=''
  exit "$status"
}

# --- Inside: the host and the world.

in_world() { nsenter --net=/run/netns/world "$@"; }
in_neighbour() { nsenter --net=/run/netns/neighbour "$@"; }

# The neighbour is another container on the Engine's default bridge; the last is the Engine's own gateway there.
private=(10.9.9.9 100.64.0.7 100.100.100.200 168.63.129.16 169.254.7.7 169.254.169.254 172.30.7.7 192.0.0.192
  192.168.7.7 198.18.7.7)
own_private=192.168.9.1 own_public=11.22.0.1 uplink=172.31.0.1 next_hop=172.31.0.2 resolver=10.9.9.53
neighbour=172.17.0.99 docker_gateway=172.17.0.1
public=(11.22.33.44 100.128.0.1)
# Not the world's: inside of a container they are the container.
loopback=(127.0.0.1 0.0.0.0)

make_namespaces() {
  mount -t tmpfs -o mode=755 tmpfs /run
  mkdir -p /run/lock /run/agent "$work"
  chmod 0700 /run/agent
  echo "nameserver $resolver" >/run/resolv.conf
  mount --bind /run/resolv.conf /etc/resolv.conf
  ip netns add world
  ip netns add neighbour
  ip link set lo up
  ip -n world link set lo up
  ip link add up0 type veth peer name down0 netns world
  ip addr add "$uplink/30" dev up0
  ip addr add "$own_private/32" dev lo
  ip addr add "$own_public/32" dev lo
  ip link set up0 up
  ip -n world addr add "$next_hop/30" dev down0
  ip -n world link set down0 up
  ip route add default via "$next_hop"
  local address
  for address in "${private[@]}" "${public[@]}" "$resolver"; do ip -n world addr add "$address/32" dev lo; done
  # It leads nowhere: what is for others would come back, but is refused, so that a test that fails ends soon.
  ip -n world route add default via "$uplink"
  in_world sysctl -qw net.ipv4.ip_forward=1
  in_world nft -f - <<<'table inet nowhere {
    chain forward { type filter hook forward priority filter; meta l4proto tcp reject with tcp reset; drop; }
  }'
}

# wait_for WHAT COMMAND...: until it succeeds.
wait_for() {
  local what=$1 i
  shift
  for ((i = 0; i < 600; ++i)); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.1
  done
  fail "$what did not get ready: $(tail -n 5 "$work"/*.log)"
}

start_engine() {
  mkdir "$work/data" "$work/exec"
  dockerd --data-root "$work/data" --exec-root "$work/exec" --pidfile /run/docker.pid -H unix:///run/docker.sock \
    >"$work/dockerd.log" 2>&1 </dev/null &
  local engine=$! i
  for ((i = 0; i < 600; ++i)); do
    ! docker version >/dev/null 2>&1 || return 0
    kill -0 "$engine" 2>/dev/null || break
    sleep 0.1
  done
  skip "no Docker Engine in a namespace of its own: $(tail -n 1 "$work/dockerd.log")"
}

attach_neighbour() {
  ip link add beside0 type veth peer name eth0 netns neighbour
  ip link set beside0 master docker0 up
  ip -n neighbour link set lo up
  ip -n neighbour addr add "$neighbour/16" dev eth0
  ip -n neighbour link set eth0 up
  ip -n neighbour route add default via "$docker_gateway"
}

start_webs() {
  python3 "$here/web.py" "$notes" >"$work/host.log" 2>&1 &
  in_world python3 "$here/web.py" "$notes" "$resolver" >"$work/world.log" 2>&1 &
  in_neighbour python3 "$here/web.py" "$notes" >"$work/neighbour.log" 2>&1 &
  local place
  for place in host world neighbour; do wait_for "the web of $place" grep -q ready "$work/$place.log"; done
}

# The smallest pool, so that every gateway that a run's network may get can be named beforehand.
guard() { FETCHBENCH_GUARD_POOL=10.213.0.0/24 "$here/../../deploy/guard/fetchbench-guard" "$@"; }
gateways=()
for ((i = 1; i < 256; i += 16)); do gateways+=("10.213.0.$i"); done

start_agent() {
  "$FETCHBENCH_BIN/fetchbench-agent" --listen unix:/run/agent/socket --require-guard >"$work/agent.out" 2>"$work/agent.log" &
  agent=$!
  wait_for "the agent" grep -q listen "$work/agent.out"
}

# --- The runs.

# ways_to ADDRESS: by itself, by a name, and by redirects to both.
ways_to() {
  local name=${1//./-}.test
  printf '%s\n' "http://$1/" "http://$name/" "http://${public[0]}/to?http://$1/" \
    "http://${public[0]//./-}.test/to?http://$name/"
}

# write_urls RUN ADDRESS...: into $work/public what has an answer whatever is refused, and into $work/private what does
# not when these addresses are refused.
write_urls() {
  local run=$1 address
  shift
  # The last name has a private address too.
  { for address in "${public[@]}"; do ways_to "$address"; done && echo "http://10-9-9-9.${public[0]//./-}.test/"; } >"$work/public"
  { for address in "$@"; do ways_to "$address"; done &&
    echo "http://$run.11-22-33-44.then.10-9-9-9.test/to?http://$run.11-22-33-44.then.10-9-9-9.test/"; } >"$work/private"
}

# run_all TARGET OPTION...: the records, sorted, in $work/records as "URL OUTCOME STATUS"; the run must be whole.
run_all() {
  local target=$1 urls
  shift
  cat "$work/public" "$work/private" >"$work/urls"
  urls=$(wc -l <"$work/urls")
  : >"$notes"
  timeout 120 "$FETCHBENCH_BIN/fetchbench-coordinator" run "$target" --web internet --agents unix:/run/agent/socket \
    --urls "$work/urls" --timeout 60 --format json --progress none --out "$work/out" "$@" \
    >"$work/summary" 2>"$work/said" || fail "run of $target: exit $?: $(<"$work/said")"
  local database=$work/out/latest/records.db got
  got=$(jq -r '"\(.end) \(.ledger.balanced) \(.ledger.recorded)"' "$work/summary")
  [[ $got == "complete true $urls" ]] || fail "$target: end, ledger and records: $got, of $urls URLs"
  got=$(sqlite3 "$database" 'SELECT count(*), count(DISTINCT idx) FROM record')
  [[ $got == "$urls|$urls" ]] || fail "$target: records and URLs with a record: $got, of $urls"
  sqlite3 -separator ' ' "$database" "SELECT url, outcome, coalesce(status, '-') FROM records" | sort >"$work/records"
}

# expect_said WHETHER: yes or no: that the run's first line speaks of private addresses as being included.
expect_said() {
  local said=no
  ! grep -q 'private addresses included' "$work/said" || said=yes
  [[ $said == "$1" ]] || fail "whether private addresses are included: said $said, and it is $1: $(<"$work/said")"
}

# expect_records WHAT OUTCOME STATUS: of the private URLs; the public ones have a 200.
expect_records() {
  { sed 's/$/ status 200/' "$work/public" && sed "s/\$/ $2 $3/" "$work/private"; } | sort >"$work/wanted"
  diff "$work/wanted" "$work/records" >"$work/diff" || fail "$1: records that were wanted (<), and those there are (>):
$(<"$work/diff")"
}

# expect_visits WHAT ADDRESS...: the addresses that saw connections, each at least once.
expect_visits() {
  local what=$1
  shift
  diff <(printf '%s\n' "$@" | sort -u) <(sort -u "$notes") >"$work/diff" ||
    fail "$what: addresses that had to be visited (<), and those that were besides (>):
$(<"$work/diff")"
}

# Of what agent and guard made; what the Engine itself has is there as long as the Engine is.
expect_nothing_left() {
  local left
  left=$(docker ps -aq)
  [[ -z $left ]] || fail "containers that are left: $left"
  left=$(docker network ls --format '{{.Name}}' | grep -vxE 'bridge|host|none' || true)
  [[ -z $left ]] || fail "networks that are left: $left"
  left=$(ip -o link show | grep -E ': (fb|veth)' || true)
  [[ -z $left ]] || fail "interfaces that are left: $left"
  left=$(nft list ruleset 2>/dev/null | grep -E 'fetchbench|fbg|10\.213\.' || true)
  [[ -z $left ]] || fail "rules that are left: $left"
  [[ ! -e /run/fetchbench-guard/state ]] || fail "the guard's note is left"
  left=$(own_cgroups "$(stat -Lc %i /proc/self/ns/pid)")
  [[ -z $left ]] || fail "cgroups that are left: $left"
}

# --- The test.

inside() {
  work=/run/work notes=/run/work/notes
  export TMPDIR=$work
  stat -Lc %i /proc/self/ns/pid >"$1/processes"
  make_namespaces
  start_engine
  attach_neighbour
  start_webs
  guard apply
  start_agent
  local outside=("${private[@]}" "$own_private" "$own_public" "$uplink" "$next_hop" "$resolver" "$neighbour" "$docker_gateway")

  write_urls container "${outside[@]}" "${loopback[@]}" "${gateways[@]}"
  run_all cpp
  expect_said no
  expect_records "in a container" connect_refused -
  expect_visits "in a container" "${public[@]}"
  # The network of the run is kept until the agent ends.
  local gateway
  gateway=$(ip -o -4 addr show | sed -n 's/^.*: fbg[0-9a-f]* .*inet \([0-9.]*\).*$/\1/p')
  [[ " ${gateways[*]} " == *" $gateway "* ]] || fail "the run's gateway was '$gateway', none of those that were tried"

  write_urls native "${outside[@]}" "$gateway" "${loopback[@]}"
  run_all native
  expect_said no
  expect_records "native" blocked_address -
  expect_visits "native" "${public[@]}"

  write_urls container-control "${outside[@]}" "$gateway"
  run_all cpp --allow-private
  expect_said yes
  expect_records "in a container, with --allow-private" status 200
  expect_visits "in a container, with --allow-private" "${outside[@]}" "$gateway" "${public[@]}"

  write_urls native-control "${outside[@]}" "$gateway" "${loopback[@]}"
  run_all native --allow-private
  expect_said yes
  expect_records "native, with --allow-private" status 200
  # Whoever connects to 0.0.0.0 comes to 127.0.0.1.
  expect_visits "native, with --allow-private" "${outside[@]}" "$gateway" 127.0.0.1 "${public[@]}"

  kill "$agent"
  wait "$agent" || fail "the agent ended with $?: $(<"$work/agent.log")"
  guard remove
  expect_nothing_left
}

agent='' entered='' folder=''
if [[ ${1:-} == inside ]]; then
  inside "$2"
  echo "all as expected"
else
  enter
fi
