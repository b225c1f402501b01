#!/usr/bin/env bash
# As root. `certificate digest`: of the credentials that are there. `certificate install`: those of the tar archive on
# standard input take their place.
set -eu
place=/etc/fetchbench/tls
names='ca.crt tls.crt tls.key denied'
case $1 in
  digest)
    cd "$place" 2>/dev/null || exit 0
    for name in $names; do
      [ ! -e "$name" ] || sha256sum "$name"
    done | sha256sum | cut -c 1-64
    ;;
  install)
    umask 077
    folder=$(mktemp -d /etc/fetchbench/.new.XXXXXX)
    trap 'rm -rf -- "$folder"' EXIT
    tar -x -C "$folder" --no-same-owner --no-same-permissions
    for name in $names; do
      [ -f "$folder/$name" ] || { rm -f -- "$place/$name"; continue; }
      chown fetchbench:fetchbench "$folder/$name"
      chmod 0600 "$folder/$name"
      mv -- "$folder/$name" "$place/$name"
    done
    ;;
esac
