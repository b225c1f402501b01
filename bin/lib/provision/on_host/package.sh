#!/usr/bin/env bash
# As root. `package digest`: of the installed package, as package.sh of bin/lib/provision makes it of a file; nothing if
# none is wholly installed. `package install`: installs the package on standard input with what it depends on.
set -eu
info=/var/lib/dpkg/info/fetchbench-agent
case $1 in
  digest)
    state=$(dpkg-query -W -f '${db:Status-Abbrev}' fetchbench-agent 2>/dev/null) || exit 0
    [ "$state" = 'ii ' ] || exit 0
    cat "$info.md5sums" "$info.postinst" "$info.prerm" "$info.postrm" | sha256sum | cut -c 1-64
    ;;
  install)
    folder=$(mktemp -d)
    trap 'rm -rf -- "$folder"' EXIT
    # apt reads the file as a user of its own.
    chmod 755 "$folder"
    cat >"$folder/fetchbench-agent.deb"
    chmod 644 "$folder/fetchbench-agent.deb"
    export DEBIAN_FRONTEND=noninteractive
    apt=(apt-get -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold)
    # What an installation that was cut short left behind hinders all others.
    dpkg --configure -a >&2 || true
    install=("${apt[@]}" install -y --no-install-recommends --allow-downgrades --reinstall "$folder/fetchbench-agent.deb")
    # Package lists may be missing or old: only then are they fetched.
    "${install[@]}" </dev/null >&2 || {
      "${apt[@]}" update </dev/null >&2 || echo 'apt-get update failed; going on with the lists that are there' >&2
      "${install[@]}" </dev/null >&2
    }
    dpkg-query -W -f '${Version}\n' fetchbench-agent
    ;;
esac
