#!/usr/bin/env bash
# The rules of deploy/guard/fetchbench-guard on real packets, in three network namespaces that are connected
# with nothing else: `run`, where a container would be, behind a bridge of `host`, which routes to `world`,
# which holds private, metadata and public addresses itself. Each look is taken with the guard off too:
# then everything must be in reach, else the test proves nothing.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
guard=$here/../../deploy/guard/fetchbench-guard
skip() {
  echo "skipped: $1"
  exit 77
}
((EUID == 0)) || skip "needs root"
for tool in ip nft python3; do command -v "$tool" >/dev/null || skip "needs $tool"; done

tag=fbgt$$
run=$tag-run sim=$tag-sim host=$tag-host world=$tag-world
folder=$(mktemp -d)
failures=0
servers=()

clean_up() {
  local pid name
  for pid in "${servers[@]}"; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" || true
  done
  for name in "$run" "$sim" "$host" "$world"; do ip netns del "$name" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap clean_up EXIT

in_ns() { ip netns exec "$@"; }

for name in "$run" "$sim" "$host" "$world"; do
  ip netns add "$name" || skip "cannot make network namespaces"
  in_ns "$name" ip link set lo up
done
in_ns "$host" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1

# connect NS1 DEVICE1 NS2 DEVICE2
connect() {
  ip -n "$1" link add "$2" type veth peer name "$4" netns "$3"
  ip -n "$1" link set "$2" up
  ip -n "$3" link set "$4" up
}
# A bridge as the agent's networks have, and one of another container beside it.
for bridge in fbg00001 fbg00002 fbgo00003 other0; do
  ip -n "$host" link add "$bridge" type bridge
  ip -n "$host" link set "$bridge" up
done
connect "$host" port0 "$run" eth0
ip -n "$host" link set port0 master fbg00001
ip -n "$host" addr add 10.213.0.1/28 dev fbg00001
ip -n "$host" addr add fd00:213::1/64 dev fbg00001 nodad
ip -n "$run" addr add 10.213.0.2/28 dev eth0
ip -n "$run" addr add fd00:213::2/64 dev eth0 nodad
ip -n "$run" route add default via 10.213.0.1
ip -n "$run" -6 route add default via fd00:213::1
# Beside it, where a container of a run on a simulated web would be.
connect "$host" port1 "$sim" eth0
ip -n "$host" link set port1 master fbgo00003
ip -n "$host" addr add 10.213.0.33/28 dev fbgo00003
ip -n "$sim" addr add 10.213.0.34/28 dev eth0
ip -n "$sim" route add default via 10.213.0.33
connect "$host" up0 "$world" down0
ip -n "$host" addr add 172.31.0.1/30 dev up0
ip -n "$host" addr add fd00:31::1/64 dev up0 nodad
ip -n "$world" addr add 172.31.0.2/30 dev down0
ip -n "$world" addr add fd00:31::2/64 dev down0 nodad
ip -n "$host" route add default via 172.31.0.2
ip -n "$host" -6 route add default via fd00:31::2
ip -n "$world" route add default via 172.31.0.1
ip -n "$world" -6 route add default via fd00:31::1
# The host's own, private and public; a bridge of other containers.
ip -n "$host" addr add 192.168.9.1/32 dev lo
ip -n "$host" addr add 11.22.0.1/32 dev lo
ip -n "$host" addr add 172.17.0.1/16 dev other0

private=(10.9.9.9 10.255.255.254 100.64.0.7 100.100.100.200 168.63.129.16 169.254.169.254 169.254.170.2
  172.16.7.7 172.30.7.7 192.0.0.192 192.0.2.7 192.88.99.7 192.168.7.7 198.18.7.7 198.51.100.7 203.0.113.7)
private_v6=(fd00:7::7 fd00:ec2::254 64:ff9b::a9fe:a9fe 2002:a09:909::1 2001:db8::7)
public=(11.22.33.44 9.255.255.254 100.128.0.1 172.15.0.7 172.32.0.7 192.169.0.7 223.255.255.7)
for address in "${private[@]}" "${public[@]}" 10.9.9.53 10.9.9.31; do
  ip -n "$world" addr add "$address/32" dev lo
done
# An IPv6 address of the public is refused as well: networks of runs are IPv4 only.
for address in "${private_v6[@]}" 2600::7; do ip -n "$world" addr add "$address/128" dev lo nodad; done

for name in "$host" "$world"; do
  # Not through in_ns: $! would be a shell around it, and the server would outlive the kill.
  ip netns exec "$name" timeout 300 python3 "$here/reach.py" serve 80 53 443 3128 >"$folder/$name.out" &
  servers+=($!)
done
for name in "$host" "$world"; do
  for _ in {1..200}; do
    ! grep -qs ready "$folder/$name.out" || break
    sleep 0.05
  done
done

settings=(FETCHBENCH_GUARD_STATE="$folder/state" FETCHBENCH_GUARD_RESOLVERS="10.9.9.53 192.168.9.1 127.0.0.53"
  FETCHBENCH_GUARD_ALLOW="10.9.9.31:3128" FETCHBENCH_GUARD_ORIGINS="10.9.9.9 192.168.9.1")
guard() { in_ns "$host" env "${settings[@]}" "$guard" "$@"; }

# expect RESULT ADDRESS:PORT...   from within the network of a run
expect() { expect_from "$run" "$@"; }

# expect_from NAMESPACE RESULT ADDRESS:PORT...
expect_from() {
  local from=$1 wanted=$2 place result
  shift 2
  while read -r place result; do
    [[ $result == "$wanted" ]] && continue
    echo "FAIL: $place is $result from $from, expected $wanted ($when)"
    failures=$((failures + 1))
  done < <(in_ns "$from" python3 "$here/reach.py" dial "$@")
}
fail() {
  echo "FAIL: $1"
  failures=$((failures + 1))
}

outside=("${private[@]/%/:80}")
own=(10.213.0.1:80 192.168.9.1:80 11.22.0.1:80 172.17.0.1:80 172.31.0.1:80 '[fd00:213::1]:80')
outside_v6=()
for address in "${private_v6[@]}" 2600::7; do outside_v6+=("[$address]:80"); done

when="guard off"
! guard check 2>/dev/null || fail "check says it is in force, and it is not"
expect open "${outside[@]}" "${own[@]}" "${outside_v6[@]}" "${public[@]/%/:80}"
elsewhere=(10.9.9.53:53 10.9.9.31:3128 172.17.0.1:80 11.22.0.1:80 10.213.0.33:80 10.213.0.2:80 11.22.33.44:80)
origin=(10.9.9.9:53 10.9.9.9:80 10.9.9.9:443 192.168.9.1:53 192.168.9.1:80 192.168.9.1:443)
origin+=(udp/10.9.9.9:53 udp/192.168.9.1:53)
# An origin's control port may be anywhere else.
control=(10.9.9.9:3128 192.168.9.1:3128)
expect_from "$sim" open "${origin[@]}" "${control[@]}" "${elsewhere[@]/10.213.0.2:80/10.213.0.1:80}"

when="guard on"
guard apply
guard apply # again is harmless
guard check >/dev/null || fail "check says it is not in force"
expect refused "${outside[@]}" "${own[@]}" "${outside_v6[@]}"
expect open "${public[@]/%/:80}"
# Named exceptions, and port 53 of the resolvers alone.
expect open 10.9.9.53:53 192.168.9.1:53 10.9.9.31:3128
expect refused 10.9.9.53:80 10.9.9.31:80 10.9.9.31:53
# A run on a simulated web reaches the origins that were named, one of them on the host itself, at the ports of a web
# and nothing else, not even what runs on the real web may.
expect_from "$sim" open "${origin[@]}"
expect_from "$sim" refused "${control[@]}" "${elsewhere[@]}"
expect_from "$sim" unreachable udp/10.9.9.9:80 udp/192.168.9.1:443
# A published port: the destination is public until it is replaced by that of another container.
in_ns "$host" nft -f - <<'NFT'
table ip published {
  chain pre { type nat hook prerouting priority dstnat; ip daddr 11.22.33.44 tcp dport 8080 dnat to 10.9.9.9:80; }
}
NFT
expect unreachable 11.22.33.44:8080
# Another source address does not help: the rules go by the bridge.
ip -n "$run" addr add 11.22.99.99/32 dev eth0
ip -n "$host" route add 11.22.99.99/32 dev fbg00001
ip -n "$run" route replace default via 10.213.0.1 src 11.22.99.99
expect refused 10.9.9.9:80
expect open 11.22.33.44:80
ip -n "$run" route replace default via 10.213.0.1
# Nobody gets into a run's network from outside.
ip netns exec "$run" timeout 60 python3 "$here/reach.py" serve 80 >"$folder/inside.out" &
servers+=($!)
for _ in {1..200}; do
  ! grep -qs ready "$folder/inside.out" || break
  sleep 0.05
done
[[ $(in_ns "$world" python3 "$here/reach.py" dial 10.213.0.2:80) == *timeout ]] || fail "the run is reached from outside"

when="guard removed"
in_ns "$host" nft delete table ip published
in_ns "$host" nft flush ruleset
! guard check 2>/dev/null || fail "check does not see that the rules were flushed"
guard apply
guard remove
guard remove # again is harmless
[[ ! -e $folder/state ]] || fail "the note stays after remove"
expect open "${outside[@]}" "${own[@]}" "${outside_v6[@]}" 10.9.9.9:80
[[ $(in_ns "$world" python3 "$here/reach.py" dial 10.213.0.2:80) == *open ]] || fail "the test of the way in proves nothing"

for bad in FETCHBENCH_GUARD_POOL=10.0.0.0/40 FETCHBENCH_GUARD_POOL=fbg FETCHBENCH_GUARD_ALLOW=10.0.0.1 \
  FETCHBENCH_GUARD_ORIGINS=10.0.0.9:80 FETCHBENCH_GUARD_ORIGINS=web.example \
  'FETCHBENCH_GUARD_BRIDGES=a"b' FETCHBENCH_GUARD_TABLE='x; flush ruleset'; do
  ! env "$bad" "$guard" print >/dev/null 2>&1 || fail "$bad is taken"
done

((failures == 0)) || exit 1
echo "all as expected"
