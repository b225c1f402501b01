#!/usr/bin/env bash
# Usage: tests/provision/hosts.sh [--folder FOLDER] [--suite SUITE] up N | down | image | kill NAME | start NAME |
#                                 pause NAME | unpause NAME | unplug NAME | plug NAME | exec NAME COMMAND...
#
# Hosts to try bin/provision on: N containers with a real systemd and sshd, a user admin with sudo, and addresses in a
# network of their own. `up` makes those that are missing and prints the command that provisions them; keys,
# known_hosts and inventory go into FOLDER (build/hosts). `kill` is the power cord of one, `start` boots it again,
# `pause` freezes all of its processes, `unplug` pulls its network cable, `exec` is root's console. `down` removes them
# all. SUITE is the release of Debian that they run: the machine's own, so that a package that was built here fits, or
# another, whose first host builds the package. The first `up` makes the image, which takes minutes and root; `image`
# makes only that.
#
# They need the capabilities of a systemd (SYS_ADMIN and others), so run no software in them that you do not trust.
set -euo pipefail
here=$(dirname -- "${BASH_SOURCE[0]}")
lib=$here/../../bin/lib
# shellcheck source=bin/lib/common.sh
. "$lib/common.sh"
# shellcheck source=bin/lib/packages.sh
. "$lib/packages.sh"
# shellcheck source=bin/lib/docker.sh
. "$lib/docker.sh"
# shellcheck source=bin/lib/base-settings.sh
. "$lib/base-settings.sh"
# shellcheck source=bin/lib/bases.sh
. "$lib/bases.sh"

folder=$fb_root/build/hosts
readonly label=fetchbench.test-hosts
# shellcheck source=/dev/null
fb_base_suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")

# Prints the image's tag; makes it if it is not there.
host_image() {
  local tag recipe=$here/host.Dockerfile
  fb_docker_ready
  mkdir -p -- "$fb_base_cache"
  # Hosts are no base images: a folder of their own for what is made on the way.
  fb_base_work=$(mktemp -d -- "$fb_base_cache/work.$$.XXXXXX")
  trap 'rm -rf -- "$fb_base_work"' EXIT
  fb_base_prepare
  tag=fetchbench-test-host:$({ echo "$fb_base_debian" && cat -- "$recipe"; } | fb_hash)
  if ! fb_base_exists "$tag"; then
    fb_note "hosts: making the image $tag"
    fb_base_exists "$fb_base_debian" || fb_base_build debian "$fb_base_debian" >&2
    DOCKER_BUILDKIT=0 fb_docker build --network host --build-arg BASE="$fb_base_debian" -t "$tag" - <"$recipe" \
      >"$fb_base_work/log" 2>&1 || { tail -n 20 "$fb_base_work/log" >&2; return 1; }
  fi
  echo "$tag"
}

# Prints what belongs to this folder.
containers() { fb_docker ps -a -q --filter "label=$label=$folder"; }

network_name() { echo "fetchbench-hosts-$(fb_hash <<<"$folder" | cut -c 1-6)"; }

container_name() { echo "$(network_name)-$1"; }

# The Engine chooses the addresses; the network is made again with them, since only then may hosts have addresses of
# their own, which they keep without power.
make_network() {
  local subnet
  fb_docker network create "$(network_name)" >/dev/null
  subnet=$(subnet_of_network)
  fb_docker network rm "$(network_name)" </dev/null >/dev/null
  fb_docker network create --label "$label=$folder" --subnet "$subnet" "$(network_name)" >/dev/null
}

subnet_of_network() {
  fb_docker network inspect -f '{{(index .IPAM.Config 0).Subnet}}' "$(network_name)" </dev/null
}

# address_for NUMBER: of the host with that number. The network's own is .1.
address_for() {
  local subnet
  subnet=$(subnet_of_network)
  echo "${subnet%.*}.$((1 + $1))"
}

