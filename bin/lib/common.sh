# shellcheck shell=bash
# Sourced by every script of bin/: where things are, how to say something, how wide to build.

fb_root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
export fb_root

# Everything that is said to a person goes to stderr: stdout belongs to records and summaries.
fb_note() { printf '%s\n' "$*" >&2; }

# fb_die EXIT-CODE MESSAGE...: exit codes as in README.md (1 internal, 2 usage or configuration).
fb_die() {
  local code=$1
  shift
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit "$code"
}

# Prints the comment block under the shebang line: a script's --help is its own header.
fb_help() {
  awk 'NR == 1 { next } /^#/ { sub(/^# ?/, ""); print; next } { exit }' "$0"
}

# fb_value OPTION [VALUE...]: stops unless the option at hand has a value behind it, and one that is not empty, as that of
# a variable that is not set.
fb_value() {
  (($# > 1)) || fb_die 2 "$1 needs a value"
  [[ -n $2 ]] || fb_die 2 "$1: its value is empty"
}

# fb_readable_file OPTION FILE: stops unless FILE, if there is one, can be read.
fb_readable_file() {
  [[ -z $2 || -r $2 && ! -d $2 ]] || fb_die 2 "$1 $2: there is no such file, or it cannot be read"
}

# fb_asks_for_help ARGUMENT...: whether they ask for a page.
fb_asks_for_help() {
  local word
  for word in "$@"; do
    [[ $word != -h && $word != --help ]] || return 0
  done
  return 1
}

# fb_is_running PID: a process that is not only a dead one's entry (not every PID 1 reaps).
fb_is_running() {
  [[ $(awk '/^State:/ { print $2 }' "/proc/$1/status" 2>/dev/null) == [!ZX] ]]
}

# Compile jobs: one a CPU, but no more than memory carries. A file that includes gRPC or Beast takes
# up to 2 GB under a sanitizer; more jobs than that and the machine swaps or kills the compiler.
fb_jobs() {
  local cpus kilobytes by_memory
  cpus=$(nproc)
  kilobytes=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
  by_memory=$((kilobytes / (2 * 1024 * 1024)))
  if ((by_memory < 1)); then by_memory=1; fi
  echo $((by_memory < cpus ? by_memory : cpus))
}
