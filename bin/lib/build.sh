# shellcheck shell=bash
# Sourced after common.sh: configures a CMake preset and builds targets of it, without a word and in
# well under a second when nothing has changed. There is no stamp file: CMake's and Ninja's own records
# decide, so an interrupted or failed build is simply taken up again.

# The programs, as against everything that a preset knows ("all").
fb_programs=(fetchbench-coordinator fetchbench-agent fetchbench-native fetchbench-origin)

# fb_in_build_environment COMMAND...: runs it with ccache set so that another checkout of the same
# sources (a clone, CI) finds the same objects.
fb_in_build_environment() {
  CCACHE_BASEDIR=${CCACHE_BASEDIR:-$fb_root} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1} "$@" </dev/null
}

# fb_configure PRESET: runs CMake unless the build folder is configured for this very checkout.
fb_configure() {
  local preset=$1 folder="$fb_root/build/$1" fresh=()
  if [[ -f $folder/build.ninja ]] &&
    grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$fb_root" "$folder/CMakeCache.txt"; then
    return 0
  fi
  # A copied or half configured folder: CMake refuses the first and may keep wrong findings of the second.
  [[ ! -e $folder/CMakeCache.txt ]] || fresh=(--fresh)
  fb_note "fetchbench: configuring build/$preset"
  (cd "$fb_root" && fb_in_build_environment cmake --preset "$preset" "${fresh[@]}") >&2 ||
    fb_die 1 "CMake could not configure build/$preset; its messages are above"
}

# fb_build_progress PRESET: Ninja's output, without a word when there was nothing to do; on a terminal a step
# overwrites the one before it. (Asking `ninja -n` first is no way out: with CMake's globs it always sees work.)
fb_build_progress() {
  local line noted=no step=no
  while IFS= read -r line; do
    case $line in
      *'Re-checking globbed directories'* | 'ninja: no work to do.') continue ;;
    esac
    if [[ $noted == no ]]; then
      echo "fetchbench: building build/$1 (the first time takes minutes)"
      noted=yes
    fi
    if [[ -t 1 && $line == \[* ]]; then
      printf '\r\033[K%s' "${line:0:79}"
      step=yes
    else
      [[ $step == no ]] || echo
      printf '%s\n' "$line"
      step=no
    fi
  done
  [[ $step == no ]] || echo
}

# fb_build PRESET [TARGET...]: configures and builds, with the output on stderr. Two callers at once
# take turns.
fb_build() {
  local preset=$1 folder="$fb_root/build/$1" lock status=0
  shift
  mkdir -p "$folder"
  exec {lock}>"$folder/.setup.lock"
  flock -n "$lock" || { fb_note "fetchbench: waiting for another build of build/$preset"; flock "$lock"; }
  fb_configure "$preset"
  (cd "$folder" && fb_in_build_environment ninja -j "$(fb_jobs)" "$@" 2>&1) |
    fb_build_progress "$preset" >&2 || status=$?
  exec {lock}>&-
  ((status == 0)) || fb_die 1 "the build of build/$preset failed; the messages are above"
}

# fb_build_fuzz: builds the fuzz targets, by name because clang need not build the rest; their names are then
# in fb_fuzz_targets.
fb_build_fuzz() {
  fb_configure fuzz
  mapfile -t fb_fuzz_targets < <(ninja -C "$fb_root/build/fuzz" -t targets all |
    sed -n 's/^\(fuzz_[a-z0-9_]*\): phony$/\1/p')
  ((${#fb_fuzz_targets[@]} > 0)) || fb_die 1 "the preset fuzz has no fuzz target"
  fb_build fuzz "${fb_fuzz_targets[@]}"
}

# fb_program NAME: the path of a built program: of the Release build, or of the folder FETCHBENCH_BIN.
fb_program() {
  echo "${FETCHBENCH_BIN:-$fb_root/build/release/bin}/fetchbench-$1"
}

# fb_ready: packages and programs, as every command that runs one needs them. Programs of one's own
# choice (FETCHBENCH_BIN) are taken as they are.
fb_ready() {
  [[ -z ${FETCHBENCH_BIN:-} ]] || return 0
  fb_install_packages build
  fb_build release "${fb_programs[@]}"
}

# fb_become NAME [ARGUMENT...]: becomes the program. What the coordinator advises a person to type begins with
# FETCHBENCH_PROGRAM_NAME: the script beside the one that was called.
fb_become() {
  local program
  program=$(fb_program "$1")
  [[ $1 != coordinator ]] || export FETCHBENCH_PROGRAM_NAME="${FETCHBENCH_PROGRAM_NAME:-$(dirname -- "$0")/coordinator}"
  shift
  exec "$program" "$@"
}

# fb_become_page NAME [ARGUMENT...]: becomes the program, whose page these arguments ask for. Reading one is no reason to
# install packages and build for minutes.
fb_become_page() {
  [[ ! -x $(fb_program "$1") ]] || fb_become "$@"
  echo "The page goes on with all options once fetchbench is built (bin/setup)."
  exit 0
}

# fb_start NAME [ARGUMENT...]: makes ready, then becomes the program.
fb_start() {
  if fb_asks_for_help "${@:2}"; then
    [[ -x $(fb_program "$1") ]] || { fb_help; echo; }
    fb_become_page "$@"
  fi
  fb_ready
  fb_become "$@"
}