# boot NAME IMAGE ADDRESS: a machine that is switched on.
boot() {
  local capabilities=(SYS_ADMIN NET_ADMIN SYS_PTRACE SYS_NICE)
  fb_docker run -d --network "$(network_name)" --ip "$3" --name "$(container_name "$1")" --hostname "$1" --label "$label=$folder" "${capabilities[@]/#/--cap-add=}" \
    --security-opt seccomp=unconfined --security-opt apparmor=unconfined --cgroupns=private -e container=docker \
    --tmpfs /run:exec,mode=755 --tmpfs /run/lock --tmpfs /tmp -v /var/lib/docker "$2" </dev/null >/dev/null
}

address_of() {
  fb_docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$(container_name "$1")"
}

# let_in NAME: our key goes in, and the host's key is read from within, where nobody can be in between.
let_in() {
  local name
  name=$(container_name "$1")
  fb_docker exec -i "$name" sh -c 'umask 077; cat >/home/admin/.ssh/authorized_keys
    chown admin: /home/admin/.ssh/authorized_keys; cut -d" " -f1,2 /etc/ssh/ssh_host_ed25519_key.pub' \
    <"$folder/key.pub"
}

# wait_for_boot NAME: until its systemd answers.
wait_for_boot() {
  local end=$((SECONDS + 60)) state=''
  while ((SECONDS < end)); do
    state=$(fb_docker exec "$(container_name "$1")" systemctl is-system-running 2>/dev/null) || true
    [[ $state != running && $state != degraded ]] || return 0
    sleep 0.2
  done
  fb_die 1 "host $1 does not boot: $(fb_docker logs --tail 5 "$(container_name "$1")" 2>&1)"
}

up() {
  local count=$1 image i name key words=()
  mkdir -p -- "$folder"
  [[ -f $folder/key ]] || ssh-keygen -q -t ed25519 -N '' -C fetchbench-hosts -f "$folder/key"
  image=$(host_image)
  fb_docker network inspect "$(network_name)" </dev/null >/dev/null 2>&1 ||
    make_network
  for ((i = 1; i <= count; ++i)); do
    fb_docker inspect "$(container_name "host-$i")" </dev/null >/dev/null 2>&1 ||
      boot "host-$i" "$image" "$(address_for "$i")"
  done
  : >"$folder/known_hosts"
  for ((i = 1; i <= count; ++i)); do
    name=host-$i
    wait_for_boot "$name"
    key=$(let_in "$name")
    echo "$(address_of "$name") $key" >>"$folder/known_hosts"
    words+=("$name=admin@$(address_of "$name")")
  done
  printf '%s\n' "${words[@]}" >"$folder/words"
  fb_note "$count hosts are up. To provision them:"
  echo "bin/provision --known-hosts $folder/known_hosts --identity $folder/key --inventory $folder/inventory" \
    "--no-docker ${words[*]}"
}

down() {
  local ids
  mapfile -t ids < <(containers)
  ((${#ids[@]} == 0)) || fb_docker rm -f -v "${ids[@]}" >/dev/null
  fb_docker network rm "$(network_name)" </dev/null >/dev/null 2>&1 || true
  rm -f -- "$folder"/{key,key.pub,known_hosts,words,inventory,inventory.lock}
  fb_note "${#ids[@]} hosts removed"
}

while [[ ${1:-} == --folder || ${1:-} == --suite ]]; do
  fb_value "$1" $#
  if [[ $1 == --folder ]]; then folder=$(realpath -m -- "$2"); else fb_base_suite=$2; fi
  shift 2
done
case ${1:-} in
  up)
    [[ ${2:-} =~ ^[1-9][0-9]?$ ]] || fb_die 2 "up N: 1 to 99"
    up "$2"
    ;;
  down) down ;;
  image) host_image ;;
  kill | start | pause | unpause)
    fb_value "$1" $#
    fb_docker "$1" "$(container_name "$2")" </dev/null >/dev/null
    ;;
  unplug | plug)
    fb_value "$1" $#
    if [[ $1 == plug ]]; then state=up; else state=down; fi
    fb_docker exec "$(container_name "$2")" ip link set eth0 "$state" </dev/null
    ;;
  exec)
    fb_value "$1" $#
    fb_docker exec "$(container_name "$2")" "${@:3}" </dev/null
    ;;
  -h | --help) fb_help ;;
  *) fb_die 2 "up N, down, image or what is done to one host (see --help)" ;;
esac
