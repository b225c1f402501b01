# shellcheck shell=bash
# Sourced after common.sh and packages.sh: a Docker Engine that answers, started here where nothing else does it.

# Where an engine that is started here keeps images and containers, and what it says. A folder of its own, so
# that it shares nothing with an engine that the machine may get one day.
fb_docker_root=${FETCHBENCH_DOCKER_ROOT:-/var/lib/fetchbench-docker}
fb_docker_log=${FETCHBENCH_DOCKER_LOG:-/var/log/fetchbench-dockerd.log}
fb_docker_run=${FETCHBENCH_DOCKER_RUN:-/run} # for tests: locks, pid file, mark of an init system
fb_docker_start_seconds=60

# fb_docker ARGUMENT...: the client, on the socket that the agent and the coordinator use too, whatever "context"
# the client is set to.
fb_docker() {
  DOCKER_HOST=${DOCKER_HOST:-unix:///var/run/docker.sock} docker "$@"
}

# fb_docker_answers: asks for the server's version; a client alone, or a hung engine, does not count.
fb_docker_answers() {
  command -v docker >/dev/null &&
    DOCKER_HOST=${DOCKER_HOST:-unix:///var/run/docker.sock} timeout 20 \
      docker version --format '{{.Server.APIVersion}}' </dev/null >/dev/null 2>&1
}

# Prints the process that Docker's pid file names if it is a dockerd; removes the file if it is not: dockerd
# refuses to start when any process at all has the number that a killed one left there.
fb_dockerd_pid() {
  local file="$fb_docker_run/docker.pid" pid
  pid=$(cat -- "$file" 2>/dev/null) || return 1
  if fb_is_running "$pid" && [[ $(cat "/proc/$pid/comm" 2>/dev/null) == dockerd ]]; then
    echo "$pid"
    return 0
  fi
  rm -f -- "$file"
  return 1
}

# fb_docker_wait PID: until the engine answers; fails when the process is gone or time is up.
fb_docker_wait() {
  local end=$((SECONDS + fb_docker_start_seconds))
  while ((SECONDS < end)); do
    fb_docker_answers && return 0
    fb_is_running "$1" || return 1
    sleep 0.2
  done
  return 1
}

# Starts dockerd for as long as the machine is up: in a session of its own, with none of the caller's files open
# (a lock among them would be held for ever) and nothing in a temporary folder that the caller may remove.
# It is not kept to one CPU, as image builds need them all: the agent gives what is measured CPUs of its own (cpuset), and
# an engine that only waits for a container takes next to nothing of them.
fb_dockerd_start() {
  local pid
  mkdir -p -- "$fb_docker_root" "$(dirname -- "$fb_docker_log")"
  (
    cd /
    unset TMPDIR
    ulimit -Sn "$(ulimit -Hn)"
    for fd in /proc/self/fd/*; do
      fd=${fd##*/}
      ((fd < 3)) || eval "exec $fd>&-"
    done
    exec setsid dockerd --data-root "$fb_docker_root" </dev/null >"$fb_docker_log" 2>&1
  ) &
  pid=$!
  disown "$pid"
  fb_docker_wait "$pid" && return 0
  if fb_is_running "$pid"; then
    fb_die 1 "dockerd (process $pid) does not answer within $fb_docker_start_seconds s; its log is $fb_docker_log"
  fi
  fb_die 1 "dockerd ended instead of answering. The last lines of $fb_docker_log:" \
    $'\n'"$(tail -n 15 -- "$fb_docker_log" 2>/dev/null)"
}

# fb_docker_start: one caller at a time; the others find the engine answering.
fb_docker_start() {
  local as_root=() pid
  if [[ -d $fb_docker_run/systemd/system ]]; then
    ((${FETCHBENCH_UID:-$EUID} == 0)) || as_root=(sudo)
    fb_note "fetchbench: starting the Docker Engine"
    "${as_root[@]}" systemctl start docker </dev/null >&2 ||
      fb_die 1 "systemd could not start the Docker Engine: systemctl status docker tells why"
    fb_docker_answers || fb_die 2 "the Docker Engine runs but does not answer to you; as root, run:" \
      $'\n  usermod -aG docker '"$(id -un)"$'\nthen log in again'
    return 0
  fi
  if pid=$(fb_dockerd_pid); then
    fb_docker_wait "$pid" || fb_die 1 "dockerd (process $pid) runs but does not answer to user $(id -un)." \
      "Root, or a member of the group docker, may ask it; if it does not answer root either, end that process"
    return 0
  fi
  ((${FETCHBENCH_UID:-$EUID} == 0)) ||
    fb_die 2 "no Docker Engine answers, and there is no systemd to start one. As root, run: bin/setup --docker"
  command -v dockerd >/dev/null || PATH=$PATH:/usr/sbin:/sbin
  command -v dockerd >/dev/null || fb_die 2 "no Docker Engine answers, and dockerd is not installed"
  fb_note "fetchbench: starting the Docker Engine (data in $fb_docker_root, log in $fb_docker_log)"
  fb_dockerd_start
}

# fb_docker_ready: returns when a Docker Engine answers; installs and starts one where there is none. Quick and
# without a word when it does already.
fb_docker_ready() {
  local lock
  fb_docker_answers && return 0
  [[ -z ${DOCKER_HOST:-} ]] ||
    fb_die 2 "the Docker Engine of DOCKER_HOST=$DOCKER_HOST does not answer; start it, or unset DOCKER_HOST"
  fb_install_packages docker
  exec {lock}>"$fb_docker_run/lock/fetchbench-docker.lock"
  flock "$lock"
  fb_docker_answers || fb_docker_start
  exec {lock}>&-
}

# fb_engine_for ARGUMENT...: an engine, if the coordinator's command with these arguments runs targets in containers
# here. Where there can be none, a command that would run all targets goes on with those that need none.
fb_engine_for() {
  local need
  need=$("$(fb_program coordinator)" needs-engine "$@" </dev/null 2>/dev/null) || return 0
  case $need in
    yes) fb_docker_ready ;;
    maybe) (fb_docker_ready) || fb_note "fetchbench: without a Docker Engine; targets in containers cannot run" ;;
  esac
}

# fb_check_arguments ARGUMENT...: stops with the coordinator's message if a command of it with these arguments would be
# wrong usage; for what takes long or goes to the background, before the command itself could say so.
fb_check_arguments() {
  (fb_become coordinator needs-engine "$@") </dev/null >/dev/null || exit
}

# fb_containers_ready [BASE...]: an engine, and the stand-in base images named (see bin/base-images; none named:
# all of them) for hosts without a container registry.
fb_containers_ready() {
  fb_docker_ready
  "${fb_root:?}/bin/base-images" "$@"
}
