#!/usr/bin/env bash
# As root: a Docker Engine that answers and starts at boot.
set -eu
version() {
  timeout 20 docker version --format "{{.Server.Version}}" 2>/dev/null
}
if found=$(version); then
  echo "unchanged $found"
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
if ! command -v dockerd >/dev/null || ! command -v docker >/dev/null; then
  apt-get -o DPkg::Lock::Timeout=300 update >&2 || echo 'apt-get update failed; going on with the lists that are there' >&2
  packages=docker.io
  # Where docker.io is the engine without its client.
  if apt-cache show docker-cli >/dev/null 2>&1; then packages='docker.io docker-cli'; fi
  # shellcheck disable=SC2086
  apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $packages >&2
fi
systemctl enable --now docker.service >&2 || {
  journalctl -u docker.service -n 8 --no-pager -o cat >&2
  exit 1
}
found=$(version) || { echo 'the Docker Engine was started and does not answer' >&2; exit 1; }
echo "changed $found"
