# shellcheck shell=bash
# Sourced after common.sh: which packages fetchbench needs on which distribution, and installing them.
# Package names are data (fb_packages), what is installed is dpkg's to say (fb_missing).

# Prints the distribution as ID-VERSION, for example debian-12. FETCHBENCH_OS_RELEASE names another
# os-release file, for tests.
fb_distribution() {
  local file=${FETCHBENCH_OS_RELEASE:-/etc/os-release}
  [[ -r $file ]] || { echo unknown; return; }
  (
    # shellcheck source=/dev/null
    . "$file"
    case ${ID:-}-${VERSION_ID:-} in
      debian-12 | debian-13 | ubuntu-24.04) echo "$ID-$VERSION_ID" ;;
      *) echo "${PRETTY_NAME:-unknown}" ;;
    esac
  )
}

# fb_packages DISTRIBUTION GROUP...: prints package names, one a line; fails for a distribution whose
# names are not known here. Groups: build (programs and tests), test, lint, fuzz, perf, docker, provision, fetch.
fb_packages() {
  local distribution=$1 group boost clang_rt perf engine
  shift
  case $distribution in
    # Debian 12's default Boost is 1.74: too old for Boost.URL.
    debian-12) boost=1.81 clang_rt=14 perf=linux-perf engine=(docker.io) ;;
    # Debian 13's docker.io is the engine without its client.
    debian-13) boost='' clang_rt=19 perf=linux-perf engine=(docker.io docker-cli) ;;
    ubuntu-24.04) boost='' clang_rt=18 perf=linux-tools-generic engine=(docker.io) ;;
    *) return 1 ;;
  esac
  for group in "$@"; do
    case $group in
      build)
        printf '%s\n' g++ cmake ninja-build ccache pkg-config ca-certificates \
          libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libabsl-dev \
          "libboost$boost-dev" "libboost-url$boost-dev" "libboost-json$boost-dev" \
          libssl-dev libc-ares-dev libidn2-dev zlib1g-dev libsqlite3-dev libsqlitecpp-dev \
          libcli11-dev libfmt-dev libspdlog-dev prometheus-cpp-dev libgtest-dev libgmock-dev
        ;;
      test) printf '%s\n' curl iproute2 iptables jq libfaketime nftables openssl python3 sqlite3 tmux unzip zip ;;
      lint) printf '%s\n' clang clang-format clang-tidy shellcheck jq ;;
      fuzz) printf '%s\n' clang "libclang-rt-$clang_rt-dev" ;;
      perf) printf '%s\n' apache2-utils hey curl jq sqlite3 "$perf" ;;
      # iptables: the engine's networks; nftables: deploy/guard. The rest makes base images where there is no container registry.
      docker)
        printf '%s\n' "${engine[@]}" iptables nftables util-linux debootstrap debian-archive-keyring jq curl unzip xz-utils
        ;;
      provision) printf '%s\n' dpkg-dev file openssh-client openssl ;;
      fetch) printf '%s\n' curl unzip ;;
      *) fb_die 1 "no package group is called $group" ;;
    esac
  done | sort -u
}

# fb_missing PACKAGE...: prints those that are not wholly installed. A package that an interrupted
# apt unpacked but did not configure counts as missing.
fb_missing() {
  local installed
  # dpkg-query fails when it knows nothing of one of the names; what it prints is right all the same.
  installed=$(dpkg-query -W -f '${db:Status-Abbrev}|${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^.i |//p' | sort -u) || true
  comm -23 <(printf '%s\n' "$@" | sort -u) <(printf '%s\n' "$installed")
}

fb_apt() {
  # Standard input may be a list of URLs: it is not apt's to read. sudo asks on the terminal itself.
  "$@" </dev/null >&2
}

# fb_install_packages GROUP...: installs what is missing of the groups; silent and fast when nothing is.
fb_install_packages() {
  local distribution names missing
  [[ -z ${FETCHBENCH_NO_PACKAGES:-} ]] || return 0
  distribution=$(fb_distribution)
  if ! names=$(fb_packages "$distribution" "$@"); then
    fb_die 2 "this system ($distribution) is none of Debian 12, Debian 13, Ubuntu 24.04." \
      "Install what answers to these packages of Debian 13, then set FETCHBENCH_NO_PACKAGES=1:" \
      "$(fb_packages debian-13 "$@" | paste -sd' ')"
  fi
  mapfile -t names <<<"$names"
  mapfile -t missing < <(fb_missing "${names[@]}")
  ((${#missing[@]} > 0)) || return 0

  local as_root=() environment=(env DEBIAN_FRONTEND=noninteractive)
  local apt=(apt-get -o DPkg::Lock::Timeout=300)
  local install=("${apt[@]}" install -y --no-install-recommends "${missing[@]}")
  fb_note "fetchbench: ${#missing[@]} packages are missing: ${missing[*]}"
  if ((${FETCHBENCH_UID:-$EUID} != 0)); then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 2 ]]; }; then
      as_root=(sudo)
    else
      fb_die 2 "installing packages needs root, and sudo does not work here. As root, run:" \
        $'\n  apt-get update && apt-get install -y --no-install-recommends' "${missing[*]}"
    fi
  fi
  # A dpkg that was interrupted refuses every installation until this is done; else it does nothing.
  fb_apt "${as_root[@]}" "${environment[@]}" dpkg --configure -a ||
    fb_note "fetchbench: dpkg --configure -a failed; going on, apt may mend it"
  # One broken source of several must not stop us: whether the packages can be had decides.
  fb_apt "${as_root[@]}" "${environment[@]}" "${apt[@]}" update ||
    fb_note "fetchbench: apt-get update failed; going on with the package lists that are there"
  fb_apt "${as_root[@]}" "${environment[@]}" "${install[@]}" ||
    fb_die 1 "apt-get could not install the packages; its messages are above. The command was:" \
      $'\n ' "${install[*]}"
  mapfile -t missing < <(fb_missing "${names[@]}")
  ((${#missing[@]} == 0)) ||
    fb_die 1 "still not installed, though apt-get reported success: ${missing[*]}"
}
