#!/usr/bin/env bash
# service DOCKER PORT RESTART, as root: the agent runs as it should. DOCKER (yes, no): it may use the Docker Engine.
# RESTART (yes, no): something it has read at its start is new.
set -eu
docker=$1 port=$2 restart=$3
unit=fetchbench-agent.service
state=unchanged
dropin=/etc/systemd/system/$unit.d/docker.conf
settings=/etc/default/fetchbench-agent

if [ "$docker" = yes ] && ! cmp -s /usr/share/fetchbench-agent/docker.conf "$dropin"; then
  install -D -m 0644 /usr/share/fetchbench-agent/docker.conf "$dropin"
  state=changed
elif [ "$docker" = no ] && [ -e "$dropin" ]; then
  rm -f -- "$dropin"
  state=changed
fi
# Containers on the real web need its rules; without it the agent runs them on the simulated one alone.
if [ "$docker" = yes ] && ! systemctl is-enabled --quiet fetchbench-guard.service; then
  systemctl enable --quiet fetchbench-guard.service >&2
  systemctl start fetchbench-guard.service >&2 ||
    echo "no network rules for containers on the real web: see systemctl status fetchbench-guard" >&2
  state=changed
fi
# Other options in that file are the administrator's.
if ! grep -Eq "^FETCHBENCH_AGENT_OPTIONS=.*--listen [^ \"]*:$port([ \"]|\$)" "$settings"; then
  sed -i -E "s/^(FETCHBENCH_AGENT_OPTIONS=.*--listen [^ \"]*:)[0-9]+/\\1$port/" "$settings"
  grep -Eq -- "--listen [^ \"]*:$port([ \"]|\$)" "$settings" ||
    { echo "$settings has no --listen HOST:PORT in FETCHBENCH_AGENT_OPTIONS: put it there" >&2; exit 1; }
  state=changed
fi
if ! systemctl is-enabled --quiet "$unit"; then
  systemctl enable --quiet "$unit" >&2
  state=changed
fi
if [ "$state$restart" != unchangedno ] || ! systemctl is-active --quiet "$unit"; then
  systemctl daemon-reload
  systemctl reset-failed "$unit" 2>/dev/null || true
  systemctl restart "$unit" >&2 || true
  state=changed
fi
# It may end a moment after its start.
for _ in 1 2 3 4 5; do
  systemctl is-active --quiet "$unit" || {
    systemctl status "$unit" --no-pager -n 0 >&2 || true
    journalctl -u "$unit" -n 5 --no-pager -o cat >&2
    exit 1
  }
  [ "$state" = changed ] || break
  sleep 0.2
done
echo "$state"
