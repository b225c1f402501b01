#!/usr/bin/env bash
# `build make FOLDER`, as root: builds the package out of the sources in the tar archive on standard input. Packages
# for building are installed. `build fetch FOLDER`: the package, on standard output.
set -eu
folder=$2
case $1 in
  make)
    mkdir -p "$folder"
    cd "$folder"
    # Not what an earlier build made of other sources; all that is unpacked is new to it.
    find . -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf -- {} +
    tar -x --no-same-owner --touch
    bin/setup --packages-only --with provision </dev/null >&2
    # What the package has, and nothing else: hosts are small.
    bash -euc '. bin/lib/common.sh; . bin/lib/packages.sh; . bin/lib/build.sh
      fb_build release fetchbench-agent fetchbench-native' build </dev/null >&2
    rm -rf build/release/packages
    (cd build/release && cpack -G DEB) </dev/null >&2
    ;;
  fetch) cat "$folder"/build/release/packages/fetchbench-agent_*.deb ;;
esac
