#!/usr/bin/env bash
# As root: takes away what provisioning put here: package, unit, certificate, settings. Docker stays, as others may use it.
set -eu
export DEBIAN_FRONTEND=noninteractive
if ! dpkg-query -W fetchbench-agent >/dev/null 2>&1 && [ ! -e /etc/fetchbench/tls ]; then
  echo unchanged
  exit 0
fi
apt-get -o DPkg::Lock::Timeout=300 purge -y fetchbench-agent </dev/null >&2
rm -rf -- /etc/fetchbench/tls /etc/systemd/system/fetchbench-agent.service.d
systemctl daemon-reload
echo changed
