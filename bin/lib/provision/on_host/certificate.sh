#!/usr/bin/env bash
# As root. `certificate digest`: of the credentials that are there, and of the deny list. `certificate install`: those
# of the tar archive on standard input take their place.
set -eu
place=/etc/fetchbench/tls
names='ca.crt tls.crt tls.key denied'
case $1 in
  digest)
    cd "$place" 2>/dev/null || exit 0
    echo "$(cat ca.crt tls.crt tls.key 2>/dev/null | sha256sum) $(cat denied /dev/null 2>/dev/null | sha256sum)"
    ;;
  install)
    umask 077
    folder=$(mktemp -d /etc/fetchbench/.new.XXXXXX)
    trap 'rm -rf -- "$folder"' EXIT
    tar -x -C "$folder" --no-same-owner --no-same-permissions
    # A sender that could not read one of them sends the rest: those that are there stay.
    for name in ca.crt tls.crt tls.key; do
      [ -s "$folder/$name" ] || { echo "the archive of the credentials has no $name" >&2; exit 1; }
    done
    if [ -e "$folder/denied" ] && ! [ -s "$folder/denied" ]; then
      echo "the deny list is empty: copy it anew; one that denies nobody has a line of comment" >&2
      exit 1
    fi
    for name in $names; do
      [ -f "$folder/$name" ] || { rm -f -- "$place/$name"; continue; }
      chown fetchbench:fetchbench "$folder/$name"
      chmod 0600 "$folder/$name"
      mv -- "$folder/$name" "$place/$name"
    done
    ;;
esac
