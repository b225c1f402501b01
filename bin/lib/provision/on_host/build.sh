#!/usr/bin/env bash
# `build make FOLDER`, as root: builds the package out of the sources in the tar archive on standard input. Packages
# for building are installed. `build fetch FOLDER`: the package, on standard output.
set -eu
folder=$2
case $1 in
  make)
    mkdir -p "$folder"
    tar -x -C "$folder" --no-same-owner
    cd "$folder"
    bin/setup </dev/null >&2
    command -v dpkg-shlibdeps >/dev/null ||
      DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends dpkg-dev </dev/null >&2
    rm -rf build/release/packages
    (cd build/release && cpack -G DEB) </dev/null >&2
    ;;
  fetch) cat "$folder"/build/release/packages/fetchbench-agent_*.deb ;;
esac
