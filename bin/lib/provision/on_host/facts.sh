#!/usr/bin/env bash
# As the user that logs in: what provisioning needs to know about a host, as lines of name=value.
set -eu
. /etc/os-release
echo "system=${ID:-unknown}-${VERSION_ID:-unknown}"
echo "title=${PRETTY_NAME:-unknown}"
echo "arch=$(dpkg --print-architecture 2>/dev/null || uname -m)"
echo "uid=$(id -u)"
if [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; then echo root=yes; else echo root=no; fi
if [ -d /run/systemd/system ]; then echo systemd=yes; else echo systemd=no; fi
